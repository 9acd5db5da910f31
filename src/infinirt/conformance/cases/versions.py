"""Functions that came in a second or third version, and a few that nothing else here calls."""

from __future__ import annotations

from ..bench import D2D, Bench, download, pattern, soon, upload
from ..case import Register
from ..check import fails, holds, ok, rt, same, same_bytes
from .capture import ACTIVE, begin, end
from .copy_shapes import parms, volume
from .graph import edge_count, empty, instantiate, new_graph, run, set_params
from .managed import SIZE, managed, range_attribute
from .pool import location

graph_case = Register("graph", "full")
capture_case = Register("capture", "full")
managed_case = Register("managed", "full")
device_case = Register("device", "full")


@graph_case(
    "graph.v2.edges",
    about="GraphAddDependencies_v2 GraphGetEdges_v2 GraphRemoveDependencies_v2",
    rule="contract of infinirtGraphAddDependencies_v2",
)
def edges(t: Bench) -> None:
    """Edges with data are added, listed and removed like plain ones."""
    graph = new_graph(t)
    a, b = empty(graph), empty(graph)
    plain = rt.GraphEdgeData()
    ok(rt.GraphAddDependencies_v2(graph, [a], [b], [plain], 1))
    before, after, data, count = ok(rt.GraphGetEdges_v2(graph, 1))
    same((int(before[0]), int(after[0]), int(count)), (int(a), int(b), 1), "the edge")
    same(int(data[0].type), 0, "the kind of edge (0: plain)")
    ok(rt.GraphRemoveDependencies_v2(graph, [a], [b], [plain], 1))
    same(edge_count(graph), 0, "the number of edges")


@graph_case(
    "graph.v2.neighbours",
    about="GraphNodeGetDependencies_v2 GraphNodeGetDependentNodes_v2",
    rule="contract of infinirtGraphNodeGetDependencies_v2",
)
def neighbours(t: Bench) -> None:
    """A node's neighbours are listed with the data of their edges."""
    graph = new_graph(t)
    a = empty(graph)
    b = empty(graph, a)
    nodes, data, count = ok(rt.GraphNodeGetDependencies_v2(b, 1))
    same((int(nodes[0]), len(data), int(count)), (int(a), 1, 1), "what it depends on")
    nodes, data, count = ok(rt.GraphNodeGetDependentNodes_v2(a, 1))
    same((int(nodes[0]), len(data), int(count)), (int(b), 1, 1), "what depends on it")


@graph_case("graph.v2.node", about="GraphAddNode_v2", rule="contract of infinirtGraphAddNode_v2")
def node(t: Bench) -> None:
    """A node is added with the data of its edges."""
    graph, memory = new_graph(t), t.memory(16, fill=0)
    params = rt.GraphNodeParams()
    params.type = rt.member("GraphNodeType", "GraphNodeTypeMemset")
    params.memset.dst, params.memset.value = memory, 6
    params.memset.elementSize, params.memset.width, params.memset.height = 1, 16, 1
    ok(rt.GraphAddNode_v2(graph, [empty(graph)], [rt.GraphEdgeData()], 1, params))
    run(instantiate(t, graph), t.stream())
    same(download(memory, 16), b"\6" * 16, "what the node set")


@graph_case(
    "graph.exec.copy-params",
    about="GraphExecMemcpyNodeSetParams",
    rule="contract of infinirtGraphExecMemcpyNodeSetParams",
)
def exec_copy(t: Bench) -> None:
    """A copy in an executable graph is changed; only copies of one row can be."""
    graph, one, two = new_graph(t), t.memory(512), t.memory(512, fill=1)
    upload(one, pattern(512, 8))
    shape = (512, 1, 1)
    made = ok(
        rt.GraphAddMemcpyNode(
            graph, None, 0, parms(volume(two, 512, 512, 1), volume(one, 512, 512, 1), shape, D2D)
        )
    )
    executable = instantiate(t, graph)
    ok(
        rt.GraphExecMemcpyNodeSetParams(
            executable, made, parms(volume(one, 512, 512, 1), volume(two, 512, 512, 1), shape, D2D)
        )
    )
    fails(
        rt.GraphExecMemcpyNodeSetParams(
            executable, made, parms(volume(one, 16, 16, 4), volume(two, 16, 16, 4), (16, 4, 8), D2D)
        ),
        "InvalidValue",
    )
    run(executable, t.stream())
    same_bytes(download(two, 512), pattern(512, 8), "the volume")


@graph_case(
    "graph.user-object.released",
    about="GraphRetainUserObject GraphReleaseUserObject",
    rule="contract of infinirtGraphReleaseUserObject",
)
def released(t: Bench) -> None:
    """A graph gives a user object up before it goes itself."""
    calls, graph = t.calls(), new_graph(t)
    flag = rt.member("UserObjectFlags", "UserObjectNoDestructorSync")
    thing = ok(rt.UserObjectCreate(9, calls.address, 1, flag))
    ok(rt.GraphRetainUserObject(graph, thing, 1, rt.member("UserObjectRetainFlags", "GraphUserObjectMove")))
    ok(rt.GraphReleaseUserObject(graph, thing, 1))
    soon(lambda: calls.seen == [9], "the object to be destroyed with its last reference")


