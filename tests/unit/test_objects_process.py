"""The object API in a process of its own: import, exit, schedules, free frees."""

from __future__ import annotations

from pathlib import Path

import pytest
from objects_support import run_python

from vendor_files import settings

PROGRAM = """
import gc, threading
import infinirt

device = infinirt.Device()
first, second = device.create_stream(), device.create_stream(nonblocking=False)
pool = infinirt.MemoryPool(device)
for round in range(20):
    a = pool.allocate(4096, stream=first)
    b = pool.allocate(4096, stream=second)
    a.fill(round, stream=first)
    second.wait(first)
    a.copy_to(b, stream=second)
    del a
    out = bytearray(4096)
    b.copy_to(out, stream=second)
    second.sync()
    assert out == bytes([round]) * 4096, round
out2 = infinirt.PinnedPool(device).allocate(4096, stream=second)
with infinirt.capture(second) as captured:
    b.fill(77, stream=second)
    b.copy_to(out2, stream=second)
ready = captured.graph.instantiate()
del b
ready.launch(second)
second.sync()
assert bytes(out2) == bytes([77]) * 4096
del ready, captured, out2
gc.collect()
device.sync()
assert pool.attributes.used_mem_current == 0, pool.attributes
print("ok")
"""


@pytest.mark.parametrize(
    "environment",
    [
        {"INFINIRT_CPU_SCHEDULE": "inline"},
        {"INFINIRT_CPU_SCHEDULE": "random:1"},
        {"INFINIRT_CPU_SCHEDULE": "random:2"},
        {"INFINIRT_CPU_MEMORY": "isolated"},
        {"INFINIRT_CPU_MIN": "1", "INFINIRT_DEVICE": "cpu-min"},
        {"INFINIRT_PYTHON_PER_THREAD_DEFAULT_STREAM": "1"},
    ],
    ids=str,
)
def test_a_program_on_every_kind_of_cpu_device(environment: dict[str, str]) -> None:
    assert run_python(PROGRAM, **{"INFINIRT_DEVICE": "cpu", **environment}).strip() == "ok"


NAMED = """
import gc, threading
import numpy as np
import infiniccl, infinicore, infinirt, infinirt.runtime

def work():
    device = infinirt.Device("cpu:0")
    stream = device.create_stream()
    buffer = device.allocate(4096, stream=stream)
    buffer.copy_from(np.zeros(4096, np.uint8), stream=stream)
    buffer.fill(7, stream=stream)
    stream.record().sync()
    with infinirt.capture(stream) as recording:
        buffer.fill(8, stream=stream)
    recording.graph.instantiate().launch(stream)
    stream.sync()
    assert bytes(buffer[:2]) == bytes([8, 8])
    for resource in (infinirt.DirectResource, infinirt.PinnedPool, infinirt.CachingPool, infinirt.MemoryPool):
        resource(device).allocate(64).close()
    infinirt.runtime.infinirtStreamSynchronize(stream.handle)
    event = stream.record()
    infinirt.runtime.infinirtEventSynchronize(event.handle)
    infinirt.as_buffer(np.zeros(8, np.uint8))
    (only,) = infiniccl.init_all([device])
    only.close()
    x = infinicore.from_numpy(np.ones(4, np.float32))
    assert (x + x).tolist() == [2.0] * 4
    gc.collect()

work()
other = threading.Thread(target=work)
other.start()
other.join()
"""


def test_cpu_devices_by_name_start_no_driver(tmp_path: Path) -> None:
    """On threads that have chosen none: what would be chosen is an accelerator, and it is not looked for before it is wanted."""
    program = (
        NAMED
        + """
vendor = "libamdhip64" in open("/proc/self/maps").read()
print(vendor, infinirt.Device().type, "libamdhip64" in open("/proc/self/maps").read())
"""
    )
    assert run_python(program, INFINIRT_DEVICE="", **settings(tmp_path, "amd")).split() == [
        "False",
        "amd",
        "True",
    ]


def test_devices_by_name_whatever_the_environment_chooses() -> None:
    program = (
        NAMED
        + """
try:
    infinirt.Device()
except infinirt.InvalidDeviceError as error:
    print("INFINIRT_DEVICE=nothing names no device type" in str(error))
"""
    )
    assert run_python(program, INFINIRT_DEVICE="nothing").split() == ["True"]


def test_importing_is_light() -> None:
    out = run_python(
        """
        import sys, threading
        before = set(sys.modules)
        import infinirt
        heavy = {"numpy", "ml_dtypes", "rich", "typer", "ctypes", "typing", "dataclasses", "inspect", "asyncio",
                 "importlib.metadata", "infinirt.tools", "infinirt.runtime", "infinirt._runtime"}
        print(sorted(heavy & (set(sys.modules) - before)))
        tasks = open("/proc/self/status").read().split("Threads:")[1].split()[0]
        print(tasks)
        infinirt.runtime.infinirtGetDevice()
        print(infinirt.IsStreamType.__name__, "__version__" in dir(infinirt), bool(infinirt.__version__))
        try:
            infinirt.no_such_name
        except AttributeError as error:
            print(error)
        """
    )
    assert out.splitlines() == [
        "[]",
        "1",
        "IsStreamType True True",
        "module 'infinirt' has no attribute 'no_such_name'",
    ]


