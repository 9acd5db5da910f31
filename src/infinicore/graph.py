"""Recorded graphs: operators that are noted first, and run together, again and again, with one launch each time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

import infinirt

if TYPE_CHECKING:
    from .runtime import Runtime

__all__ = ["Graph", "GraphOperator"]

# How a runtime says that something cannot be part of a device graph.
_NOT_CAPTURABLE = (infinirt.CaptureError, infinirt.NotSupportedError, infinirt.NotPermittedError)


class GraphOperator:
    """Work of a graph: a function that puts work on the runtime's stream, and what it is called with.

    It is called once, in a capture, when recording stops, and what it enqueued is replayed from then on. Where that cannot be captured
    (it waits for the device, say), it is called in each run instead.

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


Step = infinirt.GraphExec | GraphOperator


class Graph:
    """What was recorded, ready to run: device graphs, and between them the operators that could not be part of one.

    It keeps the memory that was allocated while it was recorded, at the same addresses. Write inputs in place before `run()`. Made
    by `Runtime.stop_graph_recording()`.
    """

    __slots__ = ("_operators", "_reserve", "_runtime", "_steps")

    def __init__(
        self, runtime: Runtime, operators: list[GraphOperator], reserve: infinirt.CacheReserve | None
    ) -> None:
        self._runtime = runtime
        self._reserve = reserve
        self._operators = tuple(operators)
        self._steps: list[Step] | None = _steps_of(runtime, operators)

    def run(self) -> None:
        """Puts everything on the runtime's stream once; does not wait for it."""
        if self._steps is None:
            raise RuntimeError("the graph was closed; record another one")
        stream = self._runtime.stream  # raises when the runtime was closed
        with self._runtime._as_current():
            for step in self._steps:
                if isinstance(step, infinirt.GraphExec):
                    step.launch(stream)
                else:
                    step.run()

    execute = run

    @property
    def operators(self) -> tuple[GraphOperator, ...]:
        """What was recorded, in order."""
        return self._operators

    @property
    def segment_count(self) -> int:
        """How many launches and calls a run is made of: 1 when everything could be captured."""
        return len(self._steps or ())

    def close(self) -> None:
        """Lets go of the graph and of its memory, which is used again after the last run. A second time does nothing."""
        steps, self._steps = self._steps, None
        reserve, self._reserve = self._reserve, None
        for step in steps or ():
            if isinstance(step, infinirt.GraphExec):
                step.close()
        if reserve is not None and not self._runtime.is_closed:
            reserve.close(self._runtime.stream)

    def __del__(self) -> None:
        # Recording may have failed before the attributes were there.
        if getattr(self, "_steps", None) is not None:
            with contextlib.suppress(Exception):
                self.close()

    def __repr__(self) -> str:
        state = "closed" if self._steps is None else f"{self.segment_count} segment(s)"
        return f"<Graph of {len(self._operators)} operator(s) on {self._runtime.device}, {state}>"


def _captured(runtime: Runtime, operator: GraphOperator) -> infinirt.Graph | None:
    """What an operator puts on the stream; None where that cannot be captured."""
    try:
        with infinirt.capture(runtime.stream, "thread_local") as captured:
            operator.run()
    except _NOT_CAPTURABLE:
        return None
    return captured.graph


def _steps_of(runtime: Runtime, operators: list[GraphOperator]) -> list[Step]:
    """One device graph for each run of operators that can be captured, each operator a child of it."""
    steps: list[Step] = []
    children: list[infinirt.Graph] = []

    def join() -> None:
        if not children:
            return
        whole = children[0]
        if len(children) > 1:
            builder = infinirt.GraphBuilder(runtime.stream).begin_building("thread_local")
            try:
                for child in children:
                    builder.embed(child)
            except BaseException:
                builder.close()
                raise
            whole = builder.end_building().graph
        steps.append(whole.instantiate())
        children.clear()

    with runtime._as_current():
        for operator in operators:
            graph = _captured(runtime, operator)
            if graph is not None:
                children.append(graph)
                continue
            join()
            steps.append(operator)
        join()
    return steps
