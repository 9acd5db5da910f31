"""Launches of graphs: order, repetition, concurrency."""

from __future__ import annotations

from ..bench import D2D, Bench, download
from ..case import Register
from ..check import fails, holds, ok, rt, same
from .graph import add_host, empty, instantiate, new_graph, run, set_params

case = Register("graph", "full")


@case(
    "graph.launch.dependencies", about="GraphLaunch GraphAddHostNode", rule="contract of infinirtGraphLaunch"
)
def dependencies(t: Bench) -> None:
    """Every node runs after what it depends on, at every launch."""
    graph, calls, stream = new_graph(t), t.calls(), t.stream()
    a = add_host(graph, calls.address, 1)
    b, c = add_host(graph, calls.address, 2, a), add_host(graph, calls.address, 3, a)
    add_host(graph, calls.address, 4, b, c)
    executable = instantiate(t, graph)
    for _ in range(20):
        calls.seen.clear()
        run(executable, stream)
        holds(
            len(calls.seen) == 4 and calls.seen[0] == 1 and calls.seen[3] == 4,
            "1 first, 4 last, 2 and 3 between",
            calls.seen,
        )


@case(
    "graph.launch.data-order",
    about="GraphLaunch GraphAddMemcpyNode1D GraphAddMemsetNode",
    rule="contract of infinirtGraphLaunch",
)
def data_order(t: Bench) -> None:
    """A chain of thirty copies and sets gives what doing them one after another gives."""
    graph, one, two = new_graph(t), t.memory(64, fill=0), t.memory(64, fill=0)
    last = empty(graph)
    for i in range(30):
        last = ok(rt.GraphAddMemsetNode(graph, [last], 1, set_params(one, i + 1, 64)))
        last = ok(rt.GraphAddMemcpyNode1D(graph, [last], 1, two + 2 * i, one, 2, D2D))
    run(instantiate(t, graph), t.stream())
    expected = b"".join(bytes([i + 1]) * 2 for i in range(30)) + bytes(4)
    same(download(two, 64), expected, "what the chain left")


@case("graph.launch.again", about="GraphLaunch", rule="contract of infinirtGraphLaunch")
def again(t: Bench) -> None:
    """An executable graph is launched a hundred times, and does its work each time."""
    graph, calls, stream = new_graph(t), t.calls(), t.stream()
    add_host(graph, calls.address, 1)
    executable = instantiate(t, graph)
    for _ in range(100):
        ok(rt.GraphLaunch(executable, stream))
    ok(rt.StreamSynchronize(stream))
    same(len(calls.seen), 100, "the number of calls")


@case("graph.launch.returns", about="GraphLaunch", rule="contract of infinirtGraphLaunch: asynchronous")
def returns(t: Bench) -> None:
    """Launching a graph does not wait for the stream."""
    graph, calls, stream = new_graph(t), t.calls(), t.stream()
    add_host(graph, calls.address, 1)
    executable = instantiate(t, graph)
    t.returns(stream, lambda: rt.GraphLaunch(executable, stream))
    same(calls.seen, [1], "the calls")


@case(
    "graph.launch.stream-order",
    about="GraphLaunch MemsetAsync",
    rule="Streams: work of one stream runs in order",
)
def stream_order(t: Bench) -> None:
    """A graph runs after what its stream had, and what comes after it runs after the graph."""
    graph, one, two, stream = new_graph(t), t.memory(64, fill=0), t.memory(64, fill=0), t.stream()
    ok(rt.GraphAddMemcpyNode1D(graph, None, 0, two, one, 64, D2D))
    executable = instantiate(t, graph)
    gate = t.gate(stream)
    ok(rt.MemsetAsync(one, 5, 64, stream))
    ok(rt.GraphLaunch(executable, stream))
    ok(rt.MemsetAsync(one, 6, 64, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(download(two, 64), b"\5" * 64, "what the graph copied")


@case(
    "graph.launch.one-at-a-time",
    about="GraphLaunch",
    rule="Graphs: one executable graph runs at a time, ordered after its own earlier launches",
)
def one_at_a_time(t: Bench) -> None:
    """Launched on two streams, an executable graph runs after its own earlier launch."""
    graph, memory, one, two = new_graph(t), t.memory(64, fill=0), t.stream(), t.stream()
    ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 1, 64)))
    executable = instantiate(t, graph)
    gate = t.gate(one)
    ok(rt.GraphLaunch(executable, one))
    ok(rt.GraphLaunch(executable, two))
    fails(rt.StreamQuery(two), "NotReady")
    gate.open()
    ok(rt.StreamSynchronize(two))
    same(download(memory, 64), b"\1" * 64, "the memory")


