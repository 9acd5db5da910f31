"""Random programs against an allocator, and a model of what it may do. Every block is written and checked by work of its stream.

A block that somebody else is given too early is written to by that one, and the check that its last user enqueued sees it.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import NamedTuple

import infinicore
import infinirt

EDGE = 256  # bytes at both ends that are written and checked


class Step(NamedTuple):
    """What to do: "allocate" (a size), "free" or "use" (the number-th live block, modulo their count), "sync", "trim"."""

    kind: str
    stream: int
    number: int


@dataclass
class Live:
    memory: infinicore.Memory
    size: int
    stream: infinirt.Stream
    mark: int
    users: list[infinirt.Stream] = field(default_factory=list)


class Program:
    """Runs steps and keeps count. `wrong` collects what checks in stream order found."""

    def __init__(self, allocator: infinicore.PinnableBlockAllocator, streams: list[infinirt.Stream]) -> None:
        self.allocator = allocator
        self.streams = streams
        self.live: list[Live] = []
        self.wrong: list[str] = []
        self.count = 0

    def _fill(self, block: Live, stream: infinirt.Stream) -> None:
        size, buffer = block.size, block.memory.buffer
        if size <= 2 * EDGE:
            buffer.fill(block.mark, stream=stream)
        else:
            buffer[:EDGE].fill(block.mark, stream=stream)
            buffer[size - EDGE :].fill(block.mark, stream=stream)

    def _check(self, address: int, size: int, mark: int) -> None:
        for start in (address, address + max(0, size - EDGE)):
            count = min(size, EDGE)
            if ctypes.string_at(start, count) != bytes([mark]) * count:
                self.wrong.append(f"block of {size} bytes at {address:#x} was written to by somebody else")

    def _check_later(self, block: Live, stream: infinirt.Stream) -> None:
        stream.launch_host_func(self._check, block.memory.data(), block.size, block.mark)

    def step(self, step: Step) -> None:
        stream = self.streams[step.stream % len(self.streams)]
        if step.kind == "allocate":
            memory = self.allocator.allocate(step.number, stream)
            self.count += 1
            block = Live(memory, step.number, stream, self.count % 251 + 1)
            self._no_overlap(block)
            self._fill(block, stream)
            self.live.append(block)
        elif step.kind == "sync":
            stream.sync()
        elif step.kind == "trim":
            self.allocator.trim()
        elif self.live:
            block = self.live[step.number % len(self.live)]
            if step.kind == "use":
                # Another stream works on it, in order; the library sees the fill and waits for it, the check is told of.
                stream.wait(block.stream)
                self._fill(block, stream)
                self._check_later(block, stream)
                block.memory.record_stream(stream)
                block.users.append(stream)
            else:
                self.live.remove(block)
                self._check_later(block, block.stream)
                del block

    def _no_overlap(self, new: Live) -> None:
        start = new.memory.data()
        for other in self.live:
            there = other.memory.data()
            assert start + new.size <= there or there + other.size <= start, "two live blocks overlap"

    def check_statistics(self) -> None:
        """What the allocator says of itself is what the program knows. No other thread is at work."""
        now = self.allocator.statistics
        assert now.live_blocks == len(self.live)
        assert now.requested == sum(block.size for block in self.live)
        assert now.requested <= now.used <= now.reserved <= now.reserved_peak
        assert now.used <= now.used_peak
        assert now.allocations - now.frees == len(self.live)
        rows = self.allocator.pool.blocks()
        assert sum(row.size for row in rows if row.state == "used") == now.used
        assert {row.address for row in rows if row.state == "used"} == {b.memory.data() for b in self.live}
        assert sum(row.state == "pending" for row in rows) == now.pending_blocks
        segments = {(row.segment, row.segment_size) for row in rows}
        assert sum(size for _, size in segments) == now.reserved
        assert len(segments) == now.segments
        end = 0
        for row in sorted(rows, key=lambda row: row.address):
            assert row.address >= end, "two blocks of the snapshot overlap"
            end = row.address + row.size
            assert row.segment <= row.address
            assert end <= row.segment + row.segment_size

    def finish(self) -> None:
        """Everything is let go of, and nothing is left."""
        while self.live:
            self.step(Step("free", 0, 0))
        for stream in self.streams:
            stream.sync()
        assert self.wrong == []
        assert self.allocator.statistics.live_blocks == 0
        self.allocator.trim()
        assert self.allocator.statistics.reserved == 0
