"""How the flat API calls and is called back: Python host functions, the interpreter lock, leaks."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
import timeit
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from flat_support import SUCCESS, ok, python, rt, wait_until

from infinirt.__main__ import installed_root


@pytest.fixture
def stream() -> Iterator[Any]:
    made = ok(rt.infinirtStreamCreate())
    yield made
    ok(rt.infinirtStreamSynchronize(made))
    ok(rt.infinirtStreamDestroy(made))


# ---- Python host functions ----------------------------------------------------------------------------------------------


def test_a_python_function_gets_the_object(stream: Any) -> None:
    calls: list[tuple[object, int]] = []
    token = object()
    ok(rt.infinirtLaunchHostFunc(stream, lambda data: calls.append((data, threading.get_ident())), token))
    ok(rt.infinirtStreamSynchronize(stream))
    ((data, thread),) = calls
    assert data is token
    assert thread != threading.get_ident()


def test_it_may_not_call_the_api(stream: Any) -> None:
    results: list[Any] = []
    ok(rt.infinirtLaunchHostFunc(stream, lambda _: results.append(rt.infinirtGetDevice()), None))
    ok(rt.infinirtStreamSynchronize(stream))
    assert results == [(rt.infinirtError_t.infinirtErrorNotPermitted, None)]


def test_references_are_dropped_when_it_has_run(stream: Any) -> None:
    class Data:
        pass

    data, function = Data(), Data()
    references = weakref.ref(data), weakref.ref(function)
    ok(rt.infinirtLaunchHostFunc(stream, lambda _, keep=function: None, data))
    del data, function
    ok(rt.infinirtStreamSynchronize(stream))
    wait_until(lambda: all(reference() is None for reference in references))


def test_references_are_dropped_when_the_call_fails() -> None:
    class Data:
        pass

    data = Data()
    reference = weakref.ref(data)
    bad = rt.infinirtStream_t(0xDEAD0)
    assert rt.infinirtLaunchHostFunc(bad, print, data)[0] != SUCCESS
    assert rt.infinirtStreamAddCallback(bad, print, data, 0)[0] != SUCCESS
    assert rt.infinirtLaunchHostFunc(None, None, 0)[0] == rt.infinirtError_t.infinirtErrorInvalidValue
    assert rt.infinirtUserObjectCreate(data, print, 0, 77)[0] != SUCCESS
    del data
    wait_until(lambda: reference() is None)


def test_an_exception_goes_to_the_unraisable_hook(stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda info: seen.append((info.exc_type, str(info.exc_value))))

    def fail(_: object) -> None:
        raise KeyError("in a host function")

    ok(rt.infinirtLaunchHostFunc(stream, fail, None))
    ok(rt.infinirtStreamSynchronize(stream))
    assert seen == [(KeyError, "'in a host function'")]
    ok(rt.infinirtStreamQuery(stream))


def test_a_captured_python_function_runs_at_each_launch_and_goes_with_the_graph(stream: Any) -> None:
    calls: list[int] = []

    class Data:
        pass

    data = Data()
    reference = weakref.ref(data)
    ok(rt.infinirtStreamBeginCapture(stream, rt.infinirtStreamCaptureMode.infinirtStreamCaptureModeRelaxed))
    ok(rt.infinirtLaunchHostFunc(stream, lambda _: calls.append(1), data))
    graph = ok(rt.infinirtStreamEndCapture(stream))
    executable = ok(rt.infinirtGraphInstantiate(graph, 0))
    del data
    for _ in range(3):
        ok(rt.infinirtGraphLaunch(executable, stream))
    ok(rt.infinirtStreamSynchronize(stream))
    assert calls == [1, 1, 1]
    assert reference() is not None
    ok(rt.infinirtGraphExecDestroy(executable))
    ok(rt.infinirtGraphDestroy(graph))
    wait_until(lambda: reference() is None)


def test_callbacks_get_objects(stream: Any) -> None:
    calls: list[Any] = []
    ok(rt.infinirtStreamAddCallback(stream, lambda *arguments: calls.append(arguments), "data", 0))
    ok(rt.infinirtStreamSynchronize(stream))
    assert calls == [(stream, SUCCESS, "data")]
    assert isinstance(calls[0][0], rt.infinirtStream_t)


def test_user_objects_with_a_python_destructor() -> None:
    destroyed: list[object] = []
    flag = rt.infinirtUserObjectFlags.infinirtUserObjectNoDestructorSync
    thing = ok(rt.infinirtUserObjectCreate(("any", "object"), destroyed.append, 2, flag))
    ok(rt.infinirtUserObjectRelease(thing, 1))
    assert destroyed == []
    ok(rt.infinirtUserObjectRelease(thing, 1))
    wait_until(lambda: destroyed == [("any", "object")])


def test_destroy_follows_the_function(stream: Any) -> None:
    calls: list[str] = []
    ok(
        rt.infinirtXLaunchHostFunc(
            stream,
            lambda data: calls.append("run " + data),
            "x",
            lambda data: calls.append("destroy " + data),
        )
    )
    ok(rt.infinirtStreamSynchronize(stream))
    wait_until(lambda: calls == ["run x", "destroy x"])
    with pytest.raises(TypeError, match="destroy"):
        rt.infinirtXLaunchHostFunc(stream, print, None, 0x1000)


def test_a_ctypes_function_is_kept_alive(stream: Any) -> None:
    calls: list[int | None] = []
    gate = threading.Event()
    ok(rt.infinirtLaunchHostFunc(stream, lambda _: gate.wait(10), None))
    ok(rt.infinirtLaunchHostFunc(stream, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(calls.append), 42))
    gc.collect()
    gate.set()
    ok(rt.infinirtStreamSynchronize(stream))
    assert calls == [42]


def test_kernels(stream: Any) -> None:
    """A ctypes function as a kernel of the CPU device, once per block, with its arguments."""
    seen: list[tuple[int, int]] = []
    lock = threading.Lock()

    class Block(ctypes.Structure):
        _fields_ = [("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("index", ctypes.c_uint * 3)]

    def record(block: Any, args: Any) -> int:
        with lock:
            seen.append((block[0].index[0], ctypes.c_int.from_address(args[0]).value))
        return 0

    kernel_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Block), ctypes.POINTER(ctypes.c_void_p))
    kernel = kernel_type(record)
    ok(rt.infinirtXRegisterKernel("flat_test", kernel, [4, 8]))
    arguments = ((11, 2.5), (ctypes.c_int, ctypes.c_double))
    ok(rt.infinirtLaunchKernel(kernel, 3, (1, 1), arguments, 0, stream))
    ok(rt.infinirtStreamSynchronize(stream))
    assert sorted(seen) == [(0, 11), (1, 11), (2, 11)]
    address = ctypes.cast(kernel, ctypes.c_void_p).value
    config = rt.infinirtLaunchConfig_t()
    config.gridDim.x = 2
    config.stream = stream
    ok(rt.infinirtLaunchKernelExC(config, address, arguments))
    ok(rt.infinirtStreamSynchronize(stream))
    assert len(seen) == 5
    assert ok(rt.infinirtFuncGetName(address)) == b"flat_test"
    assert ok(rt.infinirtFuncGetParamInfo(address, 1)) == (8, 8)
    with pytest.raises(TypeError, match="func"):
        rt.infinirtLaunchKernel(print, 1, 1, None)
    with pytest.raises(TypeError, match="gridDim"):
        rt.infinirtLaunchKernel(address, (1, 2, 3, 4), 1, arguments)


@pytest.mark.parametrize("code", [1, 400])
def test_a_failure_is_told_once_whatever_it_is(stream: Any, code: int) -> None:
    """400 is also what a destroyed stream is refused with."""
    fail = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(lambda block, args: code)
    ok(rt.infinirtXRegisterKernel("fails", fail, []))
    event = ok(rt.infinirtEventCreate())
    for wait in (
        lambda: rt.infinirtStreamSynchronize(stream),
        lambda: rt.infinirtEventSynchronize(event),
    ):
        ok(rt.infinirtLaunchKernel(fail, 1, 1, None, 0, stream))
        ok(rt.infinirtEventRecord(event, stream))
        time.sleep(0.05)  # it is over when it is asked for
        assert [int(wait()[0]), int(wait()[0])] == [code, 0]


# ---- The interpreter lock -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wait", ["infinirtStreamSynchronize", "infinirtEventSynchronize", "infinirtDeviceSynchronize"]
)
def test_waiting_lets_other_threads_run(stream: Any, wait: str) -> None:
    """With the lock held, the Python function that is waited for could never run."""
    event = ok(rt.infinirtEventCreate())
    gate = threading.Event()
    ok(rt.infinirtLaunchHostFunc(stream, lambda _: gate.wait(20), None))
    ok(rt.infinirtEventRecord(event, stream))
    threading.Timer(0.05, gate.set).start()
    argument = {"infinirtStreamSynchronize": [stream], "infinirtEventSynchronize": [event]}.get(wait, [])
    begin = time.monotonic()
    ok(getattr(rt, wait)(*argument))
    assert time.monotonic() - begin < 15
    assert gate.is_set()
    ok(rt.infinirtEventDestroy(event))


@pytest.mark.parametrize("call", ["memcpy", "free", "malloc_async"])
def test_calls_that_wait_for_work_let_it_run(stream: Any, call: str) -> None:
    pointer = ok(rt.infinirtMalloc(1 << 16))
    gate = threading.Event()
    ok(rt.infinirtLaunchHostFunc(stream, lambda _: gate.wait(20), None))
    threading.Timer(0.05, gate.set).start()
    if call == "memcpy":
        back = bytearray(1 << 16)
        ok(rt.infinirtMemcpyAsync(back, pointer, 1 << 16, 2, stream))
    elif call == "free":
        ok(rt.infinirtFree(pointer))
    else:
        ok(rt.infinirtFreeAsync(ok(rt.infinirtMallocAsync(64, stream)), stream))
    assert gate.wait(20)
    ok(rt.infinirtStreamSynchronize(stream))
    if call != "free":
        ok(rt.infinirtFree(pointer))


def test_many_threads_and_functions() -> None:
    """Each thread has a stream of its own; every function is called once, in its stream's order."""
    problems: list[object] = []

    def work(number: int) -> None:
        mine = ok(rt.infinirtStreamCreate())
        order: list[int] = []
        for i in range(200):
            ok(rt.infinirtLaunchHostFunc(mine, order.append, i))
            if i % 50 == 0:
                ok(rt.infinirtStreamSynchronize(mine))
        ok(rt.infinirtStreamSynchronize(mine))
        ok(rt.infinirtStreamDestroy(mine))
        if order != list(range(200)):
            problems.append((number, order))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []


