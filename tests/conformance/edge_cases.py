"""Edge cases: what each call answers, as data. `python edge_cases.py` prints one JSON object, case -> answer.

The program runs unchanged on `cuda.bindings.runtime` (INFINIRT_FLAT_MODULE=cuda) and on `infinirt.runtime`. The answers of
a GPU are kept in edge_answers.json; test_edge_cases.py compares. An answer is an error code, or a list of codes and values.
Only what the real runtime survives can stand here: destroyed and invented handles crash it.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, os.fspath(Path(__file__).parent))

from flat_api import HostFunction, ok, rt

Answer = int | list[Any]
MODES = ("Global", "ThreadLocal", "Relaxed")
_cases: dict[str, Callable[[], dict[str, Answer]]] = {}


def cases(function: Callable[[], dict[str, Answer]]) -> Callable[[], dict[str, Answer]]:
    _cases[function.__name__] = function
    return function


def code(result: tuple[Any, ...]) -> int:
    """The error code; the thread's last error is taken away."""
    rt.GetLastError()
    return int(result[0])


def mode(name: str) -> Any:
    return rt.member("StreamCaptureMode", f"StreamCaptureMode{name}")


@contextmanager
def capturing(how: str) -> Iterator[Any]:
    """A non-blocking stream that captures; whatever state it is left in, the capture is over afterwards."""
    stream = ok(rt.StreamCreateWithFlags(1))
    ok(rt.StreamBeginCapture(stream, mode(how)))
    try:
        yield stream
    finally:
        error, *graph = rt.StreamEndCapture(stream)
        if int(error) == 0:
            ok(rt.GraphDestroy(graph[0]))
        rt.GetLastError()
        ok(rt.StreamDestroy(stream))


def status(stream: Any) -> int:
    error, *out = rt.StreamIsCapturing(stream)
    rt.GetLastError()
    return int(out[0]) if int(error) == 0 else -int(error)


def exchange_and_back() -> tuple[Any, ...]:
    first = rt.ThreadExchangeStreamCaptureMode(mode("Relaxed"))
    ok(rt.ThreadExchangeStreamCaptureMode(first[1]))
    return first


def begin_and_end(stream: Any) -> tuple[Any, ...]:
    result = rt.StreamBeginCapture(stream, mode("Relaxed"))
    if int(result[0]) == 0:
        ok(rt.GraphDestroy(ok(rt.StreamEndCapture(stream))))
    return result


def graph_memory(name: str) -> Any:
    return rt.member("GraphMemAttributeType", f"GraphMemAttr{name}")


class Things:
    """One of each object, for calls that need valid arguments."""

    def __init__(self) -> None:
        self.stream = ok(rt.StreamCreateWithFlags(1))
        self.blocking = ok(rt.StreamCreate())
        self.event = ok(rt.EventCreate())
        self.recorded = ok(rt.EventCreate())
        ok(rt.EventRecord(self.recorded, self.stream))
        self.later = ok(rt.EventCreate())
        ok(rt.EventRecord(self.later, self.stream))
        ok(rt.StreamSynchronize(self.stream))
        self.device = ok(rt.Malloc(4096))
        self.other = ok(rt.Malloc(4096))
        self.pinned = ok(rt.MallocHost(4096))
        self.pageable = ctypes.create_string_buffer(4096)
        self.pooled = ok(rt.MallocAsync(4096, self.stream))
        self.graph = ok(rt.GraphCreate(0))
        self.node = ok(rt.GraphAddEmptyNode(self.graph, None, 0))
        self.executable = ok(rt.GraphInstantiate(self.graph, 0))
        self.pool = ok(rt.DeviceGetDefaultMemPool(0))
        self.function = HostFunction()
        set_graph = ok(rt.GraphCreate(0))
        parameters = rt.MemsetParams()
        parameters.dst, parameters.elementSize, parameters.width, parameters.height = self.device, 1, 64, 1
        ok(rt.GraphAddMemsetNode(set_graph, None, 0, parameters))
        self.set_executable = ok(rt.GraphInstantiate(set_graph, 0))
        self.managed = ok(rt.MallocManaged(4096, 1))
        # For calls that use one up, in each mode.
        self.spare = [ok(rt.Malloc(64)) for _ in MODES]
        self.spare_pinned = [ok(rt.MallocHost(64)) for _ in MODES]
        self.spare_pooled = [ok(rt.MallocAsync(64, self.stream)) for _ in MODES]
        self.spare_pools = [ok(rt.MemPoolCreate(pool_properties())) for _ in MODES]
        self.spare_streams = [ok(rt.StreamCreateWithFlags(1)) for _ in MODES]
        self.spare_events = [ok(rt.EventCreate()) for _ in MODES]
        self.spare_graphs = [ok(rt.GraphCreate(0)) for _ in MODES]
        self.spare_executables = [ok(rt.GraphInstantiate(self.graph, 0)) for _ in MODES]
        ok(rt.DeviceSynchronize())