@pytest.mark.parametrize(
    "end",
    [
        "pass",
        "gate.set()",
        "import os; os._exit(0)",
        "raise SystemExit(0)",
        "del stream, buffer, ready",
    ],
)
def test_exit_with_work_pending(end: str) -> None:
    """Pending Python functions, graphs and buffers at the end of the interpreter: it ends, cleanly and soon."""
    run_python(
        f"""
        import threading, infinirt
        device = infinirt.Device("cpu")
        stream = device.create_stream()
        gate = threading.Event()
        stream.launch_host_func(gate.wait, 1)
        for number in range(100):
            stream.launch_host_func(lambda: None)
        buffer = device.allocate(1000, stream=stream)
        buffer.fill(1, stream=stream)
        graph = infinirt.Graph()
        graph.add_host(lambda: None)
        ready = graph.instantiate()
        ready.launch(stream)
        {end}
        """
    )


def test_exit_with_a_host_function_that_never_ends() -> None:
    out = run_python(
        """
        import threading, time, infinirt
        stream = infinirt.Device("cpu").create_stream()
        stream.launch_host_func(threading.Event().wait)
        stream.launch_host_func(print, "never")
        print("end")
        """
    )
    assert out == "end\n"


def test_destructors_on_threads_of_the_runtime() -> None:
    """The last reference to a buffer goes inside a host function: its memory comes back with the next call."""
    out = run_python(
        """
        import infinirt
        from infinirt import _core
        device = infinirt.Device("cpu")
        stream = device.create_stream()
        pool = infinirt.MemoryPool(device)
        tracked = infinirt.TrackingResource(infinirt.DirectResource(device))
        holder = [pool.allocate(100, stream=stream), tracked.allocate(50, stream=stream), device.create_stream(),
                  infinirt.Graph(), infinirt.MemoryPool(device)]
        def clear():
            holder.clear()
            print(_core.deferred_count())
        stream.launch_host_func(clear)
        stream.sync()
        stream.query()
        print(_core.deferred_count(), pool.attributes.used_mem_current, tracked.current_bytes)
        """,
        INFINIRT_DEVICE="cpu",
    )
    assert out.splitlines() == ["5", "0 0 0"]


def test_fork() -> None:
    run_python(
        """
        import os, infinirt
        device = infinirt.Device("cpu")
        stream = device.create_stream()
        buffer = device.allocate(8, stream=stream)
        buffer.fill(3, stream=stream)
        stream.sync()
        child = os.fork()
        if child == 0:
            buffer.fill(4, stream=stream)
            stream.sync()
            os._exit(0 if bytes(buffer) == bytes([4]) * 8 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert bytes(buffer) == bytes([3]) * 8
        """,
        INFINIRT_DEVICE="cpu",
    )


def test_buffers_survive_a_reset_of_their_device() -> None:
    """Stream-ordered memory is not reset; its stream is, and the free must find another way."""
    run_python(
        """
        import infinirt
        device = infinirt.Device("cpu")
        stream = device.create_stream()
        pool = infinirt.MemoryPool(device)
        buffers = [pool.allocate(100, stream=stream), pool.allocate(100, stream=device.create_stream())]
        device.reset()
        buffers.clear()
        device.sync()
        assert pool.attributes.used_mem_current == 0, pool.attributes
        try:
            stream.query()
        except infinirt.InvalidHandleError:
            pass
        else:
            raise AssertionError("the stream is gone")
        """,
        INFINIRT_DEVICE="cpu",
    )


def test_nothing_leaks() -> None:
    """Each operation many times: neither Python objects nor device memory nor process memory may grow with the count."""
    run_python(
        """
        import gc, sys
        import infinirt
        device = infinirt.Device("cpu")
        stream, other = device.create_stream(), device.create_stream()
        pool = infinirt.MemoryPool(device)
        pinned = infinirt.PinnedPool(device)
        event = device.create_event()

        class Foreign:
            def __cuda_stream__(self):
                return 0, other.handle

        foreign = Foreign()
        long_lived = pool.allocate(64, stream=stream)

        def everything():
            buffer = pool.allocate(64, stream=stream)
            buffer.fill(1, stream=stream)
            buffer.fill(b"ab", stream=foreign)
            long_lived.fill(1, stream=foreign)
            stream.wait(other)
            copy = buffer.copy_to(stream=stream)
            host = pinned.allocate(64, stream=stream)
            copy.copy_to(host, stream=stream)
            memoryview(host).release()
            buffer.__dlpack__()
            infinirt.from_dlpack(host)
            stream.record(event); stream.record().sync(); event.is_done; stream.query()
            stream.launch_host_func(len, "x")
            with infinirt.capture(stream) as captured:
                copy.fill(2, stream=stream)
            ready = captured.graph.instantiate()
            ready.launch(stream)
            graph = infinirt.Graph()
            graph.add_host(len, "y", dependencies=[graph.add_fill(copy, 3)])
            graph.instantiate().launch(stream)
            for wrong in (lambda: pool.allocate(-1), lambda: buffer.fill(999), lambda: infinirt.Device("x")):
                try:
                    wrong()
                except (ValueError, infinirt.InfiniRTError):
                    pass
            device.create_stream(); device.create_event()
            stream.sync(); other.sync()

        def blocks():
            gc.collect()
            stream.sync()
            return sys.getallocatedblocks()

        # Tables keyed by address fill up for a while (how long depends on the addresses the system gives); a leak grows
        # in every round, by a block per turn or more.
        growth = []
        for round in range(60):
            before = blocks()
            for _ in range(100):
                everything()
            growth.append(blocks() - before)
            if growth[-1] < 20:
                break
        assert growth[-1] < 20, growth
        device.sync(); stream.query()
        assert pool.attributes.used_mem_current <= 512, pool.attributes
        """,
        INFINIRT_DEVICE="cpu",
    )
