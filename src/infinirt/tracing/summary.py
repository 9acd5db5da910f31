"""What a trace comes to: where the time went, how busy the streams were, what overlapped, what waited."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from itertools import pairwise

from .chrome import memory_in_use, stream_title
from .records import Process, Work


@dataclass(slots=True)
class Line:
    """An operation or a function. Times are nanoseconds."""

    name: str
    count: int = 0
    total: int = 0
    longest: int = 0
    failed: int = 0

    def add(self, duration: int, failed: bool = False) -> None:
        self.count += 1
        self.total += duration
        self.longest = max(self.longest, duration)
        self.failed += failed


@dataclass(slots=True)
class StreamLine:
    """One stream, from the first piece of work of the trace to the last."""

    process: int
    device: str
    stream: str
    count: int
    busy: int
    utilisation: float
    waited: int
    """Time in which it waited for other streams."""
    largest_gap: int
    gap_before: str
    """What came after the largest gap."""


@dataclass(slots=True)
class Summary:
    """Where the time went. `print(summary)` shows the tables that `infinirt trace` shows. Times are nanoseconds."""

    duration: int = 0
    """From the first call, range or piece of work to the last."""
    operations: list[Line] = field(default_factory=list)
    calls: list[Line] = field(default_factory=list)
    ranges: list[Line] = field(default_factory=list)
    streams: list[StreamLine] = field(default_factory=list)
    busy: int = 0
    """Time in which at least one stream did something."""
    overlapped: int = 0
    """Time in which at least two did."""
    synchronising: int = 0
    """Time that threads spent in calls that wait for devices."""
    peak_memory: dict[str, int] = field(default_factory=dict)
    lost: int = 0

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def __str__(self) -> str:
        from .text import as_text

        return as_text(self)


def summarise(processes: Iterable[Process]) -> Summary:
    result = Summary()
    operations: dict[str, Line] = {}
    calls: dict[str, Line] = {}
    ranges: dict[str, Line] = {}
    ends: list[int] = []
    spans: list[tuple[int, int]] = []
    for process in processes:
        result.lost += process.lost
        for call in process.calls:
            ends += (call.begin, call.end)
            failed = call.result not in (0, 600)  # 600: not ready, which is an answer
            calls.setdefault(call.function, Line(call.function)).add(call.end - call.begin, failed)
            if call.function.endswith("Synchronize"):
                result.synchronising += call.end - call.begin
        for part in process.ranges:
            ends += (part.begin, part.end)
            ranges.setdefault(part.name, Line(part.name)).add(part.end - part.begin)
        for work in process.work:
            ends += (work.begin, work.end)
            if work.is_busy and work.kind != "graph":
                operations.setdefault(work.title, Line(work.title)).add(work.end - work.begin)
        lines, theirs = _streams(process)
        result.streams += lines
        spans += theirs
        for _, place, total in memory_in_use(process):
            result.peak_memory[place] = max(result.peak_memory.get(place, 0), total)
    result.duration = max(ends) - min(ends) if ends else 0
    result.operations = _by_time(operations)
    result.calls = _by_time(calls)
    result.ranges = _by_time(ranges)
    result.busy, result.overlapped = _covered(spans)
    return result


def _by_time(lines: dict[str, Line]) -> list[Line]:
    return sorted(lines.values(), key=lambda line: -line.total)


def _streams(process: Process) -> tuple[list[StreamLine], list[tuple[int, int]]]:
    """The lines, and when each stream was busy: intervals of one stream do not overlap."""
    by_stream: dict[tuple[str, int], list[Work]] = {}
    for work in process.work:
        by_stream.setdefault((f"{work.device_type}:{work.device}", work.stream), []).append(work)
    if not by_stream:
        return [], []
    begin = min(work.begin for listed in by_stream.values() for work in listed)
    end = max(work.end for listed in by_stream.values() for work in listed)
    lines: list[StreamLine] = []
    spans: list[tuple[int, int]] = []
    for (device, _), listed in sorted(by_stream.items()):
        busy = [work for work in listed if work.is_busy]
        merged = _merged((work.begin, work.end) for work in busy)
        spans += merged
        gap, before = 0, ""
        for (_, left), (right, _) in pairwise(merged):
            if right - left > gap:
                gap, before = right - left, next(w.title for w in busy if w.begin == right)
        total = sum(right - left for left, right in merged)
        waited = sum(
            right - left for left, right in _merged((w.begin, w.end) for w in listed if w.kind == "wait")
        )
        count = sum(1 for work in busy if work.kind != "graph")
        share = total / (end - begin) if end > begin else 0.0
        lines.append(
            StreamLine(process.pid, device, stream_title(listed[0]), count, total, share, waited, gap, before)
        )
    return lines, spans


def _merged(intervals: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((begin, end))
    return merged


def _covered(spans: list[tuple[int, int]]) -> tuple[int, int]:
    """How long at least one span lasts, and how long at least two do."""
    edges = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    depth, last, once, twice = 0, 0, 0, 0
    for time, step in edges:
        if depth >= 1:
            once += time - last
        if depth >= 2:
            twice += time - last
        depth, last = depth + step, time
    return once, twice