def calls_during_a_capture(t: Things, other: Any) -> dict[str, Callable[[], tuple[Any, ...]]]:
    """`other` is a stream that does not capture."""
    h2d, d2h, d2d = (rt.copy_kind(k) for k in ("HostToDevice", "DeviceToHost", "DeviceToDevice"))
    return {
        "GetDevice": rt.GetDevice,
        "SetDevice": lambda: rt.SetDevice(0),
        "DeviceSynchronize": rt.DeviceSynchronize,
        "GetDeviceProperties": lambda: rt.GetDeviceProperties(0),
        "DeviceGetAttribute": lambda: rt.DeviceGetAttribute(rt.member("DeviceAttr", "DevAttrWarpSize"), 0),
        "DeviceGetDefaultMemPool": lambda: rt.DeviceGetDefaultMemPool(0),
        "MemGetInfo": rt.MemGetInfo,
        "Malloc": lambda: rt.Malloc(4096),
        "MallocHost": lambda: rt.MallocHost(4096),
        "MallocManaged": lambda: rt.MallocManaged(4096, 1),
        "Free of null": lambda: rt.Free(0),
        "Free": lambda: rt.Free(t.spare.pop()),
        "FreeHost": lambda: rt.FreeHost(t.spare_pinned.pop()),
        "FreeAsync on another stream": lambda: rt.FreeAsync(t.spare_pooled.pop(), other),
        "MallocFromPoolAsync on another stream": lambda: rt.MallocFromPoolAsync(64, t.pool, other),
        "MemPoolSetAttribute": lambda: rt.MemPoolSetAttribute(
            t.pool, rt.member("MemPoolAttr", "MemPoolAttrReleaseThreshold"), rt.uint64(0)
        ),
        "MemPoolCreate": lambda: rt.MemPoolCreate(pool_properties()),
        "MemPoolDestroy": lambda: rt.MemPoolDestroy(t.spare_pools.pop()),
        "MemPoolGetAccess": lambda: rt.MemPoolGetAccess(t.pool, location(1, 0)),
        "DeviceGetMemPool": lambda: rt.DeviceGetMemPool(0),
        "DeviceSetMemPool": lambda: rt.DeviceSetMemPool(0, t.pool),
        "DeviceGetGraphMemAttribute": lambda: rt.DeviceGetGraphMemAttribute(
            0, graph_memory("UsedMemCurrent")
        ),
        "GetDeviceFlags": rt.GetDeviceFlags,
        "SetDeviceFlags": lambda: rt.SetDeviceFlags(0),
        "StreamDestroy of another": lambda: rt.StreamDestroy(t.spare_streams.pop()),
        "StreamGetPriority of another": lambda: rt.StreamGetPriority(other),
        "StreamGetId of another": lambda: rt.StreamGetId(other),
        "EventDestroy": lambda: rt.EventDestroy(t.spare_events.pop()),
        "GraphClone": lambda: rt.GraphClone(t.graph),
        "GraphDestroy": lambda: rt.GraphDestroy(t.spare_graphs.pop()),
        "GraphExecDestroy": lambda: rt.GraphExecDestroy(t.spare_executables.pop()),
        "GraphExecUpdate": lambda: rt.GraphExecUpdate(t.executable, t.graph),
        "GraphInstantiateWithFlags": lambda: rt.GraphInstantiateWithFlags(t.graph, 0),
        "Memset2D": lambda: rt.Memset2D(t.device, 64, 0, 64, 2),
        "Memcpy2D": lambda: rt.Memcpy2D(t.device, 64, t.other, 64, 64, 2, d2d),
        "MemcpyPeer": lambda: rt.MemcpyPeer(t.device, 0, t.other, 0, 64),
        "MemAdvise": lambda: rt.MemAdvise(t.managed, 4096, 1, location(1, 0)),
        "MemPrefetchAsync on another stream": lambda: rt.MemPrefetchAsync(
            t.managed, 4096, location(1, 0), 0, other
        ),
        "DeviceGetPCIBusId": lambda: rt.DeviceGetPCIBusId(13, 0),
        "ThreadExchangeStreamCaptureMode": lambda: exchange_and_back(),
        "StreamBeginCapture on another stream": lambda: begin_and_end(other),
        "HostRegister": lambda: rt.HostRegister(ctypes.addressof(t.pageable), 4096, 0),
        "Memcpy H2D pageable": lambda: rt.Memcpy(t.device, t.pageable, 64, h2d),
        "Memcpy D2H pinned": lambda: rt.Memcpy(t.pinned, t.device, 64, d2h),
        "Memcpy D2D": lambda: rt.Memcpy(t.device, t.other, 64, d2d),
        "Memset": lambda: rt.Memset(t.device, 0, 64),
        "MemcpyAsync on another stream": lambda: rt.MemcpyAsync(t.device, t.other, 64, d2d, other),
        "MemcpyAsync pageable on another stream": lambda: rt.MemcpyAsync(
            t.device, t.pageable, 64, h2d, other
        ),
        "MemsetAsync on another stream": lambda: rt.MemsetAsync(t.device, 0, 64, other),
        "MallocAsync on another stream": lambda: rt.MallocAsync(64, other),
        "LaunchHostFunc on another stream": lambda: rt.LaunchHostFunc(other, t.function.address, 0),
        "StreamCreate": rt.StreamCreate,
        "StreamQuery of another": lambda: rt.StreamQuery(other),
        "StreamSynchronize of another": lambda: rt.StreamSynchronize(other),
        "StreamGetFlags of another": lambda: rt.StreamGetFlags(other),
        "StreamWaitEvent on another": lambda: rt.StreamWaitEvent(other, t.recorded, 0),
        "StreamQuery of legacy": lambda: rt.StreamQuery(0),
        "StreamSynchronize of legacy": lambda: rt.StreamSynchronize(0),
        "EventCreate": rt.EventCreate,
        "EventRecord on another stream": lambda: rt.EventRecord(t.event, other),
        "EventQuery": lambda: rt.EventQuery(t.recorded),
        "EventSynchronize": lambda: rt.EventSynchronize(t.recorded),
        "EventElapsedTime": lambda: rt.EventElapsedTime(t.recorded, t.later),
        "GraphCreate": lambda: rt.GraphCreate(0),
        "GraphInstantiate": lambda: rt.GraphInstantiate(t.graph, 0),
        "GraphLaunch on another stream": lambda: rt.GraphLaunch(t.executable, other),
        "GraphUpload on another stream": lambda: rt.GraphUpload(t.executable, other),
        "PointerGetAttributes": lambda: rt.PointerGetAttributes(t.device),
        "MemPoolTrimTo": lambda: rt.MemPoolTrimTo(t.pool, 0),
        "MemPoolGetAttribute": lambda: rt.MemPoolGetAttribute(
            t.pool, rt.member("MemPoolAttr", "MemPoolAttrReleaseThreshold")
        ),
        "DeviceGetStreamPriorityRange": rt.DeviceGetStreamPriorityRange,
        "DeviceSetLimit": lambda: rt.DeviceSetLimit(rt.member("Limit", "LimitStackSize"), 1024),
        "DeviceGetLimit": lambda: rt.DeviceGetLimit(rt.member("Limit", "LimitStackSize")),
        "DeviceGraphMemTrim": lambda: rt.DeviceGraphMemTrim(0),
        "DeviceCanAccessPeer": lambda: rt.DeviceCanAccessPeer(0, 0),
        "HostGetFlags": lambda: rt.HostGetFlags(t.pinned),
        "IpcGetMemHandle": lambda: rt.IpcGetMemHandle(t.device),
    }


