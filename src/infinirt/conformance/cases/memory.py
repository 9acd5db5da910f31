"""Device memory: allocation, release, what the runtime knows of an address."""

from __future__ import annotations

from ..bench import D2D, Bench, download, pattern, upload
from ..case import Register
from ..check import fails, holds, ok, rt, same, same_bytes

case = Register("memory", "minimal")
full = Register("memory", "full")


def free_bytes() -> int:
    return int(ok(rt.MemGetInfo())[0])


@case("memory.allocate", about="Malloc Free", rule="contract of infinirtMalloc")
def allocate(t: Bench) -> None:
    """Memory is allocated, is not null, and is freed."""
    for size in (1, 64, 4096, 1 << 20):
        pointer = int(ok(rt.Malloc(size)))
        holds(pointer != 0, "an address that is not null")
        ok(rt.Free(pointer))


@case(
    "memory.allocate.alignment", about="Malloc", rule="contract of infinirtMalloc: at least 256 bytes aligned"
)
def alignment(t: Bench) -> None:
    """Every allocation begins at a multiple of 256, whatever its size."""
    for size in (1, 3, 100, 255, 257, 5000, 70001):
        same(t.memory(size) % 256, 0, f"the address modulo 256 of {size} bytes")


@case("memory.allocate.apart", about="Malloc Memcpy", rule="contract of infinirtMalloc")
def apart(t: Bench) -> None:
    """Allocations do not overlap: what is written to one stays there while others are written."""
    sizes = [16, 256, 4096, 48, 65536, 1024, 16, 2048]
    blocks = [(t.memory(size), size) for size in sizes]
    for i, (pointer, size) in enumerate(blocks):
        upload(pointer, pattern(size, i))
    for i, (pointer, size) in enumerate(blocks):
        same_bytes(download(pointer, size), pattern(size, i), f"allocation {i}")


@case(
    "memory.allocate.nothing",
    about="Malloc Free",
    rule="measured: Malloc of 0 bytes succeeds with a null pointer",
)
def nothing(t: Bench) -> None:
    """Allocating nothing succeeds and gives null."""
    same(int(ok(rt.Malloc(0))), 0, "the address of 0 bytes")


@case(
    "memory.allocate.too-much", about="Malloc", rule="contract of infinirtMalloc: 2 when there is not enough"
)
def too_much(t: Bench) -> None:
    """An allocation larger than any device is out of memory, and the device works on."""
    total = int(ok(rt.MemGetInfo())[1])
    for size in (2 * total, 1 << 50, 1 << 60):
        fails(rt.Malloc(size), "MemoryAllocation")
    t.memory(4096, fill=1)


@case("memory.allocate.large", about="Malloc Memcpy", rule="contract of infinirtMalloc")
def large(t: Bench) -> None:
    """An allocation of 16 MiB can be used from its first byte to its last."""
    size = 16 << 20
    pointer = t.memory(size)
    upload(pointer + size - 4096, pattern(4096))
    upload(pointer, pattern(4096, 2))
    same_bytes(download(pointer + size - 4096, 4096), pattern(4096), "the end")
    same_bytes(download(pointer, 4096), pattern(4096, 2), "the beginning")


@case("memory.allocate.many", about="Malloc Free", rule="contract of infinirtMalloc")
def many(t: Bench) -> None:
    """A thousand allocations live at the same time, at different addresses."""
    pointers = [int(ok(rt.Malloc(256))) for _ in range(1000)]
    same(len(set(pointers)), 1000, "the number of different addresses")
    for pointer in pointers:
        ok(rt.Free(pointer))


@case("memory.free.null", about="Free", rule="Stream-ordered memory: null is a no-op")
def free_null(t: Bench) -> None:
    """Freeing null does nothing and succeeds."""
    ok(rt.Free(0))
    ok(rt.Free(None))


@case("memory.free.twice", about="Free", rule="Stream-ordered memory: double free is an error")
def free_twice(t: Bench) -> None:
    """Freeing memory a second time is an error."""
    pointer = ok(rt.Malloc(4096))
    ok(rt.Free(pointer))
    fails(rt.Free(pointer), "InvalidValue")


