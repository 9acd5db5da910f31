"""Events: what they stand for, who waits for them, and the time between two."""

from __future__ import annotations

import time
from itertools import pairwise

from ..bench import DISABLE_TIMING, Bench, download
from ..case import Register
from ..check import fails, holds, ok, rt, same

case = Register("event", "advanced")
full = Register("event", "full")
BLOCKING_SYNC = 1


@case("event.create", about="EventCreate EventDestroy", rule="contract of infinirtEventCreate")
def create(t: Bench) -> None:
    """Events are created, are different, and are destroyed."""
    events = [ok(rt.EventCreate()) for _ in range(20)]
    same(len({int(event) for event in events}), 20, "the number of different handles")
    for event in events:
        ok(rt.EventDestroy(event))


@case("event.create.flags", about="EventCreateWithFlags", rule="contract of infinirtEventCreateWithFlags")
def create_flags(t: Bench) -> None:
    """Events are created for blocking waits and without timing; flags that do not exist are refused."""
    for flags in (0, BLOCKING_SYNC, DISABLE_TIMING, 3):
        t.event(flags)
    for wrong in (8, 16):
        fails(rt.EventCreateWithFlags(wrong), "InvalidValue")


@case(
    "event.create.interprocess-needs-untimed",
    about="EventCreateWithFlags",
    rule="Events: Interprocess requires DisableTiming",
)
def interprocess(t: Bench) -> None:
    """An event for several processes cannot have timing."""
    fails(rt.EventCreateWithFlags(4), "InvalidValue")


@case(
    "event.record.completes",
    about="EventRecord EventQuery EventSynchronize",
    rule="contract of infinirtEventRecord",
)
def completes(t: Bench) -> None:
    """A recorded event completes when the stream gets there."""
    stream, event = t.stream(), t.event()
    ok(rt.EventRecord(event, stream))
    ok(rt.EventSynchronize(event))
    ok(rt.EventQuery(event))


@case(
    "event.record.contents-at-the-call",
    about="EventRecord EventSynchronize",
    rule="Events: a record captures the stream's contents at the time of the call",
)
def contents(t: Bench) -> None:
    """An event stands for the work before its record, not for what comes after."""
    stream, event = t.stream(), t.event(DISABLE_TIMING)
    ok(rt.EventRecord(event, stream))
    gate = t.gate(stream)
    gate.wait_until_entered()
    ok(rt.EventSynchronize(event))
    fails(rt.StreamQuery(stream), "NotReady")
    gate.open()


@case("event.query.pending", about="EventQuery", rule="contract of infinirtEventQuery")
def pending(t: Bench) -> None:
    """An event behind work that has not run is not ready."""
    stream, event = t.stream(), t.event()
    gate = t.gate(stream)
    ok(rt.EventRecord(event, stream))
    fails(rt.EventQuery(event), "NotReady")
    gate.open()
    ok(rt.EventSynchronize(event))
    ok(rt.EventQuery(event))


@case("event.query.is-no-error", about="EventQuery", rule="Streams: NotReady does not become the last error")
def query_is_no_error(t: Bench) -> None:
    """An event that is not ready leaves no error behind."""
    stream, event = t.stream(), t.event()
    gate = t.gate(stream)
    ok(rt.EventRecord(event, stream))
    rt.EventQuery(event)
    same(int(rt.PeekAtLastError()[0]), 0, "the last error")
    gate.open()


@case(
    "event.query.never-recorded",
    about="EventQuery EventSynchronize",
    rule="Events: an event never recorded queries Success",
)
def never_recorded(t: Bench) -> None:
    """An event that was never recorded is complete."""
    event = t.event()
    ok(rt.EventQuery(event))
    ok(rt.EventSynchronize(event))


@case("event.synchronise.waits", about="EventSynchronize", rule="contract of infinirtEventSynchronize")
def synchronise(t: Bench) -> None:
    """Synchronising with an event waits for the work before its record."""
    stream, event = t.stream(), t.event()

    def call() -> object:
        ok(rt.EventRecord(event, stream))
        return rt.EventSynchronize(event)

    t.waits(stream, call, "infinirtEventSynchronize")