@cases
def calls_beside_a_capture() -> dict[str, Answer]:
    """Each mode, each call of the capturing thread: its code, and the state of the capture afterwards."""
    answers: dict[str, Answer] = {}
    t = Things()
    for how in MODES:
        for name in calls_during_a_capture(t, t.stream):
            ok(rt.StreamSynchronize(t.stream))
            with capturing(how) as stream:
                call = calls_during_a_capture(t, t.stream)[name]
                answer = code(call())
                answers[f"{how}: {name}"] = [answer, status(stream)]
            if name == "HostRegister" and answer == 0:
                ok(rt.HostUnregister(ctypes.addressof(t.pageable)))
    return answers


@cases
def calls_on_a_capturing_stream() -> dict[str, Answer]:
    t = Things()
    h2d, d2h, d2d, h2h = (
        rt.copy_kind(k) for k in ("HostToDevice", "DeviceToHost", "DeviceToDevice", "HostToHost")
    )
    calls: dict[str, Callable[[Any], tuple[Any, ...]]] = {
        "MemcpyAsync pageable H2D": lambda s: rt.MemcpyAsync(t.device, t.pageable, 64, h2d, s),
        "MemcpyAsync pageable D2H": lambda s: rt.MemcpyAsync(t.pageable, t.device, 64, d2h, s),
        "MemcpyAsync pinned": lambda s: rt.MemcpyAsync(t.device, t.pinned, 64, h2d, s),
        "MemcpyAsync H2H": lambda s: rt.MemcpyAsync(t.pinned, t.pageable, 64, h2h, s),
        "MemcpyAsync D2D": lambda s: rt.MemcpyAsync(t.device, t.other, 64, d2d, s),
        "MemcpyAsync of nothing": lambda s: rt.MemcpyAsync(t.device, t.other, 0, d2d, s),
        "MemcpyAsync out of bounds": lambda s: rt.MemcpyAsync(t.device, t.other, 1 << 30, d2d, s),
        "MemsetAsync": lambda s: rt.MemsetAsync(t.device, 0, 64, s),
        "MemsetAsync of nothing": lambda s: rt.MemsetAsync(t.device, 0, 0, s),
        "MallocAsync": lambda s: rt.MallocAsync(64, s),
        "MallocAsync of nothing": lambda s: rt.MallocAsync(0, s),
        "FreeAsync of outside memory": lambda s: rt.FreeAsync(t.pooled, s),
        "FreeAsync of Malloc memory": lambda s: rt.FreeAsync(t.device, s),
        "FreeAsync of null": lambda s: rt.FreeAsync(0, s),
        "LaunchHostFunc": lambda s: rt.LaunchHostFunc(s, t.function.address, 0),
        "StreamQuery": rt.StreamQuery,
        "StreamSynchronize": rt.StreamSynchronize,
        "StreamGetFlags": rt.StreamGetFlags,
        "StreamGetPriority": rt.StreamGetPriority,
        "StreamGetId": rt.StreamGetId,
        "StreamGetDevice": rt.StreamGetDevice,
        "StreamGetAttribute": lambda s: rt.StreamGetAttribute(
            s, rt.member("LaunchAttributeID", "LaunchAttributePriority")
        ),
        "MallocFromPoolAsync": lambda s: rt.MallocFromPoolAsync(64, t.pool, s),
        "Memset2DAsync": lambda s: rt.Memset2DAsync(t.device, 64, 0, 32, 4, s),
        "GraphLaunch of a set": lambda s: rt.GraphLaunch(t.set_executable, s),
        "MemPrefetchAsync": lambda s: rt.MemPrefetchAsync(t.managed, 4096, location(1, 0), 0, s),
        "StreamIsCapturing": rt.StreamIsCapturing,
        "StreamWaitEvent recorded before": lambda s: rt.StreamWaitEvent(s, t.recorded, 0),
        "StreamWaitEvent never recorded": lambda s: rt.StreamWaitEvent(s, t.event, 0),
        "StreamWaitEvent external": lambda s: rt.StreamWaitEvent(s, t.recorded, 1),
        "EventRecord": lambda s: rt.EventRecord(t.event, s),
        "EventRecord external": lambda s: rt.EventRecordWithFlags(t.event, s, 1),
        "EventRecord wrong flags": lambda s: rt.EventRecordWithFlags(t.event, s, 8),
        "GraphLaunch": lambda s: rt.GraphLaunch(t.executable, s),
        "GraphUpload": lambda s: rt.GraphUpload(t.executable, s),
        "StreamBeginCapture": lambda s: rt.StreamBeginCapture(s, mode("Relaxed")),
        "StreamAttachMemAsync": lambda s: rt.StreamAttachMemAsync(s, t.device, 0, 4),
    }
    answers: dict[str, Answer] = {}
    for name, call in calls.items():
        with capturing("Relaxed") as stream:
            answers[name] = [code(call(stream)), status(stream)]
    return answers


@cases
def events_of_captures() -> dict[str, Answer]:
    answers: dict[str, Answer] = {}
    plain = ok(rt.StreamCreateWithFlags(1))

    def after(name: str, call: Callable[[Any], tuple[Any, ...]]) -> None:
        """An event recorded in a capture that has ended."""
        event = ok(rt.EventCreate())
        with capturing("Relaxed") as stream:
            ok(rt.EventRecord(event, stream))
        answers[f"after the capture: {name}"] = code(call(event))
        answers[f"then record again: {name}"] = [
            code(rt.EventRecord(event, plain)),
            code(rt.EventSynchronize(event)),
        ]
        ok(rt.EventDestroy(event))

    def during(name: str, call: Callable[[Any], tuple[Any, ...]]) -> None:
        event = ok(rt.EventCreate())
        with capturing("Relaxed") as stream:
            ok(rt.EventRecord(event, stream))
            answers[f"during the capture: {name}"] = [code(call(event)), status(stream)]
        code(rt.EventDestroy(event))

    recorded = ok(rt.EventCreate())
    ok(rt.EventRecord(recorded, plain))
    ok(rt.StreamSynchronize(plain))
    after("wait", lambda e: rt.StreamWaitEvent(plain, e, 0))
    for when in (after, during):
        when("query", rt.EventQuery)
        when("synchronise", rt.EventSynchronize)
        when("elapsed from", lambda e: rt.EventElapsedTime(e, recorded))
        when("elapsed to", lambda e: rt.EventElapsedTime(recorded, e))
        when("record elsewhere", lambda e: rt.EventRecord(e, plain))
    return answers


