"""When copies happen, and whether the host waits for them."""

from __future__ import annotations

from functools import partial

from ..bench import D2D, D2H, H2D, H2H, Bench, download, pattern, peek, poke
from ..case import Register
from ..check import holds, ok, rt, same, same_bytes

case = Register("copy", "full")
SMALL, LARGE = 1024, 4 << 20


@case(
    "copy.async.pinned-h2d-returns",
    about="MemcpyAsync",
    rule="Copies: with pinned memory an asynchronous copy is asynchronous",
)
def pinned_up_returns(t: Bench) -> None:
    """A copy from page-locked memory returns while the stream is held, small or large."""
    for size in (SMALL, LARGE):
        pinned, device, stream = t.pinned(size), t.memory(size), t.stream()
        t.returns(stream, partial(rt.MemcpyAsync, device, pinned, size, H2D, stream))


@case(
    "copy.async.pinned-d2h-returns",
    about="MemcpyAsync",
    rule="Copies: with pinned memory an asynchronous copy is asynchronous",
)
def pinned_down_returns(t: Bench) -> None:
    """A copy to page-locked memory returns while the stream is held, small or large."""
    for size in (SMALL, LARGE):
        pinned, device, stream = t.pinned(size), t.memory(size, fill=1), t.stream()
        t.returns(stream, partial(rt.MemcpyAsync, pinned, device, size, D2H, stream))


@case(
    "copy.async.d2d-returns",
    about="MemcpyAsync",
    rule="Copies: an asynchronous copy within the device is asynchronous",
)
def within_returns(t: Bench) -> None:
    """A copy within the device returns while the stream is held."""
    one, two, stream = t.memory(LARGE), t.memory(LARGE), t.stream()
    t.returns(stream, lambda: rt.MemcpyAsync(one, two, LARGE, D2D, stream))


@case("copy.async.set-returns", about="MemsetAsync", rule="Copies: Memset is asynchronous to the host")
def set_returns(t: Bench) -> None:
    """A set returns while the stream is held."""
    pointer, stream = t.memory(LARGE), t.stream()
    t.returns(stream, lambda: rt.MemsetAsync(pointer, 1, LARGE, stream))


@case(
    "copy.async.source-read-late",
    about="MemcpyAsync",
    rule="Copies: pinned memory is read when the stream gets there",
)
def source_read_late(t: Bench) -> None:
    """Page-locked memory is read when the stream reaches the copy, not when the copy is called."""
    pinned, device, stream = t.pinned(SMALL), t.memory(SMALL), t.stream()
    poke(pinned, b"\1" * SMALL)
    gate = t.gate(stream)
    ok(rt.MemcpyAsync(device, pinned, SMALL, H2D, stream))
    poke(pinned, b"\2" * SMALL)
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(download(device, SMALL), b"\2" * SMALL, "what the copy read")


@case("copy.async.target-written-late", about="MemcpyAsync", rule="Streams: work runs in order")
def target_written_late(t: Bench) -> None:
    """The target is untouched until the stream reaches the copy."""
    pinned, device, stream = t.pinned(SMALL, fill=7), t.memory(SMALL, fill=8), t.stream()
    gate = t.gate(stream)
    ok(rt.MemcpyAsync(pinned, device, SMALL, D2H, stream))
    gate.wait_until_entered()
    same(peek(pinned, SMALL), b"\7" * SMALL, "the target while the stream is held")
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(peek(pinned, SMALL), b"\x08" * SMALL, "the target afterwards")


@case(
    "copy.async.pageable-source-is-free",
    about="MemcpyAsync",
    rule="Copies: pageable memory is staged before the call returns",
)
def pageable_is_free(t: Bench) -> None:
    """After a copy from pageable memory has returned its source may be changed."""
    device, stream = t.memory(SMALL), t.stream()
    source = bytearray(b"\3" * SMALL)
    gate = t.gate(stream)
    gate.wait_until_entered()
    ok(rt.MemcpyAsync(device, source, SMALL, H2D, stream))  # small: does not wait
    source[:] = b"\4" * SMALL
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(download(device, SMALL), b"\3" * SMALL, "what the copy read")


@case("copy.async.pageable-d2h-complete", about="MemcpyAsync", rule="Measured: a pageable D2H copy waits")
def pageable_down(t: Bench) -> None:
    """A copy to pageable memory is complete when the call returns."""
    device, stream, target = t.memory(SMALL, fill=9), t.stream(), bytearray(SMALL)
    t.waits(stream, lambda: rt.MemcpyAsync(target, device, SMALL, D2H, stream), "a copy to pageable memory")
    same(bytes(target), b"\x09" * SMALL, "the target")


