"""Graphs: their structure, built node by node."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ..bench import Bench, download, soon
from ..case import Register
from ..check import code_of, fails, holds, ok, rt, same

case = Register("graph", "full")


def new_graph(t: Bench) -> Any:
    graph = ok(rt.GraphCreate(0))
    t.later(lambda: ok(rt.GraphDestroy(graph)))
    return graph


def empty(graph: Any, *before: Any) -> Any:
    return ok(rt.GraphAddEmptyNode(graph, list(before) or None, len(before)))


def host_params(address: int, data: int) -> Any:
    made = rt.HostNodeParams()
    made.fn, made.userData = rt.HostFn_t(address), data
    return made


def add_host(graph: Any, address: int, data: int, *before: Any) -> Any:
    return ok(rt.GraphAddHostNode(graph, list(before) or None, len(before), host_params(address, data)))


def set_params(
    pointer: int, number: int, width: int, element: int = 1, height: int = 1, pitch: int = 0
) -> Any:
    made = rt.MemsetParams()
    made.dst, made.value, made.elementSize = pointer, number, element
    made.width, made.height, made.pitch = width, height, pitch
    return made


def instantiate(t: Bench, graph: Any, flags: int = 0) -> Any:
    executable = ok(rt.GraphInstantiate(graph, flags))
    t.later(lambda: ok(rt.GraphExecDestroy(executable)))
    return executable


def run(executable: Any, stream: Any) -> None:
    ok(rt.GraphLaunch(executable, stream))
    ok(rt.StreamSynchronize(stream))


def node_count(graph: Any) -> int:
    return int(ok(rt.GraphGetNodes(graph))[1])


def edge_count(graph: Any) -> int:
    return int(ok(rt.GraphGetEdges(graph))[-1])


@case("graph.create", about="GraphCreate GraphDestroy", rule="contract of infinirtGraphCreate")
def create(t: Bench) -> None:
    """An empty graph is created and destroyed; flags do not exist."""
    graph = ok(rt.GraphCreate(0))
    same(node_count(graph), 0, "the number of nodes")
    ok(rt.GraphDestroy(graph))
    fails(rt.GraphCreate(1), "InvalidValue")


@case("graph.nodes.listed", about="GraphAddEmptyNode GraphGetNodes", rule="contract of infinirtGraphGetNodes")
def nodes_listed(t: Bench) -> None:
    """The nodes of a graph are listed, all or as many as are asked for."""
    graph = new_graph(t)
    made = {int(empty(graph)) for _ in range(3)}
    nodes, count = ok(rt.GraphGetNodes(graph, 3))
    same({int(node) for node in nodes}, made, "the nodes")
    same(int(count), 3, "their number")
    same(len(ok(rt.GraphGetNodes(graph, 1))[0]), 1, "how many are listed of one asked for")


@case("graph.nodes.roots", about="GraphGetRootNodes", rule="contract of infinirtGraphGetRootNodes")
def roots(t: Bench) -> None:
    """Roots are the nodes that depend on nothing."""
    graph = new_graph(t)
    a, b = empty(graph), empty(graph)
    empty(graph, a, b)
    nodes, count = ok(rt.GraphGetRootNodes(graph, 2))
    same(({int(node) for node in nodes}, int(count)), ({int(a), int(b)}, 2), "the roots")


@case("graph.nodes.type", about="GraphNodeGetType", rule="contract of infinirtGraphNodeGetType")
def types(t: Bench) -> None:
    """A node says what it is."""
    graph, calls, memory = new_graph(t), t.calls(), t.memory(64)
    nodes = (
        (empty(graph), "Empty"),
        (add_host(graph, calls.address, 1), "Host"),
        (ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 1, 64))), "Memset"),
        (ok(rt.GraphAddMemcpyNode1D(graph, None, 0, memory, memory + 32, 32, 3)), "Memcpy"),
        (ok(rt.GraphAddEventRecordNode(graph, None, 0, t.event())), "EventRecord"),
        (ok(rt.GraphAddEventWaitNode(graph, None, 0, t.event())), "WaitEvent"),
    )
    for node, name in nodes:
        same(ok(rt.GraphNodeGetType(node)), rt.member("GraphNodeType", f"GraphNodeType{name}"), "the type")


@case("graph.nodes.destroyed", about="GraphDestroyNode", rule="contract of infinirtGraphDestroyNode")
def node_destroyed(t: Bench) -> None:
    """With a node its edges go."""
    graph = new_graph(t)
    a = empty(graph)
    b = empty(graph, a)
    empty(graph, b)
    ok(rt.GraphDestroyNode(b))
    same((node_count(graph), edge_count(graph)), (2, 0), "nodes and edges")


@case("graph.edges.listed", about="GraphGetEdges", rule="contract of infinirtGraphGetEdges")
def edges_listed(t: Bench) -> None:
    """Edges are listed from node to node."""
    graph = new_graph(t)
    a = empty(graph)
    b, c = empty(graph, a), empty(graph, a)
    d = empty(graph, b, c)
    before, after, _, count = ok(rt.GraphGetEdges(graph, 4))
    found = {(int(x), int(y)) for x, y in zip(before, after, strict=True)}
    same(found, {(int(x), int(y)) for x, y in ((a, b), (a, c), (b, d), (c, d))}, "the edges")
    same(int(count), 4, "their number")


@case("graph.edges.added", about="GraphAddDependencies", rule="contract of infinirtGraphAddDependencies")
def edges_added(t: Bench) -> None:
    """Edges are added between nodes that exist."""
    graph = new_graph(t)
    a, b, c = (empty(graph) for _ in range(3))
    ok(rt.GraphAddDependencies(graph, [a, b], [b, c], None, 2))
    same(edge_count(graph), 2, "the number of edges")
    ok(rt.GraphAddDependencies(graph, None, None, None, 0))


@case(
    "graph.edges.removed", about="GraphRemoveDependencies", rule="contract of infinirtGraphRemoveDependencies"
)
def edges_removed(t: Bench) -> None:
    """Edges are removed; one that is not there cannot be."""
    graph = new_graph(t)
    a = empty(graph)
    b = empty(graph, a)
    ok(rt.GraphRemoveDependencies(graph, [a], [b], None, 1))
    same(edge_count(graph), 0, "the number of edges")
    fails(rt.GraphRemoveDependencies(graph, [a], [b], None, 1), "InvalidValue")


@case(
    "graph.edges.neighbours",
    about="GraphNodeGetDependencies GraphNodeGetDependentNodes",
    rule="contract of infinirtGraphNodeGetDependencies",
)
def neighbours(t: Bench) -> None:
    """A node knows what it depends on and what depends on it."""
    graph = new_graph(t)
    a, b = empty(graph), empty(graph)
    c = empty(graph, a, b)
    found, _, count = ok(rt.GraphNodeGetDependencies(c, 2))
    same(({int(x) for x in found}, int(count)), ({int(a), int(b)}, 2), "what it depends on")
    found, _, count = ok(rt.GraphNodeGetDependentNodes(a, 1))
    same(([int(x) for x in found], int(count)), ([int(c)], 1), "what depends on it")


@case("graph.clone", about="GraphClone GraphNodeFindInClone", rule="contract of infinirtGraphClone")
def clone(t: Bench) -> None:
    """A clone has the same nodes, which are found in it and are its own."""
    graph, calls, stream = new_graph(t), t.calls(), t.stream()
    node = add_host(graph, calls.address, 1)
    copy = ok(rt.GraphClone(graph))
    t.later(lambda: ok(rt.GraphDestroy(copy)))
    found = ok(rt.GraphNodeFindInClone(node, copy))
    holds(int(found) != int(node), "another node in the clone")
    ok(rt.GraphHostNodeSetParams(found, host_params(calls.address, 2)))
    run(instantiate(t, graph), stream)
    run(instantiate(t, copy), stream)
    same(calls.seen, [1, 2], "what the original and the clone did")


@case("graph.clone.later-node", about="GraphNodeFindInClone", rule="contract of infinirtGraphNodeFindInClone")
def clone_later(t: Bench) -> None:
    """A node added after the clone was made is not found in it."""
    graph = new_graph(t)
    empty(graph)
    copy = ok(rt.GraphClone(graph))
    t.later(lambda: ok(rt.GraphDestroy(copy)))
    fails(rt.GraphNodeFindInClone(empty(graph), copy), "InvalidValue")


@case(
    "graph.child",
    about="GraphAddChildGraphNode GraphChildGraphNodeGetGraph",
    rule="contract of infinirtGraphAddChildGraphNode",
)
def child(t: Bench) -> None:
    """A child graph runs in its place, as it was when it was added."""
    inner, outer, calls, stream = new_graph(t), new_graph(t), t.calls(), t.stream()
    add_host(inner, calls.address, 2)
    first = add_host(outer, calls.address, 1)
    node = ok(rt.GraphAddChildGraphNode(outer, [first], 1, inner))
    add_host(outer, calls.address, 3, node)
    add_host(inner, calls.address, 99)
    holds(int(ok(rt.GraphChildGraphNodeGetGraph(node))) != int(inner), "the node to have a copy of its own")
    run(instantiate(t, outer), stream)
    same(calls.seen, [1, 2, 3], "the order of the calls")


@case("graph.child.empty", about="GraphAddChildGraphNode", rule="contract of infinirtGraphAddChildGraphNode")
def child_empty(t: Bench) -> None:
    """A child graph without nodes still orders what is before and behind it."""
    outer, calls, stream = new_graph(t), t.calls(), t.stream()
    first = add_host(outer, calls.address, 1)
    node = ok(rt.GraphAddChildGraphNode(outer, [first], 1, new_graph(t)))
    add_host(outer, calls.address, 2, node)
    executable = instantiate(t, outer)
    for _ in range(10):
        run(executable, stream)
    same(calls.seen, [1, 2] * 10, "the order of the calls")


@case("graph.dot", about="GraphDebugDotPrint", rule="contract of infinirtGraphDebugDotPrint")
def dot(t: Bench) -> None:
    """A graph is written as a dot file; a folder that does not exist is an error of the system."""
    graph = new_graph(t)
    empty(graph, empty(graph))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.dot")
        ok(rt.GraphDebugDotPrint(graph, str(path).encode(), 0))
        holds(path.read_text().lstrip().startswith("digraph"), "a file that begins with 'digraph'")
        fails(rt.GraphDebugDotPrint(graph, str(Path(folder, "none", "x.dot")).encode(), 0), "OperatingSystem")


@case(
    "graph.user-object",
    about="UserObjectCreate GraphRetainUserObject UserObjectRelease",
    rule="contract of infinirtUserObjectCreate",
)
def user_object(t: Bench) -> None:
    """What a graph was given is destroyed once, when the graph goes."""
    calls = t.calls()
    flag = rt.member("UserObjectFlags", "UserObjectNoDestructorSync")
    thing = ok(rt.UserObjectCreate(1234, calls.address, 1, flag))
    graph = ok(rt.GraphCreate(0))
    ok(rt.GraphRetainUserObject(graph, thing, 1, rt.member("UserObjectRetainFlags", "GraphUserObjectMove")))
    same(calls.seen, [], "the calls while the graph lives")
    ok(rt.GraphDestroy(graph))
    soon(lambda: bool(calls.seen), "the object to be destroyed with its graph")
    same(calls.seen, [1234], "the calls")


@case(
    "graph.user-object.counted",
    about="UserObjectRetain UserObjectRelease",
    rule="contract of infinirtUserObjectRetain",
)
def user_object_counted(t: Bench) -> None:
    """A user object lives as long as one reference is left."""
    calls = t.calls()
    flag = rt.member("UserObjectFlags", "UserObjectNoDestructorSync")
    thing = ok(rt.UserObjectCreate(5, calls.address, 1, flag))
    ok(rt.UserObjectRetain(thing, 2))
    ok(rt.UserObjectRelease(thing, 2))
    ok(rt.DeviceSynchronize())
    same(calls.seen, [], "the calls while a reference is left")
    ok(rt.UserObjectRelease(thing, 1))
    soon(lambda: bool(calls.seen), "the object to be destroyed with its last reference")


@case(
    "graph.cycle",
    about="GraphInstantiate GraphAddDependencies",
    rule="measured: a cycle is found at instantiation",
)
def cycle(t: Bench) -> None:
    """A graph with a cycle is not instantiated, and is when the cycle is gone."""
    graph = new_graph(t)
    a = empty(graph)
    b = empty(graph, a)
    c = empty(graph, b)
    ok(rt.GraphAddDependencies(graph, [c], [a], None, 1))
    fails(rt.GraphInstantiate(graph, 0), "InvalidValue")
    ok(rt.GraphRemoveDependencies(graph, [c], [a], None, 1))
    instantiate(t, graph)


@case(
    "graph.instantiate.params",
    about="GraphInstantiateWithParams",
    rule="contract of infinirtGraphInstantiateWithParams",
)
def with_params(t: Bench) -> None:
    """Instantiation with parameters tells its result, also for a graph with a cycle."""
    graph = new_graph(t)
    a = empty(graph)
    b = empty(graph, a)
    params = rt.GraphInstantiateParams()
    executable = ok(rt.GraphInstantiateWithParams(graph, params))
    same(params.result_out, rt.member("GraphInstantiateResult", "GraphInstantiateSuccess"), "the result")
    ok(rt.GraphExecDestroy(executable))
    ok(rt.GraphAddDependencies(graph, [b], [a], None, 1))
    fails(rt.GraphInstantiateWithParams(graph, params), "InvalidValue")
    same(
        int(params.result_out),
        int(rt.member("GraphInstantiateResult", "GraphInstantiateInvalidStructure")),
        "the result",
    )


@case(
    "graph.instantiate.flags",
    about="GraphInstantiateWithFlags GraphExecGetFlags",
    rule="contract of infinirtGraphExecGetFlags",
)
def flags(t: Bench) -> None:
    """An executable graph keeps its flags; ones that do not exist are refused."""
    graph = new_graph(t)
    empty(graph)
    auto = int(rt.member("GraphInstantiateFlags", "GraphInstantiateFlagAutoFreeOnLaunch"))
    for each in (0, auto):
        same(int(ok(rt.GraphExecGetFlags(instantiate(t, graph, each)))), each, "the flags")
    fails(rt.GraphInstantiate(graph, 64), "InvalidValue")


@case(
    "graph.instantiate.empty",
    about="GraphInstantiate GraphLaunch",
    rule="contract of infinirtGraphInstantiate",
)
def empty_graph(t: Bench) -> None:
    """A graph without nodes can be instantiated and launched."""
    run(instantiate(t, new_graph(t)), t.stream())


@case(
    "graph.destroy.executable-lives",
    about="GraphDestroy GraphLaunch",
    rule="contract of infinirtGraphInstantiate",
)
def executable_lives(t: Bench) -> None:
    """An executable graph lives on when its graph is destroyed."""
    graph, calls = ok(rt.GraphCreate(0)), t.calls()
    add_host(graph, calls.address, 7)
    executable = instantiate(t, graph)
    ok(rt.GraphDestroy(graph))
    run(executable, t.stream())
    same(calls.seen, [7], "the calls")


@case(
    "graph.generic-node",
    about="GraphAddNode GraphNodeSetParams GraphExecNodeSetParams",
    rule="contract of infinirtGraphAddNode",
)
def generic(t: Bench) -> None:
    """A node is added and changed through the general parameters."""
    graph, memory, stream = new_graph(t), t.memory(16, fill=0), t.stream()
    params = rt.GraphNodeParams()
    params.type = rt.member("GraphNodeType", "GraphNodeTypeMemset")
    params.memset.dst, params.memset.value = memory, 0x0102
    params.memset.elementSize, params.memset.width, params.memset.height = 2, 8, 1
    node = ok(rt.GraphAddNode(graph, None, None, 0, params))
    executable = instantiate(t, graph)
    run(executable, stream)
    same(download(memory, 16), b"\2\1" * 8, "what the node set")
    params.memset.value = 0x0304
    ok(rt.GraphNodeSetParams(node, params))
    ok(rt.GraphExecNodeSetParams(executable, node, params))
    run(executable, stream)
    same(download(memory, 16), b"\4\3" * 8, "what the changed node set")


@case(
    "graph.null",
    about="GraphDestroy GraphInstantiate GraphLaunch GraphClone GraphExecDestroy",
    rule="measured: null graphs are 1",
)
def null(t: Bench) -> None:
    """Null graphs are an invalid value in every function."""
    for result in (
        rt.GraphDestroy(0),
        rt.GraphExecDestroy(0),
        rt.GraphInstantiate(0, 0),
        rt.GraphLaunch(0, 0),
        rt.GraphClone(0),
    ):
        same(code_of(result), 1, "the code")