QUICK = """
import threading
import infinirt.runtime as rt
def ok(result):
    assert result[0] == 0, (result, rt.infinirtXGetLastErrorMessage())
    return result[1] if len(result) == 2 else result[1:]
gate, stream, other = threading.Event(), ok(rt.infinirtStreamCreate()), ok(rt.infinirtStreamCreateWithFlags(1))
graph = ok(rt.infinirtGraphCreate(0))
ok(rt.infinirtGraphAddEmptyNode(graph, None, 0))
executable = ok(rt.infinirtGraphInstantiate(graph, 0))
pointer = ok(rt.infinirtMalloc(4096))
for s in (stream, 0, other):
    ok(rt.infinirtLaunchHostFunc(s, lambda _: gate.wait(), None))
event = ok(rt.infinirtEventCreate())
for s in (stream, 0, other):
    ok(rt.infinirtEventRecord(event, s))
    assert rt.infinirtEventQuery(event)[0] == rt.infinirtStreamQuery(s)[0] == 600
    ok(rt.infinirtStreamWaitEvent(other, event, 0))
    ok(rt.infinirtGraphLaunch(executable, s))
    ok(rt.infinirtMemsetAsync(pointer, 1, 4096, s))
    ok(rt.infinirtMemset2DAsync(pointer, 64, 1, 32, 16, s))
    ok(rt.infinirtMemcpyAsync(pointer + 2048, pointer, 2048, 3, s))
    ok(rt.infinirtMemcpy2DAsync(pointer + 2048, 64, pointer, 64, 32, 16, 3, s))
    for _ in range(500):
        ok(rt.infinirtLaunchHostFunc(s, lambda _: None, None))
    ok(rt.infinirtStreamGetCaptureInfo(s))
    ok(rt.infinirtStreamGetId(s))
    ok(rt.infinirtFreeAsync(ok(rt.infinirtMallocAsync(1 << 20, s)), s))
ok(rt.infinirtPointerGetAttributes(pointer))
ok(rt.infinirtMemGetInfo())
ok(rt.infinirtStreamDestroy(ok(rt.infinirtStreamCreate())))
ok(rt.infinirtEventDestroy(event))
ok(rt.infinirtGraphDestroy(graph))
ok(rt.infinirtStreamDestroy(other))
gate.set()
ok(rt.infinirtDeviceSynchronize())
print("passed")
"""


