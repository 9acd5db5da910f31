"""Managed memory: one address for host and device."""

from __future__ import annotations

from typing import Any

from ..bench import D2H, Bench, peek, poke
from ..case import Register
from ..check import fails, holds, ok, rt, same
from .pool import location

case = Register("managed", "full")
SIZE = 4 * 4096


def managed(t: Bench) -> int:
    pointer = int(ok(rt.MallocManaged(SIZE, 1)))
    t.later(lambda: ok(rt.Free(pointer)))
    return pointer


def advise(pointer: int, advice: str, where: Any, size: int = SIZE) -> Any:
    return rt.MemAdvise(pointer, size, rt.member("MemoryAdvise", f"MemAdvise{advice}"), where)


def range_attribute(pointer: int, name: str, size: int = SIZE) -> int:
    which = rt.member("MemRangeAttribute", f"MemRangeAttribute{name}")
    return int(ok(rt.MemRangeGetAttribute(4, which, pointer, size)))


@case("managed.host-reaches", about="MallocManaged", rule="contract of infinirtMallocManaged")
def host_reaches(t: Bench) -> None:
    """The host reads and writes managed memory at its address."""
    pointer = managed(t)
    poke(pointer + SIZE - 16, b"\3" * 16)
    same(peek(pointer + SIZE - 16, 16), b"\3" * 16, "what the host wrote")


@case("managed.device-reaches", about="MallocManaged Memset Memcpy", rule="contract of infinirtMallocManaged")
def device_reaches(t: Bench) -> None:
    """What the device writes to managed memory, the host sees after synchronising, and the other way round."""
    pointer, pinned = managed(t), t.pinned(64)
    ok(rt.Memset(pointer, 4, SIZE))
    ok(rt.DeviceSynchronize())
    same(peek(pointer, SIZE), b"\4" * SIZE, "what the host sees")
    poke(pointer, b"\5" * 64)
    ok(rt.Memcpy(pinned, pointer, 64, D2H))
    same(peek(pinned, 64), b"\5" * 64, "what the device sees")


@case(
    "managed.attributes",
    about="MallocManaged PointerGetAttributes",
    rule="contract of infinirtPointerGetAttributes",
)
def attributes(t: Bench) -> None:
    """Managed memory is known as such, with one address for both sides."""
    pointer = managed(t)
    found = ok(rt.PointerGetAttributes(pointer))
    same(int(found.type), 3, "the type (3: managed)")
    same((int(found.hostPointer or 0), int(found.devicePointer or 0)), (pointer, pointer), "both addresses")


@case(
    "managed.flags", about="MallocManaged", rule="measured: MallocManaged with flags 0 or unknown ones is 1"
)
def flags(t: Bench) -> None:
    """Managed memory is attached globally or to the host; other flags are refused."""
    for wrong in (0, 8):
        fails(rt.MallocManaged(64, wrong), "InvalidValue")
    ok(rt.Free(ok(rt.MallocManaged(64, 2))))


@case(
    "managed.too-much",
    about="MallocManaged",
    rule="contract of infinirtMallocManaged: 2 when there is not enough",
)
def too_much(t: Bench) -> None:
    """More managed memory than any machine has is out of memory."""
    fails(rt.MallocManaged(1 << 60, 1), "MemoryAllocation")


@case(
    "managed.advice.read-mostly",
    about="MallocManaged MemAdvise MemRangeGetAttribute",
    rule="contract of infinirtMemAdvise",
)
def read_mostly(t: Bench) -> None:
    """Advice is remembered by page, and taken back."""
    pointer, here = managed(t), location(1, t.ordinal)
    same(range_attribute(pointer, "ReadMostly"), 0, "read-mostly at first")
    ok(advise(pointer, "SetReadMostly", here))
    same(range_attribute(pointer, "ReadMostly"), 1, "read-mostly after the advice")
    ok(advise(pointer, "UnsetReadMostly", here))
    same(range_attribute(pointer, "ReadMostly"), 0, "read-mostly after it was taken back")


