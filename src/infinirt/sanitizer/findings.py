"""What was found, in words: what may happen, both places in the program, what is missing between them, what to do."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from .clocks import Stack, Work
from .memory import Allocation

RACE = "race"
USE_AFTER_FREE = "use after free"
FREE_IN_USE = "freed while in use"
UNWRITTEN = "read of memory never written"
OUT_OF_BOUNDS = "out of bounds"
LEAK = "leak"
EVENT = "event misuse"
HOST = "host access before completion"
DOUBLE_FREE = "double free"
KINDS = (
    RACE, USE_AFTER_FREE, FREE_IN_USE, UNWRITTEN, OUT_OF_BOUNDS, LEAK, EVENT, DOUBLE_FREE, HOST,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """A call of the program's."""

    what: str  # "infinirtMemcpyAsync writes dst, 4096 bytes at 0x…, on stream 1 of cpu:0"
    stack: Stack

    def lines(self) -> list[str]:
        shown = self.stack or ("(no Python code: called from C)",)
        return [self.what, *(f"    {frame}" for frame in shown)]


@dataclass(slots=True)
class Finding:
    kind: str
    message: str
    places: list[Place]
    fix: str
    missing: str = ""  # the edge that is not there
    allocation: str = ""
    count: int = 1
    key: tuple[object, ...] = field(default=(), repr=False)

    def text(self) -> str:
        lines = [f"{self.kind}: {self.message}"]
        for place in self.places:
            first, *rest = place.lines()
            lines += [f"  {first}", *(f"  {line}" for line in rest)]
        if self.allocation:
            lines.append(f"  memory: {self.allocation}")
        if self.missing:
            lines.append(f"  missing: {self.missing}")
        lines.append(f"  fix: {self.fix}")
        if self.count > 1:
            lines.append(f"  seen {self.count} times")
        return "\n".join(lines)

    def as_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "message": self.message,
            "places": [{"what": place.what, "stack": list(place.stack)} for place in self.places],
            "memory": self.allocation,
            "missing": self.missing,
            "fix": self.fix,
            "count": self.count,
        }


def site(stack: Stack, call: str) -> tuple[str, str]:
    """Where in the program: findings of the same places are one."""
    return (stack[0] if stack else "", call)


def bytes_at(begin: int, end: int) -> str:
    return f"{end - begin:,} {'byte' if end - begin == 1 else 'bytes'} at {begin:#x}"


def described(allocation: Allocation) -> str:
    where = f", allocated by {allocation.call}"
    if allocation.stack:
        where += f" at {allocation.stack[0]}"
    return f"{allocation.size:,} bytes of {allocation.kind} at {allocation.base:#x}{where}"


def named(work: Work) -> str:
    """The call with its place: a program has many of one name."""
    if not work.stack:
        return work.call
    where = work.stack[0].partition(" in ")[0]
    return f"{work.call} ({os.path.basename(where)})"


def on(work: Work) -> str:
    return f"on {work.timeline.name}" + (f", {work.where}" if work.where else "")
