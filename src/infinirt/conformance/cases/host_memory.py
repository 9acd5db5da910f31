"""Host memory that the runtime allocates or registers."""

from __future__ import annotations

import ctypes

from ..bench import D2H, H2D, Bench, download, pattern, peek, poke
from ..case import Register
from ..check import fails, holds, ok, rt, same, same_bytes

case = Register("memory", "minimal")
full = Register("memory", "full")


@case("memory.host.allocate", about="MallocHost FreeHost", rule="contract of infinirtMallocHost")
def allocate(t: Bench) -> None:
    """Page-locked memory is allocated, is read and written by the host, and is freed."""
    pointer = int(ok(rt.MallocHost(1 << 20)))
    poke(pointer + (1 << 20) - 4096, pattern(4096))
    same_bytes(peek(pointer + (1 << 20) - 4096, 4096), pattern(4096), "what the host wrote")
    ok(rt.FreeHost(pointer))


@case("memory.host.flags", about="HostAlloc HostGetFlags", rule="contract of infinirtHostAlloc", level="full")
def flags(t: Bench) -> None:
    """Page-locked memory keeps the flags it was allocated with."""
    pointer = ok(rt.HostAlloc(4096, 1))
    holds(int(ok(rt.HostGetFlags(pointer))) & 1 == 1, "the portable flag to be kept")
    ok(rt.FreeHost(pointer))


@case("memory.host.null", about="FreeHost", rule="contract of infinirtFreeHost")
def null(t: Bench) -> None:
    """Freeing null host memory does nothing and succeeds."""
    ok(rt.FreeHost(0))


@case(
    "memory.host.nothing",
    about="MallocHost",
    rule="measured: MallocHost of 0 bytes succeeds with a null pointer",
)
def nothing(t: Bench) -> None:
    """Allocating no host memory succeeds and gives null."""
    same(int(ok(rt.MallocHost(0))), 0, "the address of 0 bytes")


@case(
    "memory.host.wrong-function",
    about="Free FreeHost",
    rule="measured: host and device memory are freed by their own functions",
)
def wrong_function(t: Bench) -> None:
    """Device memory is not freed as host memory, nor the other way round."""
    fails(rt.FreeHost(t.memory(4096)), "InvalidValue")
    fails(rt.Free(t.pinned(4096)), "InvalidValue")


@case("memory.host.copies", about="MallocHost Memcpy", rule="contract of infinirtMallocHost")
def copies(t: Bench) -> None:
    """Page-locked memory is copied to the device and back."""
    there, back, device = t.pinned(8192), t.pinned(8192), t.memory(8192)
    poke(there, pattern(8192))
    ok(rt.Memcpy(device, there, 8192, H2D))
    ok(rt.Memcpy(back, device, 8192, D2H))
    same_bytes(peek(back, 8192), pattern(8192), "what came back")


@full(
    "memory.host.too-much",
    about="MallocHost",
    rule="contract of infinirtMallocHost: 2 when there is not enough",
)
def too_much(t: Bench) -> None:
    """More page-locked memory than any machine has is out of memory."""
    fails(rt.MallocHost(1 << 60), "MemoryAllocation")


@full("memory.host.free-waits", about="FreeHost", rule="measured: FreeHost waits for the device")
def free_waits(t: Bench) -> None:
    """Freeing page-locked memory waits for the device's work."""
    pointer = ok(rt.MallocHost(4096))
    t.waits(t.stream(), lambda: rt.FreeHost(pointer), "infinirtFreeHost")


@full(
    "memory.host.allocate-does-not-wait",
    about="MallocHost",
    rule="Measured: MallocHost does not wait for the device",
)
def allocate_does_not_wait(t: Bench) -> None:
    """Allocating page-locked memory does not wait for the device's work."""
    ok(rt.FreeHost(t.returns(t.blocking_stream(), lambda: rt.MallocHost(4096))))


@full("memory.host.wrong-flags", about="HostAlloc", rule="contract of infinirtHostAlloc")
def wrong_flags(t: Bench) -> None:
    """Flags of page-locked memory that do not exist are an invalid value."""
    for wrong in (8, 16):
        fails(rt.HostAlloc(64, wrong), "InvalidValue")


@full(
    "memory.host.device-pointer",
    about="HostGetDevicePointer",
    rule="contract of infinirtHostGetDevicePointer",
)
def device_pointer(t: Bench) -> None:
    """The device reaches page-locked memory at the address the host uses."""
    pointer = t.pinned(64)
    same(int(ok(rt.HostGetDevicePointer(pointer, 0))), pointer, "the device's address")
    fails(rt.HostGetDevicePointer(pointer, 1), "InvalidValue")


