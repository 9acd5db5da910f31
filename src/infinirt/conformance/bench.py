"""The bench a case works at: streams, events, memory and gates that are cleared away behind it."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from typing import Any

from infinirt import runtime

from .check import Failed, Inapplicable, holds, ok, rt

NON_BLOCKING = 1
H2H, H2D, D2H, D2D, DEFAULT = range(5)
DISABLE_TIMING = 2
GATE_LIMIT = 10.0  # seconds until a gate gives up: then somebody waits for what is behind it
PATIENCE = 0.01  # seconds in which a call that does not wait, but should, may show it

HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def address_of(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class Gate:
    """A host function that holds a stream until the case opens it: makes "while the stream is busy" certain.

    Cases hold one gate at a time, because a device may run one host function at a time.
    """

    def __init__(self) -> None:
        self.is_open = False  # set before the stream is let go
        self.gave_up = False
        self.entered = threading.Event()
        self._open = threading.Event()
        self._function = HOST_FUNCTION(self._wait)

    def _wait(self, _: Any) -> None:
        self.entered.set()
        if not self._open.wait(GATE_LIMIT):
            self.gave_up = True

    def hold(self, stream: Any) -> None:
        ok(rt.LaunchHostFunc(stream, address_of(self._function), 0))

    def wait_until_entered(self) -> None:
        if not self.entered.wait(GATE_LIMIT):
            raise Failed("the host function to run", f"it did not begin within {GATE_LIMIT:.0f} s")

    def open(self) -> None:
        """Lets the stream go on; Failed if something waited until the gate gave up."""
        self.is_open = True
        self._open.set()
        if self.gave_up:
            raise Failed(
                "no call to wait for the stream while it is held",
                f"one waited: the stream was let go after {GATE_LIMIT:.0f} s",
            )

    def let_go(self) -> None:
        self._open.set()


class Calls:
    """A host function that notes its arguments, in order."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self._function = HOST_FUNCTION(lambda data: self.seen.append(data or 0))
        self.address = address_of(self._function)


class Bench:
    """Makes things, and after a case that passed takes everything away again; what that says counts as the case's own."""

    def __init__(self, type: str, ordinal: int) -> None:
        self.type = type
        self.ordinal = ordinal
        self.measurements: list[dict[str, object]] = []
        self._gates: list[Gate] = []
        self._undo: list[Callable[[], None]] = []
        self._kept: list[object] = []

    # ---- life

    def begin(self) -> None:
        ok(rt.XSetDeviceType(self.type))
        ok(rt.SetDevice(self.ordinal))
        runtime.infinirtGetLastError()

    def end(self, passed: bool) -> None:
        for gate in self._gates:
            gate.let_go()
        if passed:
            ok(rt.DeviceSynchronize())
            for undo in reversed(self._undo):
                undo()
        self._gates.clear()
        self._undo.clear()
        self._kept.clear()

    def later(self, undo: Callable[[], None]) -> None:
        """Something to do at the end, in reverse order."""
        self._undo.append(undo)

    def keep(self, thing: Any) -> Any:
        self._kept.append(thing)
        return thing

    # ---- things

    def stream(self, flags: int = NON_BLOCKING) -> Any:
        stream = ok(rt.StreamCreateWithFlags(flags))
        self.later(lambda: ok(rt.StreamDestroy(stream)))
        return stream

    def blocking_stream(self) -> Any:
        return self.stream(0)

    def event(self, flags: int = 0) -> Any:
        event = ok(rt.EventCreateWithFlags(flags))
        self.later(lambda: ok(rt.EventDestroy(event)))
        return event

    def memory(self, size: int, fill: int | None = None) -> int:
        """Device memory; with `fill`, complete with these bytes."""
        pointer = int(ok(rt.Malloc(size)))
        self.later(lambda: ok(rt.Free(pointer)))
        if fill is not None:
            upload(pointer, bytes([fill]) * size)
        return pointer

    def pinned(self, size: int, fill: int = 0) -> int:
        pointer = int(ok(rt.MallocHost(size)))
        self.later(lambda: ok(rt.FreeHost(pointer)))
        ctypes.memset(pointer, fill, size)
        return pointer

    def plain(self, size: int, fill: int = 0) -> int:
        """The address of pageable host memory that nobody registered."""
        buffer = self.keep(ctypes.create_string_buffer(bytes([fill]) * size, size))
        return ctypes.addressof(buffer)

    def gate(self, stream: Any) -> Gate:
        gate = Gate()
        self._gates.append(gate)
        gate.hold(stream)
        return gate

    def calls(self) -> Calls:
        calls: Calls = self.keep(Calls())
        return calls

    def mark(self) -> Mark:
        return Mark(self)

    # ---- two devices, two threads

    def other_device(self) -> int:
        """The number of another device of the type; Inapplicable where there is none."""
        count = int(ok(rt.GetDeviceCount()))
        if count < 2:
            raise Inapplicable(f"there is one device of the type {self.type}")
        return (self.ordinal + 1) % count

    def on_device(self, ordinal: int, make: Callable[[], Any]) -> Any:
        """Makes something with another device current; what was made is taken away with that device current."""
        ok(rt.SetDevice(ordinal))
        before = len(self._undo)
        try:
            made = make()
        finally:
            ok(rt.SetDevice(self.ordinal))
        undone = self._undo[before:]
        del self._undo[before:]

        def undo() -> None:
            ok(rt.SetDevice(ordinal))
            ok(rt.DeviceSynchronize())
            for each in reversed(undone):
                each()
            ok(rt.SetDevice(self.ordinal))

        self.later(undo)
        return made

    def elsewhere(self, body: Callable[[], Any], fresh: bool = False) -> Any:
        """Runs `body` on another thread and gives back what it returns, or raises what it raised.

        With `fresh` the thread has called nothing before: no device type, no device chosen.
        """
        thread = Other(self, body, fresh)
        return thread.result()

    def thread(self, body: Callable[[], Any]) -> Other:
        return Other(self, body, False)

    def waits(self, stream: Any, call: Callable[[], Any], what: str) -> None:
        """While `stream` is held, `call` does not come back."""
        gate = self.gate(stream)
        began = threading.Event()

        def body() -> bool:
            began.set()
            ok(call())
            return gate.is_open

        other = self.thread(body)
        began.wait()
        other.join_for(PATIENCE)
        gate.open()
        holds(bool(other.result()), f"{what} to wait for the stream", "it returned while the stream was held")

    def returns(self, stream: Any, call: Callable[[], Any]) -> Any:
        """While `stream` is held, `call` comes back; gives what it returned."""
        gate = self.gate(stream)
        gate.wait_until_entered()
        result = ok(call())
        gate.open()
        ok(rt.StreamSynchronize(stream))
        return result

    # ---- performance

    def measured(self, name: str, value: float, unit: str, **facts: object) -> None:
        self.measurements.append({"name": name, "value": value, "unit": unit, **facts})