@cases
def graphs_of_captures() -> dict[str, Answer]:
    """The graph that a capture is building, as other calls see it."""
    answers: dict[str, Answer] = {}
    calls: dict[str, Callable[[Any], tuple[Any, ...]]] = {
        "destroy": rt.GraphDestroy,
        "clone": rt.GraphClone,
        "instantiate": lambda g: rt.GraphInstantiate(g, 0),
        "add a node": lambda g: rt.GraphAddEmptyNode(g, None, 0),
        "get nodes": lambda g: rt.GraphGetNodes(g),
    }
    for name, call in calls.items():
        with capturing("Relaxed") as stream:
            graph = ok(rt.StreamGetCaptureInfo(stream))[2]
            answers[name] = [code(call(graph)), status(stream)]
    return answers


@cases
def streams() -> dict[str, Answer]:
    t = Things()
    greatest = ok(rt.DeviceGetStreamPriorityRange())[1]
    high, low = ok(rt.StreamCreateWithPriority(1, -1000)), ok(rt.StreamCreateWithPriority(1, 1000))
    return {
        "flags 2": code(rt.StreamCreateWithFlags(2)),
        "flags 3": code(rt.StreamCreateWithFlags(3)),
        "priority flags 2": code(rt.StreamCreateWithPriority(2, 0)),
        "priority is clamped": [ok(rt.StreamGetPriority(high)) == greatest, ok(rt.StreamGetPriority(low))],
        "flags of legacy": [int(x) for x in rt.StreamGetFlags(0)],
        "flags of per-thread": [int(x) for x in rt.StreamGetFlags(2)],
        "priority of legacy": [int(x) for x in rt.StreamGetPriority(0)],
        "priority of per-thread": [int(x) for x in rt.StreamGetPriority(2)],
        "id of legacy": code(rt.StreamGetId(0)),
        "device of legacy": [int(x) for x in rt.StreamGetDevice(0)],
        "destroy legacy": code(rt.StreamDestroy(0)),
        "destroy 1": code(rt.StreamDestroy(1)),
        "destroy per-thread": code(rt.StreamDestroy(2)),
        "query legacy": code(rt.StreamQuery(0)),
        "wait flags 2": code(rt.StreamWaitEvent(t.stream, t.recorded, 2)),
        "wait external outside a capture": code(rt.StreamWaitEvent(t.stream, t.recorded, 1)),
        "wait for null": code(rt.StreamWaitEvent(t.stream, 0, 0)),
        "record null": code(rt.EventRecord(0, t.stream)),
        "record external outside a capture": code(rt.EventRecordWithFlags(t.event, t.stream, 1)),
        "record flags 2": code(rt.EventRecordWithFlags(t.event, t.stream, 2)),
        "begin on legacy": code(rt.StreamBeginCapture(0, mode("Relaxed"))),
        "begin on legacy 1": code(rt.StreamBeginCapture(1, mode("Relaxed"))),
        "end without begin": code(rt.StreamEndCapture(t.stream)),
        "is legacy capturing": [int(x) for x in rt.StreamIsCapturing(0)],
        "copy attributes to itself": code(rt.StreamCopyAttributes(t.stream, t.stream)),
        "copy attributes": code(rt.StreamCopyAttributes(t.stream, t.blocking)),
        "copy attributes from legacy": code(rt.StreamCopyAttributes(t.stream, 0)),
        "attach plain device memory": code(rt.StreamAttachMemAsync(t.stream, t.device, 0, 4)),
        "attach wrong flags": code(rt.StreamAttachMemAsync(t.stream, t.device, 0, 64)),
    }


@cases
def events() -> dict[str, Answer]:
    t = Things()
    answers: dict[str, Answer] = {}
    for flags in (0, 1, 2, 3, 4, 5, 6, 7, 8, 16):
        answers[f"create with flags {flags}"] = code(rt.EventCreateWithFlags(flags))
    untimed = ok(rt.EventCreateWithFlags(2))
    ok(rt.EventRecord(untimed, t.stream))
    ok(rt.StreamSynchronize(t.stream))
    answers |= {
        "query never recorded": code(rt.EventQuery(t.event)),
        "synchronise never recorded": code(rt.EventSynchronize(t.event)),
        "elapsed of never recorded": code(rt.EventElapsedTime(t.event, t.recorded)),
        "elapsed of untimed": code(rt.EventElapsedTime(t.recorded, untimed)),
        "elapsed of null": code(rt.EventElapsedTime(0, t.recorded)),
        "elapsed of itself": [code(rt.EventElapsedTime(t.recorded, t.recorded))],
        "query null": code(rt.EventQuery(0)),
        "synchronise null": code(rt.EventSynchronize(0)),
        "destroy null": code(rt.EventDestroy(0)),
        "ipc handle of a plain event": code(rt.IpcGetEventHandle(t.recorded)),
    }
    return answers