@case(
    "event.synchronise.blocking-sync",
    about="EventSynchronize EventCreateWithFlags",
    rule="Events: BlockingSync sleeps",
)
def blocking_sync(t: Bench) -> None:
    """Synchronising with an event for blocking waits wakes up when the work is done."""
    stream, event = t.stream(), t.event(BLOCKING_SYNC | DISABLE_TIMING)

    def call() -> object:
        ok(rt.EventRecord(event, stream))
        return rt.EventSynchronize(event)

    t.waits(stream, call, "infinirtEventSynchronize")
    ok(rt.EventQuery(event))


@case(
    "event.wait.orders-streams",
    about="StreamWaitEvent EventRecord",
    rule="contract of infinirtStreamWaitEvent",
)
def wait_orders(t: Bench) -> None:
    """A stream that waits for an event runs nothing before the work of the other stream is done."""
    producer, consumer, event = t.stream(), t.stream(), t.event(DISABLE_TIMING)
    memory, result = t.memory(4096, fill=1), t.memory(4096, fill=0)
    gate = t.gate(producer)
    ok(rt.MemsetAsync(memory, 2, 4096, producer))
    ok(rt.EventRecord(event, producer))
    ok(rt.StreamWaitEvent(consumer, event, 0))
    ok(rt.MemcpyAsync(result, memory, 4096, 3, consumer))
    gate.wait_until_entered()
    fails(rt.StreamQuery(consumer), "NotReady")
    gate.open()
    ok(rt.StreamSynchronize(consumer))
    same(download(result, 4096), b"\2" * 4096, "what the waiting stream read")


@case("event.wait.chain", about="StreamWaitEvent EventRecord", rule="contract of infinirtStreamWaitEvent")
def wait_chain(t: Bench) -> None:
    """A chain of eight streams, each waiting for the one before, runs in order."""
    memory = [t.memory(64, fill=i + 1) for i in range(9)]
    streams = [t.stream() for _ in range(8)]
    gate = t.gate(streams[0])
    for i, stream in enumerate(streams):
        if i:
            event = t.event(DISABLE_TIMING)
            ok(rt.EventRecord(event, streams[i - 1]))
            ok(rt.StreamWaitEvent(stream, event, 0))
        ok(rt.MemcpyAsync(memory[i + 1], memory[i], 64, 3, stream))
    gate.open()
    ok(rt.StreamSynchronize(streams[-1]))
    same(download(memory[8], 64), b"\1" * 64, "what arrived at the end of the chain")


@case(
    "event.wait.never-recorded",
    about="StreamWaitEvent",
    rule="Events: waiting on an event never recorded is a no-op",
)
def wait_never(t: Bench) -> None:
    """Waiting for an event that was never recorded does nothing."""
    stream, mark = t.stream(), t.mark()
    ok(rt.StreamWaitEvent(stream, t.event(), 0))
    mark.set_by(stream)
    ok(rt.StreamSynchronize(stream))
    holds(mark.is_set, "the work behind the wait to run")


@case("event.wait.complete", about="StreamWaitEvent", rule="contract of infinirtStreamWaitEvent")
def wait_complete(t: Bench) -> None:
    """Waiting for an event that is complete does not hold the stream up."""
    stream, event, mark = t.stream(), t.event(), t.mark()
    ok(rt.EventRecord(event, stream))
    ok(rt.EventSynchronize(event))
    other = t.stream()
    ok(rt.StreamWaitEvent(other, event, 0))
    mark.set_by(other)
    ok(rt.StreamSynchronize(other))
    holds(mark.is_set, "the work behind the wait to run")


