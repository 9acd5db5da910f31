"""Pinned and managed memory that work may still be using is shut to the program, so that its own accesses show.

The runtime does the shutting (infinirtXWatchMemory), for memory of CPU devices. Whether work is over is decided by the clocks
alone, as everywhere: a program that reads too early is told so even if the copy happened to be quick.
"""

from __future__ import annotations

import os

from .. import _core
from .checker import Checker
from .clocks import Stack
from .memory import Allocation, Range

_NOTHING, _READ, _ALL = 0, 1, 3  # what the program may do: INFINIRT_X_MAY_READ, INFINIRT_X_MAY_WRITE
_PAGE = 4096


def ask_for_watching() -> None:
    """The memory of CPU devices can be watched if this comes before they are first used."""
    words = [word for word in os.environ.get("INFINIRT_CPU_MEMORY", "").split(",") if word]
    if "watched" not in words:
        os.environ["INFINIRT_CPU_MEMORY"] = ",".join([*words, "watched"])


class HostMemory:
    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._shut: dict[Allocation, dict[Range, int]] = {}
        self.unwatched = ""  # the first memory that could not be watched

    def settle(self) -> None:
        """After a call: what it made work use is shut, what it waited for is opened."""
        touched = self._checker.touched_by_work
        if not touched and not self._shut:
            return
        for allocation in {*touched, *self._shut}:
            self._set(allocation, self._wanted(allocation))
        touched.clear()

    def open_all(self) -> None:
        for allocation in list(self._shut):
            self._set(allocation, {})

    def touched(self, address: int, writes: bool, stack: Stack) -> None:
        """The program has touched memory that was shut; the runtime has opened it."""
        allocation = self._checker.memory.at(address)
        if allocation is None:
            return
        shut = self._shut.get(allocation, {})
        for first, last in [each for each in shut if each[0] <= address < each[1]]:
            del shut[first, last]
        self._checker.host_touches(allocation, address, writes, stack)

    def _wanted(self, allocation: Allocation) -> dict[Range, int]:
        """Whole pages, and what the program may do with them."""
        wanted: dict[Range, int] = {}
        if allocation.freed is not None:
            return wanted
        for segment in allocation.segments:
            if segment.writer is not None and self._checker.is_pending(segment.writer.work):
                access = _NOTHING
            elif any(self._checker.is_pending(reader.work) for reader in segment.readers):
                access = _READ
            else:
                continue
            wanted[segment.begin // _PAGE * _PAGE, -(-segment.end // _PAGE) * _PAGE] = access
        return wanted

    def _set(self, allocation: Allocation, wanted: dict[Range, int]) -> None:
        if not allocation.watchable:
            return
        shut = self._shut.pop(allocation, {})
        for first, last in [each for each in shut if each not in wanted]:
            _core.watch_memory(first, last - first, _ALL)
            del shut[first, last]
        for (first, last), access in wanted.items():
            if shut.get((first, last)) == access:
                continue
            if not _core.watch_memory(first, last - first, access):
                allocation.watchable = False
                # Of device memory nobody expects it: arrays that look at it wait for its work when they are made.
                if not allocation.kind.startswith("memory of "):
                    self.unwatched = (
                        f"{allocation.kind} cannot be watched, which only that of CPU devices can"
                    )
                return
            shut[first, last] = access
        if shut:
            self._shut[allocation] = shut
