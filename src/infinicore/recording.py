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
def record(
    device: Any = None, *, remove_unused: bool = True, fuse: bool = True, share_memory: bool = True
) -> Iterator[Recorder]:
    """Operators that this thread calls on a device inside the block are recorded, not run.

    Without a device on the thread's current one. An exception in the block drops what was recorded, and goes on.

    What is done before the graph runs, and can be left out: calls whose results nobody can see are not made, nor copies that others
    can do without (`remove_unused`); element-wise operators that follow one another become one kernel, and results that only that
    kernel reads are not written (`fuse`); results that the program has let go of make room for later ones (`share_memory`). The
    elements are the same in any case. `graph.explain()` says what was done.
    """
    place = place_for(device)
    place.start_recording(remove_unused=remove_unused, fuse=fuse, share_memory=share_memory)
    recorder = Recorder(place)
    try:
        yield recorder
        recorder._graph = Graph(place.stop_recording())
    finally:
        place.cancel_recording()