@cases
def memory() -> dict[str, Answer]:
    t = Things()
    plain = ctypes.addressof(t.pageable)
    d2d, h2d, d2h, h2h, default = (
        rt.copy_kind(k) for k in ("DeviceToDevice", "HostToDevice", "DeviceToHost", "HostToHost", "Default")
    )
    device, pinned = int(t.device), int(t.pinned)
    answers: dict[str, Answer] = {
        "Malloc 0": [int(x) for x in rt.Malloc(0)],
        "MallocHost 0": [int(x) for x in rt.MallocHost(0)],
        "MallocManaged 0": code(rt.MallocManaged(0, 1)),
        "MallocManaged flags 0": code(rt.MallocManaged(64, 0)),
        "MallocManaged flags 8": code(rt.MallocManaged(64, 8)),
        "MallocPitch 0 wide": code(rt.MallocPitch(0, 10)),
        "MallocPitch 0 high": code(rt.MallocPitch(10, 0)),
        "HostAlloc flags 8": code(rt.HostAlloc(64, 8)),
        "HostAlloc flags 16": code(rt.HostAlloc(64, 16)),
        "HostAlloc flags 7": code(rt.HostAlloc(64, 7)),
        "Malloc huge": code(rt.Malloc(1 << 50)),
        "Free null": code(rt.Free(0)),
        "FreeHost null": code(rt.FreeHost(0)),
        "Free plain host": code(rt.Free(plain)),
        "Free pinned": code(rt.Free(ok(rt.MallocHost(64)))),
        "Free interior": code(rt.Free(device + 16)),
        "FreeHost device": code(rt.FreeHost(device)),
        "FreeHost plain": code(rt.FreeHost(plain)),
        "FreeHost interior": code(rt.FreeHost(pinned + 16)),
        "HostUnregister pinned": code(rt.HostUnregister(pinned)),
        "HostRegister null": code(rt.HostRegister(0, 64, 0)),
        "HostRegister 0 bytes": code(rt.HostRegister(plain, 0, 0)),
        "HostRegister flags 64": code(rt.HostRegister(plain, 64, 64)),
        "HostGetDevicePointer plain": code(rt.HostGetDevicePointer(plain, 0)),
        "HostGetDevicePointer flags": code(rt.HostGetDevicePointer(pinned, 1)),
        "HostGetDevicePointer pinned": [int(rt.HostGetDevicePointer(pinned, 0)[1]) == pinned],
        "HostGetDevicePointer of device memory": code(rt.HostGetDevicePointer(device, 0)),
        "HostGetFlags plain": code(rt.HostGetFlags(plain)),
        "HostGetFlags pinned": [int(x) for x in rt.HostGetFlags(pinned)],
        "HostGetFlags device": code(rt.HostGetFlags(device)),
        "Memcpy null dst": code(rt.Memcpy(0, device, 16, d2d)),
        "Memcpy null src": code(rt.Memcpy(device, 0, 16, d2d)),
        "Memcpy nothing of null": code(rt.Memcpy(0, 0, 0, d2d)),
        "Memcpy nothing, wrong kind": code(rt.Memcpy(device, device, 0, 9)),
        "Memcpy wrong kind": code(rt.Memcpy(device, device, 16, 9)),
        "Memcpy to itself": code(rt.Memcpy(device, device, 64, d2d)),
        "Memcpy overlapping": code(rt.Memcpy(device, device + 8, 64, d2d)),
        "Memcpy across the end": code(rt.Memcpy(device, int(t.other) + 4000, 4096, d2d)),
        "Memcpy default, plain to plain": code(rt.Memcpy(plain, plain + 100, 16, default)),
        "Memcpy H2H of device memory": code(rt.Memcpy(device, int(t.other), 16, h2h)),
        "Memcpy D2H backwards": code(rt.Memcpy(device, plain, 16, d2h)),
        "Memcpy H2D backwards": code(rt.Memcpy(plain, device, 16, h2d)),
        "Memset null": code(rt.Memset(0, 0, 16)),
        "Memset nothing of null": code(rt.Memset(0, 0, 0)),
        "Memset plain": code(rt.Memset(plain, 0, 16)),
        "Memset pinned": code(rt.Memset(pinned, 0, 16)),
        "Memset across the end": code(rt.Memset(device + 4000, 0, 4096)),
        "Memset2D nothing": code(rt.Memset2D(device, 64, 0, 0, 4)),
        "Memset2D pitch 0": code(rt.Memset2D(device, 0, 0, 16, 2)),
        "Memset2D across the end": code(rt.Memset2D(device, 64, 0, 64, 65)),
        "Memcpy2D nothing": code(rt.Memcpy2D(device, 64, int(t.other), 64, 0, 4, d2d)),
        "Memcpy2D last row may be short": code(rt.Memcpy2D(device, 4096, int(t.other), 64, 64, 1, d2d)),
        "Memcpy2D across the end": code(rt.Memcpy2D(device, 64, int(t.other), 64, 64, 65, d2d)),
        "MemcpyPeer wrong device": code(rt.MemcpyPeer(device, 99, int(t.other), 0, 16)),
        "MemcpyPeer itself": code(rt.MemcpyPeer(device, 0, int(t.other), 0, 16)),
        "MemcpyPeer of plain host memory": code(rt.MemcpyPeer(device, 0, plain, 0, 16)),
        "MemAdvise of device memory": code(rt.MemAdvise(device, 64, 1, location(1, 0))),
        "MemPrefetch of device memory": code(rt.MemPrefetchAsync(device, 64, location(1, 0), 0, t.stream)),
    }
    for name, pointer in (
        ("null", 0),
        ("plain", plain),
        ("device", device),
        ("device inside", device + 8),
        ("pinned", pinned),
        ("pooled", int(t.pooled)),
    ):
        found = ok(rt.PointerGetAttributes(pointer))
        answers[f"attributes of {name}"] = [
            int(found.type),
            int(found.device),
            int(found.devicePointer) - pointer if int(found.devicePointer) else "null",
            int(found.hostPointer) - pointer if int(found.hostPointer) else "null",
        ]
    return answers


def location(kind: int, number: int) -> Any:
    made = rt.MemLocation()
    made.type = rt.MemLocationType(kind)
    made.id = number
    return made


def pool_properties(
    kind: int = 1, number: int = 0, allocation: int = 1, handles: int = 0, limit: int = 0
) -> Any:
    made = rt.MemPoolProps()
    made.allocType = rt.MemAllocationType(allocation)
    made.handleTypes = rt.MemAllocationHandleType(handles)
    made.location.type = rt.MemLocationType(kind)
    made.location.id = number
    made.maxSize = limit
    return made


