"""Nodes of graphs: what they do, and their parameters."""

from __future__ import annotations

from typing import Any

from ..bench import D2D, D2H, DISABLE_TIMING, H2D, Bench, download, pattern, peek, poke, upload
from ..case import Register
from ..check import fails, ok, rt, same, same_bytes
from .copy_shapes import parms, volume
from .graph import add_host, empty, host_params, instantiate, new_graph, run, set_params

case = Register("graph", "full")


@case("graph.node.set", about="GraphAddMemsetNode", rule="contract of infinirtGraphAddMemsetNode")
def set_node(t: Bench) -> None:
    """A set node sets elements of one, two and four bytes."""
    graph, stream = new_graph(t), t.stream()
    targets = [t.memory(64, fill=0) for _ in range(3)]
    for pointer, size, value in zip(targets, (1, 2, 4), (0x11, 0x2233, 0x44556677), strict=True):
        ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(pointer, value, 64 // size, size)))
    run(instantiate(t, graph), stream)
    for pointer, expected in zip(
        targets, (b"\x11" * 64, b"\x33\x22" * 32, b"\x77\x66\x55\x44" * 16), strict=True
    ):
        same(download(pointer, 64), expected, "the memory")


@case("graph.node.set-plane", about="GraphAddMemsetNode", rule="contract of infinirtGraphAddMemsetNode")
def set_plane(t: Bench) -> None:
    """A set node sets a plane and leaves what lies between the rows."""
    graph, memory = new_graph(t), t.memory(256, fill=1)
    ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 9, 40, 1, 4, 64)))
    run(instantiate(t, graph), t.stream())
    same_bytes(download(memory, 256), (b"\x09" * 40 + b"\1" * 24) * 4, "the plane")


@case("graph.node.copy", about="GraphAddMemcpyNode1D", rule="contract of infinirtGraphAddMemcpyNode1D")
def copy_node(t: Bench) -> None:
    """Copy nodes copy to the device, within it and back."""
    graph, stream = new_graph(t), t.stream()
    source, one, two, target = t.pinned(4096), t.memory(4096), t.memory(4096), t.pinned(4096)
    poke(source, pattern(4096, 21))
    up = ok(rt.GraphAddMemcpyNode1D(graph, None, 0, one, source, 4096, H2D))
    within = ok(rt.GraphAddMemcpyNode1D(graph, [up], 1, two, one, 4096, D2D))
    ok(rt.GraphAddMemcpyNode1D(graph, [within], 1, target, two, 4096, D2H))
    run(instantiate(t, graph), stream)
    same_bytes(peek(target, 4096), pattern(4096, 21), "what came back")


@case(
    "graph.node.copy-3d",
    about="GraphAddMemcpyNode GraphMemcpyNodeGetParams",
    rule="contract of infinirtGraphAddMemcpyNode",
)
def copy_3d(t: Bench) -> None:
    """A copy node copies a volume and gives its parameters back."""
    graph, one, two = new_graph(t), t.memory(512), t.memory(512, fill=1)
    upload(one, pattern(512, 3))
    made = parms(volume(one, 16, 16, 4), volume(two, 16, 16, 4), (16, 4, 8), D2D)
    node = ok(rt.GraphAddMemcpyNode(graph, None, 0, made))
    found = ok(rt.GraphMemcpyNodeGetParams(node))
    same((int(found.srcPtr.ptr), int(found.extent.depth)), (one, 8), "source and depth")
    run(instantiate(t, graph), t.stream())
    same_bytes(download(two, 512), pattern(512, 3), "the volume")