def test_quick_calls_never_wait_for_a_python_function() -> None:
    """They hold the interpreter lock: one that waited would wait for ever. Hence in a process of its own."""
    done = python(QUICK)
    assert done.stdout == "passed\n", done.stdout


def test_expected_waits_are_those_of_vendors_queues() -> None:
    """Calls on the CPU device keep the lock: its queues have no end."""
    library = ctypes.CDLL(str(installed_root() / "lib" / "libinfinirt.so.1"))
    library.infinirtXSomeCallMayWait.restype = ctypes.POINTER(ctypes.c_int)
    reasons = library.infinirtXSomeCallMayWait()
    before = reasons[0]
    library.infinirtXExpectWaits(1)
    assert reasons[0] == before + 1
    assert library.infinirtXCallMayWait(b"cpu") == 0
    library.infinirtXExpectWaits(-1)
    assert reasons[0] == before


# ---- Leaks ----------------------------------------------------------------------------------------------------------------


def busy(stream: Any, event: Any, graph: Any, node: Any) -> None:
    """Calls of all kinds: results, errors, structs, lists, buffers, Python functions, failing conversions."""
    rt.infinirtGetDevice()
    rt.infinirtStreamQuery(stream)
    rt.infinirtSetDevice(99)
    rt.infinirtGetLastError()
    rt.infinirtStreamGetCaptureInfo(stream)
    rt.infinirtGraphGetNodes(graph, 4)
    rt.infinirtGraphNodeGetDependencies(node, 12)
    rt.infinirtPointerGetAttributes(bytearray(4))
    rt.infinirtGetDeviceProperties(0)
    rt.infinirtEventRecord(event=event, stream=stream)
    rt.infinirtXGetLastErrorMessage()
    rt.infinirtLaunchHostFunc(stream, print_nothing, [1, 2])
    rt.infinirtStreamSynchronize(stream)
    params = rt.infinirtMemAllocNodeParams()
    params.accessDescs = [rt.infinirtMemAccessDesc()]
    repr(params)
    params.poolProps = rt.infinirtMemPoolProps()
    rt.infinirtKernelNodeParams().kernelParams = ((1,), (ctypes.c_int,))
    rt.infinirtLaunchKernel(1, 1, 1, ((1, ctypes.c_int(2)), (ctypes.c_long, ctypes.c_int)), 0, stream)
    with pytest.raises(TypeError):
        rt.infinirtLaunchKernel(1, 1, 1, ((ctypes.c_int(2), 1.5), (ctypes.c_int, ctypes.c_int)), 0, stream)
    for wrong in ("x", object()):
        for function in (rt.infinirtFree, rt.infinirtStreamQuery, rt.infinirtSetDevice):
            with pytest.raises(TypeError):
                function(wrong)
    with pytest.raises(RuntimeError):
        rt.infinirtGraphAddEmptyNode(graph, [node], 2)
    with pytest.raises(ValueError):
        rt.infinirtMemcpyKind(99)


