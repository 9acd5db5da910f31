"""What is found, in the words of the program: both places, what is missing between them, and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from . import findings as kinds
from .clocks import Stack, Work
from .findings import Finding, Place, bytes_at, described, made, named, on, site, where
from .graphs import Touch
from .memory import Access, Allocation, Segment
from .streams import EventWait, Stream


class Reports:
    def __init__(self, report: Callable[[Finding], None] | None = None) -> None:
        self.streams: set[Stream] = set()
        self.findings: list[Finding] = []
        self._known: dict[tuple[object, ...], Finding] = {}
        self._report = report

    def take_findings(self) -> list[Finding]:
        """What was found since this was asked last, which is forgotten: what is found again is told again."""
        taken = self.findings[:]
        self.findings.clear()
        self._known.clear()
        return taken

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

    def _fix(self, work: Work, other: Work, early: EventWait | None) -> str:
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

    def _early_wait(self, work: Work, other: Work) -> EventWait | None:
        """The last wait that looks as if it ordered the two, and does not: its event was recorded too early, or not yet."""
        waiting = next((each for each in self.streams if each.timeline is work.timeline), None)
        for wait in reversed(waiting.waits if waiting else []):
            if wait.stream is None:
                return wait
            if wait.stream.timeline is other.timeline and (wait.work is None or wait.work.tick < other.tick):
                return wait
        return None

    def _missing(self, work: Work, other: Work, early: EventWait | None) -> str:
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


def _verb(access: Access) -> str:
    return "writes" if access.writes else "reads"
