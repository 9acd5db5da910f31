"""What was found, in words: what may happen, both places in the program, what is missing between them, what to do."""

from __future__ import annotations

import functools
import linecache
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .clocks import Stack, Timeline, Work, made_more_than_one
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

    what: str  # "infinirtMemcpyAsync writes its destination, 4096 bytes at 0x…, on stream 1 of cpu:0"
    stack: Stack

    def lines(self) -> list[str]:
        shown = [shown_frame(frame) for frame in self.stack] or ["(no Python code: called from C)"]
        source = source_of(self.stack)
        return [
            self.what,
            *(f"    {frame}{f': {source}' if source and i == 0 else ''}" for i, frame in enumerate(shown)),
        ]


@dataclass(slots=True)
class Finding:
    kind: str
    message: str
    places: list[Place]
    fix: str
    missing: str = ""  # the edge that is not there
    allocation: str = ""
    streams: list[str] = field(default_factory=list)  # where the program made them
    count: int = 1
    key: tuple[object, ...] = field(default=(), repr=False)

    def text(self) -> str:
        lines = [f"{self.kind}: {self.message}"]
        for place in self.places:
            first, *rest = place.lines()
            lines += [f"  {first}", *(f"  {line}" for line in rest)]
        if self.allocation:
            lines.append(f"  memory: {self.allocation}")
        lines += [f"  {stream}" for stream in self.streams]
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
            "streams": self.streams,
            "missing": self.missing,
            "fix": self.fix,
            "count": self.count,
        }


def counted(findings: Iterable[Finding]) -> str:
    """How many of each kind: "2 × race, 1 × leak"."""
    counts: dict[str, int] = {}
    for finding in findings:
        counts[finding.kind] = counts.get(finding.kind, 0) + 1
    return ", ".join(f"{count} × {kind}" for kind, count in counts.items())


def site(stack: Stack, call: str) -> tuple[str, str]:
    """Where in the program: findings of the same places are one."""
    return (stack[0] if stack else "", call)


def bytes_at(begin: int, end: int, whole: int = 0) -> str:
    """These bytes, which may be a part of the `whole` that a piece of work touches."""
    size = end - begin
    count = f"{size:,} of {whole:,} bytes" if whole > size else f"{size:,} {'byte' if size == 1 else 'bytes'}"
    return f"{count} at {begin:#x}"


def described(allocation: Allocation) -> str:
    where = f", allocated by {allocation.call}"
    if allocation.stack:
        where += f" at {shown_frame(allocation.stack[0])}"
    return f"{allocation.size:,} bytes of {allocation.kind} at {allocation.base:#x}{where}"


def _place(frame: str) -> tuple[str, int]:
    """The file and the line of "file:line in function"."""
    file, _, line = frame.rpartition(" in ")[0].rpartition(":")
    return file, int(line) if line.isdigit() else 0


def _here() -> str:
    try:
        return os.path.join(os.getcwd(), "")
    except OSError:  # the folder is gone
        return ""


_BEGAN_IN = _here()  # a program may go elsewhere later


@functools.cache
def full_path(file: str) -> str:
    """The whole path of a file by the name that the program was begun with; what is no file ("<string>") as it is."""
    return file if file.startswith("<") else os.path.normpath(os.path.join(_BEGAN_IN, file))


def shown_frame(frame: str) -> str:
    """A frame, or a file, as reports write it: within the folder that the program was begun in from there, else in full."""
    return frame.removeprefix(_BEGAN_IN)


def source_of(stack: Stack) -> str:
    """What the program says there; nothing where its text is not to be had."""
    return linecache.getline(*_place(stack[0])).strip() if stack else ""


def where(stack: Stack) -> str:
    """The innermost place, in short: "tests/race.py:8"."""
    if not stack:
        return "a place in C"
    file, line = _place(stack[0])
    return f"{shown_frame(file)}:{line}"


def named(work: Work) -> str:
    """The call with its place: a program has many of one name."""
    return f"{work.call} ({where(work.stack)})" if work.stack else work.call


def made(timelines: Iterable[Timeline]) -> list[str]:
    """Where the streams among them were made: the program has no numbers for them."""
    told = []
    for timeline in dict.fromkeys(timelines):
        if timeline.made:
            source = source_of(timeline.made)
            which = f" as number {timeline.made_as}" if made_more_than_one(timeline.made) else ""
            told.append(
                f"{timeline.name}: made at {where(timeline.made)}{which}{f': {source}' if source else ''}"
            )
    return told


def on(work: Work) -> str:
    return f"on {work.timeline.name}" + (f", {work.where}" if work.where else "")