@case(
    "graph.node.host",
    about="GraphAddHostNode GraphHostNodeGetParams GraphHostNodeSetParams",
    rule="contract of infinirtGraphAddHostNode",
)
def host_node(t: Bench) -> None:
    """A host node calls its function at each launch; its parameters are read and changed."""
    graph, calls, stream = new_graph(t), t.calls(), t.stream()
    node = add_host(graph, calls.address, 31)
    same(int(ok(rt.GraphHostNodeGetParams(node)).userData), 31, "the parameter")
    executable = instantiate(t, graph)
    for _ in range(3):
        run(executable, stream)
    same(calls.seen, [31] * 3, "the calls")
    ok(rt.GraphHostNodeSetParams(node, host_params(calls.address, 32)))
    run(instantiate(t, graph), stream)
    same(calls.seen[-1], 32, "the last call")


@case(
    "graph.node.event-record",
    about="GraphAddEventRecordNode GraphEventRecordNodeGetEvent",
    rule="contract of infinirtGraphAddEventRecordNode",
)
def event_record(t: Bench) -> None:
    """An event node records its event at each launch."""
    graph, calls, stream, event = new_graph(t), t.calls(), t.stream(), t.event(DISABLE_TIMING)
    node = ok(rt.GraphAddEventRecordNode(graph, [add_host(graph, calls.address, 1)], 1, event))
    same(int(ok(rt.GraphEventRecordNodeGetEvent(node))), int(event), "the event")
    executable = instantiate(t, graph)
    gate = t.gate(stream)
    ok(rt.GraphLaunch(executable, stream))
    fails(rt.EventQuery(event), "NotReady")
    gate.open()
    ok(rt.EventSynchronize(event))
    same(calls.seen, [1], "the calls before the record")


@case(
    "graph.node.event-wait",
    about="GraphAddEventWaitNode GraphEventWaitNodeGetEvent",
    rule="contract of infinirtGraphAddEventWaitNode",
)
def event_wait(t: Bench) -> None:
    """A wait node waits for what the event stands for when the graph is launched."""
    graph, stream, busy, event = new_graph(t), t.stream(), t.stream(), t.event(DISABLE_TIMING)
    memory = t.memory(64, fill=1)
    node = ok(rt.GraphAddEventWaitNode(graph, None, 0, event))
    same(int(ok(rt.GraphEventWaitNodeGetEvent(node))), int(event), "the event")
    ok(rt.GraphAddMemsetNode(graph, [node], 1, set_params(memory, 2, 64)))
    executable = instantiate(t, graph)
    gate = t.gate(busy)
    ok(rt.EventRecord(event, busy))
    ok(rt.GraphLaunch(executable, stream))
    fails(rt.StreamQuery(stream), "NotReady")
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(download(memory, 64), b"\2" * 64, "the memory")


@case(
    "graph.node.event-changed",
    about="GraphEventRecordNodeSetEvent GraphEventWaitNodeSetEvent",
    rule="contract of infinirtGraphEventRecordNodeSetEvent",
)
def event_changed(t: Bench) -> None:
    """The event of an event node can be changed."""
    graph, one, two = new_graph(t), t.event(), t.event()
    record = ok(rt.GraphAddEventRecordNode(graph, None, 0, one))
    wait = ok(rt.GraphAddEventWaitNode(graph, None, 0, one))
    ok(rt.GraphEventRecordNodeSetEvent(record, two))
    ok(rt.GraphEventWaitNodeSetEvent(wait, two))
    same(int(ok(rt.GraphEventRecordNodeGetEvent(record))), int(two), "the event that is recorded")
    same(int(ok(rt.GraphEventWaitNodeGetEvent(wait))), int(two), "the event that is waited for")


@case(
    "graph.node.set-parameters",
    about="GraphMemsetNodeGetParams GraphMemsetNodeSetParams",
    rule="contract of infinirtGraphMemsetNodeSetParams",
)
def set_parameters(t: Bench) -> None:
    """The parameters of a set node are read and changed."""
    graph, memory = new_graph(t), t.memory(64, fill=0)
    node = ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 3, 64)))
    found = ok(rt.GraphMemsetNodeGetParams(node))
    same((int(found.dst), int(found.value), int(found.width)), (memory, 3, 64), "the parameters")
    ok(rt.GraphMemsetNodeSetParams(node, set_params(memory, 4, 32)))
    run(instantiate(t, graph), t.stream())
    same(download(memory, 64), b"\4" * 32 + bytes(32), "the memory")


