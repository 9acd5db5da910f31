"""The CPU device and a GPU in one process: copies and waits from one to the other."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from gpu_support import Kind, check_same, fails, host, ok, pattern, run_python, using

from infinirt import runtime as rt

pytestmark = [pytest.mark.gpu, pytest.mark.memcheck]

SIZES = (1, 1000, 65536, (2 << 20) - 1, 2 << 20, (2 << 20) + 1, (37 << 20) + 12345)


class Pair:
    """Memory of both device types, and a stream of each."""

    def __init__(self, size: int) -> None:
        self.size = size
        with using("cpu"):
            self.cpu = ok(rt.infinirtMalloc(size))
            self.cpu_stream = ok(rt.infinirtStreamCreateWithFlags(1))
        with using("nvidia"):
            self.gpu = ok(rt.infinirtMalloc(size))
            self.gpu_stream = ok(rt.infinirtStreamCreateWithFlags(1))

    def close(self) -> None:
        for stream in (self.cpu_stream, self.gpu_stream):
            ok(rt.infinirtStreamSynchronize(stream))
            ok(rt.infinirtStreamDestroy(stream))
        ok(rt.infinirtFree(self.cpu))  # each goes to its owner, whatever type is current
        ok(rt.infinirtFree(self.gpu))

    def set_cpu(self, data: bytes) -> None:
        with using("cpu"):
            ok(rt.infinirtMemcpy(self.cpu, data, self.size, Kind.infinirtMemcpyHostToDevice))

    def get(self, device_type: str) -> bytes:
        back = host(self.size)
        with using(device_type):
            pointer = self.cpu if device_type == "cpu" else self.gpu
            ok(rt.infinirtMemcpy(back, pointer, self.size, Kind.infinirtMemcpyDeviceToHost))
        return back.raw


@pytest.fixture(params=SIZES)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    made = Pair(request.param)
    yield made
    made.close()


@pytest.mark.parametrize("current", ["cpu", "nvidia"])
@pytest.mark.parametrize("kind", [Kind.infinirtMemcpyDefault, Kind.infinirtMemcpyDeviceToDevice])
def test_synchronous_copies(pair: Pair, current: str, kind: Any) -> None:
    data = pattern(pair.size)[: pair.size]
    pair.set_cpu(data)
    with using(current):
        ok(rt.infinirtMemcpy(pair.gpu, pair.cpu, pair.size, kind))
        check_same(pair.get("nvidia"), data)
        other = pattern(pair.size, 3)[: pair.size]
        with using("nvidia"):
            ok(rt.infinirtMemcpy(pair.gpu, other, pair.size, Kind.infinirtMemcpyHostToDevice))
        ok(rt.infinirtMemcpy(pair.cpu, pair.gpu, pair.size, kind))
    check_same(pair.get("cpu"), other)


@pytest.mark.parametrize("on", ["cpu", "nvidia"])
def test_asynchronous_copies_on_either_ones_stream(pair: Pair, on: str) -> None:
    stream = pair.cpu_stream if on == "cpu" else pair.gpu_stream
    data = pattern(pair.size)[: pair.size]
    pair.set_cpu(data)
    ok(rt.infinirtMemcpyAsync(pair.gpu, pair.cpu, pair.size, Kind.infinirtMemcpyDefault, stream))
    ok(rt.infinirtStreamSynchronize(stream))
    check_same(pair.get("nvidia"), data)
    pair.set_cpu(bytes(pair.size))
    ok(rt.infinirtMemcpyAsync(pair.cpu, pair.gpu, pair.size, Kind.infinirtMemcpyDefault, stream))
    ok(rt.infinirtStreamSynchronize(stream))
    check_same(pair.get("cpu"), data)


@pytest.mark.parametrize("shape", ["bytes", "plane", "volume"])
@pytest.mark.parametrize("on", ["cpu", "nvidia"])
def test_a_copy_reads_what_its_stream_waited_for(on: str, shape: str) -> None:
    """The other device's memory is written only after the call was made, or would have been, had it not waited."""
    size = 4096
    pair = Pair(size)
    pair.set_cpu(bytes(size))
    begun, go = threading.Event(), threading.Event()

    def hold(_: object) -> None:
        begun.set()
        go.wait(10)

    threading.Timer(0.2, go.set).start()
    with using("cpu"):
        written = ok(rt.infinirtEventCreate())
        ok(rt.infinirtLaunchHostFunc(pair.cpu_stream, hold, None))
        ok(rt.infinirtMemsetAsync(pair.cpu, 7, size, pair.cpu_stream))
        ok(rt.infinirtEventRecord(written, pair.cpu_stream))
    stream = pair.cpu_stream if on == "cpu" else pair.gpu_stream
    if on == "nvidia":
        ok(rt.infinirtStreamWaitEvent(stream, written, 0))
    assert begun.wait(10)
    assert not go.is_set()
    default = Kind.infinirtMemcpyDefault
    if shape == "bytes":
        ok(rt.infinirtMemcpyAsync(pair.gpu, pair.cpu, size, default, stream))
    elif shape == "plane":
        ok(rt.infinirtMemcpy2DAsync(pair.gpu, 64, pair.cpu, 64, 64, size // 64, default, stream))
    else:
        volume = rt.infinirtMemcpy3DParms()
        volume.dstPtr = rt.make_infinirtPitchedPtr(pair.gpu, 64, 64, 8)
        volume.srcPtr = rt.make_infinirtPitchedPtr(pair.cpu, 64, 64, 8)
        volume.extent = rt.make_infinirtExtent(64, 8, size // 512)
        volume.kind = default
        ok(rt.infinirtMemcpy3DAsync(volume, stream))
    if on == "cpu":
        assert not go.is_set()  # nobody waited
    ok(rt.infinirtStreamSynchronize(stream))
    check_same(pair.get("nvidia"), bytes([7]) * size)
    ok(rt.infinirtEventDestroy(written))
    pair.close()


def test_planes() -> None:
    pair = Pair(64 * 64)
    data = pattern(64 * 64)[: 64 * 64]
    pair.set_cpu(data)
    for stream in (pair.cpu_stream, pair.gpu_stream):
        with using("nvidia"):
            ok(rt.infinirtMemset(pair.gpu, 0, 64 * 64))
            ok(
                rt.infinirtDeviceSynchronize()
            )  # a set returns before it is done, and the streams do not wait for it
        ok(rt.infinirtMemcpy2DAsync(pair.gpu, 64, pair.cpu, 64, 16, 64, Kind.infinirtMemcpyDefault, stream))
        ok(rt.infinirtStreamSynchronize(stream))
        found = pair.get("nvidia")
        assert all(found[64 * i : 64 * i + 16] == data[64 * i : 64 * i + 16] for i in range(64))
        assert all(found[64 * i + 16 : 64 * i + 64] == bytes(48) for i in range(64))
    pair.close()


def test_volumes() -> None:
    """4 x 8 x 16 bytes out of 8 x 16 x 32, both ways, on either one's streams and without one."""
    size = 8 * 16 * 32
    pair = Pair(size)
    data = pattern(size)[:size]

    def copy(dst: int, src: int, stream: Any) -> None:
        volume = rt.infinirtMemcpy3DParms()
        volume.dstPtr = rt.make_infinirtPitchedPtr(dst, 32, 32, 16)
        volume.srcPtr = rt.make_infinirtPitchedPtr(src, 32, 32, 16)
        volume.extent = rt.make_infinirtExtent(16, 8, 4)
        volume.kind = Kind.infinirtMemcpyDefault
        if stream is None:
            ok(rt.infinirtMemcpy3D(volume))
            return
        ok(rt.infinirtMemcpy3DAsync(volume, stream))
        ok(rt.infinirtStreamSynchronize(stream))

    expected = bytearray(size)
    for z in range(4):
        for y in range(8):
            at = (z * 16 + y) * 32
            expected[at : at + 16] = data[at : at + 16]
    for stream in (pair.cpu_stream, pair.gpu_stream, None):
        pair.set_cpu(data)
        with using("nvidia"):
            ok(rt.infinirtMemset(pair.gpu, 0, size))
            ok(rt.infinirtDeviceSynchronize())
        copy(pair.gpu, pair.cpu, stream)
        check_same(pair.get("nvidia"), bytes(expected))
        pair.set_cpu(bytes(size))
        copy(pair.cpu, pair.gpu, stream)
        check_same(pair.get("cpu"), bytes(expected))
    pair.close()


def test_isolated_memory_of_the_cpu_crosses_too() -> None:
    out = run_python(
        """
        from infinirt import runtime as rt
        def ok(r): assert int(r[0]) == 0, rt.infinirtXGetLastErrorMessage(); return r[1] if len(r) > 1 else None
        ok(rt.infinirtXSetDeviceType("cpu")); cpu = ok(rt.infinirtMalloc(4096)); ok(rt.infinirtMemset(cpu, 7, 4096))
        ok(rt.infinirtDeviceSynchronize())
        ok(rt.infinirtXSetDeviceType("nvidia")); gpu = ok(rt.infinirtMalloc(4096))
        ok(rt.infinirtMemcpy(gpu, cpu, 4096, rt.infinirtMemcpyKind.infinirtMemcpyDefault))
        back = bytearray(4096)
        ok(rt.infinirtMemcpy(back, gpu, 4096, rt.infinirtMemcpyKind.infinirtMemcpyDeviceToHost))
        print(back == bytes([7]) * 4096)
        """,
        INFINIRT_CPU_MEMORY="isolated",
    )
    assert out == "True\n"


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("call", ["sync", "async"])
def test_pageable_memory_of_any_size(size: int, call: str) -> None:
    """Large copies are staged in chunks by several threads."""
    with using("nvidia"):
        gpu, stream = ok(rt.infinirtMalloc(size)), ok(rt.infinirtStreamCreateWithFlags(1))
        source = ctypes.create_string_buffer(pattern(size)[:size], size)
        back = host(size)
        if call == "sync":
            ok(rt.infinirtMemcpy(gpu, source, size, Kind.infinirtMemcpyHostToDevice))
            ctypes.memset(source, 0, size)  # it may be reused at once
            ok(rt.infinirtMemcpy(back, gpu, size, Kind.infinirtMemcpyDeviceToHost))
        else:
            ok(rt.infinirtMemcpyAsync(gpu, source, size, Kind.infinirtMemcpyHostToDevice, stream))
            ok(rt.infinirtMemcpyAsync(back, gpu, size, Kind.infinirtMemcpyDeviceToHost, stream))
            ok(rt.infinirtStreamSynchronize(stream))
        check_same(back.raw, pattern(size)[:size])
        ok(rt.infinirtStreamDestroy(stream))
        ok(rt.infinirtFree(gpu))


def test_several_threads_copy_pageable_memory_at_once() -> None:
    size, problems = 9 << 20, []

    def work(seed: int) -> None:
        ok(rt.infinirtXSetDeviceType("nvidia"))
        gpu, stream = ok(rt.infinirtMalloc(size)), ok(rt.infinirtStreamCreateWithFlags(1))
        data, back = pattern(size, seed)[:size], host(size)
        for _ in range(3):
            ok(rt.infinirtMemcpyAsync(gpu, data, size, Kind.infinirtMemcpyHostToDevice, stream))
            ok(rt.infinirtMemcpyAsync(back, gpu, size, Kind.infinirtMemcpyDeviceToHost, stream))
            ok(rt.infinirtStreamSynchronize(stream))
            if back.raw != data:
                problems.append(seed)
        ok(rt.infinirtFree(gpu))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


# ---- Events -------------------------------------------------------------------------------------------------------------


def test_a_gpu_waits_for_the_cpu() -> None:
    gate, pair = threading.Event(), Pair(4096)
    with using("cpu"):
        event = ok(rt.infinirtEventCreateWithFlags(2))
    pair.set_cpu(bytes(4096))
    ok(rt.infinirtLaunchHostFunc(pair.cpu_stream, lambda _: gate.wait(60), None))
    ok(rt.infinirtMemsetAsync(pair.cpu, 5, 4096, pair.cpu_stream))
    ok(rt.infinirtEventRecord(event, pair.cpu_stream))
    ok(rt.infinirtStreamWaitEvent(pair.gpu_stream, event, 0))
    with using("nvidia"):
        done = ok(rt.infinirtEventCreateWithFlags(2))
        ok(rt.infinirtEventRecord(done, pair.gpu_stream))
    assert int(rt.infinirtEventQuery(done)[0]) == 600
    # A later record does not move what is waited for.
    ok(rt.infinirtEventRecord(event, pair.cpu_stream))
    gate.set()
    ok(rt.infinirtStreamSynchronize(pair.gpu_stream))
    ok(rt.infinirtMemcpyAsync(pair.gpu, pair.cpu, 4096, Kind.infinirtMemcpyDefault, pair.gpu_stream))
    ok(rt.infinirtStreamSynchronize(pair.gpu_stream))
    check_same(pair.get("nvidia"), b"\5" * 4096)
    ok(rt.infinirtEventDestroy(event))
    ok(rt.infinirtEventDestroy(done))
    pair.close()


def wait_first(cpu_stream: object, event: object, gpu_stream: object) -> None:
    """A first wait makes streams in the driver, which may take until the GPU has nothing to do."""
    ok(rt.infinirtEventRecord(event, gpu_stream))
    ok(rt.infinirtStreamWaitEvent(cpu_stream, event, 0))
    ok(rt.infinirtStreamSynchronize(cpu_stream))


def test_the_cpu_waits_for_a_gpu() -> None:
    """Two hops: the GPU waits for the CPU, and another stream of the CPU for the GPU."""
    gate, order, pair = threading.Event(), [], Pair(64)
    with using("cpu"):
        first, last = ok(rt.infinirtEventCreateWithFlags(2)), ok(rt.infinirtStreamCreateWithFlags(1))
    with using("nvidia"):
        middle = ok(rt.infinirtEventCreateWithFlags(2))
    wait_first(last, middle, pair.gpu_stream)
    ok(rt.infinirtLaunchHostFunc(pair.cpu_stream, lambda _: (gate.wait(60), order.append("first")), None))
    ok(rt.infinirtEventRecord(first, pair.cpu_stream))
    ok(rt.infinirtStreamWaitEvent(pair.gpu_stream, first, 0))
    ok(rt.infinirtEventRecord(middle, pair.gpu_stream))
    ok(rt.infinirtStreamWaitEvent(last, middle, 0))
    ok(rt.infinirtLaunchHostFunc(last, lambda _: order.append("last"), None))
    assert int(rt.infinirtStreamQuery(last)[0]) == 600
    gate.set()
    ok(rt.infinirtStreamSynchronize(last))
    assert order == ["first", "last"]
    ok(rt.infinirtStreamDestroy(last))
    pair.close()


def test_many_waits_reuse_their_words() -> None:
    pair = Pair(64)
    with using("cpu"):
        event = ok(rt.infinirtEventCreateWithFlags(2))
    for _ in range(500):
        ok(rt.infinirtLaunchHostFunc(pair.cpu_stream, lambda _: None, None))
        ok(rt.infinirtEventRecord(event, pair.cpu_stream))
        ok(rt.infinirtStreamWaitEvent(pair.gpu_stream, event, 0))
    ok(rt.infinirtStreamSynchronize(pair.gpu_stream))
    pair.close()


def test_waits_for_a_gpu_do_not_wait_for_each_other() -> None:
    """The second wait is over while the first one is not, and what was used for one is used again for the next."""
    gate, order, pair = threading.Event(), [], Pair(64)
    with using("cpu"):
        closed, streams = (
            ok(rt.infinirtEventCreateWithFlags(2)),
            [ok(rt.infinirtStreamCreate()) for _ in range(2)],
        )
    with using("nvidia"):
        late, early = (ok(rt.infinirtEventCreateWithFlags(2)) for _ in range(2))
        other = ok(rt.infinirtStreamCreateWithFlags(1))
    for stream in streams:
        wait_first(stream, early, other)
    for turn in range(20):
        gate.clear()
        ok(rt.infinirtLaunchHostFunc(pair.cpu_stream, lambda _: gate.wait(5), None))
        ok(rt.infinirtEventRecord(closed, pair.cpu_stream))
        ok(rt.infinirtStreamWaitEvent(pair.gpu_stream, closed, 0))
        ok(rt.infinirtEventRecord(late, pair.gpu_stream))
        ok(rt.infinirtEventRecord(early, other))
        for stream, event, name in ((streams[0], late, "late"), (streams[1], early, "early")):
            ok(rt.infinirtStreamWaitEvent(stream, event, 0))
            ok(rt.infinirtLaunchHostFunc(stream, lambda name: order.append((turn, name)), name))  # noqa: B023
        ok(rt.infinirtStreamSynchronize(streams[1]))
        assert order[-1] == (turn, "early")
        gate.set()
        ok(rt.infinirtStreamSynchronize(streams[0]))
    assert order == [(turn, name) for turn in range(20) for name in ("early", "late")]
    ok(rt.infinirtStreamDestroy(other))
    for stream in streams:
        ok(rt.infinirtStreamDestroy(stream))
    pair.close()


def test_what_is_dropped_on_a_thread_of_another_type_breaks_no_capture() -> None:
    """Destructors relax the mode of the type that the object is of, not of the one that happens to be current."""
    import infinirt

    device = infinirt.Device("nvidia")
    pool = infinirt.MemoryPool(device)
    with using("nvidia"):
        stream = ok(rt.infinirtStreamCreateWithFlags(1))
        ok(
            rt.infinirtStreamBeginCapture(
                stream, rt.infinirtStreamCaptureMode.infinirtStreamCaptureModeGlobal
            )
        )
    with using("cpu"):
        del pool
    with using("nvidia"):
        graph = ok(rt.infinirtStreamEndCapture(stream))
        assert int(graph) != 0
        ok(rt.infinirtGraphDestroy(graph))
        ok(rt.infinirtStreamDestroy(stream))


WAITING_COPY = """
import sys, threading
sys.path.insert(0, {folder!r})
from test_cross import Kind, Pair, check_same, ok, rt, using
gate, pair = threading.Event(), Pair(1 << 16)
with using("cpu"):
    event = ok(rt.infinirtEventCreateWithFlags(2))
pair.set_cpu(bytes(1 << 16))
ok(rt.infinirtMemsetAsync(pair.gpu, 7, 1 << 16, pair.gpu_stream))
ok(rt.infinirtLaunchHostFunc(pair.cpu_stream, lambda _: gate.wait(60), None))
ok(rt.infinirtEventRecord(event, pair.cpu_stream))
ok(rt.infinirtStreamWaitEvent(pair.gpu_stream, event, 0))
threading.Timer(0.2, gate.set).start()
ok(rt.infinirtMemcpyAsync(pair.cpu, pair.gpu, 1 << 16, Kind.infinirtMemcpyDeviceToDevice, pair.gpu_stream))
ok(rt.infinirtStreamSynchronize(pair.gpu_stream))
check_same(pair.get("cpu"), bytes([7]) * (1 << 16))
print("copied")
"""


def test_a_copy_that_waits_lets_other_threads_run() -> None:
    """Memory of the CPU device is pageable to a GPU, whatever the kind says: the call waits, and must not hold the
    interpreter's lock meanwhile. In a process of its own: it would wait for ever."""
    assert run_python(WAITING_COPY.format(folder=str(Path(__file__).parent))) == "copied\n"


def wait_inside_the_driver() -> None:
    """Calls that wait for the GPU there, or may."""
    with using("nvidia"):
        more, stream = ok(rt.infinirtMalloc(64 << 20)), ok(rt.infinirtStreamCreateWithFlags(1))
        ok(rt.infinirtFree(more))
        ok(rt.infinirtStreamDestroy(stream))
        ok(rt.infinirtDeviceSynchronize())


CROSSING = """
import sys
sys.path.insert(0, {folder!r})
from test_cross import Kind, Pair, check_same, ok, rt, using, wait_inside_the_driver
pair = Pair(1 << 15)
with using("cpu"):
    copied = ok(rt.infinirtEventCreateWithFlags(2))
with using("nvidia"):
    large, filled = ok(rt.infinirtMalloc(1 << 30)), ok(rt.infinirtEventCreateWithFlags(2))
pair.set_cpu(bytes([9]) * (1 << 15))
for turn in range(20):
    # The GPU works; the CPU waits for that and copies to the GPU, which waits for the copy.
    for _ in range(8):
        ok(rt.infinirtMemsetAsync(large, turn, 1 << 30, pair.gpu_stream))
    ok(rt.infinirtEventRecord(filled, pair.gpu_stream))
    ok(rt.infinirtStreamWaitEvent(pair.cpu_stream, filled, 0))
    ok(rt.infinirtMemcpyAsync(pair.gpu, pair.cpu, 1 << 15, Kind.infinirtMemcpyDefault, pair.cpu_stream))
    ok(rt.infinirtEventRecord(copied, pair.cpu_stream))
    ok(rt.infinirtStreamWaitEvent(pair.gpu_stream, copied, 0))
    wait_inside_the_driver()
check_same(pair.get("nvidia"), bytes([9]) * (1 << 15))
print("crossed")
"""


def test_calls_that_wait_for_the_gpu_do_not_stop_a_copy_that_the_gpu_waits_for() -> None:
    """In a process of its own: it would wait for ever."""
    assert run_python(CROSSING.format(folder=str(Path(__file__).parent))) == "crossed\n"


SETTING = """
import sys
sys.path.insert(0, {folder!r})
from test_cross import Kind, Pair, check_same, ok, rt, using, wait_inside_the_driver
pair = Pair(1 << 15)
with using("cpu"):
    written = ok(rt.infinirtEventCreateWithFlags(2))
with using("nvidia"):
    large, filled = ok(rt.infinirtMalloc(1 << 30)), ok(rt.infinirtEventCreateWithFlags(2))
    behind = ok(rt.infinirtStreamCreateWithFlags(1))
was_behind = 0
for turn in range(20):
    # The GPU works; the CPU waits for that and writes its own memory; another stream of the GPU waits for that, and nobody on the host does.
    for _ in range(8):
        ok(rt.infinirtMemsetAsync(large, turn, 1 << 30, pair.gpu_stream))
    ok(rt.infinirtEventRecord(filled, pair.gpu_stream))
    ok(rt.infinirtStreamWaitEvent(pair.cpu_stream, filled, 0))
    ok(rt.infinirtMemsetAsync(pair.cpu, turn, 1 << 15, pair.cpu_stream))
    ok(rt.infinirtEventRecord(written, pair.cpu_stream))
    ok(rt.infinirtStreamWaitEvent(behind, written, 0))
    was_behind += int(rt.infinirtStreamQuery(behind)[0]) == 600
    wait_inside_the_driver()
    check_same(pair.get("cpu"), bytes([turn]) * (1 << 15))
# Not in every turn, where the host is slow.
assert was_behind > 0
print("set")
"""


def test_calls_that_wait_for_the_gpu_do_not_stop_a_thread_that_waits_for_it_and_is_waited_for() -> None:
    assert run_python(SETTING.format(folder=str(Path(__file__).parent))) == "set\n"


PYTHON_FUNCTION = """
import threading, time
import infinirt
cpu, gpu = infinirt.Device("cpu"), infinirt.Device("nvidia")
ours, theirs = cpu.create_stream(), gpu.create_stream()
done = []
ours.launch_host_func(lambda: (time.sleep(0.2), done.append(1)))
theirs.wait(ours.record())
gpu.create_stream().close()  # may wait for the GPU, which waits for the function, which waits for the interpreter
gpu.sync()
assert done == [1]
print("called")
"""


def test_a_python_function_that_a_gpu_waits_for_gets_the_interpreter() -> None:
    assert run_python(PYTHON_FUNCTION) == "called\n"


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_waits_across_types_leave_a_capture_alone(mode: str) -> None:
    import infinirt

    cpu, gpu = infinirt.Device("cpu"), infinirt.Device("nvidia")
    captured, working = gpu.create_stream(), gpu.create_stream()
    ours = [cpu.create_stream() for _ in range(3)]
    memory = gpu.allocate(4096, stream=captured)
    gate = threading.Event()
    with infinirt.capture(captured, mode=mode) as graph:
        memory.fill(3, stream=captured)
        for stream in ours:  # the first wait makes a stream in the driver, which may wait for the GPU
            stream.wait(working.record())
        for stream in 25 * ours:  # more than one page of words
            stream.wait(working.record())
            stream.launch_host_func(gate.wait, 1)
            working.wait(stream.record())
    gate.set()
    cpu.sync()
    working.sync()
    graph.graph.instantiate().launch(captured)
    captured.sync()
    back = bytearray(4096)
    memory.copy_to(back, stream=captured)
    captured.sync()
    assert set(back) == {3}


def test_a_wait_for_what_a_capture_recorded_is_an_error() -> None:
    import infinirt

    captured, ours = infinirt.Device("nvidia").create_stream(), infinirt.Device("cpu").create_stream()
    other = infinirt.Device("nvidia").create_stream()
    refused = False
    with suppress(infinirt.InfiniRTError), infinirt.capture(captured):  # it may not end well
        event = captured.record()
        with pytest.raises(infinirt.InfiniRTError, match="captures"):
            ours.wait(event)
        refused = True
    assert refused
    ours.wait(other.record())  # another lane
    ours.sync()


KEPT = """
import threading
import infinirt
cpu, gpu = infinirt.Device("cpu"), infinirt.Device("nvidia")
ours, theirs, done = cpu.create_stream(), gpu.create_stream(), gpu.create_stream()
first, second = done.record(), done.record()
done.sync()
ours.wait(first)
ours.sync()
flag, kept = threading.Event(), []
theirs.launch_host_func(lambda: kept.append(flag.wait(20)))  # keeps the driver's thread
ours.wait(first)
ours.wait(second)
ours.launch_host_func(flag.set)
ours.sync()
theirs.sync()
print("not kept" if kept == [True] else "kept")
"""


def test_waits_do_not_need_the_thread_that_calls_host_functions() -> None:
    assert run_python(KEPT) == "not kept\n"


def test_hundreds_of_waits_of_one_stream_are_under_way() -> None:
    import infinirt

    cpu, gpu = infinirt.Device("cpu"), infinirt.Device("nvidia")
    ours, theirs = cpu.create_stream(), gpu.create_stream()
    gate = threading.Event()
    order: list[int] = []
    threading.Timer(0.2, gate.set).start()
    for turn in range(300):
        ours.wait(theirs.record())
        ours.launch_host_func(lambda turn=turn: (gate.wait(10), order.append(turn)))
        theirs.wait(ours.record())
    theirs.sync()
    assert order == list(range(300))


MOVING = """
import gc
import numpy as np
import infinicore, infinirt
infinicore.set_device("nvidia")
large = infinicore.zeros([1 << 28])
kept = infinicore.from_numpy(np.arange(8192, dtype=np.int32)).to("nvidia")
gc.collect()
place = kept._place
before = place.pool.statistics.live_blocks
for turn in range(50):
    large += 1
    kept = infinicore.from_numpy(np.arange(8192, dtype=np.int32) + turn).to("nvidia")
    infinirt.Device("nvidia").create_stream().close()
    back = (kept + 1).to("cpu").numpy()
    assert np.array_equal(back, np.arange(8192, dtype=np.int32) + turn + 1)
del back
gc.collect()
place.sync()
assert place.pool.statistics.live_blocks == before, (before, place.pool.statistics)
print("moved")
"""


def test_tensors_go_to_the_gpu_and_back_and_leave_nothing() -> None:
    assert run_python(MOVING) == "moved\n"


def test_handles_of_the_other_type_are_refused() -> None:
    pair = Pair(64)
    with using("cpu"):
        cpu_event = ok(rt.infinirtEventCreate())
    with using("nvidia"):
        graph = ok(rt.infinirtGraphCreate(0))
        executable = ok(rt.infinirtGraphInstantiate(graph, 0))
    assert "another device type" in fails(rt.infinirtEventRecord(cpu_event, pair.gpu_stream), 400)
    assert "another device type" in fails(
        rt.infinirtStreamCopyAttributes(pair.gpu_stream, pair.cpu_stream), 400
    )
    assert int(rt.infinirtGraphLaunch(executable, pair.cpu_stream)[0]) in (1, 400)
    rt.infinirtGetLastError()
    ok(rt.infinirtGraphExecDestroy(executable))
    ok(rt.infinirtGraphDestroy(graph))
    pair.close()
