"""What each function of the API means to the checker. Functions that are not here mean nothing to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from . import findings as kinds
from .accesses import SET_MEMORY, SOURCE, TARGET, copy_parameters, flat, rows, set_parameters, word
from .checker import Capture, Checker, Device, Event, Stream
from .clocks import Stack
from .findings import Place, bytes_at, site
from .graphs import Action, Anything, Begin, End, Executable, Graph, Node, Touch
from .memory import Allocation, Range

NON_BLOCKING = 1  # of StreamCreateWithFlags
_EXTERNAL = 1  # of EventRecordWithFlags and StreamWaitEvent
_DEVICE_TO_DEVICE = 3  # infinirtMemcpyKind
_LEGACY, _PER_THREAD = (0, 1), 2  # stream handles that are no stream's
_NOT_READY = 600


@dataclass(frozen=True, slots=True)
class Declared:
    """Memory that a launch was said to read or write."""

    address: int
    ranges: tuple[Range, ...] | None
    writes: bool


_WAITS = (
    "infinirtStreamSynchronize",
    "infinirtEventSynchronize",
    "infinirtDeviceSynchronize",
    "infinirtStreamQuery",
    "infinirtEventQuery",
)
_HAS_NOT_WAITED = (400, 600, *range(900, 910))  # the handle is none, not ready, a capture is in the way


@dataclass(slots=True)
class Call:
    """One call, when it has returned."""

    function: str  # "infinirtMemcpyAsync"
    arguments: dict[str, int]
    result: int
    created: int  # what it stored through its first parameter
    device: Device  # of the calling thread
    thread: int
    stack: Stack
    declared: Sequence[Declared] = ()
    name: str = ""  # of the work, where somebody gave it one
    is_late: bool = False  # of something that the end of a graph's launch or of a host function let go of

    @property
    def title(self) -> str:
        return self.name or self.function


def _has_waited(call: Call) -> bool:
    """A wait or a look that fails tells of work that failed, and is over all the same."""
    return call.function in _WAITS and call.result not in _HAS_NOT_WAITED


class Calls:
    """Takes calls one by one."""

    def __init__(
        self,
        checker: Checker,
        kernel_pointers: Callable[[int, int, Device], list[int] | None],
        kernel_name: Callable[[int, Device], str],
    ) -> None:
        self.checker = checker
        self.graphs: dict[int, Graph] = {}
        self._kernel_pointers = (
            kernel_pointers  # of a function and its arguments: those that are as wide as a pointer
        )
        self._kernel_name = kernel_name  # empty where it has none
        self._streams: dict[object, Stream] = {}
        self._events: dict[int, Event] = {}
        self._executables: dict[int, Executable] = {}
        self._nodes: dict[int, tuple[Graph, Node]] = {}
        self._counts: dict[str, int] = {}
        self._handlers: dict[str, Callable[[Call], None] | None] = {}

    def take(self, call: Call) -> None:
        handler = self._handlers.get(call.function, ...)
        if handler is ...:
            handler = getattr(self, "_" + call.function.removeprefix("infinirt"), None)
            self._handlers[call.function] = handler
        if handler is None:
            return
        assert callable(handler)
        if call.result == 0 or call.function in _WHATEVER_THE_RESULT or _has_waited(call):
            handler(call)

    # ---- names of things

    def _number(self, what: str) -> int:
        self._counts[what] = self._counts.get(what, 0) + 1
        return self._counts[what]

    def _stream(self, call: Call, parameter: str = "stream") -> Stream:
        handle = call.arguments.get(parameter, 0)
        kind, number = call.device
        place = f"{kind}:{number}"
        if handle in _LEGACY:
            key: object = ("legacy", call.device)
            if key not in self._streams:
                self._streams[key] = self.checker.add_stream(
                    f"the default stream of {place}", call.device, legacy=True
                )
        elif handle == _PER_THREAD:
            key = ("thread", call.thread, call.device)
            if key not in self._streams:
                self._streams[key] = self.checker.add_stream(
                    f"a thread's default stream of {place}", call.device
                )
        else:
            key = handle
            if key not in self._streams:  # made by somebody else, or before the checker looked
                self._streams[key] = self.checker.add_stream(
                    f"stream {self._number('stream')} of {place} ({handle:#x})", call.device
                )
        return self._streams[key]

    def _event(self, handle: int) -> Event:
        if handle not in self._events:
            self._events[handle] = Event(f"event {self._number('event')} ({handle:#x})")
        return self._events[handle]

    # ---- streams and events

    def _StreamCreate(self, call: Call) -> None:
        kind, number = call.device
        blocking = not call.arguments.get("flags", 0) & NON_BLOCKING
        name = f"stream {self._number('stream')} of {kind}:{number}"
        self._streams[call.created] = self.checker.add_stream(
            name, call.device, blocking=blocking, stack=call.stack
        )

    _StreamCreateWithFlags = _StreamCreateWithPriority = _StreamCreate

    def _StreamDestroy(self, call: Call) -> None:
        self._streams.pop(call.arguments["stream"], None)  # its work goes on: the checker keeps it

    def _StreamSynchronize(self, call: Call) -> None:
        self.checker.host_waits_for_stream(self._stream(call))

    _StreamQuery = _StreamSynchronize  # that succeeded

    def _DeviceSynchronize(self, call: Call) -> None:
        self.checker.host_waits_for_device(call.device)

    _DeviceReset = _DeviceSynchronize

    def _StreamWaitEvent(self, call: Call) -> None:
        self.checker.wait(self._stream(call), self._event(call.arguments["event"]), call.function, call.stack)

    def _EventCreate(self, call: Call) -> None:
        self._events[call.created] = Event(f"event {self._number('event')}")

    _EventCreateWithFlags = _IpcOpenEventHandle = _EventCreate

    def _EventDestroy(self, call: Call) -> None:
        event = self._events.get(call.arguments["event"])
        if event is not None and call.result == 0:
            event.destroyed = call.stack or ("?",)

    def _EventRecord(self, call: Call) -> None:
        event = self._event(call.arguments["event"])
        stream = self._stream(call)
        if stream.capture is not None and call.arguments.get("flags", 0) & _EXTERNAL:
            return  # a node that records when the graph runs
        self.checker.record(event, stream, call.function, call.stack)

    _EventRecordWithFlags = _EventRecord

    def _EventSynchronize(self, call: Call) -> None:
        self.checker.host_waits_for_event(self._event(call.arguments["event"]), call.function, call.stack)

    _EventQuery = _EventSynchronize  # that succeeded

    # ---- memory

    def _allocate(self, call: Call, size: int, kind: str, *, hosts: bool = False) -> Allocation:
        return Allocation(call.created, size, kind, call.function, call.stack, is_hosts=hosts)

    def _of_device(self, call: Call) -> str:
        return f"memory of {call.device[0]}:{call.device[1]}"

    def _Malloc(self, call: Call) -> None:
        if call.created:
            self.checker.allocated(self._allocate(call, call.arguments["size"], self._of_device(call)))

    def _MallocPitch(self, call: Call) -> None:
        if call.created:
            pitch = word(call.arguments["pitch"])
            size = pitch * call.arguments["height"]
            self.checker.allocated(self._allocate(call, size, self._of_device(call)))

    def _MallocManaged(self, call: Call) -> None:
        if call.created:
            self.checker.allocated(self._allocate(call, call.arguments["size"], "managed memory", hosts=True))

    def _MallocHost(self, call: Call) -> None:
        if call.created:
            size = call.arguments["size"]
            self.checker.allocated(self._allocate(call, size, "pinned memory of the host", hosts=True))

    _HostAlloc = _MallocHost

    def _IpcOpenMemHandle(self, call: Call) -> None:
        allocation = self._allocate(call, 1, "another process's memory", hosts=True)
        allocation.opaque = True
        self.checker.allocated(allocation)

    def _IpcGetMemHandle(self, call: Call) -> None:
        allocation = self.checker.memory.at(call.arguments["devPtr"])
        if allocation is not None:
            allocation.opaque = True

    def _Free(self, call: Call) -> None:
        address = call.arguments.get("devPtr", call.arguments.get("ptr", 0))
        if not address:
            return
        if call.result == 0:
            self.checker.host_waits_for_device(call.device)
        allocation = self.checker.memory.starting_at(address)
        if call.result == 0 or (allocation is not None and allocation.freed is not None):
            self.checker.freed_at_once(address, call.function, call.stack)

    _FreeHost = _Free

    def _IpcCloseMemHandle(self, call: Call) -> None:
        allocation = self.checker.memory.starting_at(call.arguments["devPtr"])
        if allocation is not None:
            self.checker.memory.forget(allocation)

    def _allocate_in_order(self, call: Call, stream: Stream) -> None:
        allocation = self._allocate(call, call.arguments["size"], self._of_device(call))
        allocation.stream_ordered = True
        if stream.capture is not None:
            allocation.of_graph = True
            self.checker.allocated(allocation)
        self.checker.work(stream, call.function, call.stack, [Begin(allocation)])

    def _MallocAsync(self, call: Call) -> None:
        if call.created:
            self._allocate_in_order(call, self._stream(call, "hStream"))

    def _MallocFromPoolAsync(self, call: Call) -> None:
        if call.created:
            self._allocate_in_order(call, self._stream(call))

    def _FreeAsync(self, call: Call) -> None:
        stream = self._stream(call, "hStream")
        address = call.arguments["devPtr"]
        allocation = self.checker.memory.starting_at(address)
        if call.result == 0 or (allocation is not None and allocation.freed is not None):
            self.checker.freed_in_order(address, stream, call.function, call.stack, call.is_late)

    def _XCacheAllocate(self, call: Call) -> None:
        if call.created:
            stream = self._stream(call)
            self._allocate_in_order(call, stream)
            allocation = self.checker.memory.starting_at(call.created)
            if allocation is not None:
                allocation.of_graph = False

    def _XCacheReserveAllocate(self, call: Call) -> None:
        """Memory of recorded graphs, which lay it out themselves: it is not looked at."""
        if call.created:
            allocation = self._allocate(call, call.arguments["size"], self._of_device(call))
            self.checker.allocated(allocation)  # what was there before is gone
            self.checker.memory.forget(allocation)

    def _XCacheFree(self, call: Call) -> None:
        stream = self._stream(call)
        self.checker.freed_in_order(call.arguments["ptr"], stream, call.function, call.stack, call.is_late)

    def _XCacheRecordStream(self, call: Call) -> None:
        allocation = self.checker.memory.starting_at(call.arguments["ptr"])
        if allocation is not None:
            allocation.used_by.append(self._stream(call).timeline.number)

    def _XShareMemory(self, call: Call) -> None:
        allocation = self.checker.memory.at(call.arguments["pointer"])
        if allocation is not None:
            allocation.is_hosts = True
            allocation.mark_written()

    # ---- copies and sets

    def _copy(self, call: Call, stream: Stream, actions: Sequence[Action], *, waits: bool) -> None:
        if call.result != 0:  # refused: why may be worth saying
            for action in actions:
                if isinstance(action, Touch):
                    self._say_if_refused_for(call, stream, action)
            return
        self.checker.work(stream, call.title, call.stack, actions)
        if waits and stream.capture is None:
            self.checker.host_waits_for_stream(stream)

    def _say_if_refused_for(self, call: Call, stream: Stream, touch: Touch) -> None:
        allocation = self.checker.memory.at(touch.address)
        if allocation is not None and allocation.freed is not None:
            self.checker.work(stream, call.function, call.stack, [touch])  # which says so
            return
        for first, last in touch.ranges or ():
            if allocation is None or last <= allocation.end:
                continue
            self.checker.found(
                kinds.OUT_OF_BOUNDS,
                f"{call.function} was to {'write' if touch.writes else 'read'} {touch.label}"
                f" {last - allocation.end:,} bytes beyond its memory, and was refused",
                [Place(f"{call.function} is called for {bytes_at(first, last)}", call.stack)],
                "copy fewer bytes, begin elsewhere, or allocate more",
                allocation=allocation,
                key=(kinds.OUT_OF_BOUNDS, site(call.stack, call.function), touch.label),
            )

    def _is_pageable(self, address: int) -> bool:
        return self.checker.memory.at(address) is None

    def _transfer(self, call: Call, stream: Stream, pairs: Sequence[Action], synchronous: bool) -> None:
        """A copy. Pageable memory is read, or has been written, when the call returns; copies within devices are never waited for."""
        addresses = [action.address for action in pairs if isinstance(action, Touch) and action.writes]
        to_pageable = any(self._is_pageable(address) for address in addresses)
        within = synchronous and call.arguments.get("kind") == _DEVICE_TO_DEVICE
        self._copy(call, stream, pairs, waits=(synchronous and not within) or to_pageable)

    def _MemcpyAsync(self, call: Call) -> None:
        a = call.arguments
        self._transfer(call, self._stream(call), flat(a["dst"], a["src"], a["count"]), "stream" not in a)

    _Memcpy = _MemcpyPeer = _MemcpyPeerAsync = _MemcpyAsync

    def _Memcpy2DAsync(self, call: Call) -> None:
        a = call.arguments
        actions = [
            rows(a["dst"], a["dpitch"], a["width"], a["height"], True, TARGET),
            rows(a["src"], a["spitch"], a["width"], a["height"], False, SOURCE),
        ]
        self._transfer(call, self._stream(call), actions, "stream" not in a)

    _Memcpy2D = _Memcpy2DAsync

    def _Memcpy3DAsync(self, call: Call) -> None:
        actions = copy_parameters(call.arguments["p"])
        self._transfer(call, self._stream(call), actions, "stream" not in call.arguments)

    _Memcpy3D = _Memcpy3DAsync

    def _MemcpyBatchAsync(self, call: Call) -> None:
        a = call.arguments
        stream = self._stream(call)
        for i in range(a["count"]):
            dst, src, size = (word(a[name] + 8 * i) for name in ("dsts", "srcs", "sizes"))
            self._transfer(call, stream, flat(dst, src, size), False)

    def _MemsetAsync(self, call: Call) -> None:
        a = call.arguments
        touch = Touch(a["devPtr"], ((a["devPtr"], a["devPtr"] + a["count"]),), True, SET_MEMORY)
        self._copy(call, self._stream(call), [touch], waits=False)

    _Memset = _MemsetAsync

    def _Memset2DAsync(self, call: Call) -> None:
        a = call.arguments
        touch = rows(a["devPtr"], a["pitch"], a["width"], a["height"], True, SET_MEMORY)
        self._copy(call, self._stream(call), [touch], waits=False)

    _Memset2D = _Memset2DAsync

    def _Memset3DAsync(self, call: Call) -> None:
        # The structure's first word alone is known: where it is.
        touch = Touch(call.arguments["pitchedDevPtr"], None, True, SET_MEMORY)
        self._copy(call, self._stream(call), [touch], waits=False)

    _Memset3D = _Memset3DAsync

    # ---- launches

    def _launch(self, call: Call, function: int, arguments: int) -> None:
        stream = self._stream(call)
        if not call.name and (name := self._kernel_name(function, call.device)):
            call.name = f"kernel {name}"
        if call.declared:
            actions: list[Action] = [
                Touch(each.address, each.ranges, each.writes, "an output" if each.writes else "an input")
                for each in call.declared
            ]
        else:
            actions = list(self._undeclared(function, arguments, call.device))
        self.checker.work(stream, call.title, call.stack, actions)

    def _undeclared(self, function: int, arguments: int, device: Device) -> Iterator[Action]:
        pointers = self._kernel_pointers(function, arguments, device)
        if pointers is None:
            yield Anything()
            return
        for place, pointer in enumerate(pointers):
            if self.checker.memory.at(pointer) is not None:
                yield Touch(pointer, None, True, f"argument {place}")

    def _LaunchKernel(self, call: Call) -> None:
        self._launch(call, call.arguments["func"], call.arguments["args"])

    _LaunchCooperativeKernel = _XLaunchComputation = _LaunchKernel

    def _LaunchKernelExC(self, call: Call) -> None:
        config = call.arguments["config"]
        # dim3 twice, then size_t, then the stream
        call.arguments["stream"] = word(config + 32)
        self._launch(call, call.arguments["func"], call.arguments["args"])

    def _LaunchHostFunc(self, call: Call) -> None:
        self.checker.work(self._stream(call), call.title, call.stack, [Anything()])

    _XLaunchHostFunc = _StreamAddCallback = _XLaunchStep = _XStreamEndNative = _LaunchHostFunc

    # ---- graphs

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


# Of these a failure says something, too, or ends something.
_WHATEVER_THE_RESULT = {
    f"infinirt{name}"
    for name in (
        "Memcpy", "MemcpyAsync", "MemcpyPeer", "MemcpyPeerAsync", "Memcpy2D", "Memcpy2DAsync", "Memset", "MemsetAsync",
        "Memset2D", "Memset2DAsync", "Free", "FreeAsync", "StreamEndCapture", "EventRecord", "EventSynchronize",
        "StreamWaitEvent",
    )
}  # fmt: skip