@cases
def pools() -> dict[str, Answer]:
    t = Things()
    attribute = lambda name: rt.member("MemPoolAttr", f"MemPool{name}")  # noqa: E731
    own = ok(rt.MemPoolCreate(pool_properties()))
    answers: dict[str, Answer] = {
        "create of nothing": code(rt.MemPoolCreate(pool_properties(allocation=0))),
        "create on no device": code(rt.MemPoolCreate(pool_properties(number=99))),
        "create with location 0": code(rt.MemPoolCreate(pool_properties(kind=0))),
        "destroy the default pool": code(rt.MemPoolDestroy(t.pool)),
        "trim": code(rt.MemPoolTrimTo(own, 0)),
        "trim to much": code(rt.MemPoolTrimTo(own, 1 << 60)),
        "set the threshold": code(
            rt.MemPoolSetAttribute(own, attribute("AttrReleaseThreshold"), rt.uint64(1 << 20))
        ),
        "set reserved": code(rt.MemPoolSetAttribute(own, attribute("AttrReservedMemCurrent"), rt.uint64(0))),
        "set reserved high 0": code(
            rt.MemPoolSetAttribute(own, attribute("AttrReservedMemHigh"), rt.uint64(0))
        ),
        "set reserved high 1": code(
            rt.MemPoolSetAttribute(own, attribute("AttrReservedMemHigh"), rt.uint64(1))
        ),
        "allocate 0": [int(x) for x in rt.MallocFromPoolAsync(0, own, t.stream)],
        "allocate huge": code(rt.MallocFromPoolAsync(1 << 50, own, t.stream)),
        "MallocAsync huge": code(rt.MallocAsync(1 << 50, t.stream)),
        "set as current": code(rt.DeviceSetMemPool(0, own)),
        "set on no device": code(rt.DeviceSetMemPool(99, own)),
        "current of no device": code(rt.DeviceGetMemPool(99)),
        "default of no device": code(rt.DeviceGetDefaultMemPool(99)),
        "destroy the current pool": code(rt.MemPoolDestroy(own)),
        "then the current one is the default": [int(ok(rt.DeviceGetMemPool(0))) == int(t.pool)],
        "FreeAsync null": code(rt.FreeAsync(0, t.stream)),
        "FreeAsync plain": code(rt.FreeAsync(ctypes.addressof(t.pageable), t.stream)),
        "FreeAsync pinned": code(rt.FreeAsync(t.pinned, t.stream)),
        "FreeAsync interior": code(rt.FreeAsync(int(t.pooled) + 16, t.stream)),
        "Free of pool memory": code(rt.Free(ok(rt.MallocAsync(64, t.stream)))),
        "Free of pool memory twice": code(twice(rt.Free, ok(rt.MallocAsync(64, t.stream)))),
        "FreeAsync twice": code(twice(lambda p: rt.FreeAsync(p, t.stream), ok(rt.MallocAsync(64, t.stream)))),
        "access of the host": code(rt.MemPoolGetAccess(t.pool, location(2, 0))),
        "access of no device": code(rt.MemPoolGetAccess(t.pool, location(1, 99))),
        "access of its device": [int(x) for x in rt.MemPoolGetAccess(t.pool, location(1, 0))],
        "graph memory attribute": code(rt.DeviceGetGraphMemAttribute(0, graph_memory("UsedMemCurrent"))),
        "set a graph memory current value": code(
            rt.DeviceSetGraphMemAttribute(0, graph_memory("UsedMemCurrent"), rt.uint64(0))
        ),
        "set a graph memory high mark": code(
            rt.DeviceSetGraphMemAttribute(0, graph_memory("UsedMemHigh"), rt.uint64(0))
        ),
        "trim graphs of no device": code(rt.DeviceGraphMemTrim(99)),
    }
    return answers


def twice(call: Callable[[Any], tuple[Any, ...]], argument: Any) -> tuple[Any, ...]:
    ok(call(argument))
    return call(argument)


@cases
def devices() -> dict[str, Answer]:
    limits = {
        name: rt.member("Limit", f"Limit{name}") for name in ("StackSize", "PrintfFifoSize", "MallocHeapSize")
    }
    return {
        "SetDevice -1": code(rt.SetDevice(-1)),
        "SetDevice 99": code(rt.SetDevice(99)),
        "properties of 99": code(rt.GetDeviceProperties(99)),
        "properties of -1": code(rt.GetDeviceProperties(-1)),
        "attribute of 99": code(rt.DeviceGetAttribute(rt.member("DeviceAttr", "DevAttrWarpSize"), 99)),
        "CanAccessPeer itself": [int(x) for x in rt.DeviceCanAccessPeer(0, 0)],
        "CanAccessPeer 99": code(rt.DeviceCanAccessPeer(0, 99)),
        "EnablePeerAccess itself": code(rt.DeviceEnablePeerAccess(0, 0)),
        "EnablePeerAccess 99": code(rt.DeviceEnablePeerAccess(99, 0)),
        "DisablePeerAccess itself": code(rt.DeviceDisablePeerAccess(0)),
        "DisablePeerAccess 99": code(rt.DeviceDisablePeerAccess(99)),
        "P2P attribute itself": code(
            rt.DeviceGetP2PAttribute(rt.member("DeviceP2PAttr", "DevP2PAttrAccessSupported"), 0, 0)
        ),
        "bus id length 5": code(rt.DeviceGetPCIBusId(5, 0)),
        "bus id length 13": code(rt.DeviceGetPCIBusId(13, 0)),
        "bus id of 99": code(rt.DeviceGetPCIBusId(13, 99)),
        "by bus id, nonsense": code(rt.DeviceGetByPCIBusId(b"nonsense")),
        "by bus id, absent": code(rt.DeviceGetByPCIBusId(b"0000:ff:1f.0")),
        "device flags 64": code(rt.SetDeviceFlags(64)),
        "device flags 3": code(rt.SetDeviceFlags(3)),
        "limits": [code(rt.DeviceGetLimit(limit)) for limit in limits.values()],
        "init device 99": code(rt.InitDevice(99, 0, 0)),
        "init device flags": code(rt.InitDevice(0, 64, 0)),
        "exchange capture mode": [int(x) for x in rt.ThreadExchangeStreamCaptureMode(mode("Relaxed"))],
        "exchange it back": [int(x) for x in rt.ThreadExchangeStreamCaptureMode(mode("Global"))],
        "graph attribute of 99": code(rt.DeviceGetGraphMemAttribute(99, graph_memory("UsedMemCurrent"))),
    }


def new_graph() -> Any:
    return ok(rt.GraphCreate(0))


