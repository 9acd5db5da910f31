"""Time as a program orders it: timelines of work, and which work is certain to be over when other work begins.

A *timeline* does one thing after another: a stream, the host, a chain of nodes of a graph. A *clock* says how much of each timeline is
certain to be over. Work that is not on the clock of later work may run at the same time, or after it.

The calls of all host threads are one timeline, in the order in which they were seen: how threads wait for one another is not known here,
and to take it for unordered would be to blame correct programs.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Clock = Mapping[int, int]  # number of a timeline: how many pieces of its work are over
Stack = tuple[str, ...]  # "file:line in function", the innermost first

_numbers = itertools.count()
_made_at: Counter[Stack] = Counter()


def made_more_than_one(place: Stack) -> bool:
    """Whether the program made several streams there, in one line or in turn."""
    return _made_at[place] > 1


class Timeline:
    """Work in a row, and the clock that its next piece begins with."""

    __slots__ = ("clock", "is_over", "made", "made_as", "name", "number", "ticks")

    def __init__(self, name: str, made: Stack = ()) -> None:
        self.name = name
        self.made = made  # where the program made the stream
        _made_at[made] += 1
        self.made_as = _made_at[made]  # the how many-th there
        self.number = next(_numbers)
        self.ticks = 0
        self.clock: Clock = {}
        self.is_over = False  # it gets no more work, and everybody comes after what it had

    def join(self, clock: Clock) -> None:
        """From here on, everything on that clock comes before."""
        self.clock = joined(self.clock, clock)


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """A piece of work; eq is identity."""

    timeline: Timeline
    tick: int
    clock: Clock
    call: str
    stack: Stack
    where: str = field(default="")  # "node 3 of the graph launched at …"

    def is_before(self, clock: Clock) -> bool:
        return self.timeline.is_over or clock.get(self.timeline.number, 0) >= self.tick


def joined(one: Clock, other: Clock) -> Clock:
    """What is over by either."""
    if one is other or not other:
        return one
    if not one:
        return other
    result = dict(one)
    for number, tick in other.items():
        if result.get(number, 0) < tick:
            result[number] = tick
    return result


def join_all(clocks: Iterable[Clock]) -> Clock:
    result: Clock = {}
    for clock in clocks:
        result = joined(result, clock)
    return result


def begin(timeline: Timeline, call: str, stack: Stack, also: Clock, where: str = "") -> Work:
    """The timeline's next piece of work; it begins when what is on `also` is over, too."""
    before = joined(timeline.clock, also)
    timeline.ticks += 1
    work = Work(timeline, timeline.ticks, before, call, stack, where)
    timeline.clock = {**before, timeline.number: timeline.ticks}
    return work
