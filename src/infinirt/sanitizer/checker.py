"""The checker: what a program's calls mean for the order of its work, and what that order leaves open.

It knows no function of the API; calls.py says what each of them means in these words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from . import findings as kinds
from .clocks import Clock, Stack, Timeline, Work, begin, join_all, joined
from .ended import Ended
from .findings import Finding, Place, bytes_at, on, shown_frame, site
from .graphs import Action, Anything, Begin, End, Executable, Node, Record, Touch, Wait
from .memory import Access, Allocation, Memory, Segment
from .reports import Reports
from .streams import Capture, Device, Event, EventWait, Stream

_NOTHING: Mapping[int, Allocation] = {}


class Checker(Reports):
    """Calls go in, findings come out. Not for several threads at once."""

    def __init__(self, report: Callable[[Finding], None] | None = None) -> None:
        super().__init__(report)
        self.host = Timeline("the host")
        self.memory = Memory()
        self.touched_by_work: set[Allocation] = (
            set()
        )  # memory that is the program's as well, since this was last looked at
        self._told: Clock = {}  # work that the program may know to be over by other means than calls: a host function has run since
        self._latest: dict[int, Work] = {}  # of each timeline
        self.thread = 0  # whose call this is
        self._legacy: dict[Device, Stream] = {}
        self._ended = Ended()

    # ---- streams and what orders them

    def add_stream(
        self, name: str, device: Device, *, blocking: bool = True, legacy: bool = False, stack: Stack = ()
    ) -> Stream:
        stream = Stream(Timeline(name, stack), device, blocking, legacy)
        self.streams.add(stream)
        if legacy:
            self._legacy[device] = stream
        return stream

    def ended(self, timelines: Iterable[Timeline]) -> None:
        """They get no more work: streams that were destroyed, branches of graphs that were. What they had goes on."""
        over = self._ended.add(timelines, self.host.clock)
        if not over:
            return
        self.streams = {each for each in self.streams if not each.timeline.is_over}
        for timeline in over:
            self._latest.pop(timeline.number, None)
        for timeline in (self.host, *(each.timeline for each in self.streams)):
            timeline.clock = self._ended.without(timeline.clock)
        self._told = self._ended.without(self._told)

    def _clock_before(self, stream: Stream) -> Clock:
        """What the stream's next work comes after, beside its own work."""
        clock = self.host.clock
        if stream.legacy:
            others = (each for each in self.streams if each.device == stream.device and each.blocking)
            clock = joined(clock, join_all(each.timeline.clock for each in others))
        elif stream.blocking and stream.device in self._legacy:
            clock = joined(clock, self._legacy[stream.device].timeline.clock)
        return clock

    def record(self, event: Event, stream: Stream, call: str = "", stack: Stack = ()) -> None:
        if self.event_is_gone(event, call, stack):
            return
        if stream.capture is not None:
            event.captured = (stream.capture, stream.capture.ends.get(stream, ()))
            event.stream = stream
            return
        self._comes_after_others(stream)
        self._record(event, stream, stream.timeline.clock, self._latest.get(stream.timeline.number), stack)

    def _record(self, event: Event, stream: Stream, clock: Clock, work: Work | None, stack: Stack) -> None:
        event.captured = None
        event.clock, event.stream, event.work, event.recorded = clock, stream, work, stack

    def _comes_after_others(self, stream: Stream) -> None:
        """A record or a wait is work in this: on the default stream, all blocking streams' later work comes after their earlier work."""
        stream.timeline.join(self._clock_before(stream))

    def wait(self, stream: Stream, event: Event, call: str = "", stack: Stack = ()) -> None:
        if self.event_is_gone(event, call, stack):
            return
        if event.captured is not None:
            capture, nodes = event.captured
            mine = capture.ends.get(stream, ())
            capture.ends[stream] = tuple(dict.fromkeys((*mine, *nodes)))
            stream.capture = capture
            return
        if stream.capture is not None:
            return  # for an event that was never recorded: that is no wait
        recorded = event.stream if event.clock is not None else None
        stream.waits = [*stream.waits[-15:], EventWait(event, recorded, event.work, event.recorded, stack)]
        if event.clock is not None:
            stream.timeline.join(event.clock)
        self._comes_after_others(stream)

    def comes_after_streams(self, stream: Stream, others: Iterable[Stream]) -> None:
        """All that they were given so far; the default stream of a device is one with its blocking streams."""
        for other in others:
            stream.timeline.join(other.timeline.clock)
            if other.legacy:
                stream.timeline.join(self._clock_before(other))

    def host_waits_for_stream(self, stream: Stream) -> None:
        """For what it was given so far; the default stream is one with the blocking streams."""
        self.host.join(stream.timeline.clock)
        if stream.legacy:
            self.host.join(self._clock_before(stream))

    def host_waits_for_event(self, event: Event, call: str = "", stack: Stack = ()) -> None:
        """An event that was last recorded in a capture stands for nothing that the host could wait for."""
        if self.event_is_gone(event, call, stack) or event.captured is not None:
            return
        if event.clock is not None:
            self.host.join(event.clock)

    def host_waits_for_device(self, device: Device) -> None:
        self.host.join(join_all(each.timeline.clock for each in self.streams if each.device == device))

    def host_waits_for_devices(self, kind: str) -> None:
        """All of a type."""
        self.host.join(join_all(each.timeline.clock for each in self.streams if each.device[0] == kind))

    def event_is_gone(self, event: Event, call: str, stack: Stack) -> bool:
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
            capture.graph.threads.add(self.thread)
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
        if executable.graph.is_unclear:
            self._do(start, [Anything()])
        at = f"launched at {shown_frame(stack[0])}" if stack else "launched"
        clocks: dict[Node, Clock] = {}
        nodes = [(*each, each[0].played(executable.graph.is_unclear)) for each in executable.timelines()]
        # As they are before the launch itself records any.
        waited = {
            each.event: each.event.clock or {}
            for _, _, actions in nodes
            for each in actions
            if isinstance(each, Wait)
        }
        for node, timeline, actions in nodes:
            before = joined(
                stream.timeline.clock, join_all(clocks[each] for each in node.after if each in clocks)
            )
            before = joined(
                before, join_all(waited[each.event] for each in actions if isinstance(each, Wait))
            )
            timeline.clock = {timeline.number: timeline.clock.get(timeline.number, 0)}
            work = begin(timeline, node.call, node.stack, before, f"{at} on {stream.name}")
            clocks[node] = timeline.clock
            self._do(work, actions, node.meant)
            for each in actions:
                if isinstance(each, Record):
                    self._record(each.event, stream, timeline.clock, start, node.stack)
        stream.timeline.join(join_all(clocks.values()))
        executable.ended = stream.timeline.clock
        self._latest[stream.timeline.number] = start

    def _do(self, work: Work, actions: Iterable[Action], meant: Mapping[int, Allocation] = _NOTHING) -> None:
        self._latest[work.timeline.number] = work
        for action in actions:
            if isinstance(action, Touch):
                self._ended.last_touch[work.timeline.number] = work.tick
                self._touch(work, action, meant.get(action.address))
            elif isinstance(action, Begin):
                if self.memory.starting_at(action.allocation.base) is not action.allocation:
                    self.memory.add(action.allocation)
                action.allocation.renew(action.allocation.is_hosts)
            elif isinstance(action, End):
                self._end(
                    replace(work, clock=joined(work.clock, action.also)), action.allocation, action.is_late
                )
            elif isinstance(action, Anything):
                self._told = joined(self._told, {**work.clock, work.timeline.number: work.tick})
                for allocation in self.memory.all():
                    allocation.mark_written()

    def is_pending(self, work: Work) -> bool:
        """Whether the program cannot know that it is over."""
        return not work.is_before(self.host.clock) and not work.is_before(self._told)

    # ---- memory

    def allocated(self, allocation: Allocation) -> None:
        self.memory.add(allocation)

    def freed_at_once(self, address: int, call: str, stack: Stack, *, has_waited: bool = False) -> None:
        """By a call in no stream's order; one that has waited did so for other devices' use of the memory, too."""
        allocation = self._to_free(address, call, stack)
        if allocation is None:
            return
        work = begin(self.host, call, stack, {})
        if has_waited:
            work = replace(
                work, clock=join_all((work.clock, *(each.timeline.clock for each in self.streams)))
            )
        self._end(work, allocation)

    def freed_in_order(
        self, address: int, stream: Stream, call: str, stack: Stack, is_late: bool = False
    ) -> None:
        allocation = self._to_free(address, call, stack)
        if allocation is None:
            return
        users = (each for each in self.streams if each.timeline.number in allocation.used_by)
        end = End(allocation, is_late, join_all(each.timeline.clock for each in users))
        self.work(stream, call, stack, [end])

    def _to_free(self, address: int, call: str, stack: Stack) -> Allocation | None:
        allocation = self.memory.starting_at(address)
        if allocation is not None and allocation.frees_to_come:
            allocation.frees_to_come -= 1
            return None
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
            if (last > allocation.end and not allocation.is_longer) or first < allocation.base:
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


__all__ = ["Capture", "Checker", "Device", "Event", "Stream"]
