"""The checker's things by the handles that the program has for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .call import Call
from .checker import Capture, Checker, Device, Event, Stream
from .earlier_memory import EarlierMemory
from .graphs import Action, Anything, Executable, Graph, Node, Touch
from .memory import Location

_LEGACY, _PER_THREAD = (0, 1), 2  # stream handles that are no stream's


class Handles:
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
        self._earlier = EarlierMemory()

    def _number(self, what: str) -> int:
        self._counts[what] = self._counts.get(what, 0) + 1
        return self._counts[what]

    def _stream(self, call: Call, parameter: str = "stream") -> Stream:
        handle = call.arguments.get(parameter, 0)
        kind, number = call.device
        place = f"{kind}:{number}"
        if handle in _LEGACY:
            return self._default_stream(call.device)
        key: object
        if handle == _PER_THREAD:
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

    def _destroy_stream(self, handle: int) -> None:
        """Its work goes on. A capture that began on it is over."""
        stream = self._streams.pop(handle, None)
        if stream is None:
            return
        if stream.capture is not None and stream.capture.origin is stream:
            self._end_capture(stream.capture)
        stream.capture = None
        self.checker.ended([stream.timeline])

    def _end_capture(self, capture: Capture) -> None:
        for each in self.checker.streams:
            if each.capture is capture:
                each.capture = None

    def _event(self, handle: int) -> Event:
        if handle not in self._events:
            self._events[handle] = Event(f"event {self._number('event')} ({handle:#x})")
        return self._events[handle]

    def _default_stream(self, device: Device) -> Stream:
        key: object = ("legacy", device)
        if key not in self._streams:
            name = f"the default stream of {device[0]}:{device[1]}"
            self._streams[key] = self.checker.add_stream(name, device, legacy=True)
        return self._streams[key]

    def _location(self, address: int) -> Location:
        allocation = self.checker.memory.at(address)
        if allocation is not None:
            return allocation.location
        return Location.UNKNOWN if self._earlier.is_there(address) else Location.PAGEABLE

    def _of_device(self, call: Call) -> str:
        return f"memory of {call.device[0]}:{call.device[1]}"

    def _undeclared(self, function: int, arguments: int, device: Device) -> Iterator[Action]:
        pointers = self._kernel_pointers(function, arguments, device)
        if pointers is None:
            yield Anything()
            return
        for place, pointer in enumerate(pointers):
            if self.checker.memory.at(pointer) is not None:
                yield Touch(pointer, None, True, f"argument {place}")
