"""Recorded graphs: operators that are noted first, and run together, again and again, with one launch each time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import infinirt

from . import _core
from .graph_pictures import fused_calls, numbered

if TYPE_CHECKING:
    from .runtime import Runtime

__all__ = ["Graph", "GraphOperator"]

# How a runtime says that something cannot be part of a device graph.
NOT_CAPTURABLE = (infinirt.CaptureError, infinirt.NotSupportedError, infinirt.NotPermittedError)


class GraphOperator:
    """Work of a graph: a function that puts work on the runtime's stream, and what it is called with.

    It is called once, in a capture, and what it enqueued is replayed in each run. Operators of infinicore that it calls are recorded as
    if they were called outside. Where what it does cannot be captured (it waits for the device, say), it is called in each run.

    >>> import infinicore
    >>> infinicore.GraphOperator(print, "hello").name
    'print'
    """

    __slots__ = ("_args", "_function", "_kwargs")

    def __init__(self, function: Callable[..., object], *args: object, **kwargs: object) -> None:
        if not callable(function):
            raise TypeError(f"a graph operator is made of a function, not of {type(function).__name__}")
        self._function = function
        self._args = args
        self._kwargs = kwargs

    @property
    def name(self) -> str:
        """The function's name."""
        return str(getattr(self._function, "__name__", type(self._function).__name__))

    def run(self) -> None:
        """Calls the function."""
        self._function(*self._args, **self._kwargs)

    def __repr__(self) -> str:
        return f"<GraphOperator {self.name}>"


class Recorded(Protocol):
    """What a graph is made of: `_core.RecordedGraph`, or `CallGraph` where a device has no operators."""

    def run(self) -> None: ...
    @property
    def reserved_bytes(self) -> int: ...
    @property
    def runs(self) -> int: ...
    @property
    def calls(self) -> int: ...
    @property
    def steps(self) -> list[tuple[str, int, list[str]]]: ...
    @property
    def removed(self) -> list[tuple[str, str]]: ...
    @property
    def refused(self) -> list[tuple[str, str]]: ...
    @property
    def segments(self) -> list[tuple[int, int, bool]]: ...


class Graph:
    """What was recorded, ready to run: device graphs, and between them the calls that cannot be part of one.

    It keeps the memory of everything that it uses, at the same addresses: write inputs in place (`copy_`), run, read outputs. Made by
    `infinicore.record()` or `stop_graph_recording()`.

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

    __slots__ = ("_device", "_recorded")

    def __init__(self, recorded: Recorded, device: object = None) -> None:
        if not isinstance(recorded, _core.RecordedGraph | CallGraph):
            raise TypeError(
                f"a graph is made by recording, not of {type(recorded).__name__}; see infinicore.record()"
            )
        self._recorded: Recorded | None = recorded
        self._device = (
            device if device is not None else getattr(getattr(recorded, "place", None), "device", None)
        )

    def _open(self) -> Recorded:
        if self._recorded is None:
            raise RuntimeError("the graph was closed; record another one")
        return self._recorded

    def run(self) -> None:
        """Puts everything on the device's stream once; does not wait for it."""
        self._open().run()

    execute = run

    @property
    def operator_count(self) -> int:
        """How many calls were recorded."""
        return self._open().calls

    @property
    def fused_count(self) -> int:
        """How many of the calls are part of a kernel that does several."""
        return fused_calls(self._open())

    @property
    def removed_count(self) -> int:
        """How many of the calls are not made, because nobody would see it."""
        return len(self._open().removed)

    @property
    def segment_count(self) -> int:
        """How many launches and calls a run is made of: 1 where everything could be captured."""
        return len(self._open().segments)

    def explain(self) -> str:
        """What the graph does, for people: its segments, their kernels, what these are made of, and what was left out.

        >>> import infinicore
        >>> x = infinicore.zeros([4])
        >>> with infinicore.record() as recorded:
        ...     y = x * 2 + 1
        >>> print(recorded.graph.explain())  # doctest: +ELLIPSIS
        Graph on cpu...: 3 calls in 1 segment: 3 fused into 1 kernel, ... bytes of its own, run 0 times
        segment 0: one launch of a device graph
          mul_scalar + add  [32 bytes], one pass over:
            mul_scalar(float32[4], alpha=2) -> float32[4]
            ...
        """
        from .graph_pictures import as_text

        return as_text(self._open(), self._device)

    def to_dot(self) -> str:
        """The graph in Graphviz' language: a cluster for each segment."""
        from .graph_pictures import as_dot

        return as_dot(self._open())

    def to_svg(self) -> str:
        """The graph as a picture that browsers show; notebooks do so by themselves."""
        from .graph_pictures import as_svg

        return as_svg(self._open(), self._device)

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def close(self) -> None:
        """Lets go of the graph and of its memory, which is used again after the last run. A second time does nothing."""
        self._recorded = None  # what it keeps goes with its last reference, in the order of the stream

    def __repr__(self) -> str:
        if self._recorded is None:
            return f"<Graph on {self._device}, closed>"
        calls, segments = numbered(self.operator_count, "call"), numbered(self.segment_count, "segment")
        return f"<Graph of {calls} in {segments} on {self._device}>"


