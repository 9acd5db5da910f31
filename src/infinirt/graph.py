"""Graphs: work that is described once and launched many times."""

from __future__ import annotations

from . import _core
from ._arguments import expect, integer
from ._options import Options
from ._other_names import not_a_function, with_other_names
from .buffer import Buffer
from .device import Device
from .event import Event
from .launch import Kernel, LaunchConfig
from .stream import Stream

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ._capture import GraphBuilder

__all__ = ["Graph", "GraphCompleteOptions", "GraphExec", "GraphNode"]

_AUTO_FREE, _USE_NODE_PRIORITY = 1, 8
# By the numbers of infinirtGraphNodeType.
_NODE_TYPES = (
    *("kernel", "memcpy", "memset", "host", "graph", "empty", "wait_event", "event_record"),
    *("ext_semas_signal", "ext_semas_wait", "mem_alloc", "mem_free"),
)


class GraphCompleteOptions(Options):
    """How a graph is made executable.

    `auto_free_on_launch`: a launch frees what an earlier one allocated and left. `upload_stream`: the graph is uploaded on
    that stream. `use_node_priority`: kernels run with the priority they were captured with.

    >>> import infinirt
    >>> infinirt.GraphCompleteOptions(auto_free_on_launch=True).use_node_priority
    False
    """

    __slots__ = ("auto_free_on_launch", "upload_stream", "use_node_priority")
    auto_free_on_launch: bool
    upload_stream: Stream | None
    use_node_priority: bool

    def __init__(
        self,
        auto_free_on_launch: bool = False,
        upload_stream: Stream | None = None,
        use_node_priority: bool = False,
    ) -> None:
        self._set(
            auto_free_on_launch=auto_free_on_launch,
            upload_stream=upload_stream,
            use_node_priority=use_node_priority,
        )

    def _flags(self) -> int:
        return (_AUTO_FREE if self.auto_free_on_launch else 0) | (
            _USE_NODE_PRIORITY if self.use_node_priority else 0
        )


class GraphNode:
    """One piece of work in a graph; other nodes can be made to depend on it."""

    __slots__ = ("graph", "handle")

    def __init__(self, graph: Graph, handle: int) -> None:
        self.graph = graph
        self.handle = handle

    @property
    def type(self) -> str:
        """What the node does: "kernel", "memcpy", "memset", "host", "graph", "empty", "mem_alloc", ..."""
        number = _core.graph_node_type(self.handle)
        return _NODE_TYPES[number] if number < len(_NODE_TYPES) else str(number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GraphNode) and self.handle == other.handle

    def __hash__(self) -> int:
        return hash(self.handle)

    def __repr__(self) -> str:
        return f"<GraphNode {self.type} {self.handle:#x}>"


