"""Looks on while a program calls the runtime, in the process itself, and hands each call to the checker."""

from __future__ import annotations

import ctypes
import gc
import itertools
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .. import _core
from .. import runtime as runtime  # the library is loaded
from ..__main__ import installed_root
from .calls import Call, Calls, Declared
from .checker import Checker, Device
from .clocks import Stack
from .findings import Finding, full_path
from .host_memory import HostMemory
from .signals import Signals

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_DEEPEST = 24  # frames of a stack


class _Access(ctypes.Structure):
    """infinirtXAccess."""

    _fields_ = [
        ("pointer", ctypes.c_uint64),
        ("bytes", ctypes.c_size_t),
        ("writes", ctypes.c_int),
        ("partly", ctypes.c_int),
    ]


class _ObservedCall(ctypes.Structure):
    """infinirtXCall."""

    _fields_ = [
        ("number", ctypes.c_ulonglong),
        ("function", ctypes.c_char_p),
        ("signature", ctypes.c_char_p),
        ("arguments", ctypes.POINTER(ctypes.c_ulonglong)),
        ("argument_count", ctypes.c_int),
        ("device_type", ctypes.c_char_p),
        ("device", ctypes.c_int),
        ("stack", ctypes.c_char_p),
        ("result", ctypes.c_int),
        ("created", ctypes.c_ulonglong),
        ("begin_ns", ctypes.c_longlong),
        ("end_ns", ctypes.c_longlong),
        ("accesses", ctypes.POINTER(_Access)),
        ("access_count", ctypes.c_int),
        ("name", ctypes.c_char_p),
    ]


@dataclass(frozen=True, slots=True)
class _Kernel:
    name: str
    sizes: list[int] | None  # of its parameters; None: not known


_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_ObservedCall))


class _Observer(ctypes.Structure):
    """infinirtXObserver."""

    _fields_ = [
        ("size", ctypes.c_size_t),
        ("user", ctypes.c_void_p),
        ("call_begin", _CALLBACK),
        ("call_end", _CALLBACK),
        ("work", ctypes.c_void_p),
        ("order", ctypes.c_void_p),
    ]


_kept: list[object] = []  # callbacks that other threads may still be in
_running: set[Sanitizer] = set()


def _after_fork() -> None:
    for each in list(_running):
        each._end_in_child()
    _running.clear()


os.register_at_fork(after_in_child=_after_fork)

_never = threading.Lock()
_never.acquire()


class _Stops(BaseException):
    """Raised in a thread it stops it there, before any of the thread's own code can meet it."""

    def __init__(self) -> None:
        _never.acquire()


