"""Memory, events and pools shared with another process."""

from __future__ import annotations

import ctypes
import os
import socket
import tempfile
from typing import Any

from ..bench import DISABLE_TIMING, Bench, Gate, download
from ..case import Register
from ..check import fails, ok, rt, same
from ..other import Channel, Peer
from .pool import properties

case = Register("ipc", "full")
INTERPROCESS = 4
LAZY = 1
FILE_DESCRIPTOR = 1


def as_text(handle: Any) -> str:
    """The 64 bytes of a handle, which are what goes to the other process."""
    return ctypes.string_at(handle.getPtr(), 64).hex()


def from_text(made: Any, text: str) -> Any:
    ctypes.memmove(made.getPtr(), bytes.fromhex(text), 64)
    return made


def wait_for(pointer: int, value: int, size: int) -> None:
    ok(rt.Memset(pointer, value, size))
    ok(rt.DeviceSynchronize())


# ---- bodies of the other process


def open_memory(t: Bench, channel: Channel) -> None:
    text, size = channel.receive()
    handle = from_text(rt.IpcMemHandle_t(), text)
    pointer = int(ok(rt.IpcOpenMemHandle(handle, LAZY)))
    same(int(ok(rt.PointerGetAttributes(pointer)).type), 2, "the type of opened memory (2: device)")
    same(download(pointer, size), b"\x21" * size, "what the first process wrote")
    wait_for(pointer, 0x42, size)
    channel.send("written")
    channel.receive()
    fails(rt.Free(pointer), "InvalidValue")
    ok(rt.IpcCloseMemHandle(pointer))
    fails(rt.IpcCloseMemHandle(pointer), "InvalidValue")
    channel.send("closed")


def open_event(t: Bench, channel: Channel) -> None:
    event = ok(rt.IpcOpenEventHandle(from_text(rt.IpcEventHandle_t(), channel.receive())))
    channel.send("opened")
    channel.receive()  # recorded, and pending
    fails(rt.EventQuery(event), "NotReady")
    stream = t.stream()
    ok(rt.StreamWaitEvent(stream, event, 0))
    channel.send("waiting")
    ok(rt.EventSynchronize(event))
    ok(rt.StreamSynchronize(stream))
    channel.send("done")
    channel.receive()
    ok(rt.EventDestroy(event))


def record_event(t: Bench, channel: Channel) -> None:
    event = ok(rt.IpcOpenEventHandle(from_text(rt.IpcEventHandle_t(), channel.receive())))
    stream, gate = t.stream(), Gate()
    gate.hold(stream)
    ok(rt.EventRecord(event, stream))
    channel.send("recorded")
    channel.receive()
    gate.open()
    ok(rt.StreamSynchronize(stream))
    channel.receive()
    ok(rt.EventDestroy(event))


def import_pool(t: Bench, channel: Channel) -> None:
    path = channel.receive()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        link.connect(path)
        _, (file, *_), _, _ = socket.recv_fds(link, 1, 1)
    pool = ok(rt.MemPoolImportFromShareableHandle(file, rt.MemAllocationHandleType(FILE_DESCRIPTOR), 0))
    os.close(file)
    text, size = channel.receive()
    data = from_text(rt.MemPoolPtrExportData(), text)
    pointer = int(ok(rt.MemPoolImportPointer(pool, data)))
    same(download(pointer, size), b"\x21" * size, "what the first process wrote")
    wait_for(pointer, 0x42, size)
    ok(rt.Free(pointer))
    channel.send("written")


# ---- the cases


@case(
    "ipc.memory",
    about="IpcGetMemHandle IpcOpenMemHandle IpcCloseMemHandle",
    rule="contract of infinirtIpcGetMemHandle",
    limit=2,
)
def memory(t: Bench) -> None:
    """Memory is opened by another process, and both see what either writes."""
    size = 70000
    pointer, neighbour = t.memory(size), t.memory(700)
    wait_for(pointer, 0x21, size)
    wait_for(neighbour, 0x0A, 700)
    handle = ok(rt.IpcGetMemHandle(pointer))
    peer = Peer("ipc", "open_memory")
    peer.send([as_text(handle), size])
    same(peer.receive(), "written", "the answer")
    same(download(pointer, size), b"\x42" * size, "what the other process wrote")
    same(download(neighbour, 700), b"\x0a" * 700, "the neighbour")
    peer.send("close")
    same(peer.receive(), "closed", "the answer")
    same(peer.join(), 0, "the other process's status")


@case(
    "ipc.memory.handle",
    about="IpcGetMemHandle",
    rule="measured: an interior pointer names the whole allocation",
)
def handle(t: Bench) -> None:
    """Every address of an allocation has the allocation's handle."""
    pointer = t.memory(8192)
    same(
        as_text(ok(rt.IpcGetMemHandle(pointer + 100))), as_text(ok(rt.IpcGetMemHandle(pointer))), "the handle"
    )


@case(
    "ipc.memory.own",
    about="IpcGetMemHandle IpcOpenMemHandle",
    rule="measured: IpcOpenMemHandle of one's own handle is 201, with flags 0 1",
)
def own(t: Bench) -> None:
    """A process does not open its own memory."""
    found = ok(rt.IpcGetMemHandle(t.memory(4096)))
    fails(rt.IpcOpenMemHandle(found, LAZY), "DeviceUninitialized")
    fails(rt.IpcOpenMemHandle(found, 0), "InvalidValue")