def own_pages(t: Bench, pages: int) -> int:
    """Plain host memory that begins at a page."""
    return (t.plain((pages + 1) * 4096) + 4095) // 4096 * 4096


@full(
    "memory.register",
    about="HostRegister HostUnregister PointerGetAttributes",
    rule="contract of infinirtHostRegister",
)
def register(t: Bench) -> None:
    """Plain memory that is registered is known as host memory until it is unregistered."""
    pointer = own_pages(t, 2)
    ok(rt.HostRegister(pointer, 8192, 0))
    same(int(ok(rt.PointerGetAttributes(pointer + 8191)).type), 1, "the type while registered (1: host)")
    ok(rt.HostUnregister(pointer))
    same(int(ok(rt.PointerGetAttributes(pointer)).type), 0, "the type afterwards (0: unregistered)")


@full("memory.register.copies", about="HostRegister MemcpyAsync", rule="contract of infinirtHostRegister")
def register_copies(t: Bench) -> None:
    """Registered memory is copied asynchronously like page-locked memory."""
    pointer, device, stream = own_pages(t, 1), t.memory(4096), t.stream()
    ctypes.memmove(pointer, pattern(4096), 4096)
    ok(rt.HostRegister(pointer, 4096, 0))
    t.returns(stream, lambda: rt.MemcpyAsync(device, pointer, 4096, H2D, stream))
    same_bytes(download(device, 4096), pattern(4096), "what was copied")
    ok(rt.HostUnregister(pointer))


@full(
    "memory.register.twice",
    about="HostRegister",
    rule="contract of infinirtHostRegister: 712 when registered already",
)
def register_twice(t: Bench) -> None:
    """Memory that is registered already is refused."""
    pointer = own_pages(t, 2)
    ok(rt.HostRegister(pointer, 8192, 0))
    fails(rt.HostRegister(pointer, 8192, 0), "HostMemoryAlreadyRegistered")
    ok(rt.HostUnregister(pointer))


@full(
    "memory.register.unknown",
    about="HostUnregister",
    rule="contract of infinirtHostUnregister: 713 when not registered",
)
def unregister_unknown(t: Bench) -> None:
    """Memory that was not registered cannot be unregistered."""
    fails(rt.HostUnregister(own_pages(t, 1)), "HostMemoryNotRegistered")


@full(
    "memory.register.known-memory",
    about="HostRegister",
    rule="measured: HostRegister of memory the runtime knows is 1",
)
def register_known(t: Bench) -> None:
    """Memory that the runtime allocated itself cannot be registered."""
    fails(rt.HostRegister(t.pinned(4096), 4096, 0), "InvalidValue")


@full(
    "memory.register.nothing", about="HostRegister", rule="measured: HostRegister of null or of no bytes is 1"
)
def register_nothing(t: Bench) -> None:
    """Registering null, no bytes, or with flags that do not exist is an invalid value."""
    pointer = own_pages(t, 1)
    fails(rt.HostRegister(0, 64, 0), "InvalidValue")
    fails(rt.HostRegister(pointer, 0, 0), "InvalidValue")
    fails(rt.HostRegister(pointer, 64, 64), "InvalidValue")


@full(
    "memory.register.interior",
    about="HostUnregister",
    rule="measured: HostUnregister of an interior pointer is 1",
)
def unregister_interior(t: Bench) -> None:
    """Only the address that was registered can be unregistered."""
    pointer = own_pages(t, 1)
    ok(rt.HostRegister(pointer, 4096, 0))
    fails(rt.HostUnregister(pointer + 16), "InvalidValue")
    ok(rt.HostUnregister(pointer))


@full(
    "memory.register.pinned-is-not",
    about="HostUnregister",
    rule="measured: HostUnregister of MallocHost memory is 1",
)
def unregister_pinned(t: Bench) -> None:
    """Memory that the runtime allocated page-locked cannot be unregistered."""
    fails(rt.HostUnregister(t.pinned(4096)), "InvalidValue")


@full(
    "memory.host.facts-of-plain",
    about="HostGetFlags HostGetDevicePointer",
    rule="measured: plain and device memory have no host flags",
)
def facts_of_plain(t: Bench) -> None:
    """Plain memory and device memory have neither flags nor a device pointer of host memory."""
    for pointer in (t.plain(64), t.memory(64)):
        fails(rt.HostGetFlags(pointer), "InvalidValue")
        fails(rt.HostGetDevicePointer(pointer, 0), "InvalidValue")