class Sanitizer:
    """Looks on from start() to stop(); `findings` are what was found so far. There is one at a time in a process."""

    def __init__(self, report: Callable[[Finding], None] | None = None) -> None:
        self._checker = Checker(report)
        self._calls = Calls(self._checker, self._kernel_pointers, self._kernel_name)
        self._host_memory = HostMemory(self._checker)
        self._lock = threading.RLock()
        self._thread = threading.local()
        self._signatures: dict[bytes, tuple[str, ...]] = {}
        self._kernels: dict[int, _Kernel] = {}
        self._library = ctypes.CDLL(str(installed_root() / "lib" / "libinfinirt.so.1"))
        self._signals = Signals(Sanitizer._call_ended.__code__, Sanitizer._touched.__code__)
        self._devices: set[Device] = set()
        self._callers: set[int] = set()  # threads
        self._running = False
        self.outside: FrameType | None = None  # calls the program: no stack shows it, nor what called it
        self.problems: list[str] = []  # of the checker itself

    @property
    def leaks(self) -> int:
        """How many allocations are not freed so far."""
        with self._lock:
            return sum(each.is_leak for each in self._checker.memory.all())

    @property
    def unwatched(self) -> str:
        """Memory that the program reaches by itself and that could not be watched; "" if there was none."""
        return self._host_memory.unwatched

    @property
    def findings(self) -> list[Finding]:
        return self._checker.findings

    @property
    def devices(self) -> list[Device]:
        """Those that the program has something of."""
        return sorted(self._devices)

    def take_findings(self) -> list[Finding]:
        """What was found since this was asked last. What is found again is told again."""
        with self._lock:
            return self._checker.take_findings()

    def start(self) -> None:
        callback = _CALLBACK(self._call_ended)
        own = ctypes.cast(callback, ctypes.c_void_p)
        caller = _CALLBACK(_core.observer_caller())
        observer = _Observer(ctypes.sizeof(_Observer), own, _CALLBACK(), caller, None, None)
        _kept.extend((callback, observer))
        self._set(ctypes.byref(observer))
        _core.watch_touches(self._touched)
        self._signals.start()
        _running.add(self)
        self._running = True

    def stop(self) -> None:
        """Looks on no longer."""
        if self._running:
            self._running = False
            _running.discard(self)
            self._signals.stop()
            self.outside = None
            self._set(None)
            with self._lock:
                self._take_untold()
                self._host_memory.open_all()
            _core.watch_touches(None)

    def end(self) -> None:
        """The program is over: what it has not freed is a leak."""
        with self._lock:
            self._checker.end()

    def stop_threads(self, threads: Iterable[threading.Thread]) -> bool:
        """They get no further in Python, as when the interpreter ends. Returns whether one of them has called the runtime, and may hold something of it."""
        self._lock.acquire()  # for good: none of them is in the checker, or will come out of it
        stopped = [thread.ident or 0 for thread in threads]
        for ident in stopped:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(ident), ctypes.py_object(_Stops))
        self._lock = threading.RLock()
        return not self._callers.isdisjoint(stopped)

    def _end_in_child(self) -> None:
        """A forked child is not looked at. Who held the lock is not in it."""
        self._running = False
        self._lock = threading.RLock()
        self._signals.stop()

    def _set(self, observer: Any) -> None:
        error = self._library.infinirtXSetObserver(observer)
        if error:
            raise RuntimeError("something else observes the runtime's calls already")

    # ---- one call

    def _call_ended(self, user: int | None, pointer: Any) -> None:
        self._take(pointer)
        if self._signals.waiting:
            (*_,) = self._signals.again()

    def _touched(self, address: int, writes: bool) -> None:
        """In the middle of the program's own access to memory."""
        self._take_touch(address, writes)
        if self._signals.waiting:
            (*_,) = self._signals.again()

    def _take(self, pointer: Any) -> None:
        if not self._running or getattr(self._thread, "asks", False):
            return
        collects = gc.isenabled()
        gc.disable()  # what the collector lets go of could not be freed from here
        try:
            call = self._read(pointer.contents)
            waiting = self._waiting()
            waiting.append(call)
            if len(waiting) > 1:
                return  # the checker's own objects were collected as garbage, or it called itself: later
            with self._lock:
                self._take_untold()
                while waiting:
                    self._calls.take(waiting[0])
                    waiting.pop(0)
                self._host_memory.settle()
        except Exception as error:  # never into the program
            self._waiting().clear()
            self.problems.append(f"{type(error).__name__}: {error}")
        finally:
            if collects:
                gc.enable()

    def _take_touch(self, address: int, writes: bool) -> None:
        if not self._running:
            return
        collects = gc.isenabled()
        gc.disable()
        try:
            stack = _stack(sys._getframe(2), self.outside)
            with self._lock:
                self._host_memory.touched(address, writes, stack)
        except Exception as error:
            self.problems.append(f"{type(error).__name__}: {error}")
        finally:
            if collects:
                gc.enable()

    def _take_untold(self) -> None:
        """Of threads that have no Python stack."""
        for address, writes in _core.untold_touches():
            self._host_memory.touched(address, writes, ())

    def _waiting(self) -> list[Call]:
        """Calls of this thread that the checker has not taken yet."""
        if not hasattr(self._thread, "waiting"):
            self._thread.waiting = []
        calls: list[Call] = self._thread.waiting
        return calls

    def _read(self, seen: Any) -> Call:
        program = sys._getframe(2).f_back  # behind _call_ended, if the thread is one of Python's
        device = ((seen.device_type or b"cpu").decode(), seen.device)
        if seen.created:
            self._devices.add(device)
        thread = threading.get_ident()
        self._callers.add(thread)
        return Call(
            seen.function.decode(),
            dict(zip(self._names(seen.signature), seen.arguments[: seen.argument_count], strict=False)),
            seen.result,
            seen.created,
            device,
            thread,
            _stack(program, self.outside),
            [_declared(seen.accesses[i]) for i in range(seen.access_count)],
            (seen.name or b"").decode(errors="replace"),
            _core.drops_late(),
        )

    def _names(self, signature: bytes) -> tuple[str, ...]:
        names = self._signatures.get(signature)
        if names is None:
            words = signature.decode().split(",") if signature else []
            names = self._signatures[signature] = tuple(word.partition(":")[0] for word in words)
        return names

    def _kernel(self, function: int, device: Device) -> _Kernel:
        if function not in self._kernels:
            asking = threading.Thread(target=self._ask_about, args=(function, device))
            asking.start()  # an observer may not call the API
            asking.join()
        return self._kernels[function]

    def _kernel_name(self, function: int, device: Device) -> str:
        return self._kernel(function, device).name

    def _kernel_pointers(self, function: int, arguments: int, device: Device) -> list[int] | None:
        """Those of a kernel's arguments that may be pointers; None where that cannot be known."""
        sizes = self._kernel(function, device).sizes
        if sizes is None or (sizes and not arguments):
            return None
        places = (place for place, size in enumerate(sizes) if size == _POINTER)
        return [_word(_word(arguments + _POINTER * place)) for place in places]

    def _ask_about(self, function: int, device: Device) -> None:
        self._thread.asks = True
        kind, number = device
        self._library.infinirtXSetDeviceType(kind.encode())
        self._library.infinirtSetDevice(number)
        name = ctypes.c_char_p()
        if self._library.infinirtFuncGetName(ctypes.byref(name), ctypes.c_void_p(function)):
            name.value = b""
        sizes: list[int] = []
        offset, size = ctypes.c_size_t(), ctypes.c_size_t()
        while not self._library.infinirtFuncGetParamInfo(
            ctypes.c_void_p(function), ctypes.c_size_t(len(sizes)), ctypes.byref(offset), ctypes.byref(size)
        ):
            sizes.append(size.value)
        self._kernels[function] = _Kernel((name.value or b"").decode(errors="replace"), sizes or None)


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _declared(access: _Access) -> Declared:
    whole = ((access.pointer, access.pointer + access.bytes),)
    return Declared(access.pointer, None if access.partly else whole, bool(access.writes))


