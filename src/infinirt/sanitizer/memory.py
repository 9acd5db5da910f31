"""Memory as the checker knows it: allocations, and who touched which bytes of them last."""

from __future__ import annotations

import bisect
import enum
from collections.abc import Iterator
from dataclasses import dataclass, field

from .clocks import Stack, Work

Range = tuple[int, int]  # addresses: the first byte, and the one behind the last
MOST_RANGES = 4096  # of one access; what is more scattered is not checked for races


class Location(enum.Enum):
    """Where memory is: which copies and sets the host waits for depends on it."""

    DEVICE = enum.auto()
    MANAGED = enum.auto()
    PINNED = enum.auto()  # page-locked memory of the host, allocated or registered
    PAGEABLE = enum.auto()  # the program's own, of which the runtime knows nothing
    UNKNOWN = enum.auto()  # any but pageable


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    work: Work
    writes: bool
    label: str  # "its destination", "an input"
    size: int  # of all that the work touches there


@dataclass(slots=True)
class Segment:
    """Bytes with the same history."""

    begin: int
    end: int
    written: bool  # there is something in it, whoever put it there
    writer: Access | None = None
    readers: tuple[Access, ...] = ()  # since, and not ordered by one another

    def alike(self, other: Segment) -> bool:
        return self.written == other.written and self.writer is other.writer and self.readers == other.readers


@dataclass(eq=False)
class Allocation:
    base: int
    size: int
    kind: str  # "device memory of cpu:0", "pinned memory of the host"
    call: str
    stack: Stack
    device: tuple[str, int] = ("", 0)  # whose it is: its type and number
    location: Location = Location.DEVICE
    is_hosts: bool = False  # the program reads and writes it without a call
    stream_ordered: bool = False
    freed: Work | None = None
    used_by: list[int] = field(default_factory=list)  # streams that the free waits for, as recorded
    of_graph: bool = False  # lives in launches of a graph
    watchable: bool = True  # until the runtime says that it is not
    opaque: bool = False  # somebody has it that cannot be seen: other processes, other libraries
    is_borrowed: bool = False  # the program's own, registered: the runtime does not free it
    frees_to_come: int = (
        0  # of what was there before: another thread's calls that have freed it and are seen late
    )
    is_longer: bool = False  # than its size says, by as much as is not known
    segments: list[Segment] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.renew(self.is_hosts)

    def renew(self, written: bool = False) -> None:
        """As fresh memory."""
        self.freed = None
        self.segments = [Segment(self.base, self.base + self.size, written)]

    @property
    def is_leak(self) -> bool:
        """If the program were over."""
        is_somebodys = self.opaque or self.of_graph or self.is_borrowed
        return self.freed is None and self.frees_to_come == 0 and not is_somebodys

    @property
    def end(self) -> int:
        return self.base + self.size

    def segment_at(self, address: int) -> Segment:
        return self.segments[bisect.bisect_right(self.segments, address, key=lambda each: each.begin) - 1]

    def touched(self, begin: int, end: int) -> Iterator[Segment]:
        """The segments of these bytes, cut so that they hold no others; they may be changed."""
        segments = self.segments
        first = bisect.bisect_right(segments, begin, key=lambda each: each.begin) - 1
        first = self._cut(max(first, 0), begin)
        last = bisect.bisect_left(segments, end, key=lambda each: each.begin) - 1
        self._cut(last, end)
        last = bisect.bisect_left(segments, end, key=lambda each: each.begin)
        yield from segments[first:last]
        self._merge(first, last)

    def _cut(self, index: int, at: int) -> int:
        """The place of the segment that begins there, after a cut where one is needed."""
        segment = self.segments[index]
        if not segment.begin < at < segment.end:
            return index if segment.begin >= at else index + 1
        rest = Segment(at, segment.end, segment.written, segment.writer, segment.readers)
        segment.end = at
        self.segments.insert(index + 1, rest)
        return index + 1

    def _merge(self, first: int, last: int) -> None:
        """Neighbours with the same history become one, so that histories stay short."""
        kept: list[Segment] = []
        begin, stop = max(first - 1, 0), min(last + 1, len(self.segments))
        for segment in self.segments[begin:stop]:
            if kept and kept[-1].alike(segment):
                kept[-1].end = segment.end
            else:
                kept.append(segment)
        self.segments[begin:stop] = kept

    def mark_written(self) -> None:
        """Something may have been put anywhere."""
        for segment in self.segments:
            segment.written = True


class Memory:
    """All allocations that were seen, by address. What was freed stays until its addresses are given out again."""

    def __init__(self) -> None:
        self._bases: list[int] = []
        self._by_base: dict[int, Allocation] = {}

    def add(self, allocation: Allocation) -> None:
        before = self._by_base.get(allocation.base)
        if before is not None and before is not allocation and before.freed is None and not before.of_graph:
            allocation.frees_to_come = before.frees_to_come + 1
        for old in list(self._overlapping(allocation.base, allocation.end)):
            self.forget(old)
        bisect.insort(self._bases, allocation.base)
        self._by_base[allocation.base] = allocation
        if allocation.is_longer:
            self._forget_freed_after(allocation)

    def _forget_freed_after(self, allocation: Allocation) -> None:
        """Up to the next that is in use: it may lie where those were."""
        place = bisect.bisect_right(self._bases, allocation.base)
        while place < len(self._bases) and self._by_base[self._bases[place]].freed is not None:
            self.forget(self._by_base[self._bases[place]])

    def forget(self, allocation: Allocation) -> None:
        if self._by_base.get(allocation.base) is allocation:
            del self._by_base[allocation.base]
            self._bases.remove(allocation.base)

    def at(self, address: int) -> Allocation | None:
        """The allocation that the address lies in."""
        place = bisect.bisect_right(self._bases, address) - 1
        if place < 0:
            return None
        found = self._by_base[self._bases[place]]
        return found if address < found.end or found.size == 0 == address - found.base else None

    def starting_at(self, address: int) -> Allocation | None:
        return self._by_base.get(address)

    def all(self) -> Iterator[Allocation]:
        yield from self._by_base.values()

    def _overlapping(self, begin: int, end: int) -> Iterator[Allocation]:
        place = max(bisect.bisect_right(self._bases, begin) - 1, 0)
        for base in self._bases[place:]:
            if base >= end:
                return
            found = self._by_base[base]
            if found.end > begin or found.base == begin:
                yield found
