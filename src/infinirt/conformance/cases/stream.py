"""Streams: creation, order, queries, destruction."""

from __future__ import annotations

from typing import Any

from ..bench import NON_BLOCKING, Bench, download
from ..case import Register
from ..check import fails, holds, ok, rt, same

case = Register("stream", "minimal")
full = Register("stream", "full")


@case("stream.create", about="StreamCreate StreamDestroy", rule="contract of infinirtStreamCreate")
def create(t: Bench) -> None:
    """Streams are created, are different, and are destroyed."""
    streams = [ok(rt.StreamCreate()) for _ in range(8)]
    same(len({int(stream) for stream in streams}), 8, "the number of different handles")
    for stream in streams:
        ok(rt.StreamDestroy(stream))


@case(
    "stream.create.flags",
    about="StreamCreateWithFlags StreamGetFlags",
    rule="contract of infinirtStreamCreateWithFlags",
)
def create_flags(t: Bench) -> None:
    """A stream keeps the flags that it was created with."""
    for flags in (0, NON_BLOCKING):
        same(int(ok(rt.StreamGetFlags(t.stream(flags)))), flags, "the stream's flags")


@case(
    "stream.create.wrong-flags",
    about="StreamCreateWithFlags",
    rule="contract of infinirtStreamCreateWithFlags",
)
def create_wrong_flags(t: Bench) -> None:
    """Flags that do not exist are an invalid value."""
    for flags in (2, 3, 0x40):
        fails(rt.StreamCreateWithFlags(flags), "InvalidValue")


@case("stream.create.many", about="StreamCreate StreamDestroy", rule="contract of infinirtStreamCreate")
def create_many(t: Bench) -> None:
    """Two hundred streams live and work at the same time."""
    source = t.memory(16, fill=5)
    target = t.memory(16 * 200, fill=0)
    for i in range(200):
        ok(rt.MemcpyAsync(target + 16 * i, source, 16, 3, t.stream()))
    ok(rt.DeviceSynchronize())
    same(download(target, 16 * 200).count(b"\5"), 16 * 200, "bytes that the streams have copied")


@case("stream.synchronise.waits", about="StreamSynchronize", rule="contract of infinirtStreamSynchronize")
def synchronise_waits(t: Bench) -> None:
    """Synchronising with a stream waits for its work."""
    stream = t.stream()
    t.waits(stream, lambda: rt.StreamSynchronize(stream), "infinirtStreamSynchronize")


@case(
    "stream.synchronise.not-others", about="StreamSynchronize", rule="contract of infinirtStreamSynchronize"
)
def synchronise_not_others(t: Bench) -> None:
    """Synchronising with a non-blocking stream does not wait for another."""
    busy, idle = t.stream(), t.stream()
    t.returns(busy, lambda: rt.StreamSynchronize(idle))


@case("stream.synchronise.idle", about="StreamSynchronize", rule="contract of infinirtStreamSynchronize")
def synchronise_idle(t: Bench) -> None:
    """Synchronising with a stream that has nothing to do returns."""
    stream = t.stream()
    for _ in range(100):
        ok(rt.StreamSynchronize(stream))


@case(
    "stream.order.in-order",
    about="LaunchHostFunc MemcpyAsync",
    rule="Streams: work of one stream runs in the order of its calls",
)
def in_order(t: Bench) -> None:
    """Work of one stream runs in the order in which it was enqueued."""
    stream, calls = t.stream(), t.calls()
    for i in range(1, 101):
        ok(rt.LaunchHostFunc(stream, calls.address, i))
    ok(rt.StreamSynchronize(stream))
    same(calls.seen, list(range(1, 101)), "the order of the calls")