@case(
    "managed.advice.preferred-location",
    about="MallocManaged MemAdvise MemRangeGetAttribute",
    rule="contract of infinirtMemAdvise",
)
def preferred(t: Bench) -> None:
    """The preferred location is remembered; a range with several has none."""
    pointer = managed(t)
    same(range_attribute(pointer, "PreferredLocation"), -2, "the preferred location at first (-2: none)")
    ok(advise(pointer, "SetPreferredLocation", location(1, t.ordinal)))
    same(range_attribute(pointer, "PreferredLocation"), t.ordinal, "the preferred location")


@case("managed.advice.refused", about="MallocManaged MemAdvise", rule="contract of infinirtMemAdvise")
def advice_refused(t: Bench) -> None:
    """Advice on no bytes, or on plain device memory, is refused."""
    here = location(1, t.ordinal)
    fails(advise(managed(t), "SetReadMostly", here, 0), "InvalidValue")
    fails(advise(t.memory(4096), "SetReadMostly", here, 64), "InvalidValue")


@case(
    "managed.prefetch",
    about="MallocManaged MemPrefetchAsync MemRangeGetAttribute",
    rule="contract of infinirtMemPrefetchAsync",
)
def prefetch(t: Bench) -> None:
    """A prefetch is done in stream order, and remembered as the last."""
    pointer, stream = managed(t), t.stream()
    ok(rt.MemPrefetchAsync(pointer, SIZE, location(1, t.ordinal), 0, stream))
    ok(rt.StreamSynchronize(stream))
    same(range_attribute(pointer, "LastPrefetchLocation"), t.ordinal, "the last prefetch")


@case(
    "managed.prefetch.refused",
    about="MallocManaged MemPrefetchAsync",
    rule="measured: prefetch to no device is 101, of plain device memory 1",
)
def prefetch_refused(t: Bench) -> None:
    """A prefetch to no device, or of plain device memory, is refused."""
    pointer, stream = managed(t), t.stream()
    fails(rt.MemPrefetchAsync(pointer, SIZE, location(1, 9999), 0, stream), "InvalidDevice")
    fails(rt.MemPrefetchAsync(t.memory(64), 64, location(1, t.ordinal), 0, stream), "InvalidValue")


@case(
    "managed.range-attributes",
    about="MallocManaged MemRangeGetAttributes",
    rule="contract of infinirtMemRangeGetAttributes",
)
def several(t: Bench) -> None:
    """Several attributes of a range are read at a time."""
    pointer = managed(t)
    which = [
        rt.member("MemRangeAttribute", f"MemRangeAttribute{n}") for n in ("ReadMostly", "PreferredLocation")
    ]
    found = ok(rt.MemRangeGetAttributes([4, 4], which, 2, pointer, SIZE))
    same([int(each) for each in found], [0, -2], "both attributes")


@case(
    "managed.attach",
    about="MallocManaged StreamAttachMemAsync",
    rule="contract of infinirtStreamAttachMemAsync; measured: plain device memory is 1",
)
def attach(t: Bench) -> None:
    """Managed memory is attached to a stream; plain device memory and wrong flags are refused."""
    pointer, stream = managed(t), t.stream()
    ok(rt.StreamAttachMemAsync(stream, pointer, 0, 4))
    ok(rt.StreamAttachMemAsync(stream, pointer, 0, 1))
    fails(rt.StreamAttachMemAsync(stream, t.memory(64), 0, 4), "InvalidValue")
    fails(rt.StreamAttachMemAsync(stream, pointer, 0, 64), "InvalidValue")
    ok(rt.StreamSynchronize(stream))


@case(
    "managed.property",
    about="MallocManaged DeviceGetAttribute",
    rule="contract of infinirtDevAttrManagedMemory",
)
def property_says(t: Bench) -> None:
    """A device with managed memory says so in its attributes."""
    managed(t)
    which = rt.member("DeviceAttr", "DevAttrManagedMemory")
    holds(int(ok(rt.DeviceGetAttribute(which, t.ordinal))) == 1, "the attribute to be 1")
