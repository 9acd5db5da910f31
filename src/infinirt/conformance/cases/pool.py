"""Stream-ordered memory and its pools."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from infinirt import runtime

from ..bench import D2H, Bench, download, peek
from ..case import Register
from ..check import Inapplicable, code_of, fails, holds, ok, rt, same

case = Register("pool", "full")
MIB = 1 << 20


def properties(device: int, limit: int = 0, handles: int = 0) -> Any:
    made = rt.MemPoolProps()
    made.allocType = rt.member("MemAllocationType", "MemAllocationTypePinned")
    made.handleTypes = rt.MemAllocationHandleType(handles)
    made.location.type = rt.member("MemLocationType", "MemLocationTypeDevice")
    made.location.id = device
    made.maxSize = limit
    return made


def new_pool(t: Bench, limit: int = 0) -> Any:
    pool = ok(rt.MemPoolCreate(properties(t.ordinal, limit)))
    t.later(lambda: ok(rt.MemPoolDestroy(pool)))
    return pool


def attribute(name: str) -> Any:
    return rt.member("MemPoolAttr", f"MemPool{name}")


def value(pool: Any, name: str) -> int:
    return int(ok(rt.MemPoolGetAttribute(pool, attribute(name))))


def set_value(pool: Any, name: str, number: int) -> Any:
    return rt.MemPoolSetAttribute(pool, attribute(name), runtime.cuuint64_t(number))


@case(
    "pool.allocate",
    about="MallocAsync FreeAsync",
    rule="Stream-ordered memory: usable between the stream's execution of the allocation and of the free",
)
def allocate(t: Bench) -> None:
    """Memory allocated on a stream is used and freed on it."""
    stream, pinned = t.stream(), t.pinned(4096)
    pointer = ok(rt.MallocAsync(4096, stream))
    ok(rt.MemsetAsync(pointer, 4, 4096, stream))
    ok(rt.MemcpyAsync(pinned, pointer, 4096, D2H, stream))
    ok(rt.FreeAsync(pointer, stream))
    ok(rt.StreamSynchronize(stream))
    same(peek(pinned, 4096), b"\4" * 4096, "what the memory held")


@case(
    "pool.allocate.at-once",
    about="MallocAsync FreeAsync",
    rule="Stream-ordered memory: the pointer is returned at once",
)
def at_once(t: Bench) -> None:
    """Allocating and freeing in stream order return while the stream is held."""
    stream = t.stream()
    gate = t.gate(stream)
    gate.wait_until_entered()
    pointer = ok(rt.MallocAsync(4096, stream))
    holds(int(pointer) != 0, "an address")
    ok(rt.MemsetAsync(pointer, 1, 4096, stream))
    ok(rt.FreeAsync(pointer, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))


@case(
    "pool.allocate.nothing",
    about="MallocAsync",
    rule="measured: MallocAsync of 0 bytes succeeds with a null pointer",
)
def nothing(t: Bench) -> None:
    """Allocating nothing in stream order succeeds and gives null."""
    same(int(ok(rt.MallocAsync(0, t.stream()))), 0, "the address of 0 bytes")


@case(
    "pool.allocate.too-much",
    about="MallocAsync",
    rule="contract of infinirtMallocAsync: 2 when there is not enough",
)
def too_much(t: Bench) -> None:
    """More memory than any device has is out of memory, in stream order too."""
    fails(rt.MallocAsync(1 << 50, t.stream()), "MemoryAllocation")


@case("pool.allocate.apart", about="MallocAsync", rule="contract of infinirtMallocAsync")
def apart(t: Bench) -> None:
    """Blocks that live at the same time do not overlap."""
    stream = t.stream()
    sizes = [(i * 997) % 9000 + 16 for i in range(40)]
    blocks = sorted((int(ok(rt.MallocAsync(size, stream))), size) for size in sizes)
    for (a, size), (b, _) in pairwise(blocks):
        holds(a + size <= b, "blocks that do not overlap", f"{size} bytes at {a:#x} and a block at {b:#x}")
    for pointer, _ in blocks:
        ok(rt.FreeAsync(pointer, stream))


@case("pool.free.null", about="FreeAsync", rule="measured: FreeAsync(null) succeeds")
def free_null(t: Bench) -> None:
    """Freeing null in stream order succeeds."""
    ok(rt.FreeAsync(0, t.stream()))


@case("pool.free.twice", about="FreeAsync", rule="Stream-ordered memory: double free is an error")
def free_twice(t: Bench) -> None:
    """Freeing a block a second time in stream order is an error."""
    stream = t.stream()
    pointer = ok(rt.MallocAsync(4096, stream))
    ok(rt.FreeAsync(pointer, stream))
    fails(rt.FreeAsync(pointer, stream), "InvalidValue")


@case("pool.free.twice-plain", about="Free", rule="Stream-ordered memory: double free is an error")
def free_twice_plain(t: Bench) -> None:
    """A block that was freed with infinirtFree is not freed a second time."""
    pointer = ok(rt.MallocAsync(4096, t.stream()))
    ok(rt.Free(pointer))
    fails(rt.Free(pointer), "InvalidValue")


@case("pool.free.interior", about="FreeAsync", rule="measured: free of an interior pointer is 1")
def free_interior(t: Bench) -> None:
    """Only the beginning of a block can be freed."""
    stream = t.stream()
    pointer = int(ok(rt.MallocAsync(8192, stream)))
    fails(rt.FreeAsync(pointer + 512, stream), "InvalidValue")
    ok(rt.FreeAsync(pointer, stream))


@case("pool.free.foreign", about="FreeAsync", rule="measured: FreeAsync of host memory is 1")
def free_foreign(t: Bench) -> None:
    """Host memory, plain or page-locked, is not freed in stream order."""
    stream = t.stream()
    fails(rt.FreeAsync(t.plain(64), stream), "InvalidValue")
    fails(rt.FreeAsync(t.pinned(64), stream), "InvalidValue")


@case(
    "pool.free.plain-memory",
    about="FreeAsync Malloc",
    rule="measured: FreeAsync of Malloc memory succeeds: freed in stream order",
)
def free_plain_memory(t: Bench) -> None:
    """Plain device memory can be freed in stream order, after the work on it."""
    stream, pinned = t.stream(), t.pinned(4096)
    pointer = ok(rt.Malloc(4096))
    gate = t.gate(stream)
    ok(rt.MemsetAsync(pointer, 3, 4096, stream))
    ok(rt.MemcpyAsync(pinned, pointer, 4096, D2H, stream))
    ok(rt.FreeAsync(pointer, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(peek(pinned, 4096), b"\3" * 4096, "what the memory held before the free")


@case(
    "pool.free.does-not-synchronise",
    about="Free MallocAsync",
    rule="Stream-ordered memory: Free of a stream-ordered pointer does not synchronise",
)
def free_does_not_wait(t: Bench) -> None:
    """Freeing a block with infinirtFree does not wait for its stream."""
    stream = t.stream()
    gate = t.gate(stream)
    gate.wait_until_entered()
    ok(rt.Free(ok(rt.MallocAsync(4096, stream))))
    gate.open()


@case(
    "pool.default",
    about="DeviceGetDefaultMemPool DeviceGetMemPool",
    rule="contract of infinirtDeviceGetDefaultMemPool",
)
def default(t: Bench) -> None:
    """A device has a default pool, which is the current one at first, and always the same."""
    first = ok(rt.DeviceGetDefaultMemPool(t.ordinal))
    same(int(ok(rt.DeviceGetDefaultMemPool(t.ordinal))), int(first), "the default pool, asked for again")
    same(int(ok(rt.DeviceGetMemPool(t.ordinal))), int(first), "the current pool")


@case(
    "pool.default.not-destroyed",
    about="MemPoolDestroy",
    rule="Stream-ordered memory: the default pool cannot be destroyed",
)
def default_stays(t: Bench) -> None:
    """The default pool cannot be destroyed."""
    fails(rt.MemPoolDestroy(ok(rt.DeviceGetDefaultMemPool(t.ordinal))), "InvalidValue")


@case(
    "pool.current.set", about="DeviceSetMemPool DeviceGetMemPool", rule="contract of infinirtDeviceSetMemPool"
)
def current(t: Bench) -> None:
    """The pool that is set serves infinirtMallocAsync; when it is destroyed the default one does again."""
    default_pool, stream = ok(rt.DeviceGetDefaultMemPool(t.ordinal)), t.stream()
    pool = ok(rt.MemPoolCreate(properties(t.ordinal)))
    ok(rt.DeviceSetMemPool(t.ordinal, pool))
    same(int(ok(rt.DeviceGetMemPool(t.ordinal))), int(pool), "the current pool")
    pointer = ok(rt.MallocAsync(MIB, stream))
    holds(value(pool, "AttrUsedMemCurrent") >= MIB, "the memory to come from it")
    ok(rt.FreeAsync(pointer, stream))
    ok(rt.StreamSynchronize(stream))
    ok(rt.MemPoolDestroy(pool))
    same(int(ok(rt.DeviceGetMemPool(t.ordinal))), int(default_pool), "the current pool afterwards")


@case(
    "pool.create",
    about="MemPoolCreate MallocFromPoolAsync MemPoolDestroy",
    rule="contract of infinirtMemPoolCreate",
)
def create(t: Bench) -> None:
    """Memory comes from a pool of one's own."""
    pool, stream = new_pool(t), t.stream()
    pointer = ok(rt.MallocFromPoolAsync(4096, pool, stream))
    ok(rt.MemsetAsync(pointer, 2, 4096, stream))
    ok(rt.StreamSynchronize(stream))
    same(download(pointer, 4096), b"\2" * 4096, "the memory")
    ok(rt.FreeAsync(pointer, stream))