@case(
    "stream.order.kinds-of-work",
    about="MemcpyAsync MemsetAsync",
    rule="Streams: work of one stream runs in the order of its calls",
)
def order_of_kinds(t: Bench) -> None:
    """Copies and sets of one stream, mixed, happen one after another."""
    stream = t.stream()
    a, b = t.memory(4096, fill=1), t.memory(4096, fill=2)
    gate = t.gate(stream)
    ok(rt.MemsetAsync(a, 3, 4096, stream))
    ok(rt.MemcpyAsync(b, a, 4096, 3, stream))
    ok(rt.MemsetAsync(a, 4, 2048, stream))
    ok(rt.MemcpyAsync(b, a, 1024, 3, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(download(b, 4096), b"\4" * 1024 + b"\3" * 3072, "what the last copy left")


@case("stream.query.ready", about="StreamQuery", rule="Streams: StreamQuery is Success or NotReady")
def query_ready(t: Bench) -> None:
    """A stream with nothing to do is ready."""
    stream = t.stream()
    ok(rt.StreamQuery(stream))
    t.mark().set_by(stream)
    ok(rt.StreamSynchronize(stream))
    ok(rt.StreamQuery(stream))


@case("stream.query.not-ready", about="StreamQuery", rule="Streams: StreamQuery is Success or NotReady")
def query_not_ready(t: Bench) -> None:
    """A stream with work in front of it is not ready."""
    stream, mark = t.stream(), t.mark()
    gate = t.gate(stream)
    mark.set_by(stream)
    fails(rt.StreamQuery(stream), "NotReady")
    gate.open()
    ok(rt.StreamSynchronize(stream))


@case("stream.query.while-the-last-runs", about="StreamQuery", rule="Traps: query said done while a task ran")
def query_while_running(t: Bench) -> None:
    """A stream whose last piece of work is running, with nothing behind it, is not ready."""
    stream = t.stream()
    gate = t.gate(stream)
    gate.wait_until_entered()
    fails(rt.StreamQuery(stream), "NotReady")
    gate.open()
    ok(rt.StreamSynchronize(stream))


@case(
    "stream.query.is-no-error",
    about="StreamQuery PeekAtLastError",
    rule="Streams: NotReady does not become the last error",
)
def query_is_no_error(t: Bench) -> None:
    """Not ready is an answer: it does not become the thread's last error."""
    stream = t.stream()
    gate = t.gate(stream)
    rt.StreamQuery(stream)
    same(int(rt.PeekAtLastError()[0]), 0, "the last error after a query that was not ready")
    gate.open()


@case(
    "stream.destroy.busy-returns",
    about="StreamDestroy",
    rule="Streams: StreamDestroy on a busy stream returns at once",
)
def destroy_busy(t: Bench) -> None:
    """Destroying a busy stream returns at once, and its work completes."""
    stream, mark = ok(rt.StreamCreateWithFlags(NON_BLOCKING)), t.mark()
    gate = t.gate(stream)
    mark.set_by(stream)
    ok(rt.StreamDestroy(stream))
    holds(not mark.is_set, "the work not to have run yet")
    gate.open()
    ok(rt.DeviceSynchronize())
    holds(mark.is_set, "the work of a destroyed stream to complete")


@case(
    "stream.destroy.twice",
    about="StreamDestroy",
    rule="contract of infinirtStreamDestroy; measured: refused with 400",
    level="full",
)
def destroy_twice(t: Bench) -> None:
    """Destroying a stream a second time is an error, not a crash."""
    stream = ok(rt.StreamCreate())
    ok(rt.StreamDestroy(stream))
    fails(rt.StreamDestroy(stream), "InvalidResourceHandle")


@full(
    "stream.destroy.predefined",
    about="StreamDestroy",
    rule="measured: the predefined streams cannot be destroyed",
)
def destroy_predefined(t: Bench) -> None:
    """The legacy and the per-thread stream cannot be destroyed."""
    for handle in (0, 1, 2):
        fails(rt.StreamDestroy(handle), "InvalidResourceHandle")
    ok(rt.StreamSynchronize(0))


@full("stream.destroy.cycle", about="StreamCreate StreamDestroy", rule="Traps: a lost wake-up in destroy")
def destroy_cycle(t: Bench) -> None:
    """A thousand streams are created, used and destroyed one after another."""
    calls = t.calls()
    for i in range(1, 1001):
        stream = ok(rt.StreamCreateWithFlags(NON_BLOCKING))
        ok(rt.LaunchHostFunc(stream, calls.address, i))
        ok(rt.StreamDestroy(stream))
    ok(rt.DeviceSynchronize())
    same(len(calls.seen), 1000, "the number of calls")


@full(
    "stream.concurrent.others-go-on",
    about="StreamSynchronize LaunchHostFunc",
    rule="Streams: streams are independent",
)
def others_go_on(t: Bench) -> None:
    """While one stream is held, another one works."""
    held, free, mark = t.stream(), t.stream(), t.mark()
    gate = t.gate(held)
    gate.wait_until_entered()
    mark.set_by(free)
    ok(rt.StreamSynchronize(free))
    holds(mark.is_set, "the other stream's work to have run")
    fails(rt.StreamQuery(held), "NotReady")
    gate.open()


@full(
    "stream.priority.clamped",
    about="StreamCreateWithPriority StreamGetPriority",
    rule="Streams: a priority out of range is clamped",
)
def priority_clamped(t: Bench) -> None:
    """A priority out of range is the nearest one within it, not an error."""
    least, greatest = ok(rt.DeviceGetStreamPriorityRange())
    for asked, expected in ((-1000, greatest), (1000, least)):
        stream = ok(rt.StreamCreateWithPriority(NON_BLOCKING, asked))
        same(int(ok(rt.StreamGetPriority(stream))), int(expected), f"the priority asked for as {asked}")
        ok(rt.StreamDestroy(stream))


@full(
    "stream.priority.kept",
    about="StreamCreateWithPriority StreamGetPriority",
    rule="contract of infinirtStreamGetPriority",
)
def priority_kept(t: Bench) -> None:
    """A stream keeps the priority that it was created with."""
    least, greatest = ok(rt.DeviceGetStreamPriorityRange())
    for asked in range(int(greatest), int(least) + 1):
        stream = ok(rt.StreamCreateWithPriority(0, asked))
        same(int(ok(rt.StreamGetPriority(stream))), asked, "the priority")
        ok(rt.StreamDestroy(stream))


@full(
    "stream.priority.wrong-flags",
    about="StreamCreateWithPriority",
    rule="contract of infinirtStreamCreateWithPriority",
)
def priority_flags(t: Bench) -> None:
    """Flags that do not exist are an invalid value with a priority, too."""
    fails(rt.StreamCreateWithPriority(2, 0), "InvalidValue")


@full("stream.id.unique", about="StreamGetId", rule="Traps: handles are reused, ids are not")
def id_unique(t: Bench) -> None:
    """No two streams of a process have the same id, also when one was destroyed before the other."""
    ids = []
    for _ in range(100):
        stream = ok(rt.StreamCreate())
        ids.append(int(ok(rt.StreamGetId(stream))))
        ok(rt.StreamDestroy(stream))
    same(len(set(ids)), 100, "the number of different ids")


@full("stream.id.stable", about="StreamGetId", rule="contract of infinirtStreamGetId")
def id_stable(t: Bench) -> None:
    """A stream keeps its id."""
    stream = t.stream()
    first = int(ok(rt.StreamGetId(stream)))
    t.mark().set_by(stream)
    same(int(ok(rt.StreamGetId(stream))), first, "the id")


@full("stream.device", about="StreamGetDevice", rule="contract of infinirtStreamGetDevice")
def device(t: Bench) -> None:
    """A stream says which device it belongs to."""
    same(int(ok(rt.StreamGetDevice(t.stream()))), t.ordinal, "the stream's device")
    same(int(ok(rt.StreamGetDevice(0))), t.ordinal, "the legacy stream's device")


@full("stream.device.other", about="StreamGetDevice", rule="contract of infinirtStreamGetDevice")
def device_other(t: Bench) -> None:
    """A stream made on another device says so while the first is current."""
    other = t.other_device()
    same(int(ok(rt.StreamGetDevice(t.on_device(other, t.stream)))), other, "the stream's device")


@full(
    "stream.attributes",
    about="StreamSetAttribute StreamGetAttribute",
    rule="contract of infinirtStreamSetAttribute",
)
def attributes(t: Bench) -> None:
    """The synchronisation policy of a stream can be set and read."""
    stream = t.stream()
    which = rt.member("StreamAttrID", "LaunchAttributeSynchronizationPolicy")
    value = rt.StreamAttrValue()
    value.syncPolicy = rt.member("SynchronizationPolicy", "SyncPolicyYield")
    ok(rt.StreamSetAttribute(stream, which, value))
    same(ok(rt.StreamGetAttribute(stream, which)).syncPolicy, value.syncPolicy, "the policy")


@full(
    "stream.attributes.copied", about="StreamCopyAttributes", rule="contract of infinirtStreamCopyAttributes"
)
def attributes_copied(t: Bench) -> None:
    """Attributes are copied from one stream to another."""
    one, two = t.stream(), t.stream()
    which = rt.member("StreamAttrID", "LaunchAttributeSynchronizationPolicy")
    value = rt.StreamAttrValue()
    value.syncPolicy = rt.member("SynchronizationPolicy", "SyncPolicyBlockingSync")
    ok(rt.StreamSetAttribute(one, which, value))
    ok(rt.StreamCopyAttributes(two, one))
    same(ok(rt.StreamGetAttribute(two, which)).syncPolicy, value.syncPolicy, "the copied policy")


@full(
    "stream.used-by-threads",
    about="MemcpyAsync StreamSynchronize",
    rule="Threads: every function may be called from any thread",
)
def used_by_threads(t: Bench) -> None:
    """A stream made on one thread is used and destroyed on another."""
    stream = ok(rt.StreamCreateWithFlags(NON_BLOCKING))
    mark = t.mark()

    def body() -> None:
        mark.set_by(stream)
        ok(rt.StreamSynchronize(stream))
        ok(rt.StreamDestroy(stream))

    t.elsewhere(body)
    holds(mark.is_set, "the work to have run")


def _ids(handle: Any) -> int:
    return int(ok(rt.StreamGetId(handle)))


@full("stream.per-thread.own", about="StreamGetId", rule="Streams: the per-thread default stream (handle 2)")
def per_thread(t: Bench) -> None:
    """The per-thread stream is another one on each thread, and not the legacy stream."""
    mine, theirs = _ids(2), t.elsewhere(lambda: _ids(2))
    holds(mine != theirs, "two threads to have two streams", mine)
    holds(mine != _ids(0), "the per-thread stream not to be the legacy stream", mine)
