"""Sets: bytes, planes and volumes."""

from __future__ import annotations

from ..bench import D2H, H2D, Bench, download, peek
from ..case import Register
from ..check import fails, ok, rt, same, same_bytes

case = Register("memory", "minimal")
full = Register("memory", "full")


@case("memory.set", about="Memset", rule="contract of infinirtMemset")
def plain(t: Bench) -> None:
    """Every byte of the range is set."""
    for size in (16, 4096, 1 << 20):
        pointer = t.memory(size, fill=1)
        ok(rt.Memset(pointer, 0x5A, size))
        same_bytes(download(pointer, size), b"\x5a" * size, f"{size} bytes")


@case("memory.set.exact-range", about="Memset", rule="contract of infinirtMemset: count bytes")
def exact(t: Bench) -> None:
    """A set of an odd number of bytes, anywhere, sets just these and not the neighbours."""
    pointer = t.memory(4096)
    for start, count in ((0, 1), (1, 2), (3, 5), (7, 13), (100, 1001), (2049, 2047)):
        host = b"\x11" * 4096
        ok(rt.Memcpy(pointer, host, 4096, H2D))
        ok(rt.Memset(pointer + start, 0x22, count))
        expected = host[:start] + b"\x22" * count + host[start + count :]
        same_bytes(download(pointer, 4096), expected, f"{count} bytes from {start} on")


@case("memory.set.low-byte", about="Memset", rule="contract of infinirtMemset: the value is a byte")
def low_byte(t: Bench) -> None:
    """Only the low byte of the value counts, and all of its values can be set."""
    pointer = t.memory(64)
    for value in (0, 1, 0x7F, 0x80, 0xFF, 0x1AB, -1):
        ok(rt.Memset(pointer, value, 64))
        same(download(pointer, 64), bytes([value & 0xFF]) * 64, f"what the value {value} set")


@case("memory.set.async", about="MemsetAsync", rule="contract of infinirtMemsetAsync")
def in_order(t: Bench) -> None:
    """A set happens in stream order."""
    pointer, pinned, stream = t.memory(4096, fill=1), t.pinned(4096), t.stream()
    gate = t.gate(stream)
    ok(rt.MemsetAsync(pointer, 2, 4096, stream))
    ok(rt.MemcpyAsync(pinned, pointer, 4096, D2H, stream))
    ok(rt.MemsetAsync(pointer, 3, 4096, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(peek(pinned, 4096), b"\2" * 4096, "what the copy between two sets saw")
    same(download(pointer, 4096), b"\3" * 4096, "the memory afterwards")


@case("memory.set.nothing", about="Memset", rule="measured: a set of 0 bytes succeeds, also of null")
def nothing(t: Bench) -> None:
    """Setting nothing succeeds, also of null."""
    ok(rt.Memset(0, 0, 0))
    ok(rt.MemsetAsync(0, 0, 0, t.stream()))


@case(
    "memory.set.out-of-bounds", about="Memset", rule="Measured: out-of-bounds sets of known allocations are 1"
)
def out_of_bounds(t: Bench) -> None:
    """A set across the end of an allocation is refused."""
    pointer = t.memory(4096)
    fails(rt.Memset(pointer, 0, 1 << 30), "InvalidValue")


@case("memory.set.unknown", about="Memset", rule="measured: Memset of null or of plain host memory is 1")
def unknown(t: Bench) -> None:
    """A set of null or of plain host memory is refused."""
    fails(rt.Memset(0, 0, 16), "InvalidValue")
    fails(rt.Memset(t.plain(64), 0, 16), "InvalidValue")


@full("memory.set.pinned", about="Memset", rule="Copies: Memset of pinned host memory is synchronous")
def pinned(t: Bench) -> None:
    """A set of page-locked host memory is complete when the call returns."""
    pointer = t.pinned(4096)
    ok(rt.Memset(pointer, 6, 4096))
    same(peek(pointer, 4096), b"\6" * 4096, "the memory")


@full("memory.set.2d", about="Memset2D", rule="contract of infinirtMemset2D")
def plane(t: Bench) -> None:
    """A plane is set row by row; what lies between the rows stays."""
    pointer = t.memory(64 * 4, fill=1)
    ok(rt.Memset2D(pointer, 64, 9, 40, 4))
    same_bytes(download(pointer, 256), (b"\x09" * 40 + b"\1" * 24) * 4, "the plane")


@full("memory.set.2d.async", about="Memset2DAsync", rule="contract of infinirtMemset2DAsync")
def plane_async(t: Bench) -> None:
    """A plane is set in stream order."""
    pointer, stream = t.memory(64 * 4, fill=1), t.stream()
    gate = t.gate(stream)
    ok(rt.Memset2DAsync(pointer, 64, 9, 40, 4, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same_bytes(download(pointer, 256), (b"\x09" * 40 + b"\1" * 24) * 4, "the plane")


@full(
    "memory.set.2d.bad-shapes",
    about="Memset2D",
    rule="measured: width > pitch is 1 with several rows, success with one",
)
def plane_shapes(t: Bench) -> None:
    """A width larger than the pitch is refused with several rows, and no matter with one."""
    pointer = t.memory(4096)
    fails(rt.Memset2D(pointer, 32, 0, 64, 2), "InvalidValue")
    ok(rt.Memset2D(pointer, 32, 0, 64, 1))
    fails(rt.Memset2D(pointer, 64, 0, 64, 16000), "InvalidValue")


@full("memory.set.3d", about="Memset3D", rule="contract of infinirtMemset3D")
def volume(t: Bench) -> None:
    """A box at the beginning of a volume is set."""
    pointer = t.memory(16 * 4 * 3, fill=1)
    ok(rt.Memset3D(rt.make("PitchedPtr")(pointer, 16, 16, 4), 2, rt.make("Extent")(8, 2, 3)))
    row, rest = b"\2" * 8 + b"\1" * 8, b"\1" * 32
    same_bytes(download(pointer, 192), (row * 2 + rest) * 3, "the volume")


@full("memory.set.3d.async", about="Memset3DAsync", rule="contract of infinirtMemset3DAsync")
def volume_async(t: Bench) -> None:
    """A volume is set in stream order."""
    pointer, stream = t.memory(192, fill=1), t.stream()
    gate = t.gate(stream)
    ok(rt.Memset3DAsync(rt.make("PitchedPtr")(pointer, 16, 16, 4), 2, rt.make("Extent")(16, 4, 3), stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same_bytes(download(pointer, 192), b"\2" * 192, "the volume")
