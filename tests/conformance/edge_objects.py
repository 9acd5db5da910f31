"""Edge cases of streams, events, memory, pools and devices."""

from __future__ import annotations

import ctypes

from edge_support import Answer, Things, cases, code, graph_memory, location, mode, pool_properties, twice
from flat_api import ok, rt


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