def empty(graph: Any, *before: Any) -> Any:
    return ok(rt.GraphAddEmptyNode(graph, list(before) or None, len(before)))


@cases
def graph_structure() -> dict[str, Answer]:
    graph, other = new_graph(), new_graph()
    a = empty(graph)
    b = empty(graph, a)
    c = empty(graph)
    foreign = empty(other)
    answers: dict[str, Answer] = {
        "create with flags": code(rt.GraphCreate(1)),
        "duplicate dependencies of a new node": code(rt.GraphAddEmptyNode(graph, [a, a], 2)),
        "dependency of another graph": code(rt.GraphAddEmptyNode(graph, [foreign], 1)),
        "edge again": code(rt.GraphAddDependencies(graph, [a], [b], None, 1)),
        "edge to itself": code(rt.GraphAddDependencies(graph, [a], [a], None, 1)),
        "edge to another graph": code(rt.GraphAddDependencies(graph, [a], [foreign], None, 1)),
        "no edges": code(rt.GraphAddDependencies(graph, None, None, None, 0)),
        "edge": code(rt.GraphAddDependencies(graph, [b], [c], None, 1)),
        "cycle": code(rt.GraphAddDependencies(graph, [c], [a], None, 1)),
        "instantiate a cycle": code(rt.GraphInstantiate(graph, 0)),
        "remove the edge": code(rt.GraphRemoveDependencies(graph, [c], [a], None, 1)),
        "remove an edge that is not there": code(rt.GraphRemoveDependencies(graph, [a], [c], None, 1)),
        "get nodes, too many asked": [int(rt.GraphGetNodes(graph, 10)[2])],
        "get nodes, few asked": [int(rt.GraphGetNodes(graph, 1)[2]), len(rt.GraphGetNodes(graph, 1)[1])],
        "get root nodes": [int(rt.GraphGetRootNodes(graph, 10)[2])],
        "edges": [int(rt.GraphGetEdges(graph, 10)[-1])],
        "destroy a node": code(rt.GraphDestroyNode(b)),
        "edges after that": [int(rt.GraphGetEdges(graph, 10)[-1])],
        "instantiate flags 64": code(rt.GraphInstantiate(graph, 64)),
        "instantiate": code(rt.GraphInstantiate(graph, 0)),
        "instantiate null": code(rt.GraphInstantiate(0, 0)),
        "launch null": code(rt.GraphLaunch(0, 0)),
        "destroy null": code(rt.GraphDestroy(0)),
        "destroy null executable": code(rt.GraphExecDestroy(0)),
        "clone null": code(rt.GraphClone(0)),
        "child": code(rt.GraphAddChildGraphNode(graph, None, 0, other)),
        "find in clone": code(rt.GraphNodeFindInClone(a, other)),
        "dot into a folder that is not there": code(
            rt.GraphDebugDotPrint(graph, b"/nonexistent/folder/x.dot", 0)
        ),
        "dot": code(rt.GraphDebugDotPrint(graph, os.fsencode(tempfile.mktemp(suffix=".dot")), 0)),
        "memset parameters of an empty node": code(rt.GraphMemsetNodeGetParams(a)),
        "host parameters of an empty node": code(rt.GraphHostNodeGetParams(a)),
        "copy parameters of an empty node": code(rt.GraphMemcpyNodeGetParams(a)),
        "kernel parameters of an empty node": code(rt.GraphKernelNodeGetParams(a)),
        "child graph of an empty node": code(rt.GraphChildGraphNodeGetGraph(a)),
        "event of an empty node": code(rt.GraphEventRecordNodeGetEvent(a)),
        "type": [int(x) for x in rt.GraphNodeGetType(a)],
    }
    executable = ok(rt.GraphInstantiate(graph, 0))
    answers |= {
        "flags of an executable": [int(x) for x in rt.GraphExecGetFlags(executable)],
        "enabled, an empty node": code(rt.GraphNodeGetEnabled(executable, a)),
        "disable an empty node": code(rt.GraphNodeSetEnabled(executable, a, 0)),
        "enabled, a node of another graph": code(rt.GraphNodeGetEnabled(executable, foreign)),
    }
    return answers


