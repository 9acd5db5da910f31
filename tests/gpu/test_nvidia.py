"""What this runtime adds around NVIDIA's own: messages, destroyed handles, attribution of errors, forks."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from gpu_support import Kind, fails, ok, run_python, using

from infinirt import runtime as rt

pytestmark = pytest.mark.gpu

PRELUDE = """
import os, sys
from infinirt import runtime as rt
def ok(r):
    assert int(r[0]) == 0, (r, rt.infinirtXGetLastErrorMessage())
    return None if len(r) == 1 else r[1] if len(r) == 2 else r[1:]
"""


def test_every_function_of_the_table_is_native() -> None:
    with using("nvidia"):
        names = [name for name in dir(rt) if name.startswith("infinirt") and not name.startswith("infinirtX")]
        functions = [
            name for name in names if callable(getattr(rt, name)) and not isinstance(getattr(rt, name), type)
        ]
        support = {name: rt.infinirtXGetSupport("nvidia", name) for name in functions}
        known = {name: int(value[1]) for name, value in support.items() if int(value[0]) == 0}
    assert len(known) > 200
    assert {name for name, value in known.items() if value != 2} == set()


def test_destroyed_handles_are_errors() -> None:
    with using("nvidia"):
        stream, event = ok(rt.infinirtStreamCreate()), ok(rt.infinirtEventCreate())
        ok(rt.infinirtStreamDestroy(stream))
        ok(rt.infinirtEventDestroy(event))
        config = rt.infinirtLaunchConfig_t()
        config.stream = stream
        calls: list[Callable[[], Any]] = [
            lambda: rt.infinirtStreamQuery(stream),
            lambda: rt.infinirtStreamSynchronize(stream),
            lambda: rt.infinirtStreamDestroy(stream),
            lambda: rt.infinirtEventRecord(event, 0),
            lambda: rt.infinirtEventQuery(event),
            lambda: rt.infinirtEventDestroy(event),
            lambda: rt.infinirtMemsetAsync(0, 0, 0, stream),
            lambda: rt.infinirtLaunchKernelExC(config, 0, 0),
        ]
        for call in calls:
            assert "was destroyed already" in fails(call(), 400)
        # Addresses are used again, and a new handle is a good one.
        for _ in range(50):
            new = ok(rt.infinirtStreamCreate())
            ok(rt.infinirtStreamSynchronize(new))
            ok(rt.infinirtStreamDestroy(new))


@pytest.mark.peer("cuda-bindings")
def test_pools_destroyed_with_live_memory_endanger_no_others() -> None:
    """NVIDIA's driver crashes here when it is left to end such pools by itself; what is wrong then ends the process."""
    code = (
        PRELUDE
        + """
import ctypes, threading
rt.infinirtXSetDeviceType("nvidia")
def new_pool():
    properties = rt.infinirtMemPoolProps()
    properties.allocType = rt.infinirtMemAllocationType.infinirtMemAllocationTypePinned
    properties.location.type = rt.infinirtMemLocationType.infinirtMemLocationTypeDevice
    return ok(rt.infinirtMemPoolCreate(properties))
streams, standard = [], ok(rt.infinirtDeviceGetDefaultMemPool(0))
for _ in range(40):
    stream, pool, go = ok(rt.infinirtStreamCreateWithFlags(1)), new_pool(), threading.Event()
    streams.append(stream)
    ok(rt.infinirtDeviceSetMemPool(0, pool))
    hold = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: go.wait(60))
    ok(rt.infinirtLaunchHostFunc(stream, ctypes.cast(hold, ctypes.c_void_p).value, 0))
    pointer = ok(rt.infinirtMallocFromPoolAsync(4096, pool, stream))
    ok(rt.infinirtMemPoolDestroy(pool))
    assert int(rt.infinirtMemPoolDestroy(pool)[0]) == 1
    assert int(rt.infinirtMallocFromPoolAsync(4096, pool, stream)[0]) == 1
    assert int(ok(rt.infinirtDeviceGetMemPool(0))) == int(standard)
    ok(rt.infinirtMemsetAsync(pointer, 7, 4096, stream))
    ok(rt.infinirtFreeAsync(pointer, stream))
    go.set()
    ok(rt.infinirtDeviceSynchronize())
    ok(rt.infinirtMemPoolDestroy(new_pool()))
print("lived")
"""
    )
    assert "lived" in run_python(code)


