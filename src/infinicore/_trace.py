"""Recording what an allocator is asked for, as a file, and asking another one for the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import infinirt

from .allocators import PinnableBlockAllocator
from .context import get_runtime
from .runtime import Runtime

__all__ = ["AllocationTrace", "Recording", "ReplayResult", "TraceEvent", "record_trace", "replay"]

_FORMAT = "infinicore-allocation-trace"
_VERSION = 1
_LETTERS = {"allocate": "a", "free": "f", "use": "u"}
_KINDS = {letter: kind for kind, letter in _LETTERS.items()}


class TraceEvent(NamedTuple):
    """A request: to allocate or free a block, or to note that another stream uses it, too."""

    kind: str  # "allocate", "free" or "use"
    block: int  # the number of the allocation, from 0
    size: int  # in bytes, of an allocation; else 0
    stream: int  # a number for each stream, from 0
    time: float  # microseconds since the first event


class AllocationTrace:
    """A sequence of requests to an allocator. Written to JSON in one short list for each event.

    >>> import infinicore
    >>> trace = infinicore.memory.AllocationTrace.from_json('''{"format": "infinicore-allocation-trace", "version": 1,
    ...     "name": "two", "events": [["a", 512, 0, 0], ["a", 256, 1, 3], ["f", 0, 0, 5]]}''')
    >>> trace.peak_requested
    768
    """

    def __init__(self, events: Iterable[TraceEvent], name: str = "", lost: int = 0) -> None:
        self.events = tuple(events)
        self.name = name
        self.lost = lost
        """Events that found no room when it was recorded; it ends before them."""
        _validate(self.events)

    @property
    def stream_count(self) -> int:
        """How many streams there are."""
        return 1 + max((event.stream for event in self.events), default=-1)

    @property
    def peak_requested(self) -> int:
        """The most bytes that were asked for and not freed at any one time: no allocator can do with less."""
        sizes: dict[int, int] = {}
        held = most = 0
        for event in self.events:
            if event.kind == "allocate":
                sizes[event.block] = event.size
                held += event.size
                most = max(most, held)
            elif event.kind == "free":
                held -= sizes.pop(event.block)
        return most

    def to_json(self) -> str:
        """One line of text."""
        rows = [
            [_LETTERS[e.kind], e.size if e.kind == "allocate" else e.block, e.stream, round(e.time)]
            for e in self.events
        ]
        head = {"format": _FORMAT, "version": _VERSION, "name": self.name, "lost": self.lost}
        return json.dumps({**head, "events": rows}, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> AllocationTrace:
        """ValueError, which says what is wrong, for a text that is no trace."""
        data = json.loads(text)
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise ValueError(f"this is no allocation trace: its 'format' is not {_FORMAT!r}")
        if data.get("version") != _VERSION:
            raise ValueError(f"the trace has version {data.get('version')!r}; {_VERSION} is known here")
        return cls(_read_rows(data.get("events")), str(data.get("name", "")), int(data.get("lost", 0)))

    def save(self, path: str | Path) -> None:
        """Writes the trace to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> AllocationTrace:
        """Reads a file that `save()` wrote."""
        return cls.from_json(Path(path).read_text(encoding="utf-8"))

    def __repr__(self) -> str:
        return f"<AllocationTrace {self.name!r}: {len(self.events)} events, {self.stream_count} stream(s)>"


def _read_rows(rows: Any) -> list[TraceEvent]:
    if not isinstance(rows, list):
        raise ValueError("the trace has no list of events")
    events = []
    blocks = 0
    for number, row in enumerate(rows):
        try:
            letter, what, stream, time = row
            kind = _KINDS[letter]
            if kind == "allocate":
                events.append(TraceEvent(kind, blocks, int(what), int(stream), float(time)))
                blocks += 1
            else:
                events.append(TraceEvent(kind, int(what), 0, int(stream), float(time)))
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"event {number} of the trace makes no sense: {row!r}") from None
    return events