_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the package infinirt
_SITE = os.path.dirname(_OWN)
_HIDDEN = (
    _OWN + os.sep,
    os.path.join(_SITE, "infinicore") + os.sep,
    os.path.join(_SITE, "infiniccl") + os.sep,
    sysconfig.get_paths()["stdlib"] + os.sep,
    "<frozen",
)


_LIBRARIES = tuple(f"{os.sep}{name}{os.sep}" for name in ("_pytest", "pluggy", "numpy"))


def _is_hidden(file: str) -> bool:
    if any(name in file for name in _LIBRARIES):
        return True
    return file.startswith(_HIDDEN) and "site-packages" not in file.removeprefix(_SITE)


def _stack(frame: FrameType | None, outside: FrameType | None) -> Stack:
    """The program's own lines, the innermost first; the runtime's and Python's are left out."""
    return tuple(itertools.islice(_lines(frame, outside), _DEEPEST))


def _lines(frame: FrameType | None, outside: FrameType | None) -> Iterator[str]:
    while frame is not None and frame is not outside:
        code = frame.f_code
        if code.co_filename.startswith(_HERE):
            return  # who called the program
        if not _is_hidden(code.co_filename):
            yield f"{full_path(code.co_filename)}:{frame.f_lineno} in {code.co_name}"
        frame = frame.f_back