class Other:
    """A thread on which the type and device under test are current."""

    def __init__(self, bench: Bench, body: Callable[[], Any], fresh: bool) -> None:
        self._result: Any = None
        self._error: BaseException | None = None

        def run() -> None:
            try:
                if not fresh:
                    bench.begin()
                self._result = body()
            except BaseException as error:
                self._error = error

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()

    def join_for(self, seconds: float) -> None:
        self._thread.join(seconds)

    def result(self) -> Any:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._result


class Mark:
    """Shows that work of a stream has run, without a host function: a byte that the stream copies to the host."""

    def __init__(self, bench: Bench) -> None:
        self._source = bench.memory(16, fill=1)
        self._byte = bench.pinned(16)

    def set_by(self, stream: Any) -> None:
        ok(rt.MemcpyAsync(self._byte, self._source, 16, D2H, stream))

    @property
    def is_set(self) -> bool:
        return peek(self._byte, 1) == b"\1"


def soon(condition: Callable[[], bool], what: str) -> None:
    """For what happens on a thread of the runtime, which does not say when; the limit is that of a hang."""
    end = time.monotonic() + GATE_LIMIT
    while not condition():
        if time.monotonic() > end:
            raise Failed(what, f"not so within {GATE_LIMIT:.0f} s")
        time.sleep(0.001)


# ---- bytes


def pattern(size: int, seed: int = 1) -> bytes:
    """Bytes of which neighbours differ, and which do not repeat at powers of two."""
    unit = bytes((i * 7 + i // 251 * 13 + seed * 31) % 251 for i in range(251 * 16))
    return (unit * (size // len(unit) + 1))[:size]


def upload(pointer: int, data: bytes) -> None:
    """Complete on return: a copy from pageable memory may return while its data is still on its way to the device, and a
    non-blocking stream does not wait for it."""
    ok(rt.Memcpy(pointer, data, len(data), H2D))
    ok(rt.StreamSynchronize(0))


def download(pointer: int, size: int) -> bytes:
    into = bytearray(size)
    ok(rt.Memcpy(into, pointer, size, D2H))
    return bytes(into)


def peek(pointer: int, size: int) -> bytes:
    """Host memory, as it is now."""
    return ctypes.string_at(pointer, size)


def poke(pointer: int, data: bytes) -> None:
    ctypes.memmove(pointer, data, len(data))
