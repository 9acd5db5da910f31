"""Graphs by capture: what streams are given is recorded instead of run."""

from __future__ import annotations

import contextlib

from . import _core
from ._arguments import expect, integer
from .graph import Graph, GraphCompleteOptions, GraphExec
from .stream import Stream

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from ._protocols import IsStreamType

__all__ = ["Capture", "GraphBuilder", "capture"]

_MODES = {"global": 0, "thread_local": 1, "relaxed": 2}
_MOST_BRANCHES = 1024  # each is a stream of its own; a larger number is a mistake


def _mode(name: str | None) -> int:
    try:
        return _MODES["relaxed" if name is None else name]
    except (KeyError, TypeError):
        raise ValueError(f"capture mode {name!r}: one of {', '.join(_MODES)} was expected") from None


class Capture:
    """What `capture()` gives: the stream, and after the block the graph."""

    __slots__ = ("_graph", "stream")

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self._graph: Graph | None = None

    @property
    def graph(self) -> Graph:
        """The captured graph; there is one when the block has ended without an error."""
        if self._graph is None:
            raise RuntimeError("the graph exists when the capture has ended, after the with block")
        return self._graph


@contextlib.contextmanager
def capture(stream: Stream | IsStreamType, mode: str = "global") -> Iterator[Capture]:
    """Captures what the stream is given inside the block, instead of running it.

    `mode` says which unsafe calls break the capture: "global" (any thread's), "thread_local" (this thread's) or
    "relaxed" (none but those that must). A broken capture raises CaptureError, which names the call that broke it. An
    exception in the block ends the capture, and goes on.

    >>> import infinirt
    >>> device = infinirt.Device("cpu")
    >>> stream, buffer = device.create_stream(), device.allocate(2)
    >>> with infinirt.capture(stream) as captured:
    ...     buffer.fill(5, stream=stream)
    >>> ready = captured.graph.instantiate()
    >>> ready.launch(stream)
    >>> stream.sync()
    >>> bytes(buffer)
    b'\\x05\\x05'
    """
    order = _core.resolve_stream(stream, None)
    _core.begin_capture(order, _mode(mode))
    captured = Capture(order)
    try:
        yield captured
    except BaseException:
        # The first error is the one that matters; the capture is over in any case.
        with contextlib.suppress(Exception):
            Graph._adopt(_core.end_capture(order))
        raise
    captured._graph = Graph._adopt(_core.end_capture(order))


class GraphBuilder:
    """Captures the work of a stream into a graph, after `cuda.core`'s class of that name. Usable as a stream.

    >>> import infinirt
    >>> device = infinirt.Device("cpu")
    >>> buffer = device.allocate(2)
    >>> builder = device.create_graph_builder().begin_building()
    >>> left, right = builder.split(2)
    >>> buffer[0:1].fill(1, stream=left)
    >>> buffer[1:2].fill(2, stream=right)
    >>> whole = infinirt.GraphBuilder.join(left, right).end_building()
    >>> whole.complete().launch(device.default_stream)
    >>> device.sync()
    >>> bytes(buffer)
    b'\\x01\\x02'
    """

    __slots__ = ("_building", "_closed", "_graph", "_origin", "stream")

    def __init__(self, stream: Stream, _origin: GraphBuilder | None = None) -> None:
        expect(stream, Stream, "stream")
        self.stream = stream
        self._origin = _origin
        self._building = _origin is not None
        self._graph: Graph | None = None
        self._closed = False

    def begin_building(self, mode: str | None = "relaxed") -> GraphBuilder:
        """Starts to capture; `mode` as for `capture()`."""
        if self._building:
            raise RuntimeError("the builder is building already; end_building() first")
        if self._graph is not None:
            raise RuntimeError("the builder has built its graph; create another one")
        _core.begin_capture(self.stream, _mode(mode))
        self._building = True
        return self

    def end_building(self) -> GraphBuilder:
        """Ends the capture; the graph is there afterwards."""
        if not self._building:
            raise RuntimeError("the builder is not building; begin_building() first")
        if self._origin is not None:
            raise RuntimeError("a builder made by split() ends by GraphBuilder.join()")
        self._building = False
        self._graph = Graph._adopt(_core.end_capture(self.stream))
        return self

    @property
    def is_building(self) -> bool:
        """Whether work of the stream goes into the graph now."""
        return self._building

    @property
    def is_join_required(self) -> bool:
        """Whether the builder was made by split() and has to be joined."""
        return self._origin is not None and self._building

    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
        return self._closed

    @property
    def graph(self) -> Graph:
        """The graph that was built."""
        if self._graph is None:
            raise RuntimeError("there is no graph before end_building()")
        return self._graph

    def complete(self, options: GraphCompleteOptions | None = None) -> GraphExec:
        """An executable graph of what was built."""
        return self.graph.instantiate(options)

    def split(self, count: int) -> tuple[GraphBuilder, ...]:
        """Forks the work into `count` (2 to 1024) branches that run side by side; this builder is the first."""
        count = integer(count, "count", 2, _MOST_BRANCHES)
        if not self._building:
            raise RuntimeError("only a builder that is building can be split; begin_building() first")
        fork = self.stream.record()
        branches = [self]
        for _ in range(count - 1):
            stream = self.stream.device.create_stream()
            stream.wait(fork)
            branches.append(GraphBuilder(stream, self._origin or self))
        return tuple(branches)

    @staticmethod
    def join(*graph_builders: GraphBuilder) -> GraphBuilder:
        """Ends branches: work goes on in the one that is not made by split(), or in the first, after all of them."""
        if len(graph_builders) < 2:
            raise ValueError("join() takes at least two builders")
        for builder in graph_builders:
            expect(builder, GraphBuilder, "each argument of join()")
        if not all(builder._building for builder in graph_builders):
            raise RuntimeError("only builders that are building can be joined")
        main = next((builder for builder in graph_builders if builder._origin is None), graph_builders[0])
        for builder in graph_builders:
            if builder is not main:
                main.stream.wait(builder.stream)
                builder._building = False
        return main

    def callback(self, function: Callable[..., object], *args: object, user_data: object = None) -> None:
        """Calls a Python function in the graph. `user_data`, if given, is its last argument."""
        given = args if user_data is None else (*args, user_data)
        self.stream.launch_host_func(function, *given)

    def embed(self, child: GraphBuilder | Graph) -> None:
        """Runs a whole other graph at this point."""
        expect(child, (GraphBuilder, Graph), "child")
        inner = child.graph if isinstance(child, GraphBuilder) else child
        _core.embed_graph(self.stream, inner.handle)

    def to_dot(self, *, verbose: bool = False) -> str:
        """The built graph in Graphviz' language."""
        return self.graph.to_dot(verbose=verbose)

    def close(self) -> None:
        """Gives up what is being built, and the graph; executable graphs live on."""
        if self._building and self._origin is None:
            with contextlib.suppress(Exception):
                Graph._adopt(_core.end_capture(self.stream))
        self._building = False
        self._graph = None
        self._closed = True

    def __cuda_stream__(self) -> tuple[int, int]:
        """The stream protocol, so that the builder can be given wherever a stream is expected."""
        return self.stream.__cuda_stream__()

    def __del__(self) -> None:
        # A capture that nobody will end must not go on: it would swallow work and bar other calls.
        if getattr(self, "_building", False) and self._origin is None:
            self.close()

    def __repr__(self) -> str:
        state = "building" if self._building else "built" if self._graph is not None else "new"
        return f"<GraphBuilder {state} on {self.stream!r}>"
