"""Edge cases of graphs: structure, nodes, executable graphs and their updates."""

from __future__ import annotations

import ctypes
import os
import tempfile
from typing import Any

from edge_support import Answer, Things, cases, code
from flat_api import ok, rt


def new_graph() -> Any:
    return ok(rt.GraphCreate(0))


def empty(graph: Any, *before: Any) -> Any:
    return ok(rt.GraphAddEmptyNode(graph, list(before) or None, len(before)))


@cases
def graph_structure() -> dict[str, Answer]:
    graph, other = new_graph(), new_graph()
    a = empty(graph)
    b = empty(graph, a)
    c = empty(graph)
    foreign = empty(other)
    answers: dict[str, Answer] = {
        "create with flags": code(rt.GraphCreate(1)),
        "duplicate dependencies of a new node": code(rt.GraphAddEmptyNode(graph, [a, a], 2)),
        "dependency of another graph": code(rt.GraphAddEmptyNode(graph, [foreign], 1)),
        "edge again": code(rt.GraphAddDependencies(graph, [a], [b], None, 1)),
        "edge to itself": code(rt.GraphAddDependencies(graph, [a], [a], None, 1)),
        "edge to another graph": code(rt.GraphAddDependencies(graph, [a], [foreign], None, 1)),
        "no edges": code(rt.GraphAddDependencies(graph, None, None, None, 0)),
        "edge": code(rt.GraphAddDependencies(graph, [b], [c], None, 1)),
        "cycle": code(rt.GraphAddDependencies(graph, [c], [a], None, 1)),
        "instantiate a cycle": code(rt.GraphInstantiate(graph, 0)),
        "remove the edge": code(rt.GraphRemoveDependencies(graph, [c], [a], None, 1)),
        "remove an edge that is not there": code(rt.GraphRemoveDependencies(graph, [a], [c], None, 1)),
        "get nodes, too many asked": [int(rt.GraphGetNodes(graph, 10)[2])],
        "get nodes, few asked": [int(rt.GraphGetNodes(graph, 1)[2]), len(rt.GraphGetNodes(graph, 1)[1])],
        "get root nodes": [int(rt.GraphGetRootNodes(graph, 10)[2])],
        "edges": [int(rt.GraphGetEdges(graph, 10)[-1])],
        "destroy a node": code(rt.GraphDestroyNode(b)),
        "edges after that": [int(rt.GraphGetEdges(graph, 10)[-1])],
        "instantiate flags 64": code(rt.GraphInstantiate(graph, 64)),
        "instantiate": code(rt.GraphInstantiate(graph, 0)),
        "instantiate null": code(rt.GraphInstantiate(0, 0)),
        "launch null": code(rt.GraphLaunch(0, 0)),
        "destroy null": code(rt.GraphDestroy(0)),
        "destroy null executable": code(rt.GraphExecDestroy(0)),
        "clone null": code(rt.GraphClone(0)),
        "child": code(rt.GraphAddChildGraphNode(graph, None, 0, other)),
        "find in clone": code(rt.GraphNodeFindInClone(a, other)),
        "dot into a folder that is not there": code(
            rt.GraphDebugDotPrint(graph, b"/nonexistent/folder/x.dot", 0)
        ),
        "dot": code(rt.GraphDebugDotPrint(graph, os.fsencode(tempfile.mktemp(suffix=".dot")), 0)),
        "memset parameters of an empty node": code(rt.GraphMemsetNodeGetParams(a)),
        "host parameters of an empty node": code(rt.GraphHostNodeGetParams(a)),
        "copy parameters of an empty node": code(rt.GraphMemcpyNodeGetParams(a)),
        "kernel parameters of an empty node": code(rt.GraphKernelNodeGetParams(a)),
        "child graph of an empty node": code(rt.GraphChildGraphNodeGetGraph(a)),
        "event of an empty node": code(rt.GraphEventRecordNodeGetEvent(a)),
        "type": [int(x) for x in rt.GraphNodeGetType(a)],
    }
    executable = ok(rt.GraphInstantiate(graph, 0))
    answers |= {
        "flags of an executable": [int(x) for x in rt.GraphExecGetFlags(executable)],
        "enabled, an empty node": code(rt.GraphNodeGetEnabled(executable, a)),
        "disable an empty node": code(rt.GraphNodeSetEnabled(executable, a, 0)),
        "enabled, a node of another graph": code(rt.GraphNodeGetEnabled(executable, foreign)),
    }
    return answers