@case(
    "ipc.memory.plain-only",
    about="IpcGetMemHandle",
    rule="measured: IpcGetMemHandle of pool or pinned memory is 1",
)
def plain_only(t: Bench) -> None:
    """Only plain device memory has a handle."""
    ok(rt.IpcGetMemHandle(t.memory(4096)))
    pooled = ok(rt.MallocAsync(4096, 0))
    fails(rt.IpcGetMemHandle(t.pinned(4096)), "InvalidValue")
    fails(rt.IpcGetMemHandle(pooled), "InvalidValue")
    ok(rt.FreeAsync(pooled, 0))


@case(
    "ipc.memory.close-unopened",
    about="IpcCloseMemHandle IpcGetMemHandle",
    rule="contract of infinirtIpcCloseMemHandle",
)
def close_unopened(t: Bench) -> None:
    """Memory that was not opened is not closed."""
    pointer = t.memory(64)
    ok(rt.IpcGetMemHandle(pointer))
    fails(rt.IpcCloseMemHandle(pointer), "InvalidValue")


def shared_event(t: Bench) -> Any:
    return t.event(INTERPROCESS | DISABLE_TIMING)


@case(
    "ipc.event",
    about="IpcGetEventHandle IpcOpenEventHandle",
    rule="contract of infinirtIpcOpenEventHandle",
    limit=2,
)
def event(t: Bench) -> None:
    """Another process waits for an event that this one records."""
    made, stream = shared_event(t), t.stream()
    peer = Peer("ipc", "open_event")
    peer.send(as_text(ok(rt.IpcGetEventHandle(made))))
    same(peer.receive(), "opened", "the answer")
    gate = t.gate(stream)
    ok(rt.EventRecord(made, stream))
    peer.send("recorded")
    same(peer.receive(), "waiting", "the answer")
    gate.open()
    same(peer.receive(), "done", "the answer")
    peer.send("end")
    same(peer.join(), 0, "the other process's status")


@case(
    "ipc.event.recorded-there",
    about="IpcGetEventHandle IpcOpenEventHandle",
    rule="contract of infinirtIpcOpenEventHandle",
    limit=2,
)
def recorded_there(t: Bench) -> None:
    """This process waits for an event that another one records."""
    made, stream = shared_event(t), t.stream()
    peer = Peer("ipc", "record_event")
    peer.send(as_text(ok(rt.IpcGetEventHandle(made))))
    same(peer.receive(), "recorded", "the answer")
    fails(rt.EventQuery(made), "NotReady")
    ok(rt.StreamWaitEvent(stream, made, 0))
    fails(rt.StreamQuery(stream), "NotReady")
    peer.send("open")
    ok(rt.StreamSynchronize(stream))
    ok(rt.EventQuery(made))
    peer.send("end")
    same(peer.join(), 0, "the other process's status")


@case(
    "ipc.event.flag",
    about="IpcGetEventHandle",
    rule="measured: IpcGetEventHandle of an event without the interprocess flag is 400",
)
def flag(t: Bench) -> None:
    """Only an event made for several processes has a handle."""
    fails(rt.IpcGetEventHandle(t.event(DISABLE_TIMING)), "InvalidResourceHandle")


@case(
    "ipc.event.own",
    about="IpcGetEventHandle IpcOpenEventHandle",
    rule="measured: IpcOpenEventHandle of one's own handle is 201",
)
def event_own(t: Bench) -> None:
    """A process does not open its own event."""
    fails(rt.IpcOpenEventHandle(ok(rt.IpcGetEventHandle(shared_event(t)))), "DeviceUninitialized")


@case(
    "ipc.pool",
    about="MemPoolExportToShareableHandle MemPoolImportFromShareableHandle MemPoolExportPointer MemPoolImportPointer",
    rule="contract of infinirtMemPoolExportToShareableHandle",
    limit=2,
)
def pool(t: Bench) -> None:
    """A pool is shared by a file descriptor, and its blocks by what is exported of them."""
    kind = rt.MemAllocationHandleType(FILE_DESCRIPTOR)
    if "infinirtMemPoolExportToShareableHandle" in rt.unsupported:
        ok(rt.MemPoolExportToShareableHandle(ok(rt.DeviceGetDefaultMemPool(t.ordinal)), kind, 0))
    made = ok(rt.MemPoolCreate(properties(t.ordinal, 0, FILE_DESCRIPTOR)))
    size, stream = 300000, t.stream()
    pointer = ok(rt.MallocFromPoolAsync(size, made, stream))
    ok(rt.MemsetAsync(pointer, 0x21, size, stream))
    ok(rt.StreamSynchronize(stream))
    file = int(ok(rt.MemPoolExportToShareableHandle(made, kind, 0)))
    data = ok(rt.MemPoolExportPointer(pointer))
    peer = Peer("ipc", "import_pool")
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as link:
        path = os.path.join(folder, "s")
        link.bind(path)
        link.listen(1)
        peer.send(path)
        other, _ = link.accept()
        with other:
            socket.send_fds(other, [b"x"], [file])
    os.close(file)
    peer.send([as_text(data), size])
    same(peer.receive(), "written", "the answer")
    same(peer.join(), 0, "the other process's status")
    same(download(int(pointer), size), b"\x42" * size, "what the other process wrote")
    ok(rt.FreeAsync(pointer, stream))
    ok(rt.StreamSynchronize(stream))
    ok(rt.MemPoolDestroy(made))


@case(
    "ipc.pool.not-shared",
    about="MemPoolExportToShareableHandle",
    rule="contract of infinirtMemPoolExportToShareableHandle",
)
def not_shared(t: Bench) -> None:
    """A pool that was not made for sharing is not exported."""
    made = ok(rt.MemPoolCreate(properties(t.ordinal)))
    fails(
        rt.MemPoolExportToShareableHandle(made, rt.MemAllocationHandleType(FILE_DESCRIPTOR), 0),
        "InvalidValue",
    )
    ok(rt.MemPoolDestroy(made))