@case("pool.create.refused", about="MemPoolCreate", rule="measured: wrong pool properties are 1")
def create_refused(t: Bench) -> None:
    """A pool on no device, of no location or of no kind of memory is refused."""
    fails(rt.MemPoolCreate(properties(9999)), "InvalidValue")
    wrong = properties(t.ordinal)
    wrong.location.type = rt.member("MemLocationType", "MemLocationTypeInvalid")
    fails(rt.MemPoolCreate(wrong), "InvalidValue")
    wrong = properties(t.ordinal)
    wrong.allocType = rt.member("MemAllocationType", "MemAllocationTypeInvalid")
    fails(rt.MemPoolCreate(wrong), "InvalidValue")


@case(
    "pool.create.maximum",
    about="MemPoolCreate MallocFromPoolAsync",
    rule="contract of infinirtMemPoolProps.maxSize",
)
def maximum(t: Bench) -> None:
    """A pool with a maximum gives no more than that, and works on."""
    pool, stream = new_pool(t, 32 * MIB), t.stream()
    fails(rt.MallocFromPoolAsync(64 * MIB, pool, stream), "MemoryAllocation")
    ok(rt.FreeAsync(ok(rt.MallocFromPoolAsync(8 * MIB, pool, stream)), stream))


@case(
    "pool.destroy.with-live-memory",
    about="MemPoolDestroy",
    rule="Stream-ordered memory: destroying a pool with live allocations returns at once",
)
def destroy_live(t: Bench) -> None:
    """A pool with live memory is destroyed at once, and the memory lives until it is freed."""
    stream, pinned = t.stream(), t.pinned(64)
    pool = ok(rt.MemPoolCreate(properties(t.ordinal)))
    gate = t.gate(stream)
    pointer = ok(rt.MallocFromPoolAsync(4096, pool, stream))
    ok(rt.MemsetAsync(pointer, 7, 4096, stream))
    ok(rt.MemcpyAsync(pinned, pointer, 64, D2H, stream))
    ok(rt.MemPoolDestroy(pool))
    ok(rt.FreeAsync(pointer, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(peek(pinned, 64), b"\7" * 64, "what the memory held")


@case(
    "pool.attributes.reuse-on",
    about="MemPoolGetAttribute MemPoolSetAttribute",
    rule="Stream-ordered memory: reuse policies are all on by default",
)
def reuse_on(t: Bench) -> None:
    """The three reuse policies are on in a new pool, and can be switched."""
    pool = new_pool(t)
    for name in ("ReuseFollowEventDependencies", "ReuseAllowOpportunistic", "ReuseAllowInternalDependencies"):
        same(int(ok(rt.MemPoolGetAttribute(pool, attribute(name)))), 1, name)
        ok(rt.MemPoolSetAttribute(pool, attribute(name), 0))
        same(int(ok(rt.MemPoolGetAttribute(pool, attribute(name)))), 0, name)


@case(
    "pool.attributes.threshold",
    about="MemPoolGetAttribute MemPoolSetAttribute",
    rule="Stream-ordered memory: ReleaseThreshold defaults to 0",
)
def threshold(t: Bench) -> None:
    """The release threshold is 0 in a new pool and can be set."""
    pool = new_pool(t)
    same(value(pool, "AttrReleaseThreshold"), 0, "the threshold of a new pool")
    ok(set_value(pool, "AttrReleaseThreshold", 12345678))
    same(value(pool, "AttrReleaseThreshold"), 12345678, "the threshold that was set")


@case(
    "pool.attributes.used", about="MemPoolGetAttribute", rule="contract of infinirtMemPoolAttrUsedMemCurrent"
)
def used(t: Bench) -> None:
    """Used memory follows the calls: it grows with an allocation and is 0 when all is freed."""
    pool, stream = new_pool(t), t.stream()
    same(value(pool, "AttrUsedMemCurrent"), 0, "used memory of a new pool")
    pointer = ok(rt.MallocFromPoolAsync(4 * MIB, pool, stream))
    found = value(pool, "AttrUsedMemCurrent")
    holds(4 * MIB <= found <= 6 * MIB, "about 4 MiB used", found)
    ok(rt.FreeAsync(pointer, stream))
    ok(rt.StreamSynchronize(stream))
    same(value(pool, "AttrUsedMemCurrent"), 0, "used memory after the free")


@case(
    "pool.attributes.high",
    about="MemPoolGetAttribute MemPoolSetAttribute",
    rule="contract of infinirtMemPoolAttrUsedMemHigh; measured: high marks are set to 0 only",
)
def high(t: Bench) -> None:
    """High marks stay where they were until they are set to 0, which is all they can be set to."""
    pool, stream = new_pool(t), t.stream()
    ok(rt.FreeAsync(ok(rt.MallocFromPoolAsync(4 * MIB, pool, stream)), stream))
    ok(rt.StreamSynchronize(stream))
    holds(
        value(pool, "AttrUsedMemHigh") >= 4 * MIB,
        "a high mark of at least 4 MiB",
        value(pool, "AttrUsedMemHigh"),
    )
    fails(set_value(pool, "AttrUsedMemHigh", 1), "InvalidValue")
    ok(set_value(pool, "AttrUsedMemHigh", 0))
    same(value(pool, "AttrUsedMemHigh"), 0, "the high mark after it was set to 0")


@case(
    "pool.attributes.current-is-read-only",
    about="MemPoolSetAttribute",
    rule="measured: setting a pool's current value is 1",
)
def read_only(t: Bench) -> None:
    """Current values of a pool cannot be set."""
    fails(set_value(new_pool(t), "AttrReservedMemCurrent", 0), "InvalidValue")


@case(
    "pool.release.at-synchronise",
    about="MemPoolGetAttribute StreamSynchronize",
    rule="Stream-ordered memory: memory above the threshold is returned at the next synchronisation",
)
def released(t: Bench) -> None:
    """Freed memory above the threshold is returned at the next synchronisation of a stream, an event or the device."""
    pool, stream, event = new_pool(t), t.stream(), t.event(2)
    ways: tuple[Callable[[], Any], ...] = (
        lambda: rt.StreamSynchronize(stream),
        lambda: rt.EventSynchronize(event),
        lambda: rt.DeviceSynchronize(),
    )
    for synchronise in ways:
        ok(rt.FreeAsync(ok(rt.MallocFromPoolAsync(8 * MIB, pool, stream)), stream))
        ok(rt.EventRecord(event, stream))
        ok(synchronise())
        same(value(pool, "AttrReservedMemCurrent"), 0, "reserved memory afterwards")


@case(
    "pool.release.threshold-keeps",
    about="MemPoolSetAttribute MemPoolGetAttribute",
    rule="Stream-ordered memory: ReleaseThreshold",
)
def threshold_keeps(t: Bench) -> None:
    """Memory below the threshold is kept at a synchronisation."""
    pool, stream = new_pool(t), t.stream()
    ok(set_value(pool, "AttrReleaseThreshold", 64 * MIB))
    ok(rt.FreeAsync(ok(rt.MallocFromPoolAsync(16 * MIB, pool, stream)), stream))
    ok(rt.StreamSynchronize(stream))
    holds(value(pool, "AttrReservedMemCurrent") >= 16 * MIB, "16 MiB to be kept")


@case("pool.trim", about="MemPoolTrimTo", rule="Stream-ordered memory: TrimTo keeps a minimum")
def trim(t: Bench) -> None:
    """Trimming gives unused memory back and keeps what is asked for or in use."""
    pool, stream = new_pool(t), t.stream()
    ok(set_value(pool, "AttrReleaseThreshold", 1 << 40))
    blocks = [ok(rt.MallocFromPoolAsync(33 * MIB, pool, stream)) for _ in range(2)]
    ok(rt.FreeAsync(blocks[0], stream))
    ok(rt.StreamSynchronize(stream))
    ok(rt.MemPoolTrimTo(pool, 1 << 40))
    holds(
        value(pool, "AttrReservedMemCurrent") >= 66 * MIB,
        "everything to be kept",
        value(pool, "AttrReservedMemCurrent"),
    )
    ok(rt.MemPoolTrimTo(pool, 0))
    holds(value(pool, "AttrReservedMemCurrent") >= 33 * MIB, "what is in use to be kept")
    ok(rt.FreeAsync(blocks[1], stream))
    ok(rt.StreamSynchronize(stream))
    ok(rt.MemPoolTrimTo(pool, 0))
    same(value(pool, "AttrReservedMemCurrent"), 0, "reserved memory after the trim")


def location(kind: int, number: int) -> Any:
    made = rt.MemLocation()
    made.type, made.id = rt.MemLocationType(kind), number
    return made


@case(
    "pool.access.own-device",
    about="MemPoolGetAccess MemPoolSetAccess",
    rule="measured: the own device has read and write access, which cannot be taken away",
)
def access(t: Bench) -> None:
    """A pool's own device can read and write it, and keeps that right."""
    pool = new_pool(t)
    own = location(1, t.ordinal)
    same(int(ok(rt.MemPoolGetAccess(pool, own))), 3, "the access of the pool's device (3: read and write)")
    take = rt.MemAccessDesc()
    take.location, take.flags = own, rt.MemAccessFlags(0)
    fails(rt.MemPoolSetAccess(pool, [take], 1), "InvalidDevice")


@case(
    "pool.access.other-device",
    about="MemPoolGetAccess MemPoolSetAccess",
    rule="contract of infinirtMemPoolSetAccess",
)
def access_other(t: Bench) -> None:
    """Another device gets access to a pool when it is given, and loses it when it is taken."""
    other, pool = t.other_device(), new_pool(t)
    if not int(ok(rt.DeviceCanAccessPeer(other, t.ordinal))):
        raise Inapplicable("the two devices do not reach each other's memory")
    where = location(1, other)
    same(int(ok(rt.MemPoolGetAccess(pool, where))), 0, "the access of another device at first")
    for flags in (3, 0):
        give = rt.MemAccessDesc()
        give.location, give.flags = where, rt.MemAccessFlags(flags)
        ok(rt.MemPoolSetAccess(pool, [give], 1))
        same(int(ok(rt.MemPoolGetAccess(pool, where))), flags, "the access that was set")


@case(
    "pool.no-device",
    about="DeviceGetMemPool DeviceGetDefaultMemPool DeviceSetMemPool",
    rule="measured: pools of no device are 1, the default pool of none 101",
)
def no_device(t: Bench) -> None:
    """There is no pool of a device that does not exist."""
    pool = ok(rt.DeviceGetDefaultMemPool(t.ordinal))
    fails(rt.DeviceGetMemPool(9999), "InvalidValue")
    fails(rt.DeviceSetMemPool(9999, pool), "InvalidValue")
    fails(rt.DeviceGetDefaultMemPool(9999), "InvalidDevice")


@case(
    "pool.other-devices-stream",
    about="MallocFromPoolAsync",
    rule="contract of infinirtMallocFromPoolAsync: the memory is where the pool is",
)
def other_stream(t: Bench) -> None:
    """A pool serves a stream of another device, and the memory stays where the pool is."""
    other, pool = t.other_device(), new_pool(t)
    stream = t.on_device(other, t.stream)
    result = rt.MallocFromPoolAsync(4096, pool, stream)
    if code_of(result):
        raise Inapplicable("the pool does not serve a stream of the other device here")
    same(int(ok(rt.PointerGetAttributes(result[1])).device), t.ordinal, "the device of the memory")
    ok(rt.FreeAsync(result[1], stream))
    ok(rt.StreamSynchronize(stream))
