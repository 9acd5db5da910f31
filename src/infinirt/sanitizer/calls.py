"""What each function of the API means to the checker. Functions that are not here, and in the classes that this one is made of, mean nothing to it."""

from __future__ import annotations

from collections.abc import Callable

from .accesses import word
from .call import HAS_NOT_WAITED, Call, Declared
from .checker import Checker, Device, Event
from .copy_calls import CopyCalls
from .graph_calls import GraphCalls
from .graphs import Action, Anything, Record, Touch, Wait
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


def _has_waited(call: Call) -> bool:
    """A wait or a look that fails tells of work that failed, and is over all the same."""
    return call.function in _WAITS and call.result not in HAS_NOT_WAITED


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
        self.checker.thread = call.thread
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
        self._destroy_stream(call.arguments["stream"])

    def _StreamSynchronize(self, call: Call) -> None:
        self.checker.host_waits_for_stream(self._stream(call))

    _StreamQuery = _StreamSynchronize  # that succeeded

    def _DeviceSynchronize(self, call: Call) -> None:
        self.checker.host_waits_for_device(call.device)

    def _EventCreate(self, call: Call) -> None:
        self._events[call.created] = Event(f"event {self._number('event')}", call.device)

    _EventCreateWithFlags = _IpcOpenEventHandle = _EventCreate

    def _EventDestroy(self, call: Call) -> None:
        event = self._events.get(call.arguments["event"])
        if event is not None:
            event.destroyed = call.stack or ("?",)

    def _refused(self, call: Call, *handles: int) -> bool:
        """A refused call orders nothing. That its event was destroyed is worth saying."""
        if call.result == 0:
            return False
        for handle in handles:
            if handle in self._events:
                self.checker.event_is_gone(self._events[handle], call.function, call.stack)
        return True

    def _EventRecord(self, call: Call) -> None:
        a = call.arguments
        if self._refused(call, a["event"]):
            return
        stream = self._stream(call)
        event = self._event(a["event"])
        if stream.capture is not None and a.get("flags", 0) & _EXTERNAL:
            self.checker.work(stream, call.function, call.stack, [Record(event)])
        else:
            self.checker.record(event, stream, call.function, call.stack)

    _EventRecordWithFlags = _EventRecord

    def _StreamWaitEvent(self, call: Call) -> None:
        a = call.arguments
        if self._refused(call, a["event"]):
            return
        stream = self._stream(call)
        event = self._event(a["event"])
        if stream.capture is not None and a.get("flags", 0) & _EXTERNAL:
            self.checker.work(stream, call.function, call.stack, [Wait(event)])
        else:
            self.checker.wait(stream, event, call.function, call.stack)

    def _EventSynchronize(self, call: Call) -> None:
        handle = call.arguments["event"]
        if call.result in HAS_NOT_WAITED:
            self._refused(call, handle)
        else:
            self.checker.host_waits_for_event(self._event(handle), call.function, call.stack)

    _EventQuery = _EventSynchronize  # that says that it is over

    def _EventElapsedTime(self, call: Call) -> None:
        """There is a time between two events when both are over."""
        handles = (call.arguments["start"], call.arguments["end"])
        if self._refused(call, *handles):
            return
        for handle in handles:
            self.checker.host_waits_for_event(self._event(handle), call.function, call.stack)

    _EventElapsedTime_v2 = _EventElapsedTime

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
        "Memcpy", "MemcpyAsync", "MemcpyPeer", "MemcpyPeerAsync", "Memcpy2D", "Memcpy2DAsync", "Memcpy3D", "Memcpy3DAsync",
        "Memcpy3DPeer", "Memcpy3DPeerAsync", "Memset", "MemsetAsync", "Memset2D", "Memset2DAsync", "Memset3D", "Memset3DAsync",
        "Free", "FreeHost", "FreeAsync", "StreamEndCapture", "EventRecord", "EventRecordWithFlags", "EventSynchronize", "EventQuery",
        "EventElapsedTime", "EventElapsedTime_v2", "StreamWaitEvent",
    )
}  # fmt: skip

__all__ = ["Call", "Calls", "Declared"]
