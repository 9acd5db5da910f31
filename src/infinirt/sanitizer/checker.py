"""The checker: what a program's calls mean for the order of its work, and what that order leaves open.

It knows no function of the API; calls.py says what each of them means in these words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from . import findings as kinds
from .clocks import Clock, Stack, Timeline, Work, begin, join_all, joined
from .findings import Finding, Place, bytes_at, described, made, named, on, shown_frame, site, where
from .graphs import Action, Anything, Begin, End, Executable, Graph, Node, Touch
from .memory import Access, Allocation, Memory, Segment

Device = tuple[str, int]  # type and number
_NOTHING: Mapping[int, Allocation] = {}


@dataclass(eq=False)
class Capture:
    """What a capture has recorded; `ends` are the nodes that each stream's next one comes after."""

    graph: Graph
    origin: Stream
    ends: dict[Stream, tuple[Node, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    """A stream's wait, with what the event stood for then."""

    event: Event
    stream: Stream | None  # that it had been recorded on; None: it had not
    work: Work | None  # the latest of that stream
    recorded: Stack
    stack: Stack


@dataclass(eq=False)
class Stream:
    timeline: Timeline
    device: Device
    blocking: bool = True
    legacy: bool = False
    capture: Capture | None = None
    waits: list[Wait] = field(default_factory=list)  # the latest

    @property
    def name(self) -> str:
        return self.timeline.name


@dataclass(eq=False)
class Event:
    name: str
    clock: Clock | None = None  # None: never recorded
    stream: Stream | None = None
    work: Work | None = None  # the latest of its stream when it was recorded
    recorded: Stack = ()
    captured: tuple[Capture, tuple[Node, ...]] | None = None
    destroyed: Stack | None = None


class Checker:
    """Calls go in, findings come out. Not for several threads at once."""

    def __init__(self, report: Callable[[Finding], None] | None = None) -> None:
        self.host = Timeline("the host")
        self.memory = Memory()
        self.streams: set[Stream] = set()
        self.touched_by_work: set[Allocation] = (
            set()
        )  # memory that is the program's as well, since this was last looked at
        self._told: Clock = {}  # work that the program may know to be over by other means than calls: a host function has run since
        self.findings: list[Finding] = []
        self._known: dict[tuple[object, ...], Finding] = {}
        self._report = report
        self._latest: dict[int, Work] = {}  # of each timeline

    # ---- streams and what orders them

    def add_stream(
        self, name: str, device: Device, *, blocking: bool = True, legacy: bool = False, stack: Stack = ()
    ) -> Stream:
        stream = Stream(Timeline(name, stack), device, blocking, legacy)
        self.streams.add(stream)
        return stream

    def _clock_before(self, stream: Stream) -> Clock:
        """What the stream's next work comes after, beside its own work."""
        clock = self.host.clock
        if stream.legacy:
            others = (each for each in self.streams if each.device == stream.device and each.blocking)
            clock = joined(clock, join_all(each.timeline.clock for each in others))
        elif stream.blocking:
            for each in self.streams:
                if each.legacy and each.device == stream.device:
                    clock = joined(clock, each.timeline.clock)
        return clock

    def record(self, event: Event, stream: Stream, call: str = "", stack: Stack = ()) -> None:
        if self._event_is_gone(event, call, stack):
            return
        if stream.capture is not None:
            event.captured = (stream.capture, stream.capture.ends.get(stream, ()))
            event.stream = stream
            return
        event.captured = None
        event.clock = joined(stream.timeline.clock, self._clock_before(stream))
        event.stream = stream
        event.work = self._latest.get(stream.timeline.number)
        event.recorded = stack

    def wait(self, stream: Stream, event: Event, call: str = "", stack: Stack = ()) -> None:
        if self._event_is_gone(event, call, stack):
            return
        if event.captured is not None:
            capture, nodes = event.captured
            mine = capture.ends.get(stream, ())
            capture.ends[stream] = tuple(dict.fromkeys((*mine, *nodes)))
            stream.capture = capture
            return
        recorded = event.stream if event.clock is not None else None
        stream.waits = [*stream.waits[-15:], Wait(event, recorded, event.work, event.recorded, stack)]
        if event.clock is not None:
            stream.timeline.join(event.clock)

    def host_waits_for_stream(self, stream: Stream) -> None:
        self.host.join(joined(stream.timeline.clock, self._clock_before(stream)))

    def host_waits_for_event(self, event: Event, call: str = "", stack: Stack = ()) -> None:
        if not self._event_is_gone(event, call, stack) and event.clock is not None:
            self.host.join(event.clock)

    def host_waits_for_device(self, device: Device) -> None:
        self.host.join(join_all(each.timeline.clock for each in self.streams if each.device == device))

    def _event_is_gone(self, event: Event, call: str, stack: Stack) -> bool:
        if event.destroyed is None:
            return False
        self.found(
            kinds.EVENT,
            f"{call} uses {event.name}, which was destroyed",
            [Place(f"{call} is called", stack), Place("the event was destroyed", event.destroyed)],
            "destroy the event after its last use, or make a new one",
            key=(kinds.EVENT, site(stack, call)),
        )
        return True

    # ---- work

    def work(self, stream: Stream, call: str, stack: Stack, actions: Iterable[Action] = ()) -> None:
        """A piece of work, put on the stream; in a capture it becomes a node."""
        capture = stream.capture
        if capture is not None:
            node = capture.graph.add(call, stack, actions, capture.ends.get(stream, ()))
            capture.ends[stream] = (node,)
            return
        work = begin(stream.timeline, call, stack, self._clock_before(stream))
        self._do(work, actions)

    def launch(self, executable: Executable, stream: Stream, call: str, stack: Stack) -> None:
        if stream.capture is not None:
            capture = stream.capture
            node = capture.graph.add_graph(executable.graph, capture.ends.get(stream, ()), call, stack)
            capture.ends[stream] = (node,)
            return
        start = begin(stream.timeline, call, stack, joined(self._clock_before(stream), executable.ended))
        at = f"launched at {shown_frame(stack[0])}" if stack else "launched"
        clocks: dict[Node, Clock] = {}
        for node, timeline in executable.timelines():
            before = joined(
                stream.timeline.clock, join_all(clocks[each] for each in node.after if each in clocks)
            )
            timeline.clock = {timeline.number: timeline.clock.get(timeline.number, 0)}
            work = begin(timeline, node.call, node.stack, before, f"{at} on {stream.name}")
            clocks[node] = timeline.clock
            self._do(work, node.actions, node.meant)
        stream.timeline.join(join_all(clocks.values()))
        executable.ended = stream.timeline.clock
        self._latest[stream.timeline.number] = start

    def _do(self, work: Work, actions: Iterable[Action], meant: Mapping[int, Allocation] = _NOTHING) -> None:
        self._latest[work.timeline.number] = work
        for action in actions:
            if isinstance(action, Touch):
                self._touch(work, action, meant.get(action.address))
            elif isinstance(action, Begin):
                if self.memory.starting_at(action.allocation.base) is not action.allocation:
                    self.memory.add(action.allocation)
                action.allocation.renew(action.allocation.is_hosts)
            elif isinstance(action, End):
                self._end(work, action.allocation, action.is_late)
            else:
                self._told = joined(self._told, {**work.clock, work.timeline.number: work.tick})
                for allocation in self.memory.all():
                    allocation.mark_written()

    def is_pending(self, work: Work) -> bool:
        """Whether the program cannot know that it is over."""
        return not work.is_before(self.host.clock) and not work.is_before(self._told)

    # ---- memory

    def allocated(self, allocation: Allocation) -> None:
        self.memory.add(allocation)

    def freed_at_once(self, address: int, call: str, stack: Stack) -> None:
        """By a call that waits for the device."""
        allocation = self._to_free(address, call, stack)
        if allocation is not None:
            self._end(begin(self.host, call, stack, {}), allocation)

    def freed_in_order(
        self, address: int, stream: Stream, call: str, stack: Stack, is_late: bool = False
    ) -> None:
        allocation = self._to_free(address, call, stack)
        if allocation is None:
            return
        for other in self.streams:  # those that were recorded as users: the free waits for them
            if other.timeline.number in allocation.used_by:
                stream.timeline.join(other.timeline.clock)
        self.work(stream, call, stack, [End(allocation, is_late)])

    def _to_free(self, address: int, call: str, stack: Stack) -> Allocation | None:
        allocation = self.memory.starting_at(address)
        if allocation is None or allocation.freed is None:
            return allocation
        freed = allocation.freed
        self.found(
            kinds.DOUBLE_FREE,
            f"{call} frees memory that was freed before",
            [
                Place(f"{call} frees {address:#x}", stack),
                Place(f"{freed.call} freed it {on(freed)}", freed.stack),
            ],
            "free it once",
            allocation=allocation,
            works=[freed],
            key=(kinds.DOUBLE_FREE, site(stack, call), site(freed.stack, freed.call)),
        )
        return None

    def _end(self, work: Work, allocation: Allocation, is_late: bool = False) -> None:
        """The memory goes: nothing may still be using it, nothing may use it later."""
        if not allocation.opaque:
            for segment in allocation.segments:
                for access in (segment.writer, *segment.readers):
                    if access is None or (is_late and access.work.where):
                        continue
                    if not access.work.is_before(work.clock):
                        self._freed_in_use(work, allocation, segment, access)
        allocation.freed = work

    def _freed_in_use(self, work: Work, allocation: Allocation, segment: Segment, access: Access) -> None:
        user = access.work
        self.found(
            kinds.FREE_IN_USE,
            f"{work.call} {on(work)} frees memory that {user.call} {on(user)} may not have finished with",
            [
                Place(f"{work.call} frees it {on(work)}", work.stack),
                Place(f"{user.call} {_verb(access)} {access.label}, {bytes_at(segment.begin, segment.end)}, {on(user)}",
                      user.stack),
            ],
            self._fix_of_free_in_use(work, user),
            missing=f"nothing orders {named(user)} {on(user)} before the free {on(work)}",
            allocation=allocation,
            works=[work, user],
            key=(kinds.FREE_IN_USE, site(work.stack, work.call), site(user.stack, user.call)),
        )  # fmt: skip

    def _touch(self, work: Work, touch: Touch, meant: Allocation | None) -> None:
        allocation = self.memory.at(touch.address)
        if meant is not None and meant is not allocation and meant.freed is not None:
            allocation = meant  # whatever was put there since
        if allocation is None:
            return
        if allocation.freed is not None:
            self._used_after_free(work, touch, allocation)
            return
        if touch.ranges is None:
            if touch.writes:
                allocation.mark_written()
            return
        size = sum(last - first for first, last in touch.ranges)
        access = Access(work, touch.writes, touch.label, size)
        if allocation.is_hosts:
            self.touched_by_work.add(allocation)
        for first, last in touch.ranges:
            begin_, end = max(first, allocation.base), min(last, allocation.end)
            if last > allocation.end or first < allocation.base:
                self._out_of_bounds(work, touch, allocation, first, last)
            if begin_ >= end:
                continue
            for segment in allocation.touched(begin_, end):
                self._touch_segment(access, allocation, segment)

    def _touch_segment(self, access: Access, allocation: Allocation, segment: Segment) -> None:
        clock = access.work.clock
        before = [segment.writer] if segment.writer is not None else []
        if access.writes:
            before += segment.readers
        if not allocation.opaque:
            for earlier in before:
                if earlier.work is not access.work and not earlier.work.is_before(clock):
                    self._race(access, earlier, allocation, segment)
        if access.writes:
            segment.writer, segment.readers, segment.written = access, (), True
            return
        if not segment.written and not allocation.opaque:
            self._never_written(access, allocation, segment)
            segment.written = True  # told once
        segment.readers = (*(each for each in segment.readers if not each.work.is_before(clock)), access)

    def host_touches(self, allocation: Allocation, address: int, writes: bool, stack: Stack) -> None:
        """The program itself reads or writes there."""
        segment = allocation.segment_at(address)
        before = [segment.writer, *(segment.readers if writes else ())]
        for earlier in before:
            if earlier is not None and self.is_pending(earlier.work):
                self._host_too_early(address, writes, stack, allocation, segment, earlier)
                return

    # ---- what is said

    def found(
        self,
        kind: str,
        message: str,
        places: Sequence[Place],
        fix: str,
        *,
        missing: str = "",
        allocation: Allocation | None = None,
        works: Iterable[Work] = (),
        key: tuple[object, ...],
    ) -> None:
        known = self._known.get(key)
        if known is not None:
            known.count += 1
            return
        memory = described(allocation) if allocation is not None else ""
        streams = made(work.timeline for work in works)
        finding = Finding(kind, message, list(places), fix, missing, memory, streams, key=key)
        self._known[key] = finding
        self.findings.append(finding)
        if self._report is not None:
            self._report(finding)

    def _race(self, access: Access, earlier: Access, allocation: Allocation, segment: Segment) -> None:
        work, other = access.work, earlier.work
        here, there = (bytes_at(segment.begin, segment.end, each.size) for each in (access, earlier))
        early = self._early_wait(work, other)
        self.found(
            kinds.RACE,
            f"{work.call} {_verb(access)} what {other.call} {_verb(earlier)}, and nothing orders the two",
            [
                Place(f"{work.call} {_verb(access)} {access.label}, {here}, {on(work)}", work.stack),
                Place(f"{other.call} {_verb(earlier)} {earlier.label}, {there}, {on(other)}", other.stack),
            ],
            self._fix(work, other, early),
            missing=self._missing(work, other, early),
            allocation=allocation,
            works=[work, other],
            key=(kinds.RACE, site(work.stack, work.call), site(other.stack, other.call)),
        )

    def _host_too_early(
        self,
        address: int,
        writes: bool,
        stack: Stack,
        allocation: Allocation,
        segment: Segment,
        earlier: Access,
    ) -> None:
        work = earlier.work
        stream, issued = (
            ("the launch's stream", "the launch") if work.where else (work.timeline.name, work.call)
        )
        does, doing = ("writes", "writing") if earlier.writes else ("reads", "reading")
        self.found(
            kinds.HOST,
            f"the program {'writes' if writes else 'reads'} memory that {work.call} may still be {doing}",
            [
                Place(f"the program {'writes' if writes else 'reads'} {address:#x}", stack),
                Place(f"{work.call} {does} {earlier.label}, {bytes_at(segment.begin, segment.end)}, {on(work)}", work.stack),
            ],
            f"wait for it first: stream.sync(), or event.sync() for an event recorded on {stream} after {issued}",
            missing=f"nothing lets the program wait for {named(work)} {on(work)}",
            allocation=allocation,
            works=[work],
            key=(kinds.HOST, site(stack, "the program"), site(work.stack, work.call)),
        )  # fmt: skip

    def _fix_of_free_in_use(self, work: Work, user: Work) -> str:
        # Nobody records on a branch of a graph.
        stream, call = (
            ("the launch's stream", "the launch") if user.where else (user.timeline.name, user.call)
        )
        return (
            f"let {work.timeline.name} wait for an event recorded on {stream} after {call}, or free it on"
            f" {stream}; for cached memory, record_stream() says who else uses it"
        )

    def _fix_of_free(self, work: Work, freed: Work) -> str:
        if work.where:
            return "keep the memory for as long as the graph is launched: free it after the last launch has ended"
        is_ordered = freed.call == "infinirtFree" or freed.timeline is work.timeline
        later = "" if is_ordered else f", on a stream that comes after {work.timeline.name}"
        return f"free it after {named(work)}{later}"

    def _fix(self, work: Work, other: Work, early: Wait | None) -> str:
        later, earlier = named(work), named(other)
        if early is not None and early.stream is not None:
            return f"record the event after {earlier}, not at {where(early.recorded)}; the wait at {where(early.stack)} may stay"
        if early is not None:
            return f"record the event on {other.timeline.name} after {earlier}, and before the wait at {where(early.stack)} is called"
        if work.where and other.where and work.where == other.where:
            return f"both are nodes of one graph: let the node of {later} come after that of {earlier}"
        # Nobody records on a branch of a graph, or lets one wait: its launch is what can be ordered.
        waits, before = (
            ("the launch's stream", f"{later} is launched") if work.where else (work.timeline.name, later)
        )
        if other.where:
            return f"{waits} should wait for the graph, {other.where}: stream.wait(its_stream.record()) after the launch and before {before}"
        return (
            f"{waits} should wait for an event recorded on {other.timeline.name} after {earlier}:"
            f" stream.wait(other_stream.record()) before {before}"
        )

    def _early_wait(self, work: Work, other: Work) -> Wait | None:
        """The last wait that looks as if it ordered the two, and does not: its event was recorded too early, or not yet."""
        waiting = next((each for each in self.streams if each.timeline is work.timeline), None)
        for wait in reversed(waiting.waits if waiting else []):
            if wait.stream is None:
                return wait
            if wait.stream.timeline is other.timeline and (wait.work is None or wait.work.tick < other.tick):
                return wait
        return None

    def _missing(self, work: Work, other: Work, early: Wait | None) -> str:
        """Which edge is not there, and why one that looks as if it were is none."""
        text = f"{named(other)} {on(other)} before {named(work)} {on(work)}"
        if early is None:
            return text
        waited = f"{text}: the stream waited for {early.event.name} at {where(early.stack)}, but that"
        if early.stream is None:
            return f"{waited} had not been recorded, and a wait for it does nothing"
        when = f"after {named(early.work)}" if early.work is not None else "before any work there"
        return f"{waited} was recorded at {where(early.recorded)}, {when}, before {named(other)} was issued"

    def _used_after_free(self, work: Work, touch: Touch, allocation: Allocation) -> None:
        freed = allocation.freed
        assert freed is not None
        self.found(
            kinds.USE_AFTER_FREE,
            f"{work.call} uses {touch.label}, which was freed",
            [
                Place(f"{work.call} uses {touch.label}, {touch.address:#x}, {on(work)}", work.stack),
                Place(f"{freed.call} freed it {on(freed)}", freed.stack),
            ],
            self._fix_of_free(work, freed),
            allocation=allocation,
            works=[work, freed],
            key=(kinds.USE_AFTER_FREE, site(work.stack, work.call), site(freed.stack, freed.call)),
        )

    def _never_written(self, access: Access, allocation: Allocation, segment: Segment) -> None:
        work = access.work
        self.found(
            kinds.UNWRITTEN,
            f"{work.call} reads {access.label}, and nothing has been written there",
            [
                Place(
                    f"{work.call} reads {access.label}, {bytes_at(segment.begin, segment.end)}, {on(work)}",
                    work.stack,
                )
            ],
            "copy something there, or fill it, before it is read; fresh memory holds whatever was in it",
            allocation=allocation,
            works=[work],
            key=(kinds.UNWRITTEN, site(work.stack, work.call), access.label),
        )

    def _out_of_bounds(self, work: Work, touch: Touch, allocation: Allocation, first: int, last: int) -> None:
        beyond = max(last - allocation.end, allocation.base - first)
        self.found(
            kinds.OUT_OF_BOUNDS,
            f"{work.call} {'writes' if touch.writes else 'reads'} {touch.label} {beyond:,} bytes beyond its memory",
            [Place(f"{work.call} touches {bytes_at(first, last)} {on(work)}", work.stack)],
            "copy fewer bytes, begin elsewhere, or allocate more",
            allocation=allocation,
            works=[work],
            key=(kinds.OUT_OF_BOUNDS, site(work.stack, work.call), touch.label),
        )

    def end(self) -> None:
        """The program is over: what was allocated and never freed is a leak."""
        places: dict[tuple[object, ...], list[Allocation]] = {}
        for allocation in self.memory.all():
            if allocation.is_leak:
                places.setdefault((kinds.LEAK, site(allocation.stack, allocation.call)), []).append(
                    allocation
                )
        for key, leaked in places.items():
            first = leaked[0]
            times = f" ({len(leaked)} allocations)" if len(leaked) > 1 else ""
            self.found(
                kinds.LEAK,
                f"{sum(each.size for each in leaked):,} bytes of {first.kind} were never freed{times}",
                [Place(f"{first.call} allocated {bytes_at(first.base, first.end)}", first.stack)],
                "free it when its last use has been issued",
                key=key,
            )


def _verb(access: Access) -> str:
    return "writes" if access.writes else "reads"


__all__ = ["Anything", "Capture", "Checker", "Device", "Event", "Stream"]
