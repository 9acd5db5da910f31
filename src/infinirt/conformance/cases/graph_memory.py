"""Memory that graphs allocate."""

from __future__ import annotations

from typing import Any

from infinirt import runtime

from ..bench import D2D, D2H, Bench, download, peek
from ..case import Register
from ..check import fails, holds, ok, rt, same
from .graph import instantiate, new_graph, node_count, run, set_params

case = Register("graph", "full")


def alloc_params(t: Bench, size: int) -> Any:
    made = rt.MemAllocNodeParams()
    made.poolProps.allocType = rt.member("MemAllocationType", "MemAllocationTypePinned")
    made.poolProps.location.type = rt.member("MemLocationType", "MemLocationTypeDevice")
    made.poolProps.location.id = t.ordinal
    made.bytesize = size
    return made


def scratch(t: Bench, out: int, frees: bool, size: int = 4096) -> tuple[Any, Any]:
    """A graph that allocates, sets, copies to `out` and perhaps frees; with the allocation's parameters."""
    graph, params = new_graph(t), alloc_params(t, size)
    node = ok(rt.GraphAddMemAllocNode(graph, None, 0, params))
    node = ok(rt.GraphAddMemsetNode(graph, [node], 1, set_params(int(params.dptr), 5, size)))
    node = ok(rt.GraphAddMemcpyNode1D(graph, [node], 1, out, int(params.dptr), size, D2D))
    if frees:
        ok(rt.GraphAddMemFreeNode(graph, [node], 1, int(params.dptr)))
    return graph, params


def attribute(t: Bench, name: str) -> int:
    return int(
        ok(
            rt.DeviceGetGraphMemAttribute(
                t.ordinal, rt.member("GraphMemAttributeType", f"GraphMemAttr{name}")
            )
        )
    )


@case(
    "graph.memory.used",
    about="GraphAddMemAllocNode GraphAddMemFreeNode",
    rule="contract of infinirtGraphAddMemAllocNode",
)
def used(t: Bench) -> None:
    """A graph uses memory of its own, at each of its launches."""
    out, stream = t.memory(4096, fill=0), t.stream()
    graph, _ = scratch(t, out, True)
    executable = instantiate(t, graph)
    for _ in range(5):
        ok(rt.MemsetAsync(out, 0, 4096, stream))
        run(executable, stream)
        same(download(out, 4096), b"\5" * 4096, "what the graph left")


@case(
    "graph.memory.parameters",
    about="GraphMemAllocNodeGetParams GraphMemFreeNodeGetParams",
    rule="contract of infinirtGraphMemAllocNodeGetParams",
)
def parameters(t: Bench) -> None:
    """Allocation and free nodes tell their address."""
    graph, params = new_graph(t), alloc_params(t, 4096)
    allocation = ok(rt.GraphAddMemAllocNode(graph, None, 0, params))
    holds(int(params.dptr) != 0, "an address at once")
    free = ok(rt.GraphAddMemFreeNode(graph, [allocation], 1, int(params.dptr)))
    found = ok(rt.GraphMemAllocNodeGetParams(allocation))
    same((int(found.dptr), int(found.bytesize)), (int(params.dptr), 4096), "address and size")
    same(int(ok(rt.GraphMemFreeNodeGetParams(free))), int(params.dptr), "the address that is freed")


@case(
    "graph.memory.one-instance",
    about="GraphInstantiate GraphAddMemAllocNode",
    rule="Measured: a second instantiation of a graph that allocates is 801",
)
def one_instance(t: Bench) -> None:
    """A graph that allocates is instantiated once at a time."""
    graph, _ = scratch(t, t.memory(4096), True)
    executable = ok(rt.GraphInstantiate(graph, 0))
    fails(rt.GraphInstantiate(graph, 0), "NotSupported")
    ok(rt.GraphExecDestroy(executable))
    instantiate(t, graph)


@case(
    "graph.memory.not-cloned",
    about="GraphClone GraphAddChildGraphNode GraphDestroyNode",
    rule="measured: cloning, embedding or cutting a graph that allocates is 801",
)
def not_cloned(t: Bench) -> None:
    """A graph that allocates is neither cloned nor embedded, and keeps its nodes."""
    graph, _ = scratch(t, t.memory(4096), True)
    fails(rt.GraphClone(graph), "NotSupported")
    fails(rt.GraphAddChildGraphNode(new_graph(t), None, 0, graph), "NotSupported")
    fails(rt.GraphDestroyNode(ok(rt.GraphGetNodes(graph, 4))[0][2]), "NotSupported")


