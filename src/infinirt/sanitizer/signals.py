"""Python's handlers of signals wait while the checker takes a call.

Python runs them between any two steps of the main thread, and so in the middle of the checker, where an exception of theirs would be lost and leave the call half taken. A handler that would
run there is noted instead, and its signal comes again as the last thing before the program goes on.
"""

from __future__ import annotations

import _thread
import importlib
import signal
import threading
from collections.abc import Callable, Iterator
from functools import partial
from operator import methodcaller
from types import CodeType, FrameType
from typing import Any

_signal: Any = importlib.import_module("_signal")  # whose functions the module signal calls
_comes: Callable[[int], object] = vars(_thread)["interrupt_main"]  # as if it had come from outside
_Handler = Callable[[int, "FrameType | None"], object]


class _Waiting:
    """A handler of the program's, as the interpreter sees it."""

    def __init__(self, handler: _Handler, signals: Signals) -> None:
        self.handler = handler
        self._signals = signals

    def __call__(self, number: int, frame: FrameType | None) -> object:
        if self._signals.is_own(frame):
            self._signals.waiting.append(number)
            return None
        return self.handler(number, frame)


class Signals:
    """`own`: the functions, called from C, in which no handler may run."""

    def __init__(self, *own: CodeType) -> None:
        self._own = own
        self.waiting: list[int] = []
        self._set = _signal.signal
        self._get = _signal.getsignal

    def is_own(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code in self._own:
                return True
            frame = frame.f_back
        return False

    def again(self) -> Iterator[object]:
        """Whoever exhausts it makes the signals come again: not by a call, after which Python would run the handlers at once."""
        numbers, self.waiting = self.waiting, []
        calls: list[Callable[[], object]] = [partial(_comes, number) for number in numbers]
        if threading.current_thread() is threading.main_thread():
            woken = signal.set_wakeup_fd(-1)  # was written to when they came
            if woken != -1:
                calls.append(partial(signal.set_wakeup_fd, woken))
        return map(methodcaller("__call__"), calls)

    def start(self) -> None:
        _signal.signal, _signal.getsignal = self._set_for_program, self._get_for_program
        for number, handler in self._handlers():
            self._set(number, _Waiting(handler, self))

    def stop(self) -> None:
        _signal.signal, _signal.getsignal = self._set, self._get
        for number, handler in self._handlers():
            if isinstance(handler, _Waiting):
                self._set(number, handler.handler)

    def _handlers(self) -> list[tuple[int, Any]]:
        if threading.current_thread() is not threading.main_thread():
            return []  # nobody else may change them
        both = ((number, self._get(number)) for number in signal.valid_signals())
        return [(number, handler) for number, handler in both if callable(handler)]

    def _set_for_program(self, number: int, handler: Any, /) -> Any:
        wanted = _Waiting(handler, self) if callable(handler) else handler
        return _given(self._set(number, wanted))

    def _get_for_program(self, number: int, /) -> Any:
        return _given(self._get(number))


def _given(handler: Any) -> Any:
    return handler.handler if isinstance(handler, _Waiting) else handler
