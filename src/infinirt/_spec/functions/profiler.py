"""Marking what a profiler shall look at."""

from __future__ import annotations

from ..model import function, in_group

FUNCTIONS = in_group(
    "profiler",
    function(
        "infinirtProfilerStart",
        "",
        route="current",
        doc="Starts collection by a profiler that is attached; without one it does nothing.",
    ),
    function(
        "infinirtProfilerStop",
        "",
        route="current",
        doc="Stops collection by a profiler that is attached; without one it does nothing.",
    ),
)