@capture_case(
    "capture.v3.info", about="StreamGetCaptureInfo_v3", rule="contract of infinirtStreamGetCaptureInfo_v3"
)
def info(t: Bench) -> None:
    """A capture tells what the next node will depend on, with the data of the edges."""
    stream, memory = t.stream(), t.memory(64)
    begin(stream)
    ok(rt.MemsetAsync(memory, 1, 64, stream))
    state, _, _, dependencies, data, count = ok(rt.StreamGetCaptureInfo_v3(stream))
    same((int(state), len(dependencies), len(data), int(count)), (ACTIVE, 1, 1, 1), "state and dependencies")
    end(t, stream)


@capture_case(
    "capture.v2.update-dependencies",
    about="StreamUpdateCaptureDependencies_v2",
    rule="contract of infinirtStreamUpdateCaptureDependencies_v2",
)
def update(t: Bench) -> None:
    """The nodes that the next one depends on are set with the data of the edges."""
    graph, stream, memory = new_graph(t), t.stream(), t.memory(64)
    first = empty(graph)
    ok(rt.StreamBeginCaptureToGraph(stream, graph, None, None, 0, rt.StreamCaptureMode(0)))
    flag = rt.member("StreamUpdateCaptureDependenciesFlags", "StreamAddCaptureDependencies")
    ok(rt.StreamUpdateCaptureDependencies_v2(stream, [first], [rt.GraphEdgeData()], 1, flag))
    ok(rt.MemsetAsync(memory, 1, 64, stream))
    ok(rt.StreamEndCapture(stream))
    same(edge_count(graph), 1, "the number of edges")


@managed_case(
    "managed.v2.advice",
    about="MallocManaged MemAdvise_v2 MemPrefetchAsync_v2",
    rule="contract of infinirtMemAdvise_v2",
)
def advice(t: Bench) -> None:
    """Advice and prefetches to a location are remembered."""
    pointer, stream, here = managed(t), t.stream(), location(1, t.ordinal)
    ok(rt.MemAdvise_v2(pointer, SIZE, rt.member("MemoryAdvise", "MemAdviseSetPreferredLocation"), here))
    same(range_attribute(pointer, "PreferredLocation"), t.ordinal, "the preferred location")
    ok(rt.MemPrefetchAsync_v2(pointer, SIZE, here, 0, stream))
    ok(rt.StreamSynchronize(stream))
    same(range_attribute(pointer, "LastPrefetchLocation"), t.ordinal, "the last prefetch")


event_case = Register("event", "full")


@event_case("event.v2.elapsed", about="EventElapsedTime_v2", rule="contract of infinirtEventElapsedTime_v2")
def elapsed(t: Bench) -> None:
    """The second version of elapsed time tells what the first does."""
    stream, start, finish = t.stream(), t.event(), t.event()
    for event in (start, finish):
        ok(rt.EventRecord(event, stream))
    ok(rt.StreamSynchronize(stream))
    found = [float(ok(call(start, finish))) for call in (rt.EventElapsedTime, rt.EventElapsedTime_v2)]
    holds(abs(found[0] - found[1]) < 0.001, "the same time", found)


@device_case(
    "device.valid-devices", about="SetValidDevices", rule="contract of infinirtSetValidDevices", alone=True
)
def valid_devices(t: Bench) -> None:
    """A list of devices to choose from has devices that exist."""
    ok(rt.SetValidDevices([t.ordinal], 1))
    fails(rt.SetValidDevices([9999], 1), "InvalidDevice")


peer_case = Register("peer", "full")


@peer_case("peer.copy.3d-async", about="Memcpy3DPeerAsync", rule="contract of infinirtMemcpy3DPeerAsync")
def peer_volume(t: Bench) -> None:
    """A volume goes from one device to another in stream order."""
    other, stream = t.other_device(), t.stream()
    mine, theirs = t.memory(512, fill=1), t.on_device(other, lambda: t.memory(512, fill=2))
    p = rt.Memcpy3DPeerParms()
    p.srcPtr, p.dstPtr = volume(mine, 16, 16, 4), volume(theirs, 16, 16, 4)
    p.srcDevice, p.dstDevice = t.ordinal, other
    p.extent = rt.make("Extent")(16, 4, 8)
    gate = t.gate(stream)
    ok(rt.MemsetAsync(mine, 7, 512, stream))
    ok(rt.Memcpy3DPeerAsync(p, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(download(theirs, 512), b"\7" * 512, "the volume on the other device")


kernel_case = Register("kernel", "full")


@kernel_case(
    "kernel.library.no-file",
    about="LibraryLoadFromFile",
    rule="contract of infinirtLibraryLoadFromFile: 301 for no file",
)
def no_file(t: Bench) -> None:
    """A library of kernels that does not exist is not loaded."""
    fails(rt.LibraryLoadFromFile(b"/nonexistent/kernels.so", [], [], 0, [], [], 0), "FileNotFound")


@graph_case(
    "graph.v2.set-node-order",
    about="GraphAddDependencies_v2 GraphLaunch",
    rule="contract of infinirtGraphAddDependencies_v2",
)
def edges_order(t: Bench) -> None:
    """An edge with plain data orders two nodes."""
    graph, memory = new_graph(t), t.memory(64, fill=0)
    first = ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 1, 64)))
    second = ok(rt.GraphAddMemsetNode(graph, None, 0, set_params(memory, 2, 64)))
    ok(rt.GraphAddDependencies_v2(graph, [first], [second], [rt.GraphEdgeData()], 1))
    executable = instantiate(t, graph)
    for _ in range(10):
        run(executable, t.stream())
        same(download(memory, 64), b"\2" * 64, "the memory")
