"""How things are timed: contenders take turns, round by round, and medians are what counts.

A machine is never quiet. Contenders that take turns meet the same noise; the median of many short rounds does not care for the few
that were disturbed; and the spread between the tenth and the ninetieth percentile says how much the median can be believed.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import repeat


def nothing() -> None:
    """Where there is nothing to wait for."""


@dataclass(frozen=True)
class Contender:
    """One way of doing what a case measures."""

    call: Callable[[], object]
    """Done over and over, and timed."""
    settle: Callable[[], object] = nothing
    """Done between rounds, untimed: waits until what was enqueued is over."""
    most: int = 1 << 20
    """The most calls of one round: a queue of enqueued work must not grow without bounds."""


@dataclass(frozen=True)
class Pace:
    """How long it takes."""

    rounds: int = 21
    round_seconds: float = 0.01

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise ValueError(f"there must be at least 1 round, not {self.rounds}")


@dataclass
class Timing:
    """Seconds of one call, a sample for each round."""

    samples: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        return statistics.median(self.samples)

    def quantile(self, share: float) -> float:
        ordered = sorted(self.samples)
        return ordered[min(round(share * (len(ordered) - 1)), len(ordered) - 1)]


def seconds_of(contender: Contender, calls: int) -> float:
    call = contender.call
    begin = time.perf_counter()
    for _ in repeat(None, calls):
        call()
    end = time.perf_counter()
    contender.settle()
    return (end - begin) / calls


def calls_for(contender: Contender, round_seconds: float) -> int:
    """How many calls take about as long as a round should. Warms up on the way."""
    calls = 1
    while True:
        one = seconds_of(contender, calls)
        if calls >= contender.most or one * calls >= round_seconds / 4:
            break
        calls = min(calls * 4, contender.most)
    one = seconds_of(contender, calls)
    return max(1, min(round(round_seconds / max(one, 1e-9)), contender.most))


def take_turns(contenders: dict[str, Contender], pace: Pace) -> dict[str, Timing]:
    """Every contender once in each round; who is first changes from round to round."""
    calls = {name: calls_for(contender, pace.round_seconds) for name, contender in contenders.items()}
    timings = {name: Timing() for name in contenders}
    names = list(contenders)
    with without_collector():
        for number in range(pace.rounds):
            first = number % len(names)
            for name in names[first:] + names[:first]:
                timings[name].samples.append(seconds_of(contenders[name], calls[name]))
    return timings


@contextmanager
def without_collector() -> Iterator[None]:
    """The garbage collector would be somebody's disadvantage."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