def test_streams_of_others_may_have_the_addresses_of_destroyed_ones() -> None:
    """The driver gives an address to whoever creates the next stream; none of those may be taken for a destroyed one of ours."""
    from cuda.bindings import runtime as cuda

    with using("nvidia"):
        for _ in range(100):  # more than are kept
            ours = [ok(rt.infinirtStreamCreate()) for _ in range(3)]
            events = [ok(rt.infinirtEventCreate()) for _ in range(9)]
            for stream in ours:
                ok(rt.infinirtStreamDestroy(stream))
            for event in events:
                ok(rt.infinirtEventDestroy(event))
            theirs = [cuda.cudaStreamCreate()[1] for _ in range(3)]
            marks = [cuda.cudaEventCreate()[1] for _ in range(9)]
            for stream in theirs:
                ok(rt.infinirtStreamSynchronize(int(stream)))
                for mark in marks:
                    ok(rt.infinirtEventRecord(int(mark), int(stream)))
            for stream in theirs:
                assert int(cuda.cudaStreamDestroy(stream)[0]) == 0
            for mark in marks:
                ok(rt.infinirtEventSynchronize(int(mark)))
                assert int(cuda.cudaEventDestroy(mark)[0]) == 0


def test_a_thread_that_never_called_before() -> None:
    """It has no context of the driver; the first call makes it one, whichever it is."""
    with using("nvidia"):
        stream, event = ok(rt.infinirtStreamCreate()), ok(rt.infinirtEventCreate())
        buffer = ok(rt.infinirtMalloc(4096))

    def allocate() -> None:
        ok(rt.infinirtFreeAsync(ok(rt.infinirtMallocAsync(4096, stream)), stream))

    calls: list[Callable[[], Any]] = [
        lambda: ok(rt.infinirtStreamQuery(stream)),
        lambda: ok(rt.infinirtStreamSynchronize(stream)),
        lambda: ok(rt.infinirtEventRecord(event, stream)),
        lambda: ok(rt.infinirtEventSynchronize(event)),
        lambda: ok(rt.infinirtStreamWaitEvent(stream, event, 0)),
        lambda: ok(rt.infinirtMemsetAsync(buffer, 0, 4096, stream)),
        lambda: ok(
            rt.infinirtMemcpyAsync(buffer, buffer + 2048, 2048, Kind.infinirtMemcpyDeviceToDevice, stream)
        ),
        lambda: ok(rt.infinirtSetDevice(0)),
        allocate,
    ]
    failures: list[BaseException] = []

    def first(call: Callable[[], Any]) -> None:
        try:
            ok(rt.infinirtXSetDeviceType("nvidia"))
            call()
        except BaseException as error:
            failures.append(error)

    for call in calls:
        thread = threading.Thread(target=first, args=(call,))
        thread.start()
        thread.join()
    assert not failures, failures
    with using("nvidia"):
        ok(rt.infinirtStreamDestroy(stream))
        ok(rt.infinirtEventDestroy(event))
        ok(rt.infinirtFree(buffer))


def test_messages_name_function_and_arguments() -> None:
    with using("nvidia"):
        pointer = ok(rt.infinirtMalloc(64))
        text = fails(rt.infinirtMemcpy(pointer, pointer, 1 << 40, Kind.infinirtMemcpyDeviceToDevice), 1)
        assert text.startswith("infinirtMemcpy: ")
        assert "count 1099511627776" in text
        assert f"{int(pointer):x}" in text
        ok(rt.infinirtFree(pointer))


def test_the_real_librarys_last_error_is_left_clean() -> None:
    """Other users of the library in this process must not find our errors."""
    out = run_python(
        PRELUDE
        + """
from cuda.bindings import runtime as cuda
ok(rt.infinirtFree(0))
assert int(rt.infinirtSetDevice(99)[0]) == 101
print(int(cuda.cudaPeekAtLastError()[0]), int(rt.infinirtPeekAtLastError()[0]))
"""
    )
    assert out == "0 101\n"


def test_a_broken_capture_names_the_call_that_broke_it() -> None:
    with using("nvidia"):
        stream = ok(rt.infinirtStreamCreateWithFlags(1))
        ok(
            rt.infinirtStreamBeginCapture(
                stream, rt.infinirtStreamCaptureMode.infinirtStreamCaptureModeGlobal
            )
        )
        fails(rt.infinirtMalloc(64), 900)
        assert "infinirtMalloc" in fails(rt.infinirtStreamEndCapture(stream), 901)
        ok(rt.infinirtStreamDestroy(stream))


