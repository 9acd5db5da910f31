"""What captures and calls that make, change and launch graphs mean to the checker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .accesses import copy_parameters, flat, set_parameters, word
from .call import Call
from .checker import Capture
from .graphs import Action, Anything, Begin, End, Executable, Graph, Node, Record, Wait
from .handles import Handles
from .memory import Allocation

_SET_DEPENDENCIES = 1  # of StreamUpdateCaptureDependencies
_CHILD, _WAIT, _RECORD, _ALLOCATION, _FREE = 4, 6, 7, 10, 11  # infinirtGraphNodeType
_OF_KIND = 16  # where infinirtGraphNodeParams has the parameters of its kind


class GraphCalls(Handles):
    # ---- captures

    def _StreamBeginCapture(self, call: Call) -> None:
        stream = self._stream(call)
        stream.capture = Capture(Graph(), stream)

    def _StreamBeginCaptureToGraph(self, call: Call) -> None:
        a = call.arguments
        stream = self._stream(call)
        graph = self._graph(a["graph"])
        stream.capture = Capture(graph, stream)
        stream.capture.ends[stream] = self._listed(graph, a["dependencies"], a["numDependencies"])

    def _StreamEndCapture(self, call: Call) -> None:
        capture = self._stream(call).capture
        if capture is None:
            return
        self._end_capture(capture)
        graph = word(call.arguments["pGraph"]) if call.result == 0 else 0
        if graph:
            self.graphs[graph] = capture.graph

    def _StreamGetCaptureInfo(self, call: Call) -> None:
        """Says which nodes the stream's next one comes after, and lets the program add nodes to the graph by hand."""
        a = call.arguments
        stream = self._stream(call)
        capture = stream.capture
        if capture is None:
            return
        if graph := word(a["graph_out"]):
            self.graphs[graph] = capture.graph
        self._learn(
            capture.graph,
            capture.ends.get(stream, ()),
            word(a["dependencies_out"]),
            word(a["numDependencies_out"]),
        )

    _StreamGetCaptureInfo_v2 = _StreamGetCaptureInfo_v3 = _StreamGetCaptureInfo

    def _StreamUpdateCaptureDependencies(self, call: Call) -> None:
        a = call.arguments
        stream = self._stream(call)
        capture = stream.capture
        if capture is None:
            return
        nodes = self._listed(capture.graph, a["dependencies"], a["numDependencies"])
        before = () if a["flags"] & _SET_DEPENDENCIES else capture.ends.get(stream, ())
        capture.ends[stream] = tuple(dict.fromkeys((*before, *nodes)))

    _StreamUpdateCaptureDependencies_v2 = _StreamUpdateCaptureDependencies

    # ---- graphs

    def _GraphCreate(self, call: Call) -> None:
        self.graphs[call.created] = Graph()

    def _GraphClone(self, call: Call) -> None:
        self.graphs[call.created] = self._graph(call.arguments["originalGraph"]).copy()

    def _GraphDestroy(self, call: Call) -> None:
        graph = self.graphs.pop(call.arguments["graph"], None)
        for handle in graph.handles if graph is not None else ():
            self._nodes.pop(handle, None)

    def _graph(self, handle: int) -> Graph:
        """One that was made before the checker looked may have anything in it."""
        return self.graphs.setdefault(handle, Graph(is_unclear=True))

    # ---- nodes and their handles

    def _name_node(self, graph: Graph, node: Node, handle: int) -> None:
        self._nodes[handle] = (graph, node)
        graph.handles.append(handle)

    def _learn(self, graph: Graph, nodes: Sequence[Node], array: int, count: int) -> None:
        """The program is given the handles of these nodes. What captures have recorded has none that is known before."""
        if not array or count != len(nodes) or len(graph.threads) > 1:
            return  # which is which is not certain: if the program changes one of them, the graph is unclear
        for i, node in enumerate(nodes):
            handle = word(array + 8 * i)
            if handle not in self._nodes:
                self._name_node(graph, node, handle)
            elif self._nodes[handle][1] is not node:
                graph.is_unclear = True

    def _GraphGetNodes(self, call: Call) -> None:
        graph = self.graphs.get(call.arguments["graph"])
        if graph is not None:
            self._learn(graph, graph.shown, call.arguments["nodes"], word(call.arguments["numNodes"]))

    def _GraphGetRootNodes(self, call: Call) -> None:
        a = call.arguments
        graph = self.graphs.get(a["graph"])
        if graph is not None:
            roots = [node for node in graph.shown if all(each.is_inner for each in node.after)]
            self._learn(graph, roots, a["pRootNodes"], word(a["pNumRootNodes"]))

    def _GraphNodeFindInClone(self, call: Call) -> None:
        clone = self.graphs.get(call.arguments["clonedGraph"])
        found = self._nodes.get(call.arguments["originalNode"])
        node = clone.copies.get(found[1]) if clone is not None and found is not None else None
        if clone is not None and node is not None:
            self._name_node(clone, node, call.created)

    def _listed(self, graph: Graph, array: int, count: int) -> tuple[Node, ...]:
        """Of nodes that are not known the graph may have any order."""
        found = [self._nodes.get(word(array + 8 * i)) for i in range(count if array else 0)]
        graph.is_unclear |= None in found
        return tuple(each[1] for each in found if each is not None)

    def _some_graph_is_unclear(self) -> None:
        """A node was changed, and it is not known which: it is of a graph of which not all are."""
        known = {node for _, node in self._nodes.values()}
        captured = [each.capture.graph for each in self.checker.streams if each.capture is not None]
        for graph in (*self.graphs.values(), *captured):
            graph.is_unclear |= any(node not in known for node in graph.nodes)

    def _add_node(self, call: Call, actions: Sequence[Action]) -> None:
        a = call.arguments
        graph = self._graph(a["graph"])
        after = self._listed(graph, a["pDependencies"], a["numDependencies"])
        graph.threads.add(call.thread)
        self._name_node(graph, graph.add(call.function, call.stack, actions, after), call.created)

    def _add_graph(self, call: Call, child: int) -> None:
        a = call.arguments
        graph = self._graph(a["graph"])
        after = self._listed(graph, a["pDependencies"], a["numDependencies"])
        graph.threads.add(call.thread)
        node = graph.add_graph(self._graph(child), after, call.function, call.stack)
        self._name_node(graph, node, call.created)

    def _GraphAddNode(self, call: Call) -> None:
        parameters = call.arguments["nodeParams"]
        kind = word(parameters) & 0xFFFFFFFF
        if kind == _CHILD:
            self._add_graph(call, word(parameters + _OF_KIND))
        else:
            self._add_node(call, self._of_any_kind(call, kind, parameters + _OF_KIND))

    _GraphAddNode_v2 = _GraphAddNode

    def _of_any_kind(self, call: Call, kind: int, parameters: int) -> Sequence[Action]:
        if kind == _WAIT:
            return [Wait(self._event(word(parameters)))]
        if kind == _RECORD:
            return [Record(self._event(word(parameters)))]
        if kind == _ALLOCATION:
            return self._allocation(call, parameters)
        if kind == _FREE:
            return self._free_in_graph(word(parameters))
        return [Anything()]

    def _GraphAddEmptyNode(self, call: Call) -> None:
        self._add_node(call, ())

    def _GraphAddEventRecordNode(self, call: Call) -> None:
        self._add_node(call, [Record(self._event(call.arguments["event"]))])

    def _GraphAddEventWaitNode(self, call: Call) -> None:
        self._add_node(call, [Wait(self._event(call.arguments["event"]))])

    def _GraphAddHostNode(self, call: Call) -> None:
        self._add_node(call, [Anything()])

    def _GraphAddKernelNode(self, call: Call) -> None:
        self._add_node(call, list(self._kernel_node(call)))

    def _kernel_node(self, call: Call) -> Iterator[Action]:
        parameters = call.arguments["pNodeParams"]
        # func, two dim3, unsigned int, then the arguments
        yield from self._undeclared(word(parameters), word(parameters + 40), call.device)

    def _GraphAddMemcpyNode(self, call: Call) -> None:
        self._add_node(call, copy_parameters(call.arguments["pCopyParams"]))

    def _GraphAddMemcpyNode1D(self, call: Call) -> None:
        a = call.arguments
        self._add_node(call, flat(a["dst"], a["src"], a["count"]))

    def _GraphAddMemsetNode(self, call: Call) -> None:
        self._add_node(call, [set_parameters(call.arguments["pMemsetParams"])])

    def _GraphAddChildGraphNode(self, call: Call) -> None:
        self._add_graph(call, call.arguments["childGraph"])

    def _GraphAddMemAllocNode(self, call: Call) -> None:
        self._add_node(call, self._allocation(call, call.arguments["nodeParams"]))

    def _allocation(self, call: Call, parameters: int) -> Sequence[Action]:
        # poolProps (88 bytes), accessDescs, their count, bytesize, and where it is
        size, address = word(parameters + 104), word(parameters + 112)
        allocation = Allocation(
            address, size, self._of_device(call), call.function, call.stack, device=call.device, of_graph=True
        )
        self.checker.allocated(allocation)
        return [Begin(allocation)]

    def _GraphAddMemFreeNode(self, call: Call) -> None:
        self._add_node(call, self._free_in_graph(call.arguments["dptr"]))

    def _free_in_graph(self, address: int) -> Sequence[Action]:
        allocation = self.checker.memory.starting_at(address)
        return [End(allocation)] if allocation is not None else []

    def _GraphAddDependencies(self, call: Call) -> None:
        self._edges(call, add=True)

    def _GraphRemoveDependencies(self, call: Call) -> None:
        self._edges(call, add=False)

    _GraphAddDependencies_v2 = _GraphAddDependencies
    _GraphRemoveDependencies_v2 = _GraphRemoveDependencies

    def _edges(self, call: Call, *, add: bool) -> None:
        a = call.arguments
        graph = self._graph(a["graph"])
        for i in range(a["numDependencies"]):
            edge = self._listed(graph, a["from"] + 8 * i, 1) + self._listed(graph, a["to"] + 8 * i, 1)
            if len(edge) < 2:
                continue
            before, after = edge
            kept = tuple(each for each in after.after if each is not before)
            after.after = (*kept, before) if add else kept

    def _GraphDestroyNode(self, call: Call) -> None:
        found = self._nodes.pop(call.arguments["node"], None)
        if found is not None:
            found[0].remove(found[1])
        else:
            self._some_graph_is_unclear()

    def _set_node(self, call: Call, actions: Sequence[Action]) -> None:
        handle = call.arguments.get("node", call.arguments.get("hNode", 0))
        found = self._nodes.get(handle)
        if "hGraphExec" in call.arguments or "graphExec" in call.arguments:
            self._set_executable_node(call, found[1] if found is not None else None, actions)
        elif found is not None:
            found[1].actions, found[1].stack = tuple(actions), call.stack
        else:
            self._some_graph_is_unclear()

    def _of_executable(self, call: Call, node: Node | None) -> tuple[Executable | None, Node | None]:
        a = call.arguments
        executable = self._executables.get(a.get("hGraphExec", a.get("graphExec", 0)))
        if executable is None:
            return None, None
        own = executable.graph.copies.get(node) if node is not None else None
        if own is None:
            executable.graph.is_unclear = True
        return executable, own

    def _set_executable_node(self, call: Call, node: Node | None, actions: Sequence[Action]) -> None:
        executable, own = self._of_executable(call, node)
        if executable is not None and own is not None:
            own.actions, own.stack = tuple(actions), call.stack
            own.mean(self.checker.memory, executable.graph.own_memory())

    def _GraphNodeSetEnabled(self, call: Call) -> None:
        found = self._nodes.get(call.arguments["hNode"])
        _, own = self._of_executable(call, found[1] if found is not None else None)
        if own is not None:
            own.is_off = not call.arguments["isEnabled"]

    def _GraphNodeSetParams(self, call: Call) -> None:
        parameters = call.arguments["nodeParams"]
        kind = word(parameters) & 0xFFFFFFFF
        self._set_node(call, self._of_any_kind(call, kind, parameters + _OF_KIND))

    def _GraphExecNodeSetParams(self, call: Call) -> None:
        if word(call.arguments["nodeParams"]) & 0xFFFFFFFF == _CHILD:
            self._GraphExecChildGraphNodeSetParams(call)
        else:
            self._GraphNodeSetParams(call)

    def _GraphExecChildGraphNodeSetParams(self, call: Call) -> None:
        self._of_executable(call, None)  # whose nodes are not told apart

    def _GraphEventRecordNodeSetEvent(self, call: Call) -> None:
        self._set_node(call, [Record(self._event(call.arguments["event"]))])

    def _GraphEventWaitNodeSetEvent(self, call: Call) -> None:
        self._set_node(call, [Wait(self._event(call.arguments["event"]))])

    _GraphExecEventRecordNodeSetEvent = _GraphEventRecordNodeSetEvent
    _GraphExecEventWaitNodeSetEvent = _GraphEventWaitNodeSetEvent

    def _GraphMemcpyNodeSetParams1D(self, call: Call) -> None:
        a = call.arguments
        self._set_node(call, flat(a["dst"], a["src"], a["count"]))

    def _GraphMemcpyNodeSetParams(self, call: Call) -> None:
        self._set_node(call, copy_parameters(call.arguments["pNodeParams"]))

    def _GraphMemsetNodeSetParams(self, call: Call) -> None:
        self._set_node(call, [set_parameters(call.arguments["pNodeParams"])])

    def _GraphKernelNodeSetParams(self, call: Call) -> None:
        self._set_node(call, list(self._kernel_node(call)))

    _GraphExecMemcpyNodeSetParams1D = _GraphMemcpyNodeSetParams1D
    _GraphExecMemcpyNodeSetParams = _GraphMemcpyNodeSetParams
    _GraphExecMemsetNodeSetParams = _GraphMemsetNodeSetParams
    _GraphExecKernelNodeSetParams = _GraphKernelNodeSetParams

    # ---- executable graphs

    def _GraphInstantiate(self, call: Call) -> None:
        graph = self._graph(call.arguments["graph"])
        name = f"graph {self._number('graph')}"
        self._executables[call.created] = Executable(
            graph.executable(self.checker.memory), name, stack=call.stack
        )

    _GraphInstantiateWithFlags = _GraphInstantiateWithParams = _GraphInstantiate

    def _GraphExecUpdate(self, call: Call) -> None:
        executable = self._executables.get(call.arguments["hGraphExec"])
        if executable is not None:
            executable.update(self._graph(call.arguments["hGraph"]).executable(self.checker.memory))

    def _GraphExecDestroy(self, call: Call) -> None:
        executable = self._executables.pop(call.arguments["graphExec"], None)
        if executable is not None:
            self.checker.ended(executable.chains)

    def _GraphLaunch(self, call: Call) -> None:
        executable = self._executables.get(call.arguments["graphExec"])
        if executable is not None:
            self.checker.launch(executable, self._stream(call), call.function, call.stack)
        else:  # made before the checker looked
            self.checker.work(self._stream(call), call.function, call.stack, [Anything()])
