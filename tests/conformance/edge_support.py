"""What the edge cases share: their register, a capture that always ends, and one of each object."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flat_api import HostFunction, ok, rt

Answer = int | list[Any]
MODES = ("Global", "ThreadLocal", "Relaxed")
CASES: dict[str, Callable[[], dict[str, Answer]]] = {}


def cases(function: Callable[[], dict[str, Answer]]) -> Callable[[], dict[str, Answer]]:
    CASES[function.__name__] = function
    return function


def code(result: tuple[Any, ...]) -> int:
    """The error code; the thread's last error is taken away."""
    rt.GetLastError()
    return int(result[0])


def mode(name: str) -> Any:
    return rt.member("StreamCaptureMode", f"StreamCaptureMode{name}")


@contextmanager
def capturing(how: str) -> Iterator[Any]:
    """A non-blocking stream that captures; whatever state it is left in, the capture is over afterwards."""
    stream = ok(rt.StreamCreateWithFlags(1))
    ok(rt.StreamBeginCapture(stream, mode(how)))
    try:
        yield stream
    finally:
        error, *graph = rt.StreamEndCapture(stream)
        if int(error) == 0:
            ok(rt.GraphDestroy(graph[0]))
        rt.GetLastError()
        ok(rt.StreamDestroy(stream))


def status(stream: Any) -> int:
    error, *out = rt.StreamIsCapturing(stream)
    rt.GetLastError()
    return int(out[0]) if int(error) == 0 else -int(error)


def exchange_and_back() -> tuple[Any, ...]:
    first = rt.ThreadExchangeStreamCaptureMode(mode("Relaxed"))
    ok(rt.ThreadExchangeStreamCaptureMode(first[1]))
    return first


def begin_and_end(stream: Any) -> tuple[Any, ...]:
    result = rt.StreamBeginCapture(stream, mode("Relaxed"))
    if int(result[0]) == 0:
        ok(rt.GraphDestroy(ok(rt.StreamEndCapture(stream))))
    return result


def graph_memory(name: str) -> Any:
    return rt.member("GraphMemAttributeType", f"GraphMemAttr{name}")


class Things:
    """One of each object, for calls that need valid arguments."""

    def __init__(self) -> None:
        self.stream = ok(rt.StreamCreateWithFlags(1))
        self.blocking = ok(rt.StreamCreate())
        self.event = ok(rt.EventCreate())
        self.recorded = ok(rt.EventCreate())
        ok(rt.EventRecord(self.recorded, self.stream))
        self.later = ok(rt.EventCreate())
        ok(rt.EventRecord(self.later, self.stream))
        ok(rt.StreamSynchronize(self.stream))
        self.device = ok(rt.Malloc(4096))
        self.other = ok(rt.Malloc(4096))
        self.pinned = ok(rt.MallocHost(4096))
        self.pageable = ctypes.create_string_buffer(4096)
        self.pooled = ok(rt.MallocAsync(4096, self.stream))
        self.graph = ok(rt.GraphCreate(0))
        self.node = ok(rt.GraphAddEmptyNode(self.graph, None, 0))
        self.executable = ok(rt.GraphInstantiate(self.graph, 0))
        self.pool = ok(rt.DeviceGetDefaultMemPool(0))
        self.function = HostFunction()
        set_graph = ok(rt.GraphCreate(0))
        parameters = rt.MemsetParams()
        parameters.dst, parameters.elementSize, parameters.width, parameters.height = self.device, 1, 64, 1
        ok(rt.GraphAddMemsetNode(set_graph, None, 0, parameters))
        self.set_executable = ok(rt.GraphInstantiate(set_graph, 0))
        self.managed = ok(rt.MallocManaged(4096, 1))
        # For calls that use one up, in each mode.
        self.spare = [ok(rt.Malloc(64)) for _ in MODES]
        self.spare_pinned = [ok(rt.MallocHost(64)) for _ in MODES]
        self.spare_pooled = [ok(rt.MallocAsync(64, self.stream)) for _ in MODES]
        self.spare_pools = [ok(rt.MemPoolCreate(pool_properties())) for _ in MODES]
        self.spare_streams = [ok(rt.StreamCreateWithFlags(1)) for _ in MODES]
        self.spare_events = [ok(rt.EventCreate()) for _ in MODES]
        self.spare_graphs = [ok(rt.GraphCreate(0)) for _ in MODES]
        self.spare_executables = [ok(rt.GraphInstantiate(self.graph, 0)) for _ in MODES]
        ok(rt.DeviceSynchronize())


def location(kind: int, number: int) -> Any:
    made = rt.MemLocation()
    made.type = rt.MemLocationType(kind)
    made.id = number
    return made


def pool_properties(
    kind: int = 1, number: int = 0, allocation: int = 1, handles: int = 0, limit: int = 0
) -> Any:
    made = rt.MemPoolProps()
    made.allocType = rt.MemAllocationType(allocation)
    made.handleTypes = rt.MemAllocationHandleType(handles)
    made.location.type = rt.MemLocationType(kind)
    made.location.id = number
    made.maxSize = limit
    return made


def twice(call: Callable[[Any], tuple[Any, ...]], argument: Any) -> tuple[Any, ...]:
    ok(call(argument))
    return call(argument)