def _validate(events: tuple[TraceEvent, ...]) -> None:
    live: set[int] = set()
    blocks = 0
    for number, event in enumerate(events):
        if event.kind not in _LETTERS or event.size < 0 or event.stream < 0:
            raise ValueError(f"event {number} of the trace makes no sense: {event}")
        if event.kind == "allocate":
            if event.block != blocks:
                raise ValueError(
                    f"event {number}: allocations are numbered in order, and {blocks} comes next"
                )
            live.add(blocks)
            blocks += 1
        elif event.block not in live:
            raise ValueError(
                f"event {number} of the trace is about block {event.block}, which is not allocated"
            )
        if event.kind == "free":
            live.remove(event.block)


class Recording:
    """A recording that goes on until the `with` block ends; `trace` is what was recorded."""

    def __init__(self, allocator: PinnableBlockAllocator, name: str, max_events: int) -> None:
        self._pool = allocator.pool
        self._name = name
        self._max_events = max_events
        self._trace: AllocationTrace | None = None

    def __enter__(self) -> Recording:
        self._pool.begin_trace(self._max_events)
        return self

    def __exit__(self, *_: object) -> None:
        recorded = self._pool.end_trace()
        self._trace = AllocationTrace(_numbered(recorded.events), self._name, recorded.lost)

    @property
    def trace(self) -> AllocationTrace:
        """What was recorded; there is a trace when the block has ended."""
        if self._trace is None:
            raise RuntimeError("the trace exists when the recording has ended, after the with block")
        return self._trace


def _numbered(recorded: list[tuple[str, int, int, int, int]]) -> list[TraceEvent]:
    """Numbers for addresses and streams. What happens to blocks from before the recording is left out."""
    blocks: dict[int, int] = {}
    streams: dict[int, int] = {}
    events: list[TraceEvent] = []
    count = 0
    start = recorded[0][4] if recorded else 0
    for kind, address, size, stream, time in recorded:
        if kind == "allocate":
            blocks[address] = count
            count += 1
        elif address not in blocks:
            continue
        number = streams.setdefault(stream, len(streams))
        block = blocks.pop(address) if kind == "free" else blocks[address]
        events.append(TraceEvent(kind, block, size, number, (time - start) / 1000))
    return events


def record_trace(
    source: Runtime | PinnableBlockAllocator | None = None, *, name: str = "", max_events: int = 1_000_000
) -> Recording:
    """Records every request for device memory, by whomever, in a `with` block; by default of the thread's runtime.

    >>> import infinicore
    >>> allocator = infinicore.PinnableBlockAllocator("cpu")
    >>> with infinicore.memory.record_trace(allocator) as recording:
    ...     _ = allocator.allocate(1000)
    >>> recording.trace.events[0].size
    1000
    """
    if source is None:
        source = get_runtime()
    allocator = source.allocator if isinstance(source, Runtime) else source
    if not isinstance(allocator, PinnableBlockAllocator):
        raise TypeError(f"a Runtime or its allocator can be recorded, not {type(allocator).__name__}")
    return Recording(allocator, name, max_events)


class ReplayResult(NamedTuple):
    """What a replay took, in bytes: the most that was held, that was in use (rounding included), that was asked for."""

    peak_reserved: int
    peak_used: int
    peak_requested: int


def replay(
    trace: AllocationTrace,
    allocator: PinnableBlockAllocator,
    *,
    after_each: Callable[[TraceEvent], object] | None = None,
) -> ReplayResult:
    """Asks `allocator` for what the trace says, on streams of its own, in the same order but without the pauses.

    `after_each` is called after each event, to look at what the allocator holds then.

    >>> import infinicore
    >>> trace = infinicore.memory.AllocationTrace([infinicore.memory.TraceEvent("allocate", 0, 1000, 0, 0.0)])
    >>> infinicore.memory.replay(trace, infinicore.PinnableBlockAllocator("cpu")).peak_requested
    1000
    """
    pool = allocator.pool
    streams = [pool.device.create_stream() for _ in range(trace.stream_count)]
    buffers: dict[int, infinirt.Buffer] = {}
    allocator.reset_peaks()
    for event in trace.events:
        stream = streams[event.stream]
        if event.kind == "allocate":
            buffers[event.block] = pool.allocate(event.size, stream=stream)
        elif event.kind == "use":
            buffers[event.block].record_stream(stream)
        else:
            buffers.pop(event.block).close(stream)
        if after_each is not None:
            after_each(event)
    now = pool.statistics
    for buffer in buffers.values():
        buffer.close()
    return ReplayResult(now.reserved_peak, now.used_peak, trace.peak_requested)
