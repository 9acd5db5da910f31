"""What captures and calls that make, change and launch graphs mean to the checker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .accesses import copy_parameters, flat, set_parameters, word
from .call import Call
from .checker import Capture
from .graphs import Action, Anything, Begin, End, Executable, Graph, Node
from .handles import Handles
from .memory import Allocation


class GraphCalls(Handles):
    def _StreamBeginCapture(self, call: Call) -> None:
        stream = self._stream(call)
        stream.capture = Capture(Graph(), stream)

    def _StreamBeginCaptureToGraph(self, call: Call) -> None:
        a = call.arguments
        stream = self._stream(call)
        stream.capture = Capture(self.graphs.setdefault(a["graph"], Graph()), stream)
        stream.capture.ends[stream] = tuple(self._listed(a["dependencies"], a["numDependencies"]))

    def _StreamEndCapture(self, call: Call) -> None:
        stream = self._stream(call)
        capture = stream.capture
        if capture is None:
            return
        for each in self.checker.streams:
            if each.capture is capture:
                each.capture = None
        graph = word(call.arguments["pGraph"]) if call.result == 0 else 0
        if graph:
            self.graphs[graph] = capture.graph

    def _GraphCreate(self, call: Call) -> None:
        self.graphs[call.created] = Graph()

    def _GraphClone(self, call: Call) -> None:
        original = self.graphs.get(call.arguments["originalGraph"])
        if original is not None:
            self.graphs[call.created] = original.copy()

    def _GraphDestroy(self, call: Call) -> None:
        self.graphs.pop(call.arguments["graph"], None)

    def _listed(self, array: int, count: int) -> Iterator[Node]:
        for i in range(count if array else 0):
            found = self._nodes.get(word(array + 8 * i))
            if found is not None:
                yield found[1]

    def _add_node(self, call: Call, actions: Sequence[Action]) -> None:
        a = call.arguments
        graph = self.graphs.setdefault(a["graph"], Graph())
        after = self._listed(a["pDependencies"], a["numDependencies"])
        node = graph.add(call.function, call.stack, actions, after)
        self._nodes[call.created] = (graph, node)
        graph.by_handle[call.created] = node

    def _GraphAddEmptyNode(self, call: Call) -> None:
        self._add_node(call, ())

    _GraphAddEventRecordNode = _GraphAddEventWaitNode = _GraphAddEmptyNode

    def _GraphAddHostNode(self, call: Call) -> None:
        self._add_node(call, [Anything()])

    _GraphAddNode = _GraphAddNode_v2 = _GraphAddHostNode

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
        a = call.arguments
        graph = self.graphs.setdefault(a["graph"], Graph())
        child = self.graphs.get(a["childGraph"], Graph())
        after = self._listed(a["pDependencies"], a["numDependencies"])
        node = graph.add_graph(child, after, call.function, call.stack)
        self._nodes[call.created] = (graph, node)
        graph.by_handle[call.created] = node

    def _GraphAddMemAllocNode(self, call: Call) -> None:
        # poolProps (88 bytes), accessDescs, their count, bytesize, and where it is
        parameters = call.arguments["nodeParams"]
        size, address = word(parameters + 104), word(parameters + 112)
        allocation = Allocation(
            address, size, self._of_device(call), call.function, call.stack, of_graph=True
        )
        self.checker.allocated(allocation)
        self._add_node(call, [Begin(allocation)])

    def _GraphAddMemFreeNode(self, call: Call) -> None:
        allocation = self.checker.memory.starting_at(call.arguments["dptr"])
        self._add_node(call, [End(allocation)] if allocation is not None else [])

    def _GraphAddDependencies(self, call: Call) -> None:
        self._edges(call, add=True)

    def _GraphRemoveDependencies(self, call: Call) -> None:
        self._edges(call, add=False)

    _GraphAddDependencies_v2 = _GraphAddDependencies
    _GraphRemoveDependencies_v2 = _GraphRemoveDependencies

    def _edges(self, call: Call, *, add: bool) -> None:
        a = call.arguments
        count = a["numDependencies"]
        pairs = zip(self._listed(a["from"], count), self._listed(a["to"], count), strict=False)
        for before, after in pairs:
            kept = tuple(each for each in after.after if each is not before)
            after.after = (*kept, before) if add else kept

    def _GraphDestroyNode(self, call: Call) -> None:
        found = self._nodes.pop(call.arguments["node"], None)
        if found is not None:
            found[0].remove(found[1])

    def _set_node(self, call: Call, actions: Sequence[Action]) -> None:
        handle = call.arguments.get("node", call.arguments.get("hNode", 0))
        executable = self._executables.get(call.arguments.get("hGraphExec", 0))
        if executable is not None:
            node = executable.graph.by_handle.get(handle)
        else:
            node = self._nodes[handle][1] if handle in self._nodes else None
        if node is not None:
            node.actions, node.stack = tuple(actions), call.stack
            if executable is not None:
                node.mean(self.checker.memory, executable.graph.own_memory())

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

    def _GraphInstantiate(self, call: Call) -> None:
        graph = self.graphs.get(call.arguments["graph"], Graph())
        name = f"graph {self._number('graph')}"
        self._executables[call.created] = Executable(
            graph.executable(self.checker.memory), name, stack=call.stack
        )

    _GraphInstantiateWithFlags = _GraphInstantiateWithParams = _GraphInstantiate

    def _GraphExecUpdate(self, call: Call) -> None:
        executable = self._executables.get(call.arguments["hGraphExec"])
        graph = self.graphs.get(call.arguments["hGraph"])
        if executable is not None and graph is not None:
            executable.graph = graph.executable(self.checker.memory)

    def _GraphExecDestroy(self, call: Call) -> None:
        self._executables.pop(call.arguments["graphExec"], None)

    def _GraphLaunch(self, call: Call) -> None:
        executable = self._executables.get(call.arguments["graphExec"])
        if executable is not None:
            self.checker.launch(executable, self._stream(call), call.function, call.stack)
