"""One call of the program's, as it was seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .checker import Device
from .clocks import Stack
from .memory import Range

# Results of a call that would have waited: the handle is none, not ready, a capture is in the way. Others may tell of work that failed, and is over.
HAS_NOT_WAITED = (400, 600, *range(900, 910))


@dataclass(frozen=True, slots=True)
class Declared:
    """Memory that a launch was said to read or write."""

    address: int
    ranges: tuple[Range, ...] | None
    writes: bool


@dataclass(slots=True)
class Call:
    """One call, when it has returned."""

    function: str  # "infinirtMemcpyAsync"
    arguments: dict[str, int]
    result: int
    created: int  # what it stored through its first parameter
    device: Device  # of the calling thread
    thread: int
    stack: Stack
    declared: Sequence[Declared] = ()
    name: str = ""  # of the work, where somebody gave it one
    is_late: bool = False  # of something that the end of a graph's launch or of a host function let go of

    @property
    def title(self) -> str:
        return self.name or self.function
