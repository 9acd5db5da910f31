"""A model of the policy of PyTorch's CUDA caching allocator (2.x, default settings), to compare with where there is no GPU.

Facts: blocks are multiples of 512 bytes. Requests up to 1 MiB come from segments of 2 MiB; others below 10 MiB from segments of 20 MiB;
larger ones get a segment of their size rounded up to 2 MiB. Each stream has its own free blocks, small and large apart. The
smallest block that fits is taken, and split when the rest is at least 512 bytes (small) or more than 1 MiB (large). Free neighbours are
joined; segments are kept.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

MIB = 1 << 20


@dataclass(eq=False)
class Block:
    segment: int
    offset: int
    size: int
    pool: tuple[int, bool]
    before: Block | None = None
    after: Block | None = None
    is_free: bool = False

    def key(self) -> tuple[int, int, int]:
        return self.size, self.segment, self.offset


class TorchPolicy:
    """`allocate(size, stream)` gives a block, `free(block)` takes it back; `reserved` and `peak_reserved` in bytes."""

    def __init__(self) -> None:
        self.reserved = self.peak_reserved = 0
        self._segments = 0
        self._free: dict[tuple[int, bool], list[tuple[tuple[int, int, int], Block]]] = {}

    def allocate(self, size: int, stream: int) -> Block:
        size = max(512, -(-size // 512) * 512)
        is_small = size <= MIB
        pool = (stream, is_small)
        free = self._free.setdefault(pool, [])
        place = bisect.bisect_left(free, (size, -1, -1), key=lambda entry: entry[0])
        if place < len(free):
            block = free.pop(place)[1]
            block.is_free = False
        else:
            block = self._new_segment(size, pool)
        rest = block.size - size
        if rest >= 512 if is_small else rest > MIB:
            remainder = Block(block.segment, block.offset + size, rest, pool, block, block.after)
            if block.after:
                block.after.before = remainder
            block.after = remainder
            block.size = size
            self._add(remainder)
        return block

    def _new_segment(self, size: int, pool: tuple[int, bool]) -> Block:
        if size <= MIB:
            bytes_ = 2 * MIB
        elif size < 10 * MIB:
            bytes_ = 20 * MIB
        else:
            bytes_ = -(-size // (2 * MIB)) * 2 * MIB
        self._segments += 1
        self.reserved += bytes_
        self.peak_reserved = max(self.peak_reserved, self.reserved)
        return Block(self._segments, 0, bytes_, pool)

    def _add(self, block: Block) -> None:
        block.is_free = True
        bisect.insort(self._free[block.pool], (block.key(), block), key=lambda entry: entry[0])

    def _take_out(self, block: Block) -> None:
        free = self._free[block.pool]
        free.pop(bisect.bisect_left(free, block.key(), key=lambda entry: entry[0]))

    def free(self, block: Block) -> None:
        after, before = block.after, block.before
        if after and after.is_free:
            self._take_out(after)
            block.size += after.size
            block.after = after.after
            if block.after:
                block.after.before = block
        if before and before.is_free:
            self._take_out(before)
            before.size += block.size
            before.after = block.after
            if before.after:
                before.after.before = before
            block = before
        self._add(block)