def print_nothing(_: object) -> None: ...


def test_nothing_leaks(stream: Any) -> None:
    event = ok(rt.infinirtEventCreate())
    graph = ok(rt.infinirtGraphCreate(0))
    node = ok(rt.infinirtGraphAddEmptyNode(graph, None, 0))
    watched = [
        SUCCESS,
        rt.infinirtGetDevice()[0],
        rt.infinirtStreamQuery(stream),
        rt.infinirtError_t,
        rt.infinirtStream_t,
        rt.infinirtGraphNode_t,
        rt.infinirtMemAllocNodeParams,
        rt.infinirtMemAccessDesc,
        print_nothing,
        stream,
        None,
    ]

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(thing) for thing in watched]

    # The interpreter fills caches of its own for a while; a leak is what every batch adds again.
    rounds = 250
    growth = []
    for _ in range(8):
        before, blocks = counts(), sys.getallocatedblocks()
        for _ in range(rounds):
            busy(stream, event, graph, node)
        time.sleep(0.05)  # the last host function's references go just after it is seen as finished
        after, blocks_after = counts(), sys.getallocatedblocks()
        growth.append((blocks_after - blocks, max(a - b for a, b in zip(after, before, strict=True))))
        if max(growth[-1]) < rounds // 4:
            break
    else:
        pytest.fail(f"each round leaves objects or references behind: {growth} in batches of {rounds}")
    ok(rt.infinirtGraphDestroy(graph))
    ok(rt.infinirtEventDestroy(event))


