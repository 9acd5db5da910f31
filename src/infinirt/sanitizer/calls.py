"""What each function of the API means to the checker. Functions that are not here, and in the classes that this one is made of, mean nothing to it."""

from __future__ import annotations

from collections.abc import Callable

from .accesses import word
from .call import Call, Declared
from .checker import Checker, Device, Event
from .copy_calls import CopyCalls
from .graph_calls import GraphCalls
from .graphs import Action, Anything, Touch
from .memory_calls import MemoryCalls

NON_BLOCKING = 1  # of StreamCreateWithFlags
_EXTERNAL = 1  # of EventRecordWithFlags and StreamWaitEvent
_NOT_READY = 600

_WAITS = (
    "infinirtStreamSynchronize",
    "infinirtEventSynchronize",
    "infinirtDeviceSynchronize",
    "infinirtStreamQuery",
    "infinirtEventQuery",
)
_HAS_NOT_WAITED = (400, 600, *range(900, 910))  # the handle is none, not ready, a capture is in the way


def _has_waited(call: Call) -> bool:
    """A wait or a look that fails tells of work that failed, and is over all the same."""
    return call.function in _WAITS and call.result not in _HAS_NOT_WAITED


class Calls(MemoryCalls, CopyCalls, GraphCalls):
    """Takes calls one by one."""

    def __init__(
        self,
        checker: Checker,
        kernel_pointers: Callable[[int, int, Device], list[int] | None],
        kernel_name: Callable[[int, Device], str],
    ) -> None:
        super().__init__(checker, kernel_pointers, kernel_name)
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


# Of these a failure says something, too, or ends something.
_WHATEVER_THE_RESULT = {
    f"infinirt{name}"
    for name in (
        "Memcpy", "MemcpyAsync", "MemcpyPeer", "MemcpyPeerAsync", "Memcpy2D", "Memcpy2DAsync", "Memset", "MemsetAsync",
        "Memset2D", "Memset2DAsync", "Free", "FreeAsync", "StreamEndCapture", "EventRecord", "EventSynchronize",
        "StreamWaitEvent",
    )
}  # fmt: skip

__all__ = ["Call", "Calls", "Declared"]
