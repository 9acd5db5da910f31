"""Two device types in one process, one of them the minimal one: copies without a stream come after both default streams."""

from __future__ import annotations

import pytest
from objects_support import run_python

PROGRAM = """
import threading
from infinirt import runtime as rt

def ok(result):
    assert int(result[0]) == 0, rt.infinirtXGetLastErrorMessage()
    return result[1] if len(result) > 1 else None

SIZE = 4096
memory = {}
for name in ("cpu", "cpu-min"):
    ok(rt.infinirtXSetDeviceType(name))
    memory[name] = ok(rt.infinirtMalloc(SIZE))
    ok(rt.infinirtMemset(memory[name], 0, SIZE))
    ok(rt.infinirtDeviceSynchronize())
other = "cpu-min" if CURRENT == "cpu" else "cpu"

# The other type's default stream is held; a set stands behind what holds it.
ok(rt.infinirtXSetDeviceType(other))
gate = threading.Event()
ok(rt.infinirtXLaunchHostFunc(0, gate.wait))
ok(rt.infinirtMemsetAsync(memory[other], 7, SIZE, 0))
threading.Timer(0.05, gate.set).start()

ok(rt.infinirtXSetDeviceType(CURRENT))
ok(rt.infinirtMemcpy(memory[CURRENT], memory[other], SIZE, rt.infinirtMemcpyKind.infinirtMemcpyDefault))
assert gate.is_set()
back = bytearray(SIZE)
ok(rt.infinirtMemcpy(back, memory[CURRENT], SIZE, rt.infinirtMemcpyKind.infinirtMemcpyDeviceToHost))
assert set(back) == {7}, set(back)
"""


@pytest.mark.parametrize("current", ["cpu", "cpu-min"])
@pytest.mark.parametrize("memory", ["", "isolated"])
def test_a_copy_without_a_stream_waits_for_both_default_streams(current: str, memory: str) -> None:
    run_python(f"CURRENT = {current!r}\n{PROGRAM}", INFINIRT_CPU_MIN="1", INFINIRT_CPU_MEMORY=memory)


FREED = """
import gc, threading
import infinirt

cpu, other = infinirt.Device("cpu"), infinirt.Device("cpu-min")
ours, theirs = cpu.create_stream(), other.create_stream()
source = cpu.allocate(4096, stream=ours)
for kind in (infinirt.CachingPool, infinirt.PinnedPool):
    pool = kind(other)
    for way in ("deleted", "closed", "closed on the other's stream"):
        gate = threading.Event()
        ours.launch_host_func(gate.wait, 60)
        memory = pool.allocate(4096, stream=theirs)
        source.copy_to(memory, stream=ours)
        assert pool.statistics.live_blocks == 1
        if way == "closed":
            memory.close()
        elif way != "deleted":
            memory.close(ours)
        del memory
        gc.collect()
        again = pool.allocate(4096, stream=theirs)
        again.fill(1, stream=theirs)
        assert not theirs.query(), f"{way}: the memory is used while the other type's stream still copies"
        gate.set()
        theirs.sync()
        ours.sync()
        del again
        gc.collect()
        theirs.sync()
        assert pool.statistics.live_blocks == 0, f"{way}: {pool.statistics}"
        assert pool.statistics.segments_mapped == 1
"""


def test_memory_that_another_types_stream_used_is_freed_behind_that() -> None:
    run_python(FREED, INFINIRT_CPU_MIN="1")
