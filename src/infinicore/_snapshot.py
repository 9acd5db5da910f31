"""What an allocator holds at one moment: every segment and block, whose they are, and who asked for them."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from time import monotonic_ns
from types import FrameType
from typing import Any

import infinirt

from .allocators import PinnableBlockAllocator
from .context import get_runtime
from .runtime import Runtime

__all__ = ["Block", "Segment", "Snapshot", "record_history", "save_html", "snapshot"]

_MOST_FRAMES = 32


@dataclass(frozen=True)
class Block:
    """A block of memory. `state`: "used", "free", or "pending" (freed, and waiting for other streams)."""

    address: int
    size: int
    requested: int
    state: str
    is_reserved: bool  # set aside for a graph
    stream: int | None  # the handle of the stream whose it is; None: it is free for any
    stack: tuple[str, ...] = ()  # who asked for it, innermost first, where history is recorded


@dataclass(frozen=True)
class Segment:
    """Memory as the device gave it, and the blocks that it is divided into, by address."""

    address: int
    size: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class HistoryEvent:
    """Something that the allocator was asked for: "allocate", "free" or "use" (on another stream)."""

    kind: str
    address: int
    size: int
    stream: int
    time: int  # nanoseconds of the monotonic clock
    stack: tuple[str, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """An allocator at one moment, and, where history is recorded, what led there."""

    device: str
    statistics: dict[str, int]
    segments: tuple[Segment, ...]
    events: tuple[HistoryEvent, ...] = field(default=())
    lost_events: int = 0

    def blocks(self, state: str | None = None) -> list[Block]:
        """All blocks, or those in one state."""
        return [b for s in self.segments for b in s.blocks if state in (None, b.state)]

    def to_dict(self) -> dict[str, Any]:
        """Of numbers, texts and lists only."""
        return {"format": "infinicore-memory-snapshot", "version": 1, **asdict(self)}

    def save(self, path: str | Path) -> None:
        """Writes the snapshot as JSON."""
        Path(path).write_text(json.dumps(self.to_dict()) + "\n", encoding="utf-8")

    def save_html(self, path: str | Path) -> None:
        """Writes one page with a timeline and a map of all blocks, to be read in a browser, without a network."""
        from ._snapshot_html import page

        Path(path).write_text(page(self.to_dict()), encoding="utf-8")


class _History:
    """What a pool was asked for since recording began.

    The pool records what happens, the observer who asked; the two are brought together by address and time: an allocation is told of
    after it was recorded, and before the block can be freed and allocated again.
    """

    def __init__(self, pool: infinirt.CachingPool, stacks: bool, max_events: int) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._told: dict[int, list[tuple[int, tuple[str, ...]]]] = {}  # by address: time, stack
        self._live: dict[int, tuple[int, tuple[str, ...]]] = {}  # likewise, of blocks in use
        self._events: list[HistoryEvent] = []
        pool.begin_trace(max_events)
        if stacks:
            pool.observe(_observer_for(weakref.ref(self)))

    def _note(self, buffer: infinirt.Buffer) -> None:
        stack = _stack(sys._getframe(1))
        with self._lock:
            self._told.setdefault(buffer.ptr, []).append((monotonic_ns(), stack))

    def _stack_of(self, address: int, after: int, before: float) -> tuple[str, ...]:
        """Of the allocation at a time, where the next one at the address is at another."""
        told = self._told.get(address, [])
        while told and told[0][0] < after:
            told.pop(0)
        return told.pop(0)[1] if told and told[0][0] < before else ()

    def read(self) -> tuple[tuple[HistoryEvent, ...], dict[int, tuple[str, ...]], int]:
        """Events, the stacks of live blocks by address, and how many events were lost."""
        recorded = self._pool._read_trace()
        with self._lock:
            times: dict[int, list[int]] = {}  # of the allocations at each address
            for kind, address, _, _, time in recorded.events:
                if kind == "allocate":
                    times.setdefault(address, []).append(time)
            for address, (time, stack) in self._live.items():  # those that were not told of in time
                if not stack:
                    self._live[address] = time, self._stack_of(address, time, times.get(address, [inf])[0])
            for kind, address, size, stream, time in recorded.events:
                stack = ()
                if kind == "allocate":
                    times[address].pop(0)
                    stack = self._stack_of(address, time, times[address][0] if times[address] else inf)
                    self._live[address] = time, stack
                elif kind == "free":
                    self._live.pop(address, None)
                self._events.append(HistoryEvent(kind, address, size, stream, time, stack))
            return tuple(self._events), {at: stack for at, (_, stack) in self._live.items()}, recorded.lost

    def close(self) -> None:
        self._pool.observe(None)
        if not self._pool.is_closed:
            self._pool.end_trace()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # the allocator is gone, or recording never began
            self.close()


def _observer_for(history: weakref.ref[_History]) -> Callable[[infinirt.Buffer], None]:
    """Weakly, for the pool must not keep what keeps the pool."""

    def note(buffer: infinirt.Buffer) -> None:
        found = history()
        if found is not None:
            found._note(buffer)

    return note


_histories: weakref.WeakKeyDictionary[PinnableBlockAllocator, _History] = weakref.WeakKeyDictionary()
_OWN = str(Path(__file__).parent)
_RUNTIME = str(Path(infinirt.__file__).parent)


def _stack(frame: FrameType | None) -> tuple[str, ...]:
    lines: list[str] = []
    while frame is not None and len(lines) < _MOST_FRAMES:
        code = frame.f_code
        if lines or not code.co_filename.startswith((_OWN, _RUNTIME)):
            lines.append(f"{code.co_filename}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    return tuple(lines)


def _allocator_of(source: Runtime | PinnableBlockAllocator | None) -> PinnableBlockAllocator:
    if source is None:
        source = get_runtime()
    allocator = source.allocator if isinstance(source, Runtime) else source
    if not isinstance(allocator, PinnableBlockAllocator):
        raise TypeError(f"a Runtime or its allocator was expected, not {type(allocator).__name__}")
    return allocator


def record_history(
    enabled: bool = True,
    source: Runtime | PinnableBlockAllocator | None = None,
    *,
    stacks: bool = True,
    max_events: int = 100_000,
) -> None:
    """Records what an allocator (by default the thread's runtime's) is asked for, and by whom, for later snapshots.

    Costs a few microseconds for each allocation with `stacks`. False ends it and forgets what was recorded.
    """
    allocator = _allocator_of(source)
    history = _histories.pop(allocator, None)
    if history is not None:
        history.close()
    if enabled:
        _histories[allocator] = _History(allocator.pool, stacks, max_events)


def snapshot(source: Runtime | PinnableBlockAllocator | None = None) -> Snapshot:
    """What an allocator, by default the thread's runtime's, holds now.

    >>> import infinicore
    >>> allocator = infinicore.PinnableBlockAllocator("cpu")
    >>> memory = allocator.allocate(1 << 20)
    >>> [block.requested for block in infinicore.memory.snapshot(allocator).blocks("used")]
    [1048576]
    """
    allocator = _allocator_of(source)
    history = _histories.get(allocator)
    events, stacks, lost = history.read() if history is not None else ((), {}, 0)
    by_segment: dict[tuple[int, int], list[Block]] = {}
    for row in allocator.pool.blocks():
        block = Block(
            row.address,
            row.size,
            row.requested,
            row.state,
            row.is_reserved,
            row.stream,
            stacks.get(row.address, ()) if row.state == "used" else (),
        )
        by_segment.setdefault((row.segment, row.segment_size), []).append(block)
    now = allocator.statistics
    return Snapshot(
        device=str(allocator.device),
        statistics={name: getattr(now, name) for name in type(now).__annotations__},
        segments=tuple(
            Segment(base, size, tuple(blocks)) for (base, size), blocks in sorted(by_segment.items())
        ),
        events=events,
        lost_events=lost,
    )


def save_html(path: str | Path, source: Runtime | PinnableBlockAllocator | None = None) -> None:
    """Writes a snapshot of an allocator as one page with a timeline and a map of all blocks.

    The timeline needs `record_history()`.
    """
    snapshot(source).save_html(path)