@case(
    "graph.memory.left-behind",
    about="GraphLaunch FreeAsync",
    rule="Graphs: unfreed graph allocations make a relaunch InvalidValue",
)
def left_behind(t: Bench) -> None:
    """A graph that leaves memory behind is not launched again before that is freed."""
    stream = t.stream()
    graph, params = scratch(t, t.memory(4096), False)
    executable = instantiate(t, graph)
    run(executable, stream)
    fails(rt.GraphLaunch(executable, stream), "InvalidValue")
    same(download(int(params.dptr), 4096), b"\5" * 4096, "the memory left behind")
    ok(rt.FreeAsync(int(params.dptr), stream))
    run(executable, stream)
    ok(rt.FreeAsync(int(params.dptr), stream))
    ok(rt.StreamSynchronize(stream))


@case(
    "graph.memory.auto-free", about="GraphInstantiateWithFlags GraphLaunch", rule="Graphs: AutoFreeOnLaunch"
)
def auto_free(t: Bench) -> None:
    """With the flag for it a relaunch frees what was left behind."""
    stream, out = t.stream(), t.memory(4096, fill=0)
    graph, params = scratch(t, out, False)
    flag = int(rt.member("GraphInstantiateFlags", "GraphInstantiateFlagAutoFreeOnLaunch"))
    executable = ok(rt.GraphInstantiateWithFlags(graph, flag))
    for _ in range(3):
        run(executable, stream)
    ok(rt.FreeAsync(int(params.dptr), stream))
    ok(rt.StreamSynchronize(stream))
    ok(rt.GraphExecDestroy(executable))
    same(download(out, 4096), b"\5" * 4096, "what the graph left")


@case(
    "graph.memory.freed-by-another",
    about="GraphAddMemFreeNode GraphLaunch",
    rule="contract of infinirtGraphAddMemFreeNode",
)
def freed_by_another(t: Bench) -> None:
    """Another graph may free what one allocates."""
    stream = t.stream()
    graph, params = scratch(t, t.memory(4096), False)
    cleaner = new_graph(t)
    ok(rt.GraphAddMemFreeNode(cleaner, None, 0, int(params.dptr)))
    allocates, frees = instantiate(t, graph), instantiate(t, cleaner)
    for _ in range(3):
        ok(rt.GraphLaunch(allocates, stream))
        ok(rt.GraphLaunch(frees, stream))
    ok(rt.StreamSynchronize(stream))


@case(
    "graph.memory.captured",
    about="MallocAsync FreeAsync StreamEndCapture",
    rule="Graphs: MallocAsync in capture makes a graph-owned allocation node",
)
def captured(t: Bench) -> None:
    """Allocation and free in a capture become nodes of the graph."""
    stream, pinned = t.stream(), t.pinned(4096)
    ok(rt.StreamBeginCapture(stream, rt.StreamCaptureMode(0)))
    pointer = ok(rt.MallocAsync(4096, stream))
    ok(rt.MemsetAsync(pointer, 6, 4096, stream))
    ok(rt.MemcpyAsync(pinned, pointer, 4096, D2H, stream))
    ok(rt.FreeAsync(pointer, stream))
    graph = ok(rt.StreamEndCapture(stream))
    t.later(lambda: ok(rt.GraphDestroy(graph)))
    nodes = ok(rt.GraphGetNodes(graph, 4))[0]
    kinds = [int(ok(rt.GraphNodeGetType(node))) for node in nodes]
    same((kinds[0], kinds[-1]), (10, 11), "the first and the last kind (10: allocation, 11: free)")
    executable = instantiate(t, graph)
    for _ in range(3):
        run(executable, stream)
    same(peek(pinned, 4096), b"\6" * 4096, "what the graph left")


@case(
    "graph.memory.capture-frees-own-only",
    about="FreeAsync",
    rule="Graphs: FreeAsync in a capture must take a graph allocation",
)
def own_only(t: Bench) -> None:
    """In a capture only memory of graphs is freed; the capture goes on."""
    stream = t.stream()
    pooled = ok(rt.MallocAsync(4096, stream))
    ok(rt.StreamSynchronize(stream))
    ok(rt.StreamBeginCapture(stream, rt.StreamCaptureMode(2)))
    fails(rt.FreeAsync(pooled, stream), "InvalidValue")
    ok(rt.GraphDestroy(ok(rt.StreamEndCapture(stream))))
    ok(rt.FreeAsync(pooled, stream))