def capture_of(operator: GraphOperator, stream: infinirt.Stream) -> infinirt.Graph | None:
    """What an operator puts on the stream; None where that cannot be captured."""
    try:
        with infinirt.capture(stream, "thread_local") as captured:
            operator.run()
    except NOT_CAPTURABLE:
        return None
    return captured.graph


class CallGraph:
    """Operators of a device type that the operator library does not know: functions, captured where that is possible."""

    def __init__(
        self, operators: list[GraphOperator], runtime: Runtime, reserve: infinirt.CacheReserve
    ) -> None:
        self._runtime = runtime
        self._reserve = reserve  # memory that was allocated while recording
        self._operators = operators
        self._launches: list[tuple[int, int, infinirt.GraphExec | None]] = []
        self._runs = 0
        children: list[infinirt.Graph] = []
        for number, operator in enumerate(operators):
            graph = capture_of(operator, runtime.stream)
            if graph is not None:
                children.append(graph)
                continue
            self._join(children, number)
            self._launches.append((number, number + 1, None))
        self._join(children, len(operators))

    def _join(self, children: list[infinirt.Graph], end: int) -> None:
        """What was captured up to operator `end`, as one launch."""
        if not children:
            return
        builder = infinirt.GraphBuilder(self._runtime.stream).begin_building("thread_local")
        try:
            for child in children:
                builder.embed(child)
        except BaseException:
            builder.close()
            raise
        whole = builder.end_building().graph.instantiate()
        self._launches.append((end - len(children), end, whole))
        children.clear()

    def run(self) -> None:
        stream = self._runtime.stream  # raises when the runtime was closed
        with self._runtime._as_current():
            for number, _, launch in self._launches:
                if launch is None:
                    self._operators[number].run()
                else:
                    launch.launch(stream)
        self._runs += 1

    def __del__(self) -> None:
        # Without this the memory would be had again at once, while the last run may still use it.
        if hasattr(self, "_runs") and not self._runtime.is_closed:
            with contextlib.suppress(Exception):
                self._reserve.close(self._runtime.stream)

    @property
    def reserved_bytes(self) -> int:
        return 0

    @property
    def runs(self) -> int:
        return self._runs

    @property
    def calls(self) -> int:
        return len(self._operators)

    @property
    def steps(self) -> list[tuple[str, int, list[str]]]:
        return [(operator.name, 0, []) for operator in self._operators]

    @property
    def removed(self) -> list[tuple[str, str]]:
        return []

    @property
    def refused(self) -> list[tuple[str, str]]:
        return []

    @property
    def segments(self) -> list[tuple[int, int, bool]]:
        return [(first, last, launch is not None) for first, last, launch in self._launches]
