"""Timelines that get no more work. Once everybody comes after what they had they are forgotten: otherwise every call of a program that makes
streams or graphs all the time would cost more than the one before."""

from __future__ import annotations

from collections.abc import Iterable

from .clocks import Clock, Timeline

_FEW = 16


class Ended:
    def __init__(self) -> None:
        self.last_touch: dict[int, int] = {}  # of each timeline: its last work that touches memory
        self._waiting: list[Timeline] = []  # their work may not be over
        self._looked_at = 0  # how many of them still waited when they were looked at last
        self._over: set[int] = set()

    def add(self, timelines: Iterable[Timeline], host: Clock) -> list[Timeline]:
        """Those that are over by now, of all that were added: not at every call, since each of them has to be looked at."""
        self._waiting += timelines
        if len(self._waiting) < 2 * self._looked_at + _FEW:
            return []
        over = [each for each in self._waiting if self._is_over(each, host)]
        self._waiting = [each for each in self._waiting if not self._is_over(each, host)]
        self._looked_at = len(self._waiting)
        for timeline in over:
            timeline.is_over = True
            self._over.add(timeline.number)
            self.last_touch.pop(timeline.number, None)
        return over

    def _is_over(self, timeline: Timeline, host: Clock) -> bool:
        """For all that it touched and waited for: who waits for the device waits for that. Nobody asks whether frees are over."""
        return all(
            host.get(number, 0) >= min(tick, self.last_touch.get(number, 0))
            for number, tick in timeline.clock.items()
        )

    def without(self, clock: Clock) -> Clock:
        return {number: tick for number, tick in clock.items() if number not in self._over}