@case(
    "graph.node.copy-parameters",
    about="GraphMemcpyNodeSetParams1D GraphMemcpyNodeSetParams",
    rule="contract of infinirtGraphMemcpyNodeSetParams1D",
)
def copy_parameters(t: Bench) -> None:
    """The parameters of a copy node are changed."""
    graph, one, two = new_graph(t), t.memory(64, fill=1), t.memory(64, fill=2)
    node = ok(rt.GraphAddMemcpyNode1D(graph, None, 0, one, two, 64, D2D))
    ok(rt.GraphMemcpyNodeSetParams1D(node, two, one, 32, D2D))
    run(instantiate(t, graph), t.stream())
    same(download(two, 64), b"\1" * 32 + b"\2" * 32, "the memory")
    ok(
        rt.GraphMemcpyNodeSetParams(
            node, parms(volume(two, 16, 16, 1), volume(one, 16, 16, 1), (16, 1, 1), D2D)
        )
    )


@case(
    "graph.exec.set",
    about="GraphExecMemsetNodeSetParams",
    rule="contract of infinirtGraphExecMemsetNodeSetParams",
)
def exec_set(t: Bench) -> None:
    """A set in an executable graph is changed without changing the graph."""
    graph, memory, stream = new_graph(t), t.memory(64, fill=0), t.stream()
    node = ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 3, 64)))
    executable = instantiate(t, graph)
    ok(rt.GraphExecMemsetNodeSetParams(executable, node, set_params(memory, 5, 32)))
    run(executable, stream)
    same(download(memory, 64), b"\5" * 32 + bytes(32), "the memory")
    same(int(ok(rt.GraphMemsetNodeGetParams(node)).value), 3, "the value in the graph")


@case(
    "graph.exec.copy",
    about="GraphExecMemcpyNodeSetParams1D",
    rule="contract of infinirtGraphExecMemcpyNodeSetParams1D",
)
def exec_copy(t: Bench) -> None:
    """A copy in an executable graph is changed; one that becomes another kind of copy is refused."""
    graph, one, two, stream = new_graph(t), t.memory(64, fill=1), t.memory(64, fill=2), t.stream()
    node = ok(rt.GraphAddMemcpyNode1D(graph, None, 0, one, two, 64, D2D))
    executable = instantiate(t, graph)
    ok(rt.GraphExecMemcpyNodeSetParams1D(executable, node, two, one, 64, D2D))
    run(executable, stream)
    same(download(two, 64), b"\1" * 64, "the memory")
    fails(rt.GraphExecMemcpyNodeSetParams1D(executable, node, two, t.pinned(64), 64, H2D), "InvalidValue")


@case(
    "graph.exec.host",
    about="GraphExecHostNodeSetParams",
    rule="contract of infinirtGraphExecHostNodeSetParams",
)
def exec_host(t: Bench) -> None:
    """A host function in an executable graph is changed."""
    graph, calls, stream = new_graph(t), t.calls(), t.stream()
    node = add_host(graph, calls.address, 1)
    executable = instantiate(t, graph)
    ok(rt.GraphExecHostNodeSetParams(executable, node, host_params(calls.address, 2)))
    run(executable, stream)
    same(calls.seen, [2], "the calls")


@case(
    "graph.exec.child",
    about="GraphExecChildGraphNodeSetParams",
    rule="contract of infinirtGraphExecChildGraphNodeSetParams",
)
def exec_child(t: Bench) -> None:
    """A child graph in an executable graph is changed to one of the same shape."""
    outer, one, two, calls, stream = new_graph(t), new_graph(t), new_graph(t), t.calls(), t.stream()
    add_host(one, calls.address, 1)
    add_host(two, calls.address, 2)
    node = ok(rt.GraphAddChildGraphNode(outer, None, 0, one))
    executable = instantiate(t, outer)
    ok(rt.GraphExecChildGraphNodeSetParams(executable, node, two))
    run(executable, stream)
    same(calls.seen, [2], "the calls")


