"""`infinicore.record()`: a block whose operators become a graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import infinirt

from . import _core
from ._places import place_for
from .graph import Graph

__all__ = ["record"]


class Recorder:
    """What `record()` gives: the graph, after the block."""

    __slots__ = ("_graph", "_place")

    def __init__(self, place: _core.Place) -> None:
        self._place = place
        self._graph: Graph | None = None

    @property
    def graph(self) -> Graph:
        """The graph; there is one when the block has ended without an error."""
        if self._graph is None:
            raise RuntimeError("the graph exists when the recording has ended, after the with block")
        return self._graph

    def call(self, function: Callable[[infinirt.Stream], object]) -> None:
        """Records a function of one's own. Each run calls it with the stream, between the device graphs before and after it."""
        self._place.record_call(function)


@contextmanager
def record(device: Any = None) -> Iterator[Recorder]:
    """Operators that this thread calls on a device inside the block are recorded, not run.

    Without a device on the thread's current one. An exception in the block drops what was recorded, and goes on.
    """
    place = place_for(device)
    place.start_recording()
    recorder = Recorder(place)
    try:
        yield recorder
        recorder._graph = Graph(place.stop_recording())
    finally:
        place.cancel_recording()
