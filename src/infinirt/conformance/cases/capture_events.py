"""Events that captures recorded, during and after."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..bench import DISABLE_TIMING, Bench, download
from ..case import Register
from ..check import code_of, fails, ok, rt, same
from .capture import ACTIVE, INVALIDATED, begin, capturing, end, status
from .graph import instantiate

case = Register("capture", "full")


def recorded(t: Bench) -> Any:
    event, stream = t.event(), t.stream()
    ok(rt.EventRecord(event, stream))
    ok(rt.StreamSynchronize(stream))
    return event


def during(t: Bench, call: Callable[[Any], Any], code: int, state: int) -> None:
    event = t.event()
    with capturing(t, "relaxed") as stream:
        ok(rt.EventRecord(event, stream))
        same((code_of(call(event)), status(stream)), (code, state), "code and state of the capture")


def after(t: Bench, call: Callable[[Any], Any], code: int) -> None:
    event = t.event()
    with capturing(t, "relaxed") as stream:
        ok(rt.EventRecord(event, stream))
    same(code_of(call(event)), code, "the code")
    ok(rt.EventRecord(event, t.stream()))
    ok(rt.EventSynchronize(event))


@case(
    "capture.event.query",
    about="EventQuery",
    rule="Measured: querying a captured event is 907 and invalidates",
)
def query(t: Bench) -> None:
    """Asking an event of the capture breaks it."""
    during(t, lambda e: rt.EventQuery(e), 907, INVALIDATED)


@case(
    "capture.event.synchronise",
    about="EventSynchronize",
    rule="Measured: synchronising with a captured event is 907 and invalidates",
)
def synchronise(t: Bench) -> None:
    """Synchronising with an event of the capture breaks it."""
    during(t, lambda e: rt.EventSynchronize(e), 907, INVALIDATED)


@case(
    "capture.event.elapsed",
    about="EventElapsedTime",
    rule="Measured: elapsed time of a captured event is 907, not invalidated",
)
def elapsed(t: Bench) -> None:
    """There is no elapsed time of an event of the capture, which goes on."""
    other = recorded(t)
    during(t, lambda e: rt.EventElapsedTime(e, other), 907, ACTIVE)
    during(t, lambda e: rt.EventElapsedTime(other, e), 907, ACTIVE)


@case(
    "capture.event.recorded-elsewhere",
    about="EventRecord",
    rule="measured: a captured event is recorded on another stream",
)
def elsewhere(t: Bench) -> None:
    """An event of the capture may be recorded on a stream that does not capture."""
    stream = t.stream()
    during(t, lambda e: rt.EventRecord(e, stream), 0, ACTIVE)


@case(
    "capture.event.destroyed", about="EventDestroy", rule="Measured: destroying a captured event is allowed"
)
def destroyed(t: Bench) -> None:
    """An event of the capture may be destroyed."""
    event = ok(rt.EventCreate())
    with capturing(t, "relaxed") as stream:
        ok(rt.EventRecord(event, stream))
        ok(rt.EventDestroy(event))
        same(status(stream), ACTIVE, "the state")


@case(
    "capture.event.query-after",
    about="EventQuery",
    rule="measured: querying an event of a capture that has ended is 1",
)
def query_after(t: Bench) -> None:
    """An event of a capture that has ended cannot be asked until it is recorded again."""
    after(t, lambda e: rt.EventQuery(e), 1)


@case(
    "capture.event.synchronise-after",
    about="EventSynchronize",
    rule="measured: synchronising with an event of a capture that has ended is 1",
)
def synchronise_after(t: Bench) -> None:
    """An event of a capture that has ended cannot be synchronised with until it is recorded again."""
    after(t, lambda e: rt.EventSynchronize(e), 1)


@case(
    "capture.event.wait-after",
    about="StreamWaitEvent",
    rule="measured: waiting for an event of a capture that has ended is 1",
)
def wait_after(t: Bench) -> None:
    """An event of a capture that has ended cannot be waited for until it is recorded again."""
    stream = t.stream()
    after(t, lambda e: rt.StreamWaitEvent(stream, e, 0), 1)


@case(
    "capture.event.elapsed-after",
    about="EventElapsedTime",
    rule="measured: elapsed time of an event of a capture that has ended is 1",
)
def elapsed_after(t: Bench) -> None:
    """There is no elapsed time of an event of a capture that has ended."""
    other = recorded(t)
    after(t, lambda e: rt.EventElapsedTime(other, e), 1)


@case(
    "capture.event.external",
    about="EventRecordWithFlags StreamWaitEvent GraphLaunch",
    rule="Capture: external events become nodes",
)
def external(t: Bench) -> None:
    """External records and waits become nodes that record and wait at each launch."""
    stream, busy = t.stream(), t.stream()
    before, behind = t.event(DISABLE_TIMING), t.event(DISABLE_TIMING)
    memory = t.memory(64, fill=0)
    begin(stream)
    ok(rt.StreamWaitEvent(stream, before, 1))
    ok(rt.MemsetAsync(memory, 5, 64, stream))
    ok(rt.EventRecordWithFlags(behind, stream, 1))
    graph = end(t, stream)
    kinds = [int(ok(rt.GraphNodeGetType(node))) for node in ok(rt.GraphGetNodes(graph, 3))[0]]
    same(sorted(kinds), [2, 6, 7], "the kinds of nodes (2: set, 6: wait, 7: record)")
    executable = instantiate(t, graph)
    gate = t.gate(busy)
    ok(rt.EventRecord(before, busy))
    ok(rt.GraphLaunch(executable, stream))
    fails(rt.EventQuery(behind), "NotReady")
    gate.open()
    ok(rt.EventSynchronize(behind))
    same(download(memory, 64), b"\5" * 64, "the memory")
