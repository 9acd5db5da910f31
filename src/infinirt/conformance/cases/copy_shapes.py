"""Planes, volumes and batches."""

from __future__ import annotations

from typing import Any

from ..bench import D2D, D2H, H2D, Bench, download, pattern, peek, poke, upload
from ..case import Register
from ..check import fails, ok, rt, same_bytes

case = Register("copy", "full")


def plane(data: bytes, pitch: int, width: int, height: int) -> bytes:
    return b"".join(data[y * pitch : y * pitch + width] for y in range(height))


@case("copy.2d.h2d", about="Memcpy2D", rule="contract of infinirtMemcpy2D")
def up(t: Bench) -> None:
    """A plane is uploaded row by row, and what lies between the rows is left alone."""
    device, source = t.memory(64 * 5, fill=0x11), pattern(32 * 5)
    ok(rt.Memcpy2D(device, 64, source, 32, 24, 5, H2D))
    found = download(device, 320)
    same_bytes(plane(found, 64, 24, 5), plane(source, 32, 24, 5), "the rows")
    same_bytes(plane(found[24:] + bytes(24), 64, 40, 4), b"\x11" * 160, "what lies between the rows")


@case("copy.2d.d2h", about="Memcpy2D", rule="contract of infinirtMemcpy2D")
def down(t: Bench) -> None:
    """A plane is downloaded row by row."""
    device, into = t.memory(64 * 5), bytearray(b"\x22" * 48 * 5)
    upload(device, pattern(320, 2))
    ok(rt.Memcpy2D(into, 48, device, 64, 40, 5, D2H))
    same_bytes(plane(bytes(into), 48, 40, 5), plane(pattern(320, 2), 64, 40, 5), "the rows")
    same_bytes(bytes(into[40:48]), b"\x22" * 8, "what lies between the rows")


@case("copy.2d.d2d", about="Memcpy2D", rule="contract of infinirtMemcpy2D")
def within(t: Bench) -> None:
    """A plane is copied between two pitches within the device."""
    one, two = t.memory(64 * 4), t.memory(128 * 4, fill=0x33)
    upload(one, pattern(256, 3))
    ok(rt.Memcpy2D(two, 128, one, 64, 60, 4, D2D))
    same_bytes(plane(download(two, 512), 128, 60, 4), plane(pattern(256, 3), 64, 60, 4), "the rows")