@case("graph.launch.legacy", about="GraphLaunch", rule="Streams: the legacy default stream")
def legacy(t: Bench) -> None:
    """A graph launched on the legacy stream is ordered with blocking streams."""
    graph, memory, stream, result = (
        new_graph(t),
        t.memory(64, fill=0),
        t.blocking_stream(),
        t.memory(64, fill=9),
    )
    ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 1, 64)))
    executable = instantiate(t, graph)
    gate = t.gate(stream)
    ok(rt.GraphLaunch(executable, 0))
    ok(rt.MemcpyAsync(result, memory, 64, D2D, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(download(result, 64), b"\1" * 64, "what the blocking stream copied after the graph")


@case("graph.launch.upload", about="GraphUpload GraphLaunch", rule="contract of infinirtGraphUpload")
def upload(t: Bench) -> None:
    """A graph that was uploaded first runs just the same, and the upload runs nothing."""
    graph, calls, stream = new_graph(t), t.calls(), t.stream()
    add_host(graph, calls.address, 1)
    executable = instantiate(t, graph)
    ok(rt.GraphUpload(executable, stream))
    ok(rt.StreamSynchronize(stream))
    same(calls.seen, [], "the calls after the upload")
    run(executable, stream)
    same(calls.seen, [1], "the calls after the launch")


@case(
    "graph.launch.destroyed-while-running",
    about="GraphExecDestroy GraphLaunch",
    rule="measured: an executable graph is destroyed while it runs",
)
def destroyed(t: Bench) -> None:
    """An executable graph that is destroyed while it runs completes."""
    graph, calls, stream = new_graph(t), t.calls(), t.stream()
    add_host(graph, calls.address, 1)
    executable = ok(rt.GraphInstantiate(graph, 0))
    gate = t.gate(stream)
    ok(rt.GraphLaunch(executable, stream))
    ok(rt.GraphExecDestroy(executable))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(calls.seen, [1], "the calls")


@case("graph.launch.wide", about="GraphLaunch GraphAddMemsetNode", rule="contract of infinirtGraphLaunch")
def wide(t: Bench) -> None:
    """A graph of two hundred independent nodes runs them all."""
    graph, memory, stream = new_graph(t), t.memory(200 * 16, fill=0), t.stream()
    for i in range(200):
        ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory + 16 * i, i % 100 + 1, 16)))
    run(instantiate(t, graph), stream)
    same(download(memory, 3200), b"".join(bytes([i % 100 + 1]) * 16 for i in range(200)), "the memory")


@case(
    "graph.launch.changed-graph",
    about="GraphLaunch GraphMemsetNodeSetParams",
    rule="contract of infinirtGraphInstantiate: a snapshot",
)
def changed(t: Bench) -> None:
    """Changing a graph does not change what was instantiated from it."""
    graph, memory = new_graph(t), t.memory(64, fill=0)
    node = ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 1, 64)))
    executable = instantiate(t, graph)
    ok(rt.GraphMemsetNodeSetParams(node, set_params(memory, 2, 64)))
    run(executable, t.stream())
    same(download(memory, 64), b"\1" * 64, "what the executable graph set")