@with_other_names
class Graph(_core.GraphBase):
    """A description of work and its order, to be made executable by `instantiate()`.

    Built node by node as here, for devices of the type of `device` (by default the current one), or by `capture()`. What nodes use (buffers, functions, events) lives as long as the graph
    and everything made from it.

    >>> import infinirt
    >>> device = infinirt.Device("cpu")
    >>> buffer = device.allocate(4)
    >>> graph = infinirt.Graph(device)
    >>> filled = graph.add_fill(buffer[0:2], 1)
    >>> copied = graph.add_copy(buffer[2:4], buffer[0:2], dependencies=[filled])
    >>> graph.instantiate().launch(device.default_stream)
    >>> device.sync()
    >>> bytes(buffer)
    b'\\x01\\x01\\x01\\x01'
    """

    __slots__ = ()

    def __new__(cls, device: Device | str | int | None = None) -> Graph:
        return super().__new__(cls, _core.graph_create(device))

    @classmethod
    def _adopt(cls, handle: int) -> Graph:
        graph: Graph = _core.GraphBase.__new__(cls, handle)
        return graph

    def _keep(self, *objects: object) -> None:
        for kept in objects:
            if not isinstance(kept, int):
                _core.graph_keep(self.handle, kept)

    def _after(self, dependencies: Iterable[GraphNode]) -> list[int]:
        try:
            nodes = list(dependencies)
        except TypeError:
            given = type(dependencies).__name__
            raise TypeError(f"dependencies must be a list of GraphNode objects, not {given}") from None
        for node in nodes:
            expect(node, GraphNode, "each of the dependencies")
        return [node.handle for node in nodes]

    def add_empty(self, dependencies: Iterable[GraphNode] = ()) -> GraphNode:
        """A node that does nothing, to join or fork others."""
        return GraphNode(self, _core.graph_add_empty(self.handle, self._after(dependencies)))

    def add_copy(
        self,
        dst: Buffer | int,
        src: Buffer | int,
        size: int | None = None,
        dependencies: Iterable[GraphNode] = (),
    ) -> GraphNode:
        """Copies `size` bytes, by default the whole source."""
        count = _count(size, src, dst)
        node = _core.graph_add_copy(
            self.handle, self._after(dependencies), _address(dst, "dst"), _address(src, "src"), count
        )
        self._keep(dst, src)
        return GraphNode(self, node)

    def add_fill(
        self,
        dst: Buffer | int,
        value: int,
        size: int | None = None,
        *,
        element_size: int = 1,
        dependencies: Iterable[GraphNode] = (),
    ) -> GraphNode:
        """Fills `size` bytes, by default all, with a number of `element_size` (1, 2 or 4) bytes."""
        count = _count(size, dst)
        value, element_size = integer(value, "value"), integer(element_size, "element_size")
        if element_size not in (1, 2, 4) or count % element_size:
            raise ValueError(f"element_size {element_size} must be 1, 2 or 4 and divide the {count} bytes")
        if not 0 <= value < 1 << 8 * element_size:
            raise ValueError(f"value {value} does not fit into {element_size} byte(s)")
        node = _core.graph_add_fill(
            self.handle,
            self._after(dependencies),
            _address(dst, "dst"),
            value,
            element_size,
            count // element_size,
            1,
            0,
        )
        self._keep(dst)
        return GraphNode(self, node)

    def add_host(
        self, function: Callable[..., object], *args: object, dependencies: Iterable[GraphNode] = ()
    ) -> GraphNode:
        """Calls a Python function, which may not call this API; what it raises goes to `sys.unraisablehook`."""
        if not callable(function):
            raise TypeError(f"add_host() takes a function, not {type(function).__name__}")
        return GraphNode(self, _core.graph_add_host(self.handle, self._after(dependencies), function, *args))

    def add_kernel(
        self, config: LaunchConfig, kernel: Kernel, *args: object, dependencies: Iterable[GraphNode] = ()
    ) -> GraphNode:
        """Launches a kernel; arguments as for `launch()`."""
        expect(config, LaunchConfig, "config")
        expect(kernel, Kernel, "kernel")
        node = _core.graph_add_kernel(self.handle, self._after(dependencies), config, kernel, args)
        self._keep(kernel)
        return GraphNode(self, node)

    def add_child(self, child: Graph, dependencies: Iterable[GraphNode] = ()) -> GraphNode:
        """Runs a copy of another graph as one node."""
        expect(child, Graph, "child", "of a GraphBuilder give its .graph")
        node = _core.graph_add_child(self.handle, self._after(dependencies), child.handle)
        self._keep(child)
        return GraphNode(self, node)

    def add_record(self, event: Event, dependencies: Iterable[GraphNode] = ()) -> GraphNode:
        """Records an event at each launch."""
        expect(event, Event, "event")
        node = _core.graph_add_event_record(self.handle, self._after(dependencies), event.handle)
        self._keep(event)
        return GraphNode(self, node)

    def add_wait(self, event: Event, dependencies: Iterable[GraphNode] = ()) -> GraphNode:
        """Waits for an event at each launch."""
        expect(event, Event, "event")
        node = _core.graph_add_event_wait(self.handle, self._after(dependencies), event.handle)
        self._keep(event)
        return GraphNode(self, node)

    def add_allocate(
        self, size: int, *, device: Device | str | int | None = None, dependencies: Iterable[GraphNode] = ()
    ) -> tuple[GraphNode, Buffer]:
        """Memory of the graph's own, at one address for its life, between this node and the one that frees it."""
        place, size = Device(device), integer(size, "size")
        node, ptr = _core.graph_add_alloc(self.handle, self._after(dependencies), place, size)
        return GraphNode(self, node), Buffer.from_handle(ptr, size, owner=self, device=place)

    def add_free(self, memory: Buffer | int, dependencies: Iterable[GraphNode] = ()) -> GraphNode:
        """Frees memory that `add_allocate()` gave."""
        ptr = _address(memory, "memory")
        return GraphNode(self, _core.graph_add_free(self.handle, self._after(dependencies), ptr))

    def nodes(self) -> list[GraphNode]:
        """All nodes."""
        return [GraphNode(self, handle) for handle in _core.graph_nodes(self.handle)]

    def edges(self) -> list[tuple[GraphNode, GraphNode]]:
        """All dependencies, as (first, later)."""
        return [
            (GraphNode(self, first), GraphNode(self, later))
            for first, later in _core.graph_edges(self.handle)
        ]

    def clone(self) -> Graph:
        """A copy that can be changed by itself."""
        return type(self)._adopt(_core.graph_clone(self.handle))

    def instantiate(self, options: GraphCompleteOptions | None = None) -> GraphExec:
        """An executable graph of what is described now; later changes do not reach it."""
        chosen = options if options is not None else GraphCompleteOptions()
        expect(chosen, GraphCompleteOptions, "options")
        made = GraphExec._adopt(_core.graph_instantiate(self.handle, chosen._flags()))
        if chosen.upload_stream is not None:
            made.upload(chosen.upload_stream)
        return made

    def to_dot(self, *, verbose: bool = False) -> str:
        """The graph in Graphviz' language, for looking at.

        >>> import infinirt
        >>> graph = infinirt.Graph()
        >>> node = graph.add_empty()
        >>> "digraph" in graph.to_dot()
        True
        """
        import os
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph.dot")
            _core.graph_dot_print(self.handle, path, 1 if verbose else 0)
            with open(path, encoding="utf-8") as file:
                return file.read()

    def __repr__(self) -> str:
        return (
            "<Graph closed>" if self.is_closed else f"<Graph of {len(_core.graph_nodes(self.handle))} nodes>"
        )