AT_THE_LIMIT = """
import threading
import infinirt.runtime as rt
def ok(result):
    assert result[0] == 0, (result, rt.infinirtXGetLastErrorMessage())
    return result[1] if len(result) == 2 else result[1:]
properties = rt.infinirtMemPoolProps()
properties.allocType = rt.infinirtMemAllocationType.infinirtMemAllocationTypePinned
properties.location.type = rt.infinirtMemLocationType.infinirtMemLocationTypeDevice
first, second = ok(rt.infinirtMemPoolCreate(properties)), ok(rt.infinirtMemPoolCreate(properties))
ok(rt.infinirtXSetMemoryLimit(0, 64 << 20))
stream, other = ok(rt.infinirtStreamCreateWithFlags(1)), ok(rt.infinirtStreamCreateWithFlags(1))
pointer = ok(rt.infinirtMallocFromPoolAsync(48 << 20, first, stream))
seen, gate = [], threading.Event()
ok(rt.infinirtLaunchHostFunc(stream, lambda _: (gate.wait(), seen.append("ran")), None))
ok(rt.infinirtFreeAsync(pointer, stream))
threading.Timer(0.05, gate.set).start()
ok(rt.infinirtMallocFromPoolAsync(48 << 20, second, other))
print(seen)
"""


def test_an_allocation_at_the_limit_lets_python_functions_run() -> None:
    """It usually keeps the interpreter lock, but here it waits for a free behind a Python function."""
    done = python(AT_THE_LIMIT)
    assert done.stdout == "['ran']\n", done.stdout


def test_an_attribute_costs_a_call_and_not_a_description_of_the_device() -> None:
    def nanoseconds(call: Callable[[], object]) -> float:
        return min(timeit.repeat(call, number=200, repeat=25)) / 200 * 1e9

    attribute = rt.infinirtDeviceAttr.infinirtDevAttrWarpSize
    assert nanoseconds(lambda: rt.infinirtDeviceGetAttribute(attribute, 0)) < 20 * nanoseconds(
        rt.infinirtGetDevice
    )


def test_attributes_equal_the_properties() -> None:
    properties = ok(rt.infinirtGetDeviceProperties(0))
    names = rt.infinirtDeviceAttr
    for attribute, value in (
        (names.infinirtDevAttrClockRate, properties.clockRate),
        (names.infinirtDevAttrL2CacheSize, properties.l2CacheSize),
        (names.infinirtDevAttrMultiProcessorCount, properties.multiProcessorCount),
        (names.infinirtDevAttrPciBusId, properties.pciBusID),
    ):
        assert ok(rt.infinirtDeviceGetAttribute(attribute, 0)) == value


def test_the_memory_among_the_properties_follows_the_limit() -> None:
    before = ok(rt.infinirtGetDeviceProperties(0)).totalGlobalMem
    ok(rt.infinirtXSetMemoryLimit(0, 1 << 30))
    try:
        assert ok(rt.infinirtGetDeviceProperties(0)).totalGlobalMem == 1 << 30
    finally:
        ok(rt.infinirtXSetMemoryLimit(0, 0))
    assert ok(rt.infinirtGetDeviceProperties(0)).totalGlobalMem == before