@case("copy.2d.async", about="Memcpy2DAsync", rule="contract of infinirtMemcpy2DAsync")
def async_plane(t: Bench) -> None:
    """A plane is copied in stream order."""
    device, pinned, stream = t.memory(64 * 4, fill=1), t.pinned(64 * 4), t.stream()
    poke(pinned, pattern(256, 4))
    gate = t.gate(stream)
    ok(rt.Memcpy2DAsync(device, 64, pinned, 64, 32, 4, H2D, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same_bytes(plane(download(device, 256), 64, 32, 4), plane(pattern(256, 4), 64, 32, 4), "the rows")


@case(
    "copy.2d.pitch-too-small",
    about="Memcpy2D",
    rule="measured: width > pitch is 12 with several rows, 1 with one",
)
def pitch_too_small(t: Bench) -> None:
    """A width larger than a pitch is an invalid pitch with several rows, and an invalid value with one."""
    device, host = t.memory(4096), t.plain(4096)
    fails(rt.Memcpy2D(device, 32, host, 64, 64, 2, H2D), "InvalidPitchValue")
    fails(rt.Memcpy2D(device, 64, host, 32, 64, 2, H2D), "InvalidPitchValue")
    fails(rt.Memcpy2D(device, 32, host, 64, 64, 1, H2D), "InvalidValue")


@case(
    "copy.2d.out-of-bounds",
    about="Memcpy2D",
    rule="Measured: out-of-bounds copies of known allocations are 1",
)
def out_of_bounds(t: Bench) -> None:
    """A plane that reaches beyond an allocation is refused."""
    one, two = t.memory(4096), t.memory(1 << 20)
    fails(rt.Memcpy2D(one, 64, two, 64, 64, 16000, D2D), "InvalidValue")


@case("copy.2d.nothing", about="Memcpy2D Memset2D", rule="measured: a plane without width or height succeeds")
def nothing(t: Bench) -> None:
    """Copying a plane of no width succeeds."""
    one, two = t.memory(64), t.memory(64)
    ok(rt.Memcpy2D(one, 64, two, 64, 0, 4, D2D))
    ok(rt.Memcpy2D(one, 64, two, 64, 4, 0, D2D))


def volume(pointer: Any, pitch: int, width: int, height: int) -> Any:
    return rt.make("PitchedPtr")(pointer, pitch, width, height)


def parms(source: Any, target: Any, extent: tuple[int, int, int], kind: int) -> Any:
    made = rt.Memcpy3DParms()
    made.srcPtr, made.dstPtr = source, target
    made.extent = rt.make("Extent")(*extent)
    made.kind = rt.MemcpyKind(kind)
    return made


@case("copy.3d", about="Memcpy3D", rule="contract of infinirtMemcpy3D")
def box(t: Bench) -> None:
    """A box is copied into the middle of a volume, and nothing else changes."""
    device = t.memory(64 * 9 * 6, fill=0x22)
    source = t.plain(32 * 8 * 4)
    poke(source, pattern(1024, 5))
    p = parms(volume(source, 32, 32, 8), volume(device, 64, 64, 9), (24, 5, 3), H2D)
    p.srcPos, p.dstPos = rt.make("Pos")(2, 1, 1), rt.make("Pos")(4, 3, 2)
    ok(rt.Memcpy3D(p))
    expected = bytearray(b"\x22" * (64 * 9 * 6))
    data = pattern(1024, 5)
    for z in range(3):
        for y in range(5):
            at, to = ((z + 1) * 8 + y + 1) * 32 + 2, ((z + 2) * 9 + y + 3) * 64 + 4
            expected[to : to + 24] = data[at : at + 24]
    same_bytes(download(device, len(expected)), bytes(expected), "the volume")


@case("copy.3d.async", about="Memcpy3DAsync", rule="contract of infinirtMemcpy3DAsync")
def async_box(t: Bench) -> None:
    """A volume is copied in stream order."""
    one, two, stream = t.memory(512), t.memory(512, fill=1), t.stream()
    upload(one, pattern(512, 6))
    gate = t.gate(stream)
    ok(rt.Memcpy3DAsync(parms(volume(one, 16, 16, 4), volume(two, 16, 16, 4), (16, 4, 8), D2D), stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same_bytes(download(two, 512), pattern(512, 6), "the volume")


@case(
    "copy.3d.bad-shapes",
    about="Memcpy3D",
    rule="measured: 12 for rows or slices that do not fit, 1 for positions beyond",
)
def bad_shapes(t: Bench) -> None:
    """Volumes whose rows, slices or positions do not fit are refused with the measured codes."""
    one, two = t.memory(1024), t.memory(1024)

    def answer(expected: str, extent: tuple[int, int, int], x: int = 0, y: int = 0) -> None:
        p = parms(volume(one, 64, 64, 4), volume(two, 64, 64, 4), extent, D2D)
        p.srcPos = rt.make("Pos")(x, y, 0)
        fails(rt.Memcpy3D(p), expected)

    answer("InvalidPitchValue", (64, 5, 3))
    answer("InvalidValue", (64, 5, 1))
    answer("InvalidValue", (65, 1, 1))
    answer("InvalidPitchValue", (65, 2, 1))
    answer("InvalidValue", (64, 4, 1), x=1)
    answer("InvalidValue", (64, 4, 1), y=1)
    answer("InvalidValue", (64, 4, 1000))


@case("copy.3d.nothing", about="Memcpy3D", rule="measured: an extent of 0 succeeds")
def nothing_3d(t: Bench) -> None:
    """Copying a volume without extent succeeds."""
    one, two = t.memory(64), t.memory(64)
    ok(rt.Memcpy3D(parms(volume(one, 16, 16, 4), volume(two, 16, 16, 4), (16, 4, 0), D2D)))


def attributes(order: str) -> Any:
    made = rt.MemcpyAttributes()
    made.srcAccessOrder = rt.member("MemcpySrcAccessOrder", f"MemcpySrcAccessOrder{order}")
    return made


@case("copy.batch", about="MemcpyBatchAsync", rule="contract of infinirtMemcpyBatchAsync")
def batch(t: Bench) -> None:
    """A batch of copies is carried out in stream order."""
    device, pinned, stream = t.memory(64), t.pinned(64), t.stream()
    poke(pinned, pattern(64, 7))
    ok(
        rt.MemcpyBatchAsync(
            [device, device + 32], [pinned + 32, pinned], [32, 32], 2, [attributes("Stream")], [0], 1, stream
        )
    )
    ok(rt.StreamSynchronize(stream))
    same_bytes(download(device, 64), pattern(64, 7)[32:] + pattern(64, 7)[:32], "both pieces")


@case(
    "copy.batch.during-call",
    about="MemcpyBatchAsync",
    rule="contract of infinirtMemcpyBatchAsync: source access during the call",
)
def batch_during(t: Bench) -> None:
    """With source access during the call the source may be changed when the call returns, though the stream is held."""
    device, stream, source = t.memory(4096), t.stream(), t.plain(4096)
    poke(source, pattern(4096, 8))
    gate = t.gate(stream)
    gate.wait_until_entered()
    ok(rt.MemcpyBatchAsync([device], [source], [4096], 1, [attributes("DuringApiCall")], [0], 1, stream))
    poke(source, bytes(4096))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same_bytes(download(device, 4096), pattern(4096, 8), "what was copied")


@case(
    "copy.batch.refused",
    about="MemcpyBatchAsync",
    rule="measured: batches on the legacy stream, of nothing or without attributes are 1",
)
def batch_refused(t: Bench) -> None:
    """A batch on the legacy stream, of no copies, without attributes, or with a size of 0 is refused."""
    one, two, stream = t.memory(64), t.memory(64), t.stream()
    how = attributes("Stream")
    fails(rt.MemcpyBatchAsync([one], [two], [64], 1, [how], [0], 1, 0), "InvalidValue")
    fails(rt.MemcpyBatchAsync([one], [two], [64], 0, [how], [0], 1, stream), "InvalidValue")
    fails(rt.MemcpyBatchAsync([one], [two], [0], 1, [how], [0], 1, stream), "InvalidValue")


@case("copy.batch.3d", about="Memcpy3DBatchAsync", rule="contract of infinirtMemcpy3DBatchAsync")
def batch_3d(t: Bench) -> None:
    """A batch of volumes is carried out in stream order."""
    device, stream, source = t.memory(48), t.stream(), t.pinned(16 * 4 * 3)
    poke(source, pattern(192, 9))
    op = rt.Memcpy3DBatchOp()
    pointer = rt.member("Memcpy3DOperandType", "MemcpyOperandTypePointer")
    op.src.type = op.dst.type = pointer
    op.src.op.ptr.ptr, op.src.op.ptr.rowLength, op.src.op.ptr.layerHeight = source, 16, 4
    op.dst.op.ptr.ptr = device
    op.extent = rt.make("Extent")(8, 2, 3)
    op.srcAccessOrder = rt.member("MemcpySrcAccessOrder", "MemcpySrcAccessOrderStream")
    ok(rt.Memcpy3DBatchAsync(1, [op], 0, stream))
    ok(rt.StreamSynchronize(stream))
    data = peek(source, 192)
    expected = b"".join(data[(z * 4 + y) * 16 :][:8] for z in range(3) for y in range(2))
    same_bytes(download(device, 48), expected, "the packed volume")