def _address(memory: Buffer | int, name: str) -> int:
    if isinstance(memory, Buffer):
        return memory.ptr
    if not hasattr(memory, "__index__"):
        raise TypeError(f"{name} must be a Buffer or an address as int, not {type(memory).__name__}")
    return integer(memory, name)


def _count(size: int | None, *buffers: Buffer | int) -> int:
    """The bytes to work on: those asked for, or the first Buffer's; never more than a Buffer has."""
    sizes = [buffer.size for buffer in buffers if isinstance(buffer, Buffer)]
    if size is None:
        if not sizes:
            raise ValueError("size is needed when memory is given by address")
        size = sizes[0]
    size = integer(size, "size")
    if any(size > available for available in sizes):
        raise ValueError(f"{size} bytes are more than the smallest buffer has, {min(sizes)}")
    return size


@with_other_names
class GraphExec(_core.GraphExecBase):
    """A graph that can be launched, again and again, each time as one operation of a stream."""

    __slots__ = ("_source",)
    _source: Graph | None  # what update() took over; what it was made from it keeps alive itself

    @classmethod
    def _adopt(cls, handle: int) -> GraphExec:
        made: GraphExec = _core.GraphExecBase.__new__(cls, handle)
        made._source = None
        return made

    def update(self, source: Graph | GraphBuilder) -> None:
        """Takes over the parameters of another graph of the same shape; launches under way do not change.

        >>> import infinirt
        >>> buffer = infinirt.Device("cpu").allocate(1)
        >>> def filling(value):
        ...     graph = infinirt.Graph("cpu")
        ...     graph.add_fill(buffer, value)
        ...     return graph
        >>> ready = filling(1).instantiate()
        >>> ready.update(filling(2))
        >>> ready.launch(buffer.stream)
        >>> bytes(buffer)
        b'\\x02'
        """
        if not isinstance(source, Graph):
            from ._capture import GraphBuilder

            expect(source, (Graph, GraphBuilder), "source")
        graph = source if isinstance(source, Graph) else source.graph
        _core.graph_exec_update(self.handle, graph.handle)
        self._let_go(graph)

    def _let_go(self, successor: Graph | None = None) -> None:
        """Drops the graph that update() took over before; what it keeps alive is in use until the last launch is over."""
        source, self._source = self._source, successor
        stream = self._last_stream
        if source is not None and stream is not None and not stream.is_closed and not stream.is_capturing:
            _core.release_after(stream, source)

    def close(self) -> None:
        """Gives the executable graph back; a launch under way completes."""
        super().close()
        self._let_go()

    def __del__(self) -> None:
        if getattr(self, "_source", None) is not None:
            self._let_go()

    def set_enabled(self, node: GraphNode, enabled: bool) -> None:
        """Leaves a node of the original graph out of launches from now on, or puts it back."""
        expect(node, GraphNode, "node")
        _core.graph_node_set_enabled(self.handle, node.handle, int(enabled))

    def is_enabled(self, node: GraphNode) -> bool:
        """Whether launches run the node."""
        expect(node, GraphNode, "node")
        return bool(_core.graph_node_get_enabled(self.handle, node.handle))

    def __enter__(self) -> GraphExec:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<GraphExec closed>" if self.is_closed else f"<GraphExec {self.handle:#x}>"


not_a_function(
    __name__, "`with infinirt.capture(stream) as captured:` records work; then captured.graph.instantiate()"
)