@pytest.mark.parametrize(
    ("shape", "function"),
    [("", "infinirtLaunchKernel"), (", cluster=2", "infinirtLaunchKernelExC")],
    ids=["plain", "in clusters"],
)
def test_sticky_errors_are_attributed_and_stay(shape: str, function: str) -> None:
    """A kernel that writes where nothing is. In a process of its own: the device is lost to it afterwards."""
    out = run_python(
        PRELUDE
        + """
from infinirt import Device, LaunchConfig, Program, launch
device = Device("nvidia:0"); device.set_current()
stream = device.create_stream()
kernel = Program('extern "C" __global__ void wild(int* p) { *p = 1; }').compile().get_kernel("wild")
launch(stream, LaunchConfig(grid=2, block=1SHAPE), kernel, 0x10)
first = rt.infinirtStreamSynchronize(int(stream.handle)); print(int(first[0])); print(rt.infinirtXGetLastErrorMessage()[1])
again = rt.infinirtMalloc(64); print(int(again[0])); print(rt.infinirtXGetLastErrorMessage()[1])
sys.stdout.flush(); os._exit(0)
""".replace("SHAPE", shape)
    )
    code, message, again, later = out.strip().split("\n")
    assert code == again == "700"
    assert "last enqueued on this stream" in message
    assert re.search(rf"{function}\b", message)
    assert "cannot be used any more" in later
    assert "infinirtStreamSynchronize reported it first" in later


def test_a_forked_child_is_told() -> None:
    out = run_python(
        PRELUDE
        + """
ok(rt.infinirtFree(0))
child = os.fork()
if child == 0:
    result = rt.infinirtMalloc(64)
    print(int(result[0]), rt.infinirtXGetLastErrorMessage()[1])
    ok(rt.infinirtXSetDeviceType("cpu")); ok(rt.infinirtFree(ok(rt.infinirtMalloc(64))))  # the CPU device works
    print("cpu works"); sys.stdout.flush(); os._exit(0)
os.waitpid(child, 0)
ok(rt.infinirtFree(ok(rt.infinirtMalloc(64))))
print("parent works")
"""
    )
    assert out.split("\n")[0].startswith("3 infinirtMalloc: the process was forked")
    assert "cpu works" in out
    assert out.endswith("parent works\n")


def test_using_the_cpu_never_touches_the_driver() -> None:
    out = run_python(
        """
        import infinirt
        device = infinirt.Device("cpu:0"); device.set_current()
        device.allocate(64).fill(1); device.sync()
        maps = open("/proc/self/maps").read()
        print("libcuda" in maps, "libcudart" in maps)
        """,
        INFINIRT_DEVICE="cpu",
    )
    assert out == "False False\n"


def test_host_functions_own_their_data() -> None:
    seen: list[str] = []
    with using("nvidia"):
        stream = ok(rt.infinirtStreamCreateWithFlags(1))
        ok(
            rt.infinirtXLaunchHostFunc(
                stream, lambda x: seen.append(x), "ran", lambda _: seen.append("dropped")
            )
        )
        ok(rt.infinirtStreamSynchronize(stream))
        assert seen[0] == "ran"
        ok(
            rt.infinirtStreamBeginCapture(
                stream, rt.infinirtStreamCaptureMode.infinirtStreamCaptureModeRelaxed
            )
        )
        ok(rt.infinirtXLaunchHostFunc(stream, lambda x: seen.append(x), "in a graph", None))
        graph = ok(rt.infinirtStreamEndCapture(stream))
        executable = ok(rt.infinirtGraphInstantiate(graph, 0))
        for _ in range(3):
            ok(rt.infinirtGraphLaunch(executable, stream))
        ok(rt.infinirtStreamSynchronize(stream))
        assert seen.count("in a graph") == 3
        ok(rt.infinirtGraphExecDestroy(executable))
        ok(rt.infinirtGraphDestroy(graph))
        ok(rt.infinirtStreamDestroy(stream))


def test_a_host_function_may_not_call_the_api() -> None:
    codes: list[int] = []
    with using("nvidia"):
        stream = ok(rt.infinirtStreamCreateWithFlags(1))
        ok(rt.infinirtLaunchHostFunc(stream, lambda _: codes.append(int(rt.infinirtGetDevice()[0])), None))
        ok(rt.infinirtStreamSynchronize(stream))
        ok(rt.infinirtStreamDestroy(stream))
    assert codes == [800]
