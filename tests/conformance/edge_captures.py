"""Edge cases of captures: what calls do beside one, on a capturing stream, and to its events and graph."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from edge_support import (
    MODES,
    Answer,
    Things,
    begin_and_end,
    capturing,
    cases,
    code,
    exchange_and_back,
    graph_memory,
    location,
    mode,
    pool_properties,
    status,
)
from flat_api import ok, rt


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
