"""Graphs by capture and by construction, through the flat API."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from flat_api import HostFunction, download, fails, ok, rt, upload


def instantiate(graph: Any) -> Any:
    return ok(rt.GraphInstantiate(graph, 0))


def run(executable: Any, stream: Any) -> None:
    ok(rt.GraphLaunch(executable, stream))
    ok(rt.StreamSynchronize(stream))


def check_capture() -> None:
    stream = ok(rt.StreamCreate())
    pointer = ok(rt.Malloc(64))
    function = HostFunction()
    mode = rt.member("StreamCaptureMode", "StreamCaptureModeThreadLocal")
    active = rt.member("StreamCaptureStatus", "StreamCaptureStatusActive")
    none = rt.member("StreamCaptureStatus", "StreamCaptureStatusNone")
    upload(pointer, bytes(64))
    ok(rt.StreamBeginCapture(stream, mode))
    assert ok(rt.StreamIsCapturing(stream)) is active
    ok(rt.MemsetAsync(pointer, 6, 32, stream))
    ok(rt.LaunchHostFunc(stream, function.address, 5))
    status, number, graph, dependencies, edges, count = ok(rt.StreamGetCaptureInfo(stream))
    assert status == active
    assert number > 0
    assert graph != rt.Graph_t()
    assert len(dependencies) == len(edges) == count == 1
    graph = ok(rt.StreamEndCapture(stream))
    assert ok(rt.StreamIsCapturing(stream)) is none
    assert isinstance(graph, rt.Graph_t)
    nodes, count = ok(rt.GraphGetNodes(graph))
    assert (nodes, count) == ([], 2)
    assert download(pointer, 1) == b"\0"
    assert function.arguments == []
    executable = instantiate(graph)
    # The module that we compare with frees the argument of a captured host function after the first launch.
    run(executable, stream)
    assert download(pointer, 33) == b"\6" * 32 + b"\0"
    assert function.arguments == [5]
    ok(rt.GraphExecDestroy(executable))
    ok(rt.GraphDestroy(graph))
    ok(rt.Free(pointer))
    ok(rt.StreamDestroy(stream))


def check_capture_errors() -> None:
    stream = ok(rt.StreamCreate())
    relaxed = rt.member("StreamCaptureMode", "StreamCaptureModeRelaxed")
    fails(rt.StreamBeginCapture(rt.StreamLegacy, relaxed), "ErrorStreamCaptureUnsupported")
    fails(rt.StreamEndCapture(stream), "ErrorIllegalState")
    ok(rt.StreamBeginCapture(stream, relaxed))
    fails(rt.StreamBeginCapture(stream, relaxed), "ErrorIllegalState")
    fails(rt.StreamSynchronize(stream), "ErrorStreamCaptureUnsupported")
    invalid = rt.member("StreamCaptureStatus", "StreamCaptureStatusInvalidated")
    assert ok(rt.StreamIsCapturing(stream)) == invalid
    fails(rt.StreamEndCapture(stream), "ErrorStreamCaptureInvalidated")
    ok(rt.StreamSynchronize(stream))
    previous = ok(rt.ThreadExchangeStreamCaptureMode(relaxed))
    assert previous == rt.member("StreamCaptureMode", "StreamCaptureModeGlobal")
    assert ok(rt.ThreadExchangeStreamCaptureMode(previous)) == relaxed
    ok(rt.StreamDestroy(stream))


def check_capture_to_graph() -> None:
    stream = ok(rt.StreamCreate())
    pointer = ok(rt.Malloc(16))
    graph = ok(rt.GraphCreate(0))
    first = ok(rt.GraphAddEmptyNode(graph, None, 0))
    mode = rt.member("StreamCaptureMode", "StreamCaptureModeGlobal")
    ok(rt.StreamBeginCaptureToGraph(stream, graph, [first], None, 1, mode))
    ok(rt.MemsetAsync(pointer, 1, 16, stream))
    _, _, _, (last,), _, _ = ok(rt.StreamGetCaptureInfo(stream))
    flag = rt.member("StreamUpdateCaptureDependenciesFlags", "StreamSetCaptureDependencies")
    ok(rt.StreamUpdateCaptureDependencies(stream, [first, last], None, 2, flag))
    ok(rt.MemsetAsync(pointer, 2, 8, stream))
    assert ok(rt.StreamEndCapture(stream)) == graph
    assert ok(rt.GraphGetNodes(graph))[1] == 3
    assert ok(rt.GraphGetEdges(graph))[-1] == 3
    executable = instantiate(graph)
    run(executable, stream)
    assert download(pointer, 16) == b"\2" * 8 + b"\1" * 8
    ok(rt.GraphExecDestroy(executable))
    ok(rt.GraphDestroy(graph))
    ok(rt.Free(pointer))
    ok(rt.StreamDestroy(stream))


def memset_params(pointer: int, value: int, width: int) -> Any:
    params = rt.MemsetParams()
    params.dst = pointer
    params.value = value
    params.elementSize = 1
    params.width = width
    params.height = 1
    return params


def check_construction() -> None:
    stream = ok(rt.StreamCreate())
    one, two = ok(rt.Malloc(64)), ok(rt.Malloc(64))
    function = HostFunction()
    graph = ok(rt.GraphCreate(0))
    fill = ok(rt.GraphAddMemsetNode(graph, [], 0, memset_params(one, 3, 64)))
    device_to_device = rt.copy_kind("DeviceToDevice")
    copy = ok(rt.GraphAddMemcpyNode1D(graph, [fill], 1, two, one, 64, device_to_device))
    host_params = rt.HostNodeParams()
    host_params.fn = rt.HostFn_t(function.address)
    host_params.userData = 99
    call = ok(rt.GraphAddHostNode(graph, (copy,), 1, host_params))
    join = ok(rt.GraphAddEmptyNode(graph, None, 0))
    ok(rt.GraphAddDependencies(graph, [fill, call], [join, join], None, 2))
    for node, name in ((fill, "Memset"), (copy, "Memcpy"), (call, "Host"), (join, "Empty")):
        assert ok(rt.GraphNodeGetType(node)) is rt.member("GraphNodeType", f"GraphNodeType{name}")
    nodes, count = ok(rt.GraphGetNodes(graph, 4))
    assert count == 4
    assert set(nodes) == {fill, copy, call, join}
    assert ok(rt.GraphGetRootNodes(graph, 1)) == ([fill], 1)
    before, after, edges, count = ok(rt.GraphGetEdges(graph, 4))
    assert count == 4
    assert set(zip(before, after, strict=True)) == {(fill, copy), (copy, call), (fill, join), (call, join)}
    assert [edge.type for edge in edges] == [0] * 4
    dependencies, _, count = ok(rt.GraphNodeGetDependencies(join, 2))
    assert (set(dependencies), count) == ({fill, call}, 2)
    dependents, _, count = ok(rt.GraphNodeGetDependentNodes(fill, 2))
    assert (set(dependents), count) == ({copy, join}, 2)
    ok(rt.GraphRemoveDependencies(graph, [fill], [join], None, 1))
    assert ok(rt.GraphGetEdges(graph))[-1] == 3
    ok(rt.GraphDestroyNode(join))
    assert ok(rt.GraphGetNodes(graph))[1] == 3

    params = ok(rt.GraphMemsetNodeGetParams(fill))
    assert (params.dst, params.value, params.width) == (one, 3, 64)
    assert ok(rt.GraphHostNodeGetParams(call)).userData == 99
    executable = instantiate(graph)
    for launch in range(1, 4):
        run(executable, stream)
        assert function.arguments == [99] * launch
    assert download(two, 64) == b"\3" * 64

    ok(rt.GraphExecMemsetNodeSetParams(executable, fill, memset_params(one, 4, 64)))
    ok(rt.GraphExecMemcpyNodeSetParams1D(executable, copy, two, one, 32, device_to_device))
    host_params.userData = 7
    ok(rt.GraphExecHostNodeSetParams(executable, call, host_params))
    ok(rt.GraphUpload(executable, stream))
    run(executable, stream)
    assert download(two, 64) == b"\4" * 32 + b"\3" * 32
    assert function.arguments[-1] == 7
    assert ok(rt.GraphExecGetFlags(executable)) == 0

    ok(rt.GraphNodeSetEnabled(executable, fill, 0))
    assert ok(rt.GraphNodeGetEnabled(executable, fill)) == 0
    ok(rt.Memset(one, 0, 64))
    run(executable, stream)
    assert download(two, 64) == b"\0" * 32 + b"\3" * 32
    for handle in (one, two):
        ok(rt.Free(handle))
    ok(rt.GraphExecDestroy(executable))
    ok(rt.GraphDestroy(graph))
    ok(rt.StreamDestroy(stream))


def check_generic_nodes() -> None:
    stream = ok(rt.StreamCreate())
    event = ok(rt.EventCreate())
    pointer = ok(rt.Malloc(16))
    graph = ok(rt.GraphCreate(0))
    params = rt.GraphNodeParams()
    params.type = rt.member("GraphNodeType", "GraphNodeTypeMemset")
    params.memset.dst = pointer
    params.memset.value = 0x0102
    params.memset.elementSize = 2
    params.memset.width = 8
    params.memset.height = 1
    node = ok(rt.GraphAddNode(graph, None, None, 0, params))
    record = ok(rt.GraphAddEventRecordNode(graph, [node], 1, event))
    wait = ok(rt.GraphAddEventWaitNode(graph, [record], 1, event))
    assert ok(rt.GraphEventRecordNodeGetEvent(record)) == event
    assert ok(rt.GraphEventWaitNodeGetEvent(wait)) == event
    executable = instantiate(graph)
    run(executable, stream)
    assert download(pointer, 16) == b"\2\1" * 8
    ok(rt.EventQuery(event))
    params.memset.value = 0x0304
    ok(rt.GraphNodeSetParams(node, params))
    ok(rt.GraphExecNodeSetParams(executable, node, params))
    run(executable, stream)
    assert download(pointer, 16) == b"\4\3" * 8
    info = ok(rt.GraphExecUpdate(executable, graph))
    assert info.result == rt.member("GraphExecUpdateResult", "GraphExecUpdateSuccess")
    ok(rt.GraphExecDestroy(executable))
    ok(rt.GraphDestroy(graph))
    ok(rt.EventDestroy(event))
    ok(rt.Free(pointer))
    ok(rt.StreamDestroy(stream))


def check_clone_and_child_graph() -> None:
    stream = ok(rt.StreamCreate())
    function = HostFunction()
    inner = ok(rt.GraphCreate(0))
    params = rt.HostNodeParams()
    params.fn = function.address
    params.userData = 1
    node = ok(rt.GraphAddHostNode(inner, None, 0, params))
    clone = ok(rt.GraphClone(inner))
    found = ok(rt.GraphNodeFindInClone(node, clone))
    assert found != node
    params.userData = 2
    ok(rt.GraphHostNodeSetParams(found, params))
    outer = ok(rt.GraphCreate(0))
    first = ok(rt.GraphAddChildGraphNode(outer, None, 0, inner))
    ok(rt.GraphAddChildGraphNode(outer, [first], 1, clone))
    assert ok(rt.GraphChildGraphNodeGetGraph(first)) != inner
    instantiation = rt.GraphInstantiateParams()
    executable = ok(rt.GraphInstantiateWithParams(outer, instantiation))
    assert instantiation.result_out == rt.member("GraphInstantiateResult", "GraphInstantiateSuccess")
    run(executable, stream)
    assert function.arguments == [1, 2]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "graph.dot")
        ok(rt.GraphDebugDotPrint(outer, str(path).encode(), 0))
        assert path.read_text().lstrip().startswith("digraph")
    ok(rt.GraphExecDestroy(executable))
    for graph in (inner, clone, outer):
        ok(rt.GraphDestroy(graph))
    ok(rt.StreamDestroy(stream))


def check_graph_memory() -> None:
    stream = ok(rt.StreamCreate())
    graph = ok(rt.GraphCreate(0))
    params = rt.MemAllocNodeParams()
    params.poolProps.allocType = rt.member("MemAllocationType", "MemAllocationTypePinned")
    params.poolProps.location.type = rt.member("MemLocationType", "MemLocationTypeDevice")
    params.bytesize = 4096
    allocation = ok(rt.GraphAddMemAllocNode(graph, None, 0, params))
    assert params.dptr != 0
    assert ok(rt.GraphMemAllocNodeGetParams(allocation)).dptr == params.dptr
    kept = ok(rt.Malloc(16))
    fill = ok(rt.GraphAddMemsetNode(graph, [allocation], 1, memset_params(params.dptr, 5, 16)))
    kind = rt.copy_kind("DeviceToDevice")
    copy = ok(rt.GraphAddMemcpyNode1D(graph, [fill], 1, kept, params.dptr, 16, kind))
    free = ok(rt.GraphAddMemFreeNode(graph, [copy], 1, params.dptr))
    assert ok(rt.GraphMemFreeNodeGetParams(free)) == params.dptr
    executable = instantiate(graph)
    fails(rt.GraphInstantiate(graph, 0), "ErrorNotSupported")
    for _ in range(2):
        run(executable, stream)
    assert download(kept, 16) == b"\5" * 16
    attribute = rt.member("GraphMemAttributeType", "GraphMemAttrUsedMemCurrent")
    assert int(ok(rt.DeviceGetGraphMemAttribute(0, attribute))) >= 0
    high = rt.member("GraphMemAttributeType", "GraphMemAttrUsedMemHigh")
    ok(rt.DeviceSetGraphMemAttribute(0, high, rt.uint64(0)))
    ok(rt.GraphExecDestroy(executable))
    ok(rt.GraphDestroy(graph))
    ok(rt.DeviceGraphMemTrim(0))
    ok(rt.Free(kept))
    ok(rt.StreamDestroy(stream))


def check_user_objects() -> None:
    function = HostFunction()
    no_destructor_sync = rt.member("UserObjectFlags", "UserObjectNoDestructorSync")
    thing = ok(rt.UserObjectCreate(1234, function.address, 1, no_destructor_sync))
    ok(rt.UserObjectRetain(thing, 2))
    ok(rt.UserObjectRelease(thing, 2))
    graph = ok(rt.GraphCreate(0))
    move = rt.member("UserObjectRetainFlags", "GraphUserObjectMove")
    ok(rt.GraphRetainUserObject(graph, thing, 1, move))
    assert function.arguments == []
    ok(rt.GraphDestroy(graph))
    ok(rt.DeviceSynchronize())
    # The destructor may run on a thread of the runtime.
    import time

    deadline = time.monotonic() + 10
    while not function.arguments and time.monotonic() < deadline:
        time.sleep(0.001)
    assert function.arguments == [1234]