@case("memory.free.again-available", about="Malloc Free MemGetInfo", rule="contract of infinirtFree", limit=2)
def again_available(t: Bench) -> None:
    """Freed memory can be allocated again: half of what is free, eight times over."""
    size = min(free_bytes() // 2, 256 << 20) // 4096 * 4096
    for _ in range(8):
        pointer = ok(rt.Malloc(size))
        ok(rt.Free(pointer))


@case("memory.free.waits", about="Free", rule="Measured: Free waits for the device", level="full")
def free_waits(t: Bench) -> None:
    """Freeing plain memory waits for the device's work."""
    pointer = ok(rt.Malloc(4096))
    t.waits(t.stream(), lambda: rt.Free(pointer), "infinirtFree")


@case(
    "memory.allocate.does-not-wait",
    about="Malloc",
    rule="Measured: Malloc does not wait for the device",
    level="full",
)
def allocate_does_not_wait(t: Bench) -> None:
    """Allocating does not wait for the device's work."""
    pointer = t.returns(t.blocking_stream(), lambda: rt.Malloc(4096))
    ok(rt.Free(pointer))


@case("memory.info", about="MemGetInfo", rule="contract of infinirtMemGetInfo")
def info(t: Bench) -> None:
    """A device has memory, and at most all of it is free."""
    free, total = ok(rt.MemGetInfo())
    holds(0 < free <= total, "0 < free <= total", (free, total))


@full("memory.info.counts", about="MemGetInfo Malloc Free", rule="contract of infinirtMemGetInfo")
def info_counts(t: Bench) -> None:
    """Free memory shrinks by what is allocated, about, and grows by what is freed."""
    size = 64 << 20
    first = free_bytes()
    pointer = ok(rt.Malloc(size))
    taken = first - free_bytes()
    holds(size // 2 <= taken <= size + size // 2, f"about {size} bytes less to be free", f"{taken} less")
    ok(rt.Free(pointer))
    back = first - free_bytes()
    holds(back <= size // 2, "the memory to be free again", f"{back} bytes are missing")


@full(
    "memory.info.devices-apart", about="MemGetInfo", rule="contract of infinirtMemGetInfo: the current device"
)
def info_apart(t: Bench) -> None:
    """What is allocated on one device does not count on another that has memory of its own."""
    other = t.other_device()
    before = t.on_device(other, free_bytes)
    t.memory(64 << 20)
    taken = before - t.on_device(other, free_bytes)
    holds(taken < 32 << 20, "nothing to be taken from the other device", f"{taken} bytes are")


@full(
    "memory.attributes.device", about="PointerGetAttributes", rule="contract of infinirtPointerGetAttributes"
)
def attributes_device(t: Bench) -> None:
    """Device memory is known as such, inside of it too, with its device."""
    pointer = t.memory(4096)
    for offset in (0, 100, 4095):
        found = ok(rt.PointerGetAttributes(pointer + offset))
        same(int(found.type), 2, "the type (2: device)")
        same(int(found.device), t.ordinal, "the device")
        same(int(found.devicePointer or 0), pointer + offset, "devicePointer")


@full(
    "memory.attributes.pinned", about="PointerGetAttributes", rule="contract of infinirtPointerGetAttributes"
)
def attributes_pinned(t: Bench) -> None:
    """Page-locked host memory is known as such, and the device reaches it at the same address."""
    pointer = t.pinned(4096)
    found = ok(rt.PointerGetAttributes(pointer + 8))
    same(int(found.type), 1, "the type (1: host)")
    same(int(found.hostPointer or 0), pointer + 8, "hostPointer")
    same(int(found.devicePointer or 0), pointer + 8, "devicePointer")


@full(
    "memory.attributes.plain",
    about="PointerGetAttributes",
    rule="Copies: PointerGetAttributes on a plain host pointer succeeds",
)
def attributes_plain(t: Bench) -> None:
    """Plain host memory is unregistered, which is no error."""
    pointer = t.plain(64)
    found = ok(rt.PointerGetAttributes(pointer))
    same(int(found.type), 0, "the type (0: unregistered)")
    same(int(found.device), -2, "the device (-2: none)")
    same(int(found.devicePointer or 0), 0, "devicePointer")
    same(int(found.hostPointer or 0), pointer, "hostPointer")


@full(
    "memory.attributes.null",
    about="PointerGetAttributes",
    rule="Measured: attributes of null succeed with Unregistered",
)
def attributes_null(t: Bench) -> None:
    """Null is unregistered, which is no error."""
    same(int(ok(rt.PointerGetAttributes(0)).type), 0, "the type (0: unregistered)")


@full(
    "memory.attributes.freed",
    about="PointerGetAttributes Free",
    rule="Measured: attributes of freed pointers succeed with Unregistered",
)
def attributes_freed(t: Bench) -> None:
    """Freed memory is unregistered."""
    pointer = ok(rt.Malloc(8 << 20))
    ok(rt.Free(pointer))
    same(int(ok(rt.PointerGetAttributes(pointer)).type), 0, "the type (0: unregistered)")


@full(
    "memory.attributes.pooled",
    about="PointerGetAttributes MallocAsync",
    rule="contract of infinirtPointerGetAttributes",
)
def attributes_pooled(t: Bench) -> None:
    """Stream-ordered memory is device memory."""
    stream = t.stream()
    pointer = int(ok(rt.MallocAsync(4096, stream)))
    found = ok(rt.PointerGetAttributes(pointer + 4))
    same(int(found.type), 2, "the type (2: device)")
    same(int(found.device), t.ordinal, "the device")
    ok(rt.FreeAsync(pointer, stream))


@full(
    "memory.threads.shared",
    about="Malloc Free Memset",
    rule="Threads: every function may be called from any thread",
)
def threads(t: Bench) -> None:
    """Memory allocated on one thread is used on a second and freed on a third."""
    pointer = ok(rt.Malloc(4096))
    t.elsewhere(lambda: ok(rt.Memset(pointer, 1, 4096)))
    same(t.elsewhere(lambda: download(pointer, 4)), b"\1" * 4, "what the other thread wrote")
    t.elsewhere(lambda: ok(rt.Free(pointer)))
    fails(rt.Free(pointer), "InvalidValue")


@full("memory.pitch", about="MallocPitch", rule="contract of infinirtMallocPitch")
def pitch(t: Bench) -> None:
    """A pitched allocation has rows at least as wide as asked for, all of which can be used."""
    pointer, width = ok(rt.MallocPitch(100, 7))
    holds(int(width) >= 100, "a pitch of at least 100", width)
    ok(rt.Memset2D(pointer, width, 3, 100, 7))
    same(download(int(pointer) + 6 * int(width), 100), b"\3" * 100, "the last row")
    ok(rt.Free(pointer))


@full(
    "memory.pitch.aligned-rows", about="MallocPitch", rule="contract of infinirtMallocPitch: rows are aligned"
)
def pitch_aligned(t: Bench) -> None:
    """The rows of a pitched allocation are aligned for the device."""
    for width in (1, 33, 513, 4000):
        pointer, found = ok(rt.MallocPitch(width, 3))
        same(int(found) % 32, 0, "the pitch modulo 32")
        ok(rt.Free(pointer))


@full(
    "memory.pitch.nothing", about="MallocPitch", rule="measured: MallocPitch of no width or height succeeds"
)
def pitch_nothing(t: Bench) -> None:
    """A pitched allocation without width or height succeeds."""
    for shape in ((0, 10), (10, 0)):
        ok(rt.Free(ok(rt.MallocPitch(*shape))[0]))


@full("memory.volume", about="Malloc3D", rule="contract of infinirtMalloc3D")
def volume(t: Bench) -> None:
    """A volume says its pitch and its size, and can be used whole."""
    made = ok(rt.Malloc3D(rt.make("Extent")(60, 5, 3)))
    same((int(made.xsize), int(made.ysize)), (60, 5), "xsize and ysize")
    last = int(made.ptr) + (2 * 5 + 4) * int(made.pitch)
    ok(rt.Memcpy(last, int(made.ptr), 60, D2D))
    ok(rt.Free(made.ptr))
