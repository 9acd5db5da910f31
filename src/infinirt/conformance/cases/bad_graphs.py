"""Wrong graphs: nodes, edges and parameters that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..bench import D2D, Bench
from ..case import Register
from ..check import code_of, fails, ok, rt, same
from .copy_shapes import parms, volume
from .graph import add_host, empty, instantiate, new_graph, node_count, set_params

case = Register("bad-input", "full")
MEASURED = "measured on a GPU"

Row = tuple[str, str, str, Callable[[Bench], Any], str]
ROWS: list[Row] = [
    ("node.twice-the-same", "A node that depends on another twice", "GraphAddEmptyNode", lambda t: _twice(t), "InvalidValue"),
    ("node.of-another-graph", "A node that depends on one of another graph", "GraphAddEmptyNode", lambda t: rt.GraphAddEmptyNode(new_graph(t), [empty(new_graph(t))], 1), "InvalidValue"),
    ("edge.again", "An edge that is there already", "GraphAddDependencies", lambda t: _edge(t, 0, 1), "InvalidValue"),
    ("edge.to-itself", "An edge from a node to itself", "GraphAddDependencies", lambda t: _edge(t, 0, 0), "InvalidValue"),
    ("edge.to-another-graph", "An edge to a node of another graph", "GraphAddDependencies", lambda t: _edge(t, 0, 2), "InvalidValue"),
    ("set.element-size", "A set of elements of three bytes", "GraphAddMemsetNode", lambda t: _set(t, element=3), "InvalidValue"),
    ("set.nothing", "A set of nothing", "GraphAddMemsetNode", lambda t: _set(t, width=0), "InvalidValue"),
    ("set.no-rows", "A set of no rows", "GraphAddMemsetNode", lambda t: _set(t, height=0), "InvalidValue"),
    ("set.too-wide", "A set across the end of an allocation", "GraphAddMemsetNode", lambda t: _set(t, width=1 << 30), "InvalidValue"),
    ("set.pitch", "A set of rows wider than their pitch", "GraphAddMemsetNode", lambda t: _set(t, width=64, height=4, pitch=8), "InvalidValue"),
    ("set.null", "A set of null", "GraphAddMemsetNode", lambda t: rt.GraphAddMemsetNode(new_graph(t), None, 0, set_params(0, 1, 64)), "InvalidValue"),
    ("set.plain", "A set of plain host memory", "GraphAddMemsetNode", lambda t: rt.GraphAddMemsetNode(new_graph(t), None, 0, set_params(t.plain(64), 1, 64)), "InvalidValue"),
    ("copy.nothing", "A copy of nothing", "GraphAddMemcpyNode1D", lambda t: _copy(t, 0), "InvalidValue"),
    ("copy.null", "A copy from null", "GraphAddMemcpyNode1D", lambda t: rt.GraphAddMemcpyNode1D(new_graph(t), None, 0, t.memory(64), 0, 16, D2D), "InvalidValue"),
    ("copy.too-long", "A copy across the end of an allocation", "GraphAddMemcpyNode1D", lambda t: _copy(t, 1 << 30), "InvalidValue"),
    ("copy.kind", "A copy of a kind that does not exist", "GraphAddMemcpyNode1D", lambda t: _copy(t, 16, 9), "InvalidMemcpyDirection"),
    ("copy.volume", "A copy of a volume whose slices do not fit", "GraphAddMemcpyNode", lambda t: rt.GraphAddMemcpyNode(new_graph(t), None, 0, parms(volume(t.memory(1024), 64, 64, 4), volume(t.memory(1024), 64, 64, 4), (64, 5, 3), D2D)), "InvalidPitchValue"),
    ("event.record-null", "A record of a null event", "GraphAddEventRecordNode", lambda t: rt.GraphAddEventRecordNode(new_graph(t), None, 0, 0), "InvalidValue"),
    ("event.wait-null", "A wait for a null event", "GraphAddEventWaitNode", lambda t: rt.GraphAddEventWaitNode(new_graph(t), None, 0, 0), "InvalidValue"),
    ("free.foreign", "A free of memory that no graph allocates", "GraphAddMemFreeNode", lambda t: rt.GraphAddMemFreeNode(new_graph(t), None, 0, t.memory(64)), "InvalidValue"),
    ("parameters.set-of-copy", "Parameters of a set for a copy node", "GraphMemsetNodeSetParams", lambda t: _params_of_copy(t), "InvalidValue"),
    ("parameters.copy-of-set", "Parameters of a copy for a set node", "GraphMemcpyNodeSetParams1D", lambda t: _params_of_set(t), "InvalidValue"),
    ("parameters.get-set", "Asking an empty node for a set's parameters", "GraphMemsetNodeGetParams", lambda t: rt.GraphMemsetNodeGetParams(empty(new_graph(t))), "InvalidValue"),
    ("parameters.get-copy", "Asking an empty node for a copy's parameters", "GraphMemcpyNodeGetParams", lambda t: rt.GraphMemcpyNodeGetParams(empty(new_graph(t))), "InvalidValue"),
    ("parameters.get-host", "Asking an empty node for a host function's parameters", "GraphHostNodeGetParams", lambda t: rt.GraphHostNodeGetParams(empty(new_graph(t))), "InvalidValue"),
    ("parameters.get-event", "Asking an empty node for its event", "GraphEventRecordNodeGetEvent", lambda t: rt.GraphEventRecordNodeGetEvent(empty(new_graph(t))), "InvalidValue"),
    ("parameters.get-child", "Asking an empty node for its child graph", "GraphChildGraphNodeGetGraph", lambda t: rt.GraphChildGraphNodeGetGraph(empty(new_graph(t))), "InvalidValue"),
    ("exec.foreign-node", "Changing a node of another graph in an executable graph", "GraphExecMemsetNodeSetParams", lambda t: _foreign(t), "InvalidValue"),
    ("exec.set-of-nothing", "Changing a set in an executable graph to one of nothing", "GraphExecMemsetNodeSetParams", lambda t: _exec_set(t, set_params(t.memory(64), 1, 0)), "InvalidValue"),
    ("exec.other-shape", "Changing a set of one row in an executable graph to several", "GraphExecMemsetNodeSetParams", lambda t: _exec_set(t, set_params(t.memory(4096), 1, 16, 1, 4, 64)), "InvalidValue"),
    ("find.not-a-clone", "Looking for a node in a graph that is no clone", "GraphNodeFindInClone", lambda t: rt.GraphNodeFindInClone(empty(new_graph(t)), new_graph(t)), "InvalidValue"),
]  # fmt: skip


def _twice(t: Bench) -> Any:
    graph = new_graph(t)
    node = empty(graph)
    return rt.GraphAddEmptyNode(graph, [node, node], 2)


def _edge(t: Bench, start: int, end: int) -> Any:
    """Of a graph with the edge 0 -> 1, and of another graph with node 2."""
    graph = new_graph(t)
    first = empty(graph)
    nodes = (first, empty(graph, first), empty(new_graph(t)))
    return rt.GraphAddDependencies(graph, [nodes[start]], [nodes[end]], None, 1)


def _set(t: Bench, element: int = 1, width: int = 16, height: int = 1, pitch: int = 0) -> Any:
    made = set_params(t.memory(4096), 0, width, element, height, pitch)
    return rt.GraphAddMemsetNode(new_graph(t), None, 0, made)


def _copy(t: Bench, size: int, kind: int = D2D) -> Any:
    return rt.GraphAddMemcpyNode1D(new_graph(t), None, 0, t.memory(4096), t.memory(4096), size, kind)


def _params_of_copy(t: Bench) -> Any:
    one, two = t.memory(64), t.memory(64)
    node = ok(rt.GraphAddMemcpyNode1D(new_graph(t), None, 0, one, two, 64, D2D))
    return rt.GraphMemsetNodeSetParams(node, set_params(one, 1, 64))


def _params_of_set(t: Bench) -> Any:
    one, two = t.memory(64), t.memory(64)
    node = ok(rt.GraphAddMemsetNode(new_graph(t), None, 0, set_params(one, 1, 64)))
    return rt.GraphMemcpyNodeSetParams1D(node, one, two, 16, D2D)


def _exec_set(t: Bench, params: Any) -> Any:
    graph = new_graph(t)
    node = ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(t.memory(64), 1, 64)))
    return rt.GraphExecMemsetNodeSetParams(instantiate(t, graph), node, params)


def _foreign(t: Bench) -> Any:
    graph, other, memory = new_graph(t), new_graph(t), t.memory(64)
    ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 1, 64)))
    node = ok(rt.GraphAddMemsetNode(other, None, 0, set_params(memory, 1, 64)))
    return rt.GraphExecMemsetNodeSetParams(instantiate(t, graph), node, set_params(memory, 2, 64))


def refused(t: Bench, call: Callable[[Bench], Any], error: str) -> None:
    fails(call(t), error)


for _id, _what, _functions, _call, _error in ROWS:
    case.add(
        f"bad-input.graph.{_id}",
        partial(refused, call=_call, error=_error),
        f"{_what} is refused with infinirtError{_error}.",
        _functions,
        MEASURED,
    )


@case(
    "bad-input.graph.refused-is-not-added",
    about="GraphAddEmptyNode GraphAddMemsetNode",
    rule="contract of infinirtGraphAddNode",
)
def not_added(t: Bench) -> None:
    """A node that was refused is not in the graph."""
    graph, calls = new_graph(t), t.calls()
    add_host(graph, calls.address, 1)
    same(code_of(rt.GraphAddMemsetNode(graph, None, 0, set_params(0, 1, 64))), 1, "the code")
    same(code_of(rt.GraphAddEmptyNode(graph, [empty(new_graph(t))], 1)), 1, "the code")
    same(node_count(graph), 1, "the number of nodes")