@case(
    "graph.memory.too-much",
    about="GraphAddMemAllocNode",
    rule="contract of infinirtGraphAddMemAllocNode: 2 when there is not enough",
)
def too_much(t: Bench) -> None:
    """A node for more memory than any device has is out of memory and is not added; one for none is refused."""
    graph = new_graph(t)
    fails(rt.GraphAddMemAllocNode(graph, None, 0, alloc_params(t, 1 << 50)), "MemoryAllocation")
    fails(rt.GraphAddMemAllocNode(graph, None, 0, alloc_params(t, 0)), "InvalidValue")
    same(node_count(graph), 0, "the number of nodes")


@case(
    "graph.memory.capture-too-much",
    about="MallocAsync",
    rule="Traps: out-of-memory in capture surfaced as 901",
)
def capture_too_much(t: Bench) -> None:
    """Out of memory in a capture is reported as such, and the capture goes on."""
    stream = t.stream()
    ok(rt.StreamBeginCapture(stream, rt.StreamCaptureMode(0)))
    fails(rt.MallocAsync(1 << 45, stream), "MemoryAllocation")
    pointer = ok(rt.MallocAsync(4096, stream))
    ok(rt.FreeAsync(pointer, stream))
    ok(rt.GraphDestroy(ok(rt.StreamEndCapture(stream))))


@case(
    "graph.memory.attributes",
    about="DeviceGetGraphMemAttribute DeviceSetGraphMemAttribute",
    rule="contract of infinirtDeviceGetGraphMemAttribute",
)
def attributes(t: Bench) -> None:
    """A device tells how much memory graphs use; high marks can be set to 0 and nothing else."""
    graph, _ = scratch(t, t.memory(1 << 20), True, 1 << 20)
    run(instantiate(t, graph), t.stream())
    holds(
        attribute(t, "UsedMemHigh") >= 1 << 20, "a high mark of at least 1 MiB", attribute(t, "UsedMemHigh")
    )
    high = rt.member("GraphMemAttributeType", "GraphMemAttrUsedMemHigh")
    current = rt.member("GraphMemAttributeType", "GraphMemAttrUsedMemCurrent")
    fails(rt.DeviceSetGraphMemAttribute(t.ordinal, high, runtime.cuuint64_t(1)), "InvalidValue")
    fails(rt.DeviceSetGraphMemAttribute(t.ordinal, current, runtime.cuuint64_t(0)), "InvalidValue")
    ok(rt.DeviceSetGraphMemAttribute(t.ordinal, high, runtime.cuuint64_t(0)))


@case("graph.memory.trim", about="DeviceGraphMemTrim", rule="contract of infinirtDeviceGraphMemTrim")
def trim(t: Bench) -> None:
    """Memory of graphs that are gone goes back when it is trimmed."""
    ok(rt.DeviceGraphMemTrim(t.ordinal))
    before, stream = attribute(t, "ReservedMemCurrent"), t.stream()
    params = alloc_params(t, 8 << 20)
    graph = ok(rt.GraphCreate(0))
    node = ok(rt.GraphAddMemAllocNode(graph, None, 0, params))
    ok(rt.GraphAddMemFreeNode(graph, [node], 1, int(params.dptr)))
    executable = ok(rt.GraphInstantiate(graph, 0))
    run(executable, stream)
    ok(rt.GraphExecDestroy(executable))
    ok(rt.GraphDestroy(graph))
    ok(rt.DeviceGraphMemTrim(t.ordinal))
    same(attribute(t, "ReservedMemCurrent"), before, "reserved memory of graphs afterwards")


@case(
    "graph.memory.failed-capture",
    about="MallocAsync DeviceGraphMemTrim",
    rule="Traps: a failed capture leaked its pool",
)
def failed_capture(t: Bench) -> None:
    """A capture that fails gives its memory back."""
    ok(rt.DeviceGraphMemTrim(t.ordinal))
    before, stream = attribute(t, "ReservedMemCurrent"), t.stream()
    for _ in range(3):
        ok(rt.StreamBeginCapture(stream, rt.StreamCaptureMode(0)))
        ok(rt.MallocAsync(8 << 20, stream))
        fails(rt.StreamQuery(stream), "StreamCaptureUnsupported")
        fails(rt.StreamEndCapture(stream), "StreamCaptureInvalidated")
    ok(rt.DeviceGraphMemTrim(t.ordinal))
    same(attribute(t, "ReservedMemCurrent"), before, "reserved memory of graphs afterwards")