@cases
def graph_nodes() -> dict[str, Answer]:
    t = Things()
    graph = new_graph()
    device, other = int(t.device), int(t.other)
    d2d, h2d = rt.copy_kind("DeviceToDevice"), rt.copy_kind("HostToDevice")

    def memset(pointer: int, element: int = 1, width: int = 64, height: int = 1, pitch: int = 0) -> Any:
        made = rt.MemsetParams()
        made.dst, made.elementSize, made.width, made.height, made.pitch, made.value = (
            pointer,
            element,
            width,
            height,
            pitch,
            0,
        )
        return made

    answers: dict[str, Answer] = {}
    for element in (0, 1, 2, 3, 4, 8):
        answers[f"memset of elements of {element}"] = code(
            rt.GraphAddMemsetNode(graph, None, 0, memset(device, element, 16))
        )
    answers |= {
        "memset of nothing": code(rt.GraphAddMemsetNode(graph, None, 0, memset(device, 1, 0))),
        "memset of no rows": code(rt.GraphAddMemsetNode(graph, None, 0, memset(device, 1, 16, 0))),
        "memset of null": code(rt.GraphAddMemsetNode(graph, None, 0, memset(0))),
        "memset of plain memory": code(
            rt.GraphAddMemsetNode(graph, None, 0, memset(ctypes.addressof(t.pageable)))
        ),
        "memset across the end": code(rt.GraphAddMemsetNode(graph, None, 0, memset(device, 1, 8192))),
        "memset with a pitch too small": code(
            rt.GraphAddMemsetNode(graph, None, 0, memset(device, 1, 64, 4, 8))
        ),
        "copy of nothing": code(rt.GraphAddMemcpyNode1D(graph, None, 0, device, other, 0, d2d)),
        "copy of null": code(rt.GraphAddMemcpyNode1D(graph, None, 0, device, 0, 16, d2d)),
        "copy across the end": code(rt.GraphAddMemcpyNode1D(graph, None, 0, device, other, 8192, d2d)),
        "copy of plain memory": code(rt.GraphAddMemcpyNode1D(graph, None, 0, device, t.pageable, 16, h2d)),
        "copy of a wrong kind": code(rt.GraphAddMemcpyNode1D(graph, None, 0, device, other, 16, 9)),
        "event record of null": code(rt.GraphAddEventRecordNode(graph, None, 0, 0)),
        "event wait of null": code(rt.GraphAddEventWaitNode(graph, None, 0, 0)),
        "event record": code(rt.GraphAddEventRecordNode(graph, None, 0, t.event)),
        "event wait": code(rt.GraphAddEventWaitNode(graph, None, 0, t.recorded)),
        "free of what is no graph memory": code(rt.GraphAddMemFreeNode(graph, None, 0, device)),
    }
    node = ok(rt.GraphAddMemsetNode(graph, None, 0, memset(device)))
    copy = ok(rt.GraphAddMemcpyNode1D(graph, None, 0, device, other, 64, d2d))
    answers |= {
        "set memset parameters": code(rt.GraphMemsetNodeSetParams(node, memset(other))),
        "set memset parameters of a copy": code(rt.GraphMemsetNodeSetParams(copy, memset(other))),
        "set copy parameters of a memset": code(rt.GraphMemcpyNodeSetParams1D(node, device, other, 16, d2d)),
        "set copy parameters": code(rt.GraphMemcpyNodeSetParams1D(copy, other, device, 16, d2d)),
    }
    single = new_graph()
    target = ok(rt.GraphAddMemsetNode(single, None, 0, memset(device)))
    moved = ok(rt.GraphAddMemcpyNode1D(single, [target], 1, device, other, 64, d2d))
    executable = ok(rt.GraphInstantiate(single, 0))
    answers |= {
        "executable: memset elsewhere": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(other))
        ),
        "executable: memset of another shape": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 1, 16, 4, 64))
        ),
        "executable: longer memset": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 1, 128))
        ),
        "executable: shorter memset": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 1, 16))
        ),
        "executable: other elements": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 4, 16))
        ),
        "executable: memset of nothing": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 1, 0))
        ),
        "executable: memset with a pitch": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 1, 64, 1, 128))
        ),
        "executable: memset of another node": code(
            rt.GraphExecMemsetNodeSetParams(executable, node, memset(device))
        ),
        "executable: copy of another length": code(
            rt.GraphExecMemcpyNodeSetParams1D(executable, moved, device, other, 32, d2d)
        ),
        "executable: copy turned into another kind": code(
            rt.GraphExecMemcpyNodeSetParams1D(executable, moved, device, t.pinned, 32, h2d)
        ),
        "executable: longer copy": code(
            rt.GraphExecMemcpyNodeSetParams1D(executable, moved, device, other, 128, d2d)
        ),
        "executable: copy elsewhere": code(
            rt.GraphExecMemcpyNodeSetParams1D(executable, moved, other, device, 64, d2d)
        ),
        "executable: disable": code(rt.GraphNodeSetEnabled(executable, target, 0)),
        "executable: is disabled": [int(x) for x in rt.GraphNodeGetEnabled(executable, target)],
        "executable: launch": code(rt.GraphLaunch(executable, t.stream)),
        "executable: upload": code(rt.GraphUpload(executable, t.stream)),
        "executable: destroy while it runs": code(rt.GraphExecDestroy(executable)),
    }
    plane = new_graph()
    rows = ok(rt.GraphAddMemsetNode(plane, None, 0, memset(device, 1, 16, 4, 64)))
    executable = ok(rt.GraphInstantiate(plane, 0))
    answers |= {
        "executable: a plane again": code(
            rt.GraphExecMemsetNodeSetParams(executable, rows, memset(device, 1, 16, 4, 64))
        ),
        "executable: another plane": code(
            rt.GraphExecMemsetNodeSetParams(executable, rows, memset(device, 1, 8, 8, 64))
        ),
        "executable: a plane made a row": code(
            rt.GraphExecMemsetNodeSetParams(executable, rows, memset(device))
        ),
    }
    return answers


@cases
def graph_updates() -> dict[str, Answer]:
    """Which node an update that fails points at: -1 for none, else its place in the new graph."""
    t = Things()
    device, other = int(t.device), int(t.other)
    d2d = rt.copy_kind("DeviceToDevice")

    def build(*shape: tuple[str, tuple[int, ...]]) -> tuple[Any, list[Any]]:
        graph = new_graph()
        nodes: list[Any] = []
        for kind, before in shape:
            dependencies = [nodes[i] for i in before]
            arguments = (graph, dependencies or None, len(dependencies))
            if kind == "copy":
                nodes.append(ok(rt.GraphAddMemcpyNode1D(*arguments, device, other, 64, d2d)))
            else:
                nodes.append(ok(rt.GraphAddEmptyNode(*arguments)))
        return graph, nodes

    original = (("empty", ()), ("empty", (0,)), ("copy", (1,)))
    executable = ok(rt.GraphInstantiate(build(*original)[0], 0))
    answers: dict[str, Answer] = {}
    shapes: dict[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
        "same": original,
        "fewer nodes": original[:2],
        "more nodes": (*original, ("empty", (2,))),
        "other edges": (("empty", ()), ("empty", ()), ("copy", (0, 1))),
        "edge missing": (("empty", ()), ("empty", ()), ("copy", (1,))),
        "other type": (("empty", ()), ("copy", (0,)), ("copy", (1,))),
        "other order": (("empty", ()), ("copy", (0,)), ("empty", (1,))),
    }
    for name, shape in shapes.items():
        graph, nodes = build(*shape)
        error, info = rt.GraphExecUpdate(executable, graph)
        rt.GetLastError()
        handles = [int(node) for node in nodes]
        if info is None:
            answers[name] = [int(error)]
            continue
        where = [
            handles.index(int(x)) if x is not None and int(x) in handles else -1
            for x in (info.errorNode, info.errorFromNode)
        ]
        answers[name] = [int(error), int(info.result), *where]
    return answers


def main(wanted: list[str]) -> int:
    answers = {}
    for name, function in _cases.items():
        if not wanted or name in wanted:
            answers[name] = function()
    print(json.dumps(answers, indent=1, sort_keys=True))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
