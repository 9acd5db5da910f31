"""Recorded graphs: operators that are called once, kept, and run together, again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import infinirt

from . import _core
from ._places import place_for

__all__ = ["Graph", "record"]


class Graph:
    """What was recorded, ready to run: device graphs, and between them the calls that cannot be part of one.

    It keeps the memory of everything that it uses, at the same addresses: write inputs in place (`copy_`), run, read outputs.

    >>> import infinicore
    >>> x = infinicore.zeros([3])
    >>> with infinicore.record() as recorded:
    ...     y = x * 2 + 1
    >>> x.copy_(infinicore.ones([3])).shape
    [3]
    >>> recorded.graph.run()
    >>> y.tolist()
    [3.0, 3.0, 3.0]
    """

    __slots__ = ("_recorded",)

    def __init__(self, recorded: _core.RecordedGraph) -> None:
        if not isinstance(recorded, _core.RecordedGraph):
            raise TypeError(
                f"a graph is made by recording, not of {type(recorded).__name__}; see infinicore.record()"
            )
        self._recorded = recorded

    def run(self) -> None:
        """Enqueues everything on the device's stream once; does not wait for it."""
        self._recorded.run()

    execute = run

    @property
    def operator_count(self) -> int:
        """How many calls were recorded."""
        return len(self._recorded.steps)

    @property
    def segment_count(self) -> int:
        """How many launches and calls a run is made of: 1 where everything could be captured."""
        return len(self._recorded.segments)

    def explain(self) -> str:
        """What the graph does, for people: its segments, their operators, and the bytes that each touches."""
        recorded, lines = self._recorded, []
        steps = recorded.steps
        calls, segments = _number(len(steps), "call"), _number(len(recorded.segments), "segment")
        lines.append(
            f"Graph on {recorded.place.device}: {calls} in {segments}, {recorded.reserved_bytes} bytes of its own, "
            f"run {_number(recorded.runs, 'time')}"
        )
        for number, (first, last, captured) in enumerate(recorded.segments):
            how = "one launch of a device graph" if captured else "called in each run"
            lines.append(f"segment {number}: {how}")
            lines += [f"  {text}  [{touched} bytes]" for text, touched in steps[first:last]]
        return "\n".join(lines)

    def to_dot(self) -> str:
        """The graph in Graphviz' language: a cluster for each segment."""
        recorded, lines = self._recorded, ["digraph recorded {", "  node [shape=box];"]
        for number, (first, last, captured) in enumerate(recorded.segments):
            style = "solid" if captured else "dashed"
            label = "device graph" if captured else "called"
            lines += [f"  subgraph cluster_{number} {{", f'    label="{label}"; style={style};']
            for step in range(first, last):
                text = recorded.steps[step][0].replace("\\", "\\\\").replace('"', '\\"')
                lines.append(f'    s{step} [label="{text}"];')
            lines.append("  }")
        lines += [f"  s{step} -> s{step + 1};" for step in range(len(recorded.steps) - 1)]
        return "\n".join([*lines, "}"])

    def __repr__(self) -> str:
        calls, segments = _number(self.operator_count, "call"), _number(self.segment_count, "segment")
        return f"<Graph of {calls} in {segments} on {self._recorded.place.device}>"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


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