@case(
    "event.wait.keeps-what-it-saw",
    about="StreamWaitEvent EventRecord",
    rule="Events: waits already issued keep the state they saw",
)
def wait_keeps(t: Bench) -> None:
    """A later record of the event does not delay a stream that waits for the earlier one."""
    first, second, consumer, event = t.stream(), t.stream(), t.stream(), t.event(DISABLE_TIMING)
    mark = t.mark()
    ok(rt.EventRecord(event, first))
    ok(rt.StreamWaitEvent(consumer, event, 0))
    gate = t.gate(second)
    gate.wait_until_entered()
    ok(rt.EventRecord(event, second))
    mark.set_by(consumer)
    ok(rt.StreamSynchronize(consumer))
    holds(mark.is_set, "the wait for the earlier record to be over")
    fails(rt.EventQuery(event), "NotReady")
    gate.open()


@case(
    "event.wait.not-released-early",
    about="StreamWaitEvent EventRecord",
    rule="Measured: re-recording an event does not release a stream that waits on the earlier record",
)
def not_released(t: Bench) -> None:
    """A later record that completes does not release a stream that waits for the earlier one."""
    busy, idle, consumer, event = t.stream(), t.stream(), t.stream(), t.event(DISABLE_TIMING)
    mark = t.mark()
    gate = t.gate(busy)
    ok(rt.EventRecord(event, busy))
    ok(rt.StreamWaitEvent(consumer, event, 0))
    mark.set_by(consumer)
    ok(rt.EventRecord(event, idle))
    ok(rt.EventSynchronize(event))
    fails(rt.StreamQuery(consumer), "NotReady")
    holds(not mark.is_set, "the waiting stream not to run")
    gate.open()
    ok(rt.StreamSynchronize(consumer))


@case("event.record.overwrites", about="EventRecord EventQuery", rule="Events: a later record overwrites")
def overwrites(t: Bench) -> None:
    """After a second record the event stands for that one."""
    busy, idle, event = t.stream(), t.stream(), t.event(DISABLE_TIMING)
    ok(rt.EventRecord(event, idle))
    ok(rt.EventSynchronize(event))
    gate = t.gate(busy)
    ok(rt.EventRecord(event, busy))
    fails(rt.EventQuery(event), "NotReady")
    gate.open()
    ok(rt.EventSynchronize(event))


@case("event.destroy.pending", about="EventDestroy", rule="Events: destroying a pending event does not block")
def destroy_pending(t: Bench) -> None:
    """Destroying an event that is pending returns at once, and who waits for it still waits."""
    producer, consumer, mark = t.stream(), t.stream(), t.mark()
    event = ok(rt.EventCreateWithFlags(DISABLE_TIMING))
    gate = t.gate(producer)
    ok(rt.EventRecord(event, producer))
    ok(rt.StreamWaitEvent(consumer, event, 0))
    ok(rt.EventDestroy(event))
    mark.set_by(consumer)
    fails(rt.StreamQuery(consumer), "NotReady")
    gate.open()
    ok(rt.StreamSynchronize(consumer))
    holds(mark.is_set, "the work behind the wait to run")


@case("event.elapsed.positive", about="EventElapsedTime", rule="contract of infinirtEventElapsedTime")
def elapsed(t: Bench) -> None:
    """The time between two events of a stream is at least as long as the work between them took the host."""
    stream, start, end = t.stream(), t.event(), t.event()
    ok(rt.EventRecord(start, stream))
    ok(rt.EventSynchronize(start))
    gate = t.gate(stream)
    gate.wait_until_entered()
    ok(rt.EventRecord(end, stream))
    before = time.monotonic()
    while time.monotonic() - before < 0.005:
        pass
    held = (time.monotonic() - before) * 1000
    gate.open()
    ok(rt.EventSynchronize(end))
    found = float(ok(rt.EventElapsedTime(start, end)))
    # The stream was held for that long between the two; clocks may differ by their resolution.
    holds(found >= held * 0.9, f"at least {held:.1f} ms", f"{found:.3f} ms")


@case(
    "event.elapsed.at-most-the-host",
    about="EventElapsedTime",
    rule="contract of infinirtEventElapsedTime: milliseconds",
)
def elapsed_unit(t: Bench) -> None:
    """The time between two events is not longer than the host saw pass around them."""
    stream, start, end = t.stream(), t.event(), t.event()
    before = time.monotonic()
    ok(rt.EventRecord(start, stream))
    ok(rt.EventRecord(end, stream))
    ok(rt.EventSynchronize(end))
    passed = (time.monotonic() - before) * 1000
    found = float(ok(rt.EventElapsedTime(start, end)))
    holds(0 <= found <= passed * 1.1 + 1, f"between 0 and {passed:.3f} ms", f"{found:.3f} ms")