@cases
def graph_nodes() -> dict[str, Answer]:
    t = Things()
    graph = new_graph()
    device, other = int(t.device), int(t.other)
    d2d, h2d = rt.copy_kind("DeviceToDevice"), rt.copy_kind("HostToDevice")

    def memset(pointer: int, element: int = 1, width: int = 64, height: int = 1, pitch: int = 0) -> Any:
        made = rt.MemsetParams()
        made.dst, made.elementSize, made.width, made.height, made.pitch, made.value = (
            pointer,
            element,
            width,
            height,
            pitch,
            0,
        )
        return made

    answers: dict[str, Answer] = {}
    for element in (0, 1, 2, 3, 4, 8):
        answers[f"memset of elements of {element}"] = code(
            rt.GraphAddMemsetNode(graph, None, 0, memset(device, element, 16))
        )
    answers |= {
        "memset of nothing": code(rt.GraphAddMemsetNode(graph, None, 0, memset(device, 1, 0))),
        "memset of no rows": code(rt.GraphAddMemsetNode(graph, None, 0, memset(device, 1, 16, 0))),
        "memset of null": code(rt.GraphAddMemsetNode(graph, None, 0, memset(0))),
        "memset of plain memory": code(
            rt.GraphAddMemsetNode(graph, None, 0, memset(ctypes.addressof(t.pageable)))
        ),
        "memset across the end": code(rt.GraphAddMemsetNode(graph, None, 0, memset(device, 1, 8192))),
        "memset with a pitch too small": code(
            rt.GraphAddMemsetNode(graph, None, 0, memset(device, 1, 64, 4, 8))
        ),
        "copy of nothing": code(rt.GraphAddMemcpyNode1D(graph, None, 0, device, other, 0, d2d)),
        "copy of null": code(rt.GraphAddMemcpyNode1D(graph, None, 0, device, 0, 16, d2d)),
        "copy across the end": code(rt.GraphAddMemcpyNode1D(graph, None, 0, device, other, 8192, d2d)),
        "copy of plain memory": code(rt.GraphAddMemcpyNode1D(graph, None, 0, device, t.pageable, 16, h2d)),
        "copy of a wrong kind": code(rt.GraphAddMemcpyNode1D(graph, None, 0, device, other, 16, 9)),
        "event record of null": code(rt.GraphAddEventRecordNode(graph, None, 0, 0)),
        "event wait of null": code(rt.GraphAddEventWaitNode(graph, None, 0, 0)),
        "event record": code(rt.GraphAddEventRecordNode(graph, None, 0, t.event)),
        "event wait": code(rt.GraphAddEventWaitNode(graph, None, 0, t.recorded)),
        "free of what is no graph memory": code(rt.GraphAddMemFreeNode(graph, None, 0, device)),
    }
    node = ok(rt.GraphAddMemsetNode(graph, None, 0, memset(device)))
    copy = ok(rt.GraphAddMemcpyNode1D(graph, None, 0, device, other, 64, d2d))
    answers |= {
        "set memset parameters": code(rt.GraphMemsetNodeSetParams(node, memset(other))),
        "set memset parameters of a copy": code(rt.GraphMemsetNodeSetParams(copy, memset(other))),
        "set copy parameters of a memset": code(rt.GraphMemcpyNodeSetParams1D(node, device, other, 16, d2d)),
        "set copy parameters": code(rt.GraphMemcpyNodeSetParams1D(copy, other, device, 16, d2d)),
    }
    single = new_graph()
    target = ok(rt.GraphAddMemsetNode(single, None, 0, memset(device)))
    moved = ok(rt.GraphAddMemcpyNode1D(single, [target], 1, device, other, 64, d2d))
    executable = ok(rt.GraphInstantiate(single, 0))
    answers |= {
        "executable: memset elsewhere": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(other))
        ),
        "executable: memset of another shape": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 1, 16, 4, 64))
        ),
        "executable: longer memset": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 1, 128))
        ),
        "executable: shorter memset": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 1, 16))
        ),
        "executable: other elements": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 4, 16))
        ),
        "executable: memset of nothing": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 1, 0))
        ),
        "executable: memset with a pitch": code(
            rt.GraphExecMemsetNodeSetParams(executable, target, memset(device, 1, 64, 1, 128))
        ),
        "executable: memset of another node": code(
            rt.GraphExecMemsetNodeSetParams(executable, node, memset(device))
        ),
        "executable: copy of another length": code(
            rt.GraphExecMemcpyNodeSetParams1D(executable, moved, device, other, 32, d2d)
        ),
        "executable: copy turned into another kind": code(
            rt.GraphExecMemcpyNodeSetParams1D(executable, moved, device, t.pinned, 32, h2d)
        ),
        "executable: longer copy": code(
            rt.GraphExecMemcpyNodeSetParams1D(executable, moved, device, other, 128, d2d)
        ),
        "executable: copy elsewhere": code(
            rt.GraphExecMemcpyNodeSetParams1D(executable, moved, other, device, 64, d2d)
        ),
        "executable: disable": code(rt.GraphNodeSetEnabled(executable, target, 0)),
        "executable: is disabled": [int(x) for x in rt.GraphNodeGetEnabled(executable, target)],
        "executable: launch": code(rt.GraphLaunch(executable, t.stream)),
        "executable: upload": code(rt.GraphUpload(executable, t.stream)),
        "executable: destroy while it runs": code(rt.GraphExecDestroy(executable)),
    }
    plane = new_graph()
    rows = ok(rt.GraphAddMemsetNode(plane, None, 0, memset(device, 1, 16, 4, 64)))
    executable = ok(rt.GraphInstantiate(plane, 0))
    answers |= {
        "executable: a plane again": code(
            rt.GraphExecMemsetNodeSetParams(executable, rows, memset(device, 1, 16, 4, 64))
        ),
        "executable: another plane": code(
            rt.GraphExecMemsetNodeSetParams(executable, rows, memset(device, 1, 8, 8, 64))
        ),
        "executable: a plane made a row": code(
            rt.GraphExecMemsetNodeSetParams(executable, rows, memset(device))
        ),
    }
    return answers