@case(
    "graph.exec.event",
    about="GraphExecEventRecordNodeSetEvent GraphExecEventWaitNodeSetEvent",
    rule="contract of infinirtGraphExecEventRecordNodeSetEvent",
)
def exec_event(t: Bench) -> None:
    """The events of an executable graph are changed."""
    graph, one, two, stream = new_graph(t), t.event(DISABLE_TIMING), t.event(DISABLE_TIMING), t.stream()
    wait = ok(rt.GraphAddEventWaitNode(graph, None, 0, one))
    record = ok(rt.GraphAddEventRecordNode(graph, [wait], 1, one))
    executable = instantiate(t, graph)
    ok(rt.GraphExecEventRecordNodeSetEvent(executable, record, two))
    ok(rt.GraphExecEventWaitNodeSetEvent(executable, wait, one))
    gate = t.gate(stream)
    ok(rt.GraphLaunch(executable, stream))
    fails(rt.EventQuery(two), "NotReady")
    ok(rt.EventQuery(one))
    gate.open()
    ok(rt.EventSynchronize(two))


@case(
    "graph.exec.disabled",
    about="GraphNodeSetEnabled GraphNodeGetEnabled",
    rule="contract of infinirtGraphNodeSetEnabled",
)
def disabled(t: Bench) -> None:
    """A disabled node does nothing until it is enabled again."""
    graph, memory, stream = new_graph(t), t.memory(64, fill=0), t.stream()
    node = ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 3, 64)))
    executable = instantiate(t, graph)
    ok(rt.GraphNodeSetEnabled(executable, node, 0))
    same(int(ok(rt.GraphNodeGetEnabled(executable, node))), 0, "whether it is enabled")
    run(executable, stream)
    same(download(memory, 64), bytes(64), "the memory while it is disabled")
    ok(rt.GraphNodeSetEnabled(executable, node, 1))
    run(executable, stream)
    same(download(memory, 64), b"\3" * 64, "the memory when it is enabled")


@case(
    "graph.exec.disabled-empty",
    about="GraphNodeGetEnabled",
    rule="measured: whether an empty node is enabled is 1",
)
def disabled_empty(t: Bench) -> None:
    """Only nodes that do something can be disabled."""
    graph = new_graph(t)
    node = empty(graph)
    executable = instantiate(t, graph)
    fails(rt.GraphNodeSetEnabled(executable, node, 0), "InvalidValue")
    fails(rt.GraphNodeGetEnabled(executable, node), "InvalidValue")


def shaped(t: Bench, value: int, extra: bool = False) -> tuple[Any, int]:
    graph, memory = new_graph(t), t.memory(64, fill=0)
    node = ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, value, 64)))
    if extra:
        empty(graph, node)
    return graph, memory


@case("graph.exec.update", about="GraphExecUpdate", rule="contract of infinirtGraphExecUpdate")
def update(t: Bench) -> None:
    """An executable graph takes over the parameters of a graph of the same shape."""
    first, _ = shaped(t, 1)
    second, memory = shaped(t, 2)
    executable = instantiate(t, first)
    info = ok(rt.GraphExecUpdate(executable, second))
    same(int(info.result), 0, "the result (0: success)")
    run(executable, t.stream())
    same(download(memory, 64), b"\2" * 64, "the memory that the second graph sets")


@case("graph.exec.update-refused", about="GraphExecUpdate", rule="measured: another topology is 910")
def update_refused(t: Bench) -> None:
    """A graph of another shape is refused, and the executable graph stays as it was."""
    first, memory = shaped(t, 1)
    second, _ = shaped(t, 2, extra=True)
    executable = instantiate(t, first)
    fails(rt.GraphExecUpdate(executable, second), "GraphExecUpdateFailure")
    run(executable, t.stream())
    same(download(memory, 64), b"\1" * 64, "the memory that the first graph sets")
