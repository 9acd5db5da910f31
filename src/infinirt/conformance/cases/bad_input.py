"""Wrong arguments: each is answered by its error, and the device works on. Only mistakes that a runtime can know of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..bench import D2D, D2H, H2D, Bench, download, upload
from ..case import Register
from ..check import fails, ok, rt, same
from .copy_shapes import parms, volume
from .pool import location, new_pool, properties

case = Register("bad-input", "full")
HUGE = (1 << 64) - 1

# id, sentence, functions, rule, the call, the error that it has to return.
Row = tuple[str, str, str, str, Callable[[Bench], Any], str]
MEASURED = "measured on a GPU"
ROWS: list[Row] = [
    ("malloc.overflow", "allocating all addresses there are", "Malloc", "contract of infinirtMalloc", lambda t: rt.Malloc(HUGE - 4), "MemoryAllocation"),
    ("malloc-async.overflow", "allocating all addresses there are in stream order", "MallocAsync", "contract of infinirtMallocAsync", lambda t: rt.MallocAsync(HUGE, t.stream()), "MemoryAllocation"),
    ("free.interior", "freeing the middle of an allocation", "Free", MEASURED, lambda t: rt.Free(t.memory(4096) + 16), "InvalidValue"),
    ("free.plain", "freeing plain host memory", "Free", MEASURED, lambda t: rt.Free(t.plain(4096)), "InvalidValue"),
    ("free-host.plain", "freeing plain memory as page-locked", "FreeHost", MEASURED, lambda t: rt.FreeHost(t.plain(4096)), "InvalidValue"),
    ("free-host.interior", "freeing the middle of page-locked memory", "FreeHost", MEASURED, lambda t: rt.FreeHost(t.pinned(4096) + 16), "InvalidValue"),
    ("memcpy.overflow", "a copy of more bytes than there are addresses", "MemcpyAsync", MEASURED, lambda t: rt.MemcpyAsync(t.memory(64), t.memory(64), HUGE, D2D, t.stream()), "InvalidValue"),
    ("memcpy.one-byte-too-many", "a copy of one byte more than is left", "Memcpy", MEASURED, lambda t: rt.Memcpy(t.memory(4096) + 4000, t.plain(4096), 97, H2D), "InvalidValue"),
    ("memcpy.one-byte-too-many-source", "a copy from beyond the end by one byte", "Memcpy", MEASURED, lambda t: rt.Memcpy(t.plain(4096), t.memory(4096) + 4000, 97, D2H), "InvalidValue"),
    ("memcpy.pinned-too-many", "a copy across the end of page-locked memory", "Memcpy", MEASURED, lambda t: rt.Memcpy(t.memory(8192), t.pinned(4096) + 1, 4096, H2D), "InvalidValue"),
    ("memcpy-async.wrong-kind", "an asynchronous copy of a kind that does not exist", "MemcpyAsync", MEASURED, lambda t: rt.MemcpyAsync(t.memory(64), t.memory(64), 16, 9, t.stream()), "InvalidMemcpyDirection"),
    ("memcpy-async.null", "an asynchronous copy to null", "MemcpyAsync", MEASURED, lambda t: rt.MemcpyAsync(0, t.memory(64), 16, D2D, t.stream()), "InvalidValue"),
    ("memset.one-byte-too-many", "a set of one byte more than is left", "Memset", MEASURED, lambda t: rt.Memset(t.memory(4096) + 4090, 0, 7), "InvalidValue"),
    ("memset-async.overflow", "a set of more bytes than there are addresses", "MemsetAsync", MEASURED, lambda t: rt.MemsetAsync(t.memory(64), 0, HUGE, t.stream()), "InvalidValue"),
    ("memset2d.pitch-zero", "a set of several rows with a pitch of 0", "Memset2D", MEASURED, lambda t: rt.Memset2D(t.memory(4096), 0, 0, 16, 2), "InvalidValue"),
    ("memset2d.overflow", "a set of rows so far apart that addresses overflow", "Memset2D", MEASURED, lambda t: rt.Memset2D(t.memory(4096), 1 << 62, 0, 8, 8), "InvalidValue"),
    ("memcpy2d.overflow", "a copy of rows so far apart that addresses overflow", "Memcpy2D", MEASURED, lambda t: rt.Memcpy2D(t.memory(4096), 1 << 62, t.plain(4096), 1 << 62, 8, 8, H2D), "InvalidValue"),
    ("memset3d.too-deep", "a set of more slices than the allocation has", "Memset3D", MEASURED, lambda t: rt.Memset3D(volume(t.memory(1024), 64, 64, 4), 0, rt.make("Extent")(64, 4, 16000)), "InvalidValue"),
    ("memcpy3d.position-overflow", "a copy at a position so far that addresses overflow", "Memcpy3D", MEASURED, lambda t: _far(t), "InvalidValue"),
    ("memcpy3d.null", "a copy of a volume from null", "Memcpy3D", MEASURED, lambda t: rt.Memcpy3D(parms(volume(0, 16, 16, 4), volume(t.memory(1024), 16, 16, 4), (16, 4, 1), H2D)), "InvalidValue"),
    ("peer.wrong-source-device", "a copy from a device that does not exist", "MemcpyPeer", "contract of infinirtMemcpyPeer", lambda t: rt.MemcpyPeer(t.memory(64), t.ordinal, t.memory(64), 9999, 64), "InvalidDevice"),
    ("host-register.overflow", "registering more bytes than there are addresses", "HostRegister", "contract of infinirtHostRegister", lambda t: rt.HostRegister(t.plain(4096), HUGE, 0), "InvalidValue"),
    ("host-unregister.null", "unregistering null", "HostUnregister", "contract of infinirtHostUnregister", lambda t: rt.HostUnregister(0), "InvalidValue"),
    ("range-attribute.device-memory", "prefetching plain device memory", "MemPrefetchAsync", MEASURED, lambda t: rt.MemPrefetchAsync(t.memory(4096), 64, location(1, t.ordinal), 0, t.stream()), "InvalidValue"),
    ("stream.capture-mode", "a capture in a mode that does not exist", "StreamBeginCapture", "contract of infinirtStreamBeginCapture", lambda t: rt.StreamBeginCapture(t.stream(), 77), "InvalidValue"),
    ("event.flags", "an event with a flag that does not exist", "EventCreateWithFlags", "contract of infinirtEventCreateWithFlags", lambda t: rt.EventCreateWithFlags(0x80), "InvalidValue"),
    ("event.elapsed-null", "the time between null and an event", "EventElapsedTime", MEASURED, lambda t: rt.EventElapsedTime(0, _recorded(t)), "InvalidResourceHandle"),
    ("pool.attribute", "an attribute of a pool that does not exist", "MemPoolGetAttribute", "contract of infinirtMemPoolGetAttribute", lambda t: rt.MemPoolGetAttribute(new_pool(t), 0), "InvalidValue"),
    ("pool.location-negative", "a pool on device -1", "MemPoolCreate", MEASURED, lambda t: rt.MemPoolCreate(properties(-1)), "InvalidValue"),
    ("pool.access-no-device", "access of a device that does not exist", "MemPoolGetAccess", MEASURED, lambda t: rt.MemPoolGetAccess(new_pool(t), location(1, 9999)), "InvalidValue"),
    ("graph-memory.no-device", "memory of graphs of a device that does not exist", "DeviceGraphMemTrim", MEASURED, lambda t: rt.DeviceGraphMemTrim(9999), "InvalidDevice"),
    ("graph-memory.attribute-no-device", "an attribute of graph memory of no device", "DeviceGetGraphMemAttribute", MEASURED, lambda t: rt.DeviceGetGraphMemAttribute(9999, rt.member("GraphMemAttributeType", "GraphMemAttrUsedMemCurrent")), "InvalidDevice"),
    ("ipc.event-garbage", "opening an event handle of zeros", "IpcOpenEventHandle", MEASURED, lambda t: rt.IpcOpenEventHandle(rt.IpcEventHandle_t()), "MapBufferObjectFailed"),
    ("ipc.memory-garbage", "opening a memory handle of zeros", "IpcGetMemHandle IpcOpenMemHandle", MEASURED, lambda t: _open_zeros(t), "InvalidValue"),
    ("device.bus-id-of-none", "the bus id of a device that does not exist", "DeviceGetPCIBusId", MEASURED, lambda t: rt.DeviceGetPCIBusId(13, 9999), "InvalidDevice"),
    ("device.peer-of-none", "access of a device that does not exist to this one", "DeviceCanAccessPeer", "contract of infinirtDeviceCanAccessPeer", lambda t: rt.DeviceCanAccessPeer(9999, t.ordinal), "InvalidDevice"),
    ("host-alloc.flags", "page-locked memory with all flags", "HostAlloc", "contract of infinirtHostAlloc", lambda t: rt.HostAlloc(64, 0xFF), "InvalidValue"),
    ("user-object.no-references", "a user object without references", "UserObjectCreate", "contract of infinirtUserObjectCreate", lambda t: rt.UserObjectCreate(1, t.calls().address, 0, rt.member("UserObjectFlags", "UserObjectNoDestructorSync")), "InvalidValue"),
]  # fmt: skip


def _far(t: Bench) -> Any:
    made = parms(volume(t.memory(1024), 64, 64, 4), volume(t.memory(1024), 64, 64, 4), (64, 4, 1), D2D)
    made.dstPos = rt.make("Pos")(0, 0, HUGE // 128)
    return rt.Memcpy3D(made)


def _open_zeros(t: Bench) -> Any:
    ok(rt.IpcGetMemHandle(t.memory(4096)))  # where memory is not shared at all, that is the answer
    return rt.IpcOpenMemHandle(rt.IpcMemHandle_t(), 1)


def _recorded(t: Bench) -> Any:
    event, stream = t.event(), t.stream()
    ok(rt.EventRecord(event, stream))
    ok(rt.StreamSynchronize(stream))
    return event


def answer(t: Bench, call: Callable[[Bench], Any], error: str) -> None:
    """The call fails as it should, and the device still works."""
    fails(call(t), error)
    pointer = t.memory(64)
    upload(pointer, b"\x2a" * 64)
    same(download(pointer, 64), b"\x2a" * 64, "memory of the device afterwards")


for _id, _what, _functions, _rule, _call, _error in ROWS:
    case.add(
        f"bad-input.{_id}",
        partial(answer, call=_call, error=_error),
        f"{_what[0].upper()}{_what[1:]} is refused with infinirtError{_error}, and the device works on.",
        _functions,
        _rule,
    )