@case("event.elapsed.reversed", about="EventElapsedTime", rule="Measured: elapsed time may be negative")
def elapsed_reversed(t: Bench) -> None:
    """The time from the later event to the earlier is the negative of the time from the earlier to the later."""
    stream, start, end = t.stream(), t.event(), t.event()
    for event in (start, end):
        ok(rt.EventRecord(event, stream))
    ok(rt.EventSynchronize(end))
    forwards, backwards = (float(ok(rt.EventElapsedTime(*pair))) for pair in ((start, end), (end, start)))
    holds(abs(forwards + backwards) < 0.01, "two times that add up to 0", (forwards, backwards))
    same(float(ok(rt.EventElapsedTime(end, end))), 0.0, "the time of an event to itself")


@case("event.elapsed.adds-up", about="EventElapsedTime", rule="contract of infinirtEventElapsedTime")
def adds_up(t: Bench) -> None:
    """The times between neighbouring events add up to the time from the first to the last."""
    stream, events = t.stream(), [t.event() for _ in range(5)]
    for event in events:
        ok(rt.EventRecord(event, stream))
    ok(rt.StreamSynchronize(stream))
    parts = sum(float(ok(rt.EventElapsedTime(*pair))) for pair in pairwise(events))
    whole = float(ok(rt.EventElapsedTime(events[0], events[-1])))
    holds(abs(parts - whole) < 0.01 + 0.01 * abs(whole), f"{whole} ms", f"{parts} ms")


@case(
    "event.elapsed.pending",
    about="EventElapsedTime",
    rule="Events: elapsed time of an incomplete event is NotReady",
)
def elapsed_pending(t: Bench) -> None:
    """The time to an event that is pending is not ready."""
    stream, start, end = t.stream(), t.event(), t.event()
    ok(rt.EventRecord(start, stream))
    gate = t.gate(stream)
    ok(rt.EventRecord(end, stream))
    fails(rt.EventElapsedTime(start, end), "NotReady")
    gate.open()


@case(
    "event.elapsed.untimed",
    about="EventElapsedTime",
    rule="Events: DisableTiming makes elapsed time InvalidResourceHandle",
)
def elapsed_untimed(t: Bench) -> None:
    """Events without timing have no elapsed time."""
    stream, timed, untimed = t.stream(), t.event(), t.event(DISABLE_TIMING)
    for event in (timed, untimed):
        ok(rt.EventRecord(event, stream))
    ok(rt.StreamSynchronize(stream))
    fails(rt.EventElapsedTime(timed, untimed), "InvalidResourceHandle")


@case(
    "event.elapsed.never-recorded",
    about="EventElapsedTime",
    rule="Events: unrecorded makes elapsed time InvalidResourceHandle",
)
def elapsed_never(t: Bench) -> None:
    """An event that was never recorded has no elapsed time."""
    stream, event = t.stream(), t.event()
    ok(rt.EventRecord(event, stream))
    ok(rt.EventSynchronize(event))
    fails(rt.EventElapsedTime(t.event(), event), "InvalidResourceHandle")


@full(
    "event.record.flags",
    about="EventRecordWithFlags",
    rule="contract of infinirtEventRecordWithFlags; measured: external outside a capture is 401",
)
def record_flags(t: Bench) -> None:
    """A record with flags is a record; the external flag belongs into captures, others do not exist."""
    stream, event = t.stream(), t.event()
    ok(rt.EventRecordWithFlags(event, stream, 0))
    ok(rt.EventSynchronize(event))
    fails(rt.EventRecordWithFlags(event, stream, 1), "IllegalState")
    fails(rt.EventRecordWithFlags(event, stream, 2), "InvalidValue")


