"""The legacy default stream, and the streams that take part in its order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..bench import D2D, DISABLE_TIMING, Bench
from ..case import Register
from ..check import fails, holds, ok, rt, same

case = Register("stream", "full")
RULE = "Streams: the legacy default stream waits for all blocking streams, and they for it"


def runs_on(t: Bench, stream: Any) -> Callable[[], Any]:
    """Enqueues work and waits for just that."""

    event, mark = t.event(DISABLE_TIMING), t.mark()

    def call() -> Any:
        mark.set_by(stream)
        ok(rt.EventRecord(event, stream))
        return rt.EventSynchronize(event)

    return call


@case("stream.legacy.names", about="StreamGetId", rule="Streams: handle 0 or 1")
def names(t: Bench) -> None:
    """Handles 0 and 1 are the same stream."""
    same(int(ok(rt.StreamGetId(0))), int(ok(rt.StreamGetId(1))), "the id of stream 0 and of stream 1")


@case(
    "stream.legacy.works",
    about="MemcpyAsync StreamSynchronize",
    rule="Traps: the null stream was rejected",
    level="minimal",
)
def works(t: Bench) -> None:
    """The null stream takes work and can be synchronised with."""
    mark = t.mark()
    mark.set_by(0)
    ok(rt.StreamSynchronize(0))
    holds(mark.is_set, "the work to have run")
    ok(rt.StreamQuery(None))


@case("stream.legacy.waits-for-blocking", about="MemcpyAsync StreamCreateWithFlags", rule=RULE)
def waits_for_blocking(t: Bench) -> None:
    """Work on the legacy stream waits for what blocking streams have."""
    t.waits(t.blocking_stream(), runs_on(t, 0), "work on the legacy stream")


@case("stream.legacy.blocking-waits", about="MemcpyAsync StreamCreateWithFlags", rule=RULE)
def blocking_waits(t: Bench) -> None:
    """Work on a blocking stream waits for what the legacy stream has."""
    blocking = t.blocking_stream()
    t.waits(0, runs_on(t, blocking), "work on a blocking stream")


@case("stream.legacy.later-stream-waits", about="StreamCreateWithFlags", rule=RULE)
def later_stream(t: Bench) -> None:
    """A blocking stream made after the legacy stream got its work waits for it, too."""
    mark = t.mark()
    gate = t.gate(0)
    stream = t.blocking_stream()
    mark.set_by(stream)
    fails(rt.StreamQuery(stream), "NotReady")
    holds(not mark.is_set, "the work to wait")
    gate.open()
    ok(rt.StreamSynchronize(stream))
    holds(mark.is_set, "the work to run")


@case(
    "stream.legacy.exempt-overtakes",
    about="StreamCreateWithFlags",
    rule="Streams: streams created non-blocking are exempt",
)
def exempt(t: Bench) -> None:
    """A non-blocking stream does not wait for the legacy stream."""
    stream, mark, event = t.stream(), t.mark(), t.event(DISABLE_TIMING)
    gate = t.gate(0)
    gate.wait_until_entered()
    mark.set_by(stream)
    ok(rt.EventRecord(event, stream))
    ok(rt.EventSynchronize(event))
    gate.open()
    holds(mark.is_set, "the work of the non-blocking stream to have run")


@case(
    "stream.legacy.does-not-wait-for-exempt",
    about="StreamSynchronize StreamQuery",
    rule="Streams: streams created non-blocking are exempt",
)
def legacy_and_exempt(t: Bench) -> None:
    """The legacy stream does not wait for a non-blocking stream."""
    stream = t.stream()
    gate = t.gate(stream)
    gate.wait_until_entered()
    ok(rt.StreamQuery(0))
    ok(rt.StreamSynchronize(0))
    gate.open()


@case(
    "stream.legacy.query-sees-blocking",
    about="StreamQuery",
    rule="Measured: StreamQuery(0) is NotReady while a blocking stream is busy",
)
def query_sees(t: Bench) -> None:
    """The legacy stream is not ready while a blocking stream is busy."""
    gate = t.gate(t.blocking_stream())
    fails(rt.StreamQuery(0), "NotReady")
    gate.open()
    ok(rt.StreamSynchronize(0))


@case(
    "stream.legacy.synchronise-waits-for-blocking",
    about="StreamSynchronize",
    rule="Measured: StreamSynchronize(0) waits for a busy blocking stream",
)
def synchronise_sees(t: Bench) -> None:
    """Synchronising with the legacy stream waits for blocking streams."""
    t.waits(t.blocking_stream(), lambda: rt.StreamSynchronize(0), "infinirtStreamSynchronize(0)")


@case(
    "stream.legacy.record-orders",
    about="EventRecord",
    rule="Measured: an event record on the legacy stream orders blocking streams around it",
)
def record_orders(t: Bench) -> None:
    """A record on the legacy stream is work like other: blocking streams wait for it."""
    busy, later, event = t.blocking_stream(), t.blocking_stream(), t.event(DISABLE_TIMING)
    mark = t.mark()
    gate = t.gate(busy)
    ok(rt.EventRecord(event, 0))
    fails(rt.EventQuery(event), "NotReady")
    mark.set_by(later)
    fails(rt.StreamQuery(later), "NotReady")
    gate.open()
    ok(rt.StreamSynchronize(later))
    ok(rt.EventQuery(event))


@case(
    "stream.legacy.copy-returns",
    about="Memcpy",
    rule="Measured: a D2D Memcpy on the legacy stream returns to the host at once",
)
def copy_returns(t: Bench) -> None:
    """A copy within the device does not make the host wait for blocking streams."""
    a, b = t.memory(4096, fill=1), t.memory(4096, fill=2)
    t.returns(t.blocking_stream(), lambda: rt.Memcpy(a, b, 4096, D2D))


@case(
    "stream.legacy.set-returns",
    about="Memset",
    rule="Measured: Memset on the legacy stream returns to the host at once",
)
def set_returns(t: Bench) -> None:
    """A set does not make the host wait for blocking streams."""
    a = t.memory(4096, fill=1)
    t.returns(t.blocking_stream(), lambda: rt.Memset(a, 3, 4096))


@case(
    "stream.per-thread.is-blocking",
    about="StreamQuery",
    rule="Streams: the per-thread default stream is a blocking stream",
)
def per_thread_blocking(t: Bench) -> None:
    """The legacy stream waits for the per-thread stream."""
    gate = t.gate(2)
    fails(rt.StreamQuery(0), "NotReady")
    gate.open()
    ok(rt.StreamSynchronize(2))


@case(
    "stream.per-thread.waits-for-legacy",
    about="MemcpyAsync",
    rule="Streams: the per-thread default stream is a blocking stream",
)
def per_thread_waits(t: Bench) -> None:
    """The per-thread stream waits for the legacy stream."""
    mark = t.mark()
    gate = t.gate(0)
    mark.set_by(2)
    fails(rt.StreamQuery(2), "NotReady")
    gate.open()
    ok(rt.StreamSynchronize(2))
    holds(mark.is_set, "the work to run")


@case(
    "stream.per-thread.not-other-blocking",
    about="StreamSynchronize",
    rule="Measured: the per-thread stream does not wait for other blocking streams",
)
def per_thread_free(t: Bench) -> None:
    """The per-thread stream does not wait for other blocking streams."""
    mark, stream = t.mark(), t.blocking_stream()
    gate = t.gate(stream)
    gate.wait_until_entered()
    mark.set_by(2)
    ok(rt.StreamSynchronize(2))
    holds(mark.is_set, "the per-thread stream's work to have run")
    gate.open()


@case(
    "stream.legacy.properties",
    about="StreamGetFlags StreamGetPriority StreamIsCapturing",
    rule="measured: flags, priority and capture state of the legacy stream are 0",
)
def properties(t: Bench) -> None:
    """The legacy stream has no flags and the default priority, and does not capture."""
    for stream in (0, 1, 2):
        same(int(ok(rt.StreamGetFlags(stream))), 0, f"flags of stream {stream}")
        same(int(ok(rt.StreamGetPriority(stream))), 0, f"priority of stream {stream}")
    same(int(ok(rt.StreamIsCapturing(0))), 0, "the capture state of the legacy stream")