@cases
def graph_updates() -> dict[str, Answer]:
    """Which node an update that fails points at: -1 for none, else its place in the new graph."""
    t = Things()
    device, other = int(t.device), int(t.other)
    d2d = rt.copy_kind("DeviceToDevice")

    def build(*shape: tuple[str, tuple[int, ...]]) -> tuple[Any, list[Any]]:
        graph = new_graph()
        nodes: list[Any] = []
        for kind, before in shape:
            dependencies = [nodes[i] for i in before]
            arguments = (graph, dependencies or None, len(dependencies))
            if kind == "copy":
                nodes.append(ok(rt.GraphAddMemcpyNode1D(*arguments, device, other, 64, d2d)))
            else:
                nodes.append(ok(rt.GraphAddEmptyNode(*arguments)))
        return graph, nodes

    original = (("empty", ()), ("empty", (0,)), ("copy", (1,)))
    executable = ok(rt.GraphInstantiate(build(*original)[0], 0))
    answers: dict[str, Answer] = {}
    shapes: dict[str, tuple[tuple[str, tuple[int, ...]], ...]] = {
        "same": original,
        "fewer nodes": original[:2],
        "more nodes": (*original, ("empty", (2,))),
        "other edges": (("empty", ()), ("empty", ()), ("copy", (0, 1))),
        "edge missing": (("empty", ()), ("empty", ()), ("copy", (1,))),
        "other type": (("empty", ()), ("copy", (0,)), ("copy", (1,))),
        "other order": (("empty", ()), ("copy", (0,)), ("empty", (1,))),
    }
    for name, shape in shapes.items():
        graph, nodes = build(*shape)
        error, info = rt.GraphExecUpdate(executable, graph)
        rt.GetLastError()
        handles = [int(node) for node in nodes]
        if info is None:
            answers[name] = [int(error)]
            continue
        where = [
            handles.index(int(x)) if x is not None and int(x) in handles else -1
            for x in (info.errorNode, info.errorFromNode)
        ]
        answers[name] = [int(error), int(info.result), *where]
    return answers