@full("event.wait.flags", about="StreamWaitEvent", rule="measured: external outside a capture is 401")
def wait_flags(t: Bench) -> None:
    """Flags of a wait that do not exist are refused; the external flag belongs into captures."""
    stream, event = t.stream(), t.event()
    ok(rt.EventRecord(event, stream))
    fails(rt.StreamWaitEvent(stream, event, 2), "InvalidValue")
    fails(rt.StreamWaitEvent(stream, event, 1), "IllegalState")


@full(
    "event.null",
    about="EventQuery EventRecord EventSynchronize EventDestroy StreamWaitEvent",
    rule="measured: a null event is 400",
)
def null(t: Bench) -> None:
    """A null event is an invalid handle in every function."""
    stream = t.stream()
    for result in (
        rt.EventQuery(0),
        rt.EventRecord(0, stream),
        rt.EventSynchronize(0),
        rt.EventDestroy(0),
        rt.StreamWaitEvent(stream, 0, 0),
    ):
        fails(result, "InvalidResourceHandle")


@full(
    "event.destroy.twice",
    about="EventDestroy",
    rule="contract of infinirtEventDestroy; a destroyed handle is refused with 400",
)
def destroy_twice(t: Bench) -> None:
    """Destroying an event a second time is an error, not a crash."""
    event = ok(rt.EventCreate())
    ok(rt.EventDestroy(event))
    fails(rt.EventDestroy(event), "InvalidResourceHandle")


@full(
    "event.threads",
    about="EventSynchronize EventRecord",
    rule="Threads: every function may be called from any thread",
)
def threads(t: Bench) -> None:
    """An event recorded on one thread is waited for on another."""
    stream, event = t.stream(), t.event()
    gate = t.gate(stream)
    ok(rt.EventRecord(event, stream))
    other = t.thread(lambda: (ok(rt.EventSynchronize(event)), gate.is_open)[1])
    other.join_for(0.01)
    gate.open()
    holds(other.result(), "the other thread to wait", "it did not")


@full("event.many", about="EventRecord EventQuery", rule="contract of infinirtEventRecord")
def many(t: Bench) -> None:
    """Five hundred events on one stream complete, in the order of their records."""
    stream = t.stream()
    events = [ok(rt.EventCreateWithFlags(DISABLE_TIMING)) for _ in range(500)]
    for event in events:
        ok(rt.EventRecord(event, stream))
    ok(rt.EventSynchronize(events[-1]))
    for event in events:
        ok(rt.EventQuery(event))
        ok(rt.EventDestroy(event))


@full(
    "event.device.record-on-other",
    about="EventRecord",
    rule="Events: record needs stream and event on the same device",
)
def record_on_other(t: Bench) -> None:
    """An event is not recorded on a stream of another device."""
    stream = t.on_device(t.other_device(), t.stream)
    fails(rt.EventRecord(t.event(), stream), "InvalidResourceHandle")


@full("event.device.wait-crosses", about="StreamWaitEvent", rule="Events: StreamWaitEvent may cross devices")
def wait_crosses(t: Bench) -> None:
    """A stream of one device waits for an event of another."""
    consumer = t.on_device(t.other_device(), t.stream)
    producer, event = t.stream(), t.event(DISABLE_TIMING)

    def call() -> object:
        ok(rt.EventRecord(event, producer))
        ok(rt.StreamWaitEvent(consumer, event, 0))
        return rt.StreamSynchronize(consumer)

    t.waits(producer, call, "a stream of the other device")


@full(
    "event.device.elapsed-across",
    about="EventElapsedTime",
    rule="contract of infinirtEventElapsedTime: one device",
)
def elapsed_across(t: Bench) -> None:
    """There is no elapsed time between events of two devices."""
    other = t.other_device()

    def recorded() -> object:
        event, stream = t.event(), t.stream()
        ok(rt.EventRecord(event, stream))
        ok(rt.StreamSynchronize(stream))
        return event

    theirs = t.on_device(other, recorded)
    fails(rt.EventElapsedTime(recorded(), theirs), "InvalidResourceHandle")
