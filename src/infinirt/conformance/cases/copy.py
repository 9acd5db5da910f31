"""Copies: that bytes arrive, between every two kinds of memory."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..bench import D2D, D2H, DEFAULT, H2D, H2H, Bench, download, pattern, peek, poke, upload
from ..case import Register
from ..check import fails, ok, rt, same_bytes

case = Register("copy", "minimal")
full = Register("copy", "full")
SIZES = (16, 4096, 65536, 1 << 20)


@case("copy.h2d.d2h", about="Memcpy", rule="contract of infinirtMemcpy")
def round_trip(t: Bench) -> None:
    """Bytes go from pageable host memory to the device and come back."""
    for size in SIZES:
        pointer = t.memory(size)
        upload(pointer, pattern(size, size))
        same_bytes(download(pointer, size), pattern(size, size), f"{size} bytes")


@case("copy.d2d", about="Memcpy", rule="contract of infinirtMemcpy")
def within(t: Bench) -> None:
    """Bytes are copied from one allocation of the device to another."""
    for size in SIZES:
        one, two = t.memory(size), t.memory(size)
        upload(one, pattern(size, 3))
        ok(rt.Memcpy(two, one, size, D2D))
        same_bytes(download(two, size), pattern(size, 3), f"{size} bytes")


@case("copy.h2h", about="Memcpy", rule="contract of infinirtMemcpy")
def host_to_host(t: Bench) -> None:
    """Bytes are copied within host memory, plain and page-locked."""
    plain, pinned, back = t.plain(4096), t.pinned(4096), t.plain(4096)
    poke(plain, pattern(4096))
    ok(rt.Memcpy(pinned, plain, 4096, H2H))
    ok(rt.Memcpy(back, pinned, 4096, H2H))
    same_bytes(peek(back, 4096), pattern(4096), "what was copied twice")


@case("copy.odd-sizes", about="Memcpy", rule="contract of infinirtMemcpy: count bytes")
def odd_sizes(t: Bench) -> None:
    """Copies of every length from 1 to 67 bytes, and of odd large ones, copy just these bytes."""
    size = 70000
    device = t.memory(size)
    for count in (*range(1, 68), 4095, 4097, 65535, 65537):
        upload(device, b"\xee" * ((count + 31) // 16 * 16))
        upload(device, pattern(count, count))
        found = download(device, count + 16)
        same_bytes(found, pattern(count, count) + b"\xee" * 16, f"a copy of {count} bytes to the device")
        same_bytes(read_odd(device, count), pattern(count, count), f"a copy of {count} bytes to the host")


def read_odd(pointer: int, count: int) -> bytes:
    into = bytearray(b"\x77" * (count + 8))
    ok(rt.Memcpy(into, pointer, count, D2H))
    same_bytes(bytes(into[count:]), b"\x77" * 8, "what lies behind the target")
    return bytes(into[:count])


@case("copy.odd-offsets", about="Memcpy", rule="contract of infinirtMemcpy: any address within an allocation")
def odd_offsets(t: Bench) -> None:
    """Copies within the device begin and end anywhere, and leave the neighbours alone."""
    one, two = t.memory(8192), t.memory(8192)
    upload(one, pattern(8192, 5))
    for dst, src, count in ((1, 0, 64), (0, 3, 1000), (7, 13, 4001), (4095, 4097, 31)):
        upload(two, b"\x11" * 8192)
        ok(rt.Memcpy(two + dst, one + src, count, D2D))
        expected = bytearray(b"\x11" * 8192)
        expected[dst : dst + count] = pattern(8192, 5)[src : src + count]
        same_bytes(download(two, 8192), bytes(expected), f"{count} bytes from {src} to {dst}")


@case("copy.large", about="Memcpy", rule="contract of infinirtMemcpy", limit=2)
def large(t: Bench) -> None:
    """A copy of 33 MiB, there, within the device and back, misses no byte."""
    size = (33 << 20) + 4096
    data = pattern(size, 9)
    one, two = t.memory(size), t.memory(size)
    upload(one, data)
    ok(rt.Memcpy(two, one, size, D2D))
    found = download(two, size)
    if found != data:
        same_bytes(found, data, "33 MiB")


@case(
    "copy.nothing",
    about="Memcpy MemcpyAsync Memset",
    rule="measured: a copy of 0 bytes succeeds, whatever the pointers and the kind",
)
def nothing(t: Bench) -> None:
    """Copying nothing succeeds, also with null pointers and a wrong kind."""
    ok(rt.Memcpy(0, 0, 0, D2D))
    ok(rt.Memcpy(0, 0, 0, 9))
    ok(rt.MemcpyAsync(0, 0, 0, DEFAULT, t.stream()))


@case(
    "copy.default.infers", about="Memcpy", rule="Copies: MemcpyDefault infers the direction from the pointers"
)
def default_infers(t: Bench) -> None:
    """With the default kind the direction follows from the pointers, between all kinds of memory."""
    plain, pinned, back = t.plain(4096), t.pinned(4096), t.plain(4096)
    one, two = t.memory(4096), t.memory(4096)
    poke(plain, pattern(4096, 7))
    chain = (plain, one, two, pinned, one, back)
    for source, target in pairwise(chain):
        ok(rt.Memcpy(target, source, 4096, DEFAULT))
    same_bytes(peek(back, 4096), pattern(4096, 7), "what went through all of them")


@case("copy.async.h2d", about="MemcpyAsync", rule="contract of infinirtMemcpyAsync")
def async_upload(t: Bench) -> None:
    """An asynchronous copy from page-locked memory has arrived when the stream is synchronised."""
    pinned, device, stream = t.pinned(1 << 20), t.memory(1 << 20), t.stream()
    poke(pinned, pattern(1 << 20))
    ok(rt.MemcpyAsync(device, pinned, 1 << 20, H2D, stream))
    ok(rt.StreamSynchronize(stream))
    same_bytes(download(device, 1 << 20), pattern(1 << 20), "what arrived")


@case("copy.async.d2h", about="MemcpyAsync", rule="contract of infinirtMemcpyAsync")
def async_download(t: Bench) -> None:
    """An asynchronous copy to page-locked memory has arrived when the stream is synchronised."""
    pinned, device, stream = t.pinned(1 << 20), t.memory(1 << 20), t.stream()
    upload(device, pattern(1 << 20, 2))
    ok(rt.MemcpyAsync(pinned, device, 1 << 20, D2H, stream))
    ok(rt.StreamSynchronize(stream))
    same_bytes(peek(pinned, 1 << 20), pattern(1 << 20, 2), "what arrived")


@case("copy.async.d2d", about="MemcpyAsync", rule="contract of infinirtMemcpyAsync")
def async_within(t: Bench) -> None:
    """An asynchronous copy within the device has happened when the stream is synchronised."""
    one, two, stream = t.memory(1 << 20), t.memory(1 << 20), t.stream()
    upload(one, pattern(1 << 20, 3))
    ok(rt.MemcpyAsync(two, one, 1 << 20, D2D, stream))
    ok(rt.StreamSynchronize(stream))
    same_bytes(download(two, 1 << 20), pattern(1 << 20, 3), "what arrived")


@case("copy.async.pageable", about="MemcpyAsync", rule="Copies: with pageable memory it may be synchronous")
def async_pageable(t: Bench) -> None:
    """An asynchronous copy from and to pageable memory has arrived when the stream is synchronised, small or large."""
    for size in (1024, 4 << 20):
        device, stream = t.memory(size), t.stream()
        source, target = bytearray(pattern(size, 4)), bytearray(size)
        ok(rt.MemcpyAsync(device, source, size, H2D, stream))
        ok(rt.MemcpyAsync(target, device, size, D2H, stream))
        ok(rt.StreamSynchronize(stream))
        same_bytes(bytes(target), pattern(size, 4), f"{size} bytes there and back")


@case("copy.async.all-of-many", about="MemcpyAsync", rule="contract of infinirtMemcpyAsync")
def all_of_many(t: Bench) -> None:
    """Of three hundred asynchronous copies behind a held stream none is lost."""
    size, count = 256, 300
    pinned, device, back = t.pinned(size * count), t.memory(size * count), t.pinned(size * count)
    poke(pinned, pattern(size * count, 6))
    stream = t.stream()
    gate = t.gate(stream)
    for i in range(count):
        ok(rt.MemcpyAsync(device + i * size, pinned + i * size, size, H2D, stream))
        ok(rt.MemcpyAsync(back + i * size, device + i * size, size, D2H, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same_bytes(peek(back, size * count), pattern(size * count, 6), "all pieces together")


@case("copy.out-of-bounds", about="Memcpy", rule="Measured: out-of-bounds copies of known allocations are 1")
def out_of_bounds(t: Bench) -> None:
    """A copy across the end of an allocation is refused, for the source and for the target."""
    small, large, host = t.memory(4096), t.memory(1 << 20), t.plain(1 << 20)
    fails(rt.Memcpy(small, host, 1 << 20, H2D), "InvalidValue")
    fails(rt.Memcpy(host, small, 1 << 20, D2H), "InvalidValue")
    fails(rt.Memcpy(large, small, 1 << 20, D2D), "InvalidValue")


@case("copy.null", about="Memcpy", rule="measured: a copy from or to null is 1")
def null(t: Bench) -> None:
    """A copy from null or to null is an invalid value."""
    pointer = t.memory(64)
    fails(rt.Memcpy(0, pointer, 16, D2D), "InvalidValue")
    fails(rt.Memcpy(pointer, 0, 16, D2D), "InvalidValue")


@case("copy.wrong-kind", about="Memcpy", rule="measured: a kind outside 0 to 4 is 21")
def wrong_kind(t: Bench) -> None:
    """A kind of copy that does not exist is refused with its own error."""
    fails(rt.Memcpy(t.memory(64), t.plain(64), 16, 9), "InvalidMemcpyDirection")


@case("copy.freed-target", about="Memcpy Free", rule="bad input: freed memory of ours is an error")
def freed_target(t: Bench) -> None:
    """A copy into memory that was freed is refused."""
    pointer = ok(rt.Malloc(8 << 20))
    ok(rt.Free(pointer))
    fails(rt.Memcpy(pointer, t.plain(64), 64, H2D), "InvalidValue")


@full(
    "copy.kind.known-pointers-decide",
    about="Memcpy",
    rule="measured: known pointers decide, the kind does not",
)
def known_pointers(t: Bench) -> None:
    """Between memory that the runtime knows the copy is done whatever the kind says."""
    one, two = t.memory(64, fill=1), t.memory(64, fill=2)
    for kind in (H2H, H2D, D2H):
        upload(one, bytes([kind + 3]) * 64)
        ok(rt.Memcpy(two, one, 64, kind))
        ok(rt.DeviceSynchronize())
        same_bytes(download(two, 64), bytes([kind + 3]) * 64, f"a copy of kind {kind}")


@full(
    "copy.kind.plain-is-not-device",
    about="Memcpy",
    rule="measured: plain host memory where the kind says device is 1",
)
def plain_is_not_device(t: Bench) -> None:
    """Plain host memory where the kind says device is refused."""
    device, plain = t.memory(64), t.plain(64)
    fails(rt.Memcpy(plain, device, 16, H2D), "InvalidValue")
    fails(rt.Memcpy(device, plain, 16, D2H), "InvalidValue")
    fails(rt.Memcpy(device, plain, 16, D2D), "InvalidValue")


@full("copy.to-itself", about="Memcpy", rule="measured: a copy of memory to itself succeeds")
def to_itself(t: Bench) -> None:
    """Copying memory to where it is succeeds and changes nothing."""
    pointer = t.memory(4096)
    upload(pointer, pattern(4096))
    ok(rt.Memcpy(pointer, pointer, 4096, D2D))
    same_bytes(download(pointer, 4096), pattern(4096), "the memory")


@full("copy.parts", about="MemcpyAsync", rule="contract of infinirtMemcpyAsync")
def parts(t: Bench) -> None:
    """An allocation put together from parts by several streams is whole when all are done."""
    size, parts_count = 1 << 16, 16
    one, two = t.memory(size), t.memory(size)
    upload(one, pattern(size, 8))
    streams: list[Any] = [t.stream() for _ in range(4)]
    step = size // parts_count
    for i in range(parts_count):
        ok(rt.MemcpyAsync(two + i * step, one + i * step, step, D2D, streams[i % 4]))
    for stream in streams:
        ok(rt.StreamSynchronize(stream))
    same_bytes(download(two, size), pattern(size, 8), "the whole")


@full(
    "copy.pinned-between-streams", about="MemcpyAsync StreamWaitEvent", rule="contract of infinirtMemcpyAsync"
)
def between_streams(t: Bench) -> None:
    """One stream uploads, another that waits for it downloads."""
    source, device, target = t.pinned(4096), t.memory(4096), t.pinned(4096)
    poke(source, pattern(4096, 12))
    up, down, event = t.stream(), t.stream(), t.event(2)
    gate = t.gate(up)
    ok(rt.MemcpyAsync(device, source, 4096, H2D, up))
    ok(rt.EventRecord(event, up))
    ok(rt.StreamWaitEvent(down, event, 0))
    ok(rt.MemcpyAsync(target, device, 4096, D2H, down))
    gate.open()
    ok(rt.StreamSynchronize(down))
    same_bytes(peek(target, 4096), pattern(4096, 12), "what came back")