@case(
    "copy.async.h2h-complete",
    about="MemcpyAsync",
    rule="Copies: H2H is synchronous; measured: it waits for the stream",
)
def host_to_host(t: Bench) -> None:
    """A copy within host memory waits for the stream and is complete when the call returns."""
    one, two, stream = t.pinned(SMALL, fill=5), t.pinned(SMALL), t.stream()
    t.waits(stream, lambda: rt.MemcpyAsync(two, one, SMALL, H2H, stream), "a copy within host memory")
    same(peek(two, SMALL), b"\5" * SMALL, "the target")


@case("copy.sync.h2d-source-is-free", about="Memcpy", rule="Copies: pageable H2D returns once staged")
def sync_up(t: Bench) -> None:
    """After a synchronous upload the source may be changed."""
    device = t.memory(LARGE)
    source = bytearray(pattern(LARGE))
    ok(rt.Memcpy(device, source, LARGE, H2D))
    source[:] = bytes(LARGE)
    same_bytes(download(device, LARGE), pattern(LARGE), "what was uploaded")


@case("copy.sync.d2h-complete", about="Memcpy MemsetAsync", rule="Copies: D2H returns when complete")
def sync_down(t: Bench) -> None:
    """A synchronous download waits for what blocking streams had before it, and has it all."""
    device, stream, target = t.memory(SMALL, fill=1), t.blocking_stream(), bytearray(SMALL)
    gate = t.gate(stream)
    ok(rt.MemsetAsync(device, 6, SMALL, stream))
    other = t.thread(lambda: (ok(rt.Memcpy(target, device, SMALL, D2H)), gate.is_open)[1])
    other.join_for(0.01)
    gate.open()
    holds(other.result(), "the download to wait for the blocking stream", "it returned before")
    same(bytes(target), b"\6" * SMALL, "what was downloaded")


@case("copy.sync.pinned-h2d-complete", about="Memcpy", rule="Copies: pinned H2D is synchronous")
def sync_pinned(t: Bench) -> None:
    """A synchronous upload from page-locked memory waits for blocking streams."""
    device, pinned, stream = t.memory(SMALL), t.pinned(SMALL, fill=2), t.blocking_stream()
    t.waits(
        stream, lambda: rt.Memcpy(device, pinned, SMALL, H2D), "a synchronous upload of page-locked memory"
    )
    same(download(device, SMALL), b"\2" * SMALL, "what was uploaded")


@case(
    "copy.sync.not-for-exempt",
    about="Memcpy",
    rule="Measured: a synchronous H2D copy does not wait for a non-blocking stream",
)
def sync_exempt(t: Bench) -> None:
    """A synchronous upload does not wait for a non-blocking stream."""
    device, pinned = t.memory(SMALL), t.pinned(SMALL, fill=2)
    t.returns(t.stream(), lambda: rt.Memcpy(device, pinned, SMALL, H2D))


@case(
    "copy.sync.d2d-order",
    about="Memcpy MemcpyAsync",
    rule="Copies: D2D does not wait on the host, and is ordered on the device",
)
def sync_within(t: Bench) -> None:
    """A synchronous copy within the device is ordered before what a blocking stream gets next."""
    one, two, stream = t.memory(SMALL, fill=1), t.memory(SMALL, fill=2), t.blocking_stream()
    pinned = t.pinned(SMALL)
    gate = t.gate(stream)
    ok(rt.Memcpy(one, two, SMALL, D2D))
    ok(rt.MemcpyAsync(pinned, one, SMALL, D2H, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(peek(pinned, SMALL), b"\2" * SMALL, "what the stream saw")


@case(
    "copy.async.other-devices-stream",
    about="MemcpyAsync",
    rule="Events: a copy may go to a stream of another device",
)
def other_stream(t: Bench) -> None:
    """A copy of one device's memory may go to a stream of another."""
    stream = t.on_device(t.other_device(), t.stream)
    device, pinned = t.memory(SMALL, fill=4), t.pinned(SMALL)
    ok(rt.MemcpyAsync(pinned, device, SMALL, D2H, stream))
    ok(rt.StreamSynchronize(stream))
    same(peek(pinned, SMALL), b"\4" * SMALL, "what was copied")
