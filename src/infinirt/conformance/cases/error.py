"""Errors: the thread's last one, names and texts, messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..bench import Bench
from ..case import Register
from ..check import error_code, holds, message, ok, rt, same

case = Register("error", "full")
# Those that programs tell apart.
NAMES = """
Success InvalidValue MemoryAllocation InitializationError CudartUnloading InvalidPitchValue InvalidMemcpyDirection
InsufficientDriver NoDevice InvalidDevice InvalidDeviceFunction DeviceUninitialized MapBufferObjectFailed
PeerAccessUnsupported FileNotFound OperatingSystem InvalidResourceHandle IllegalState SymbolNotFound NotReady
IllegalAddress LaunchTimeout PeerAccessAlreadyEnabled PeerAccessNotEnabled HostMemoryAlreadyRegistered
HostMemoryNotRegistered LaunchFailure NotPermitted NotSupported StreamCaptureUnsupported StreamCaptureInvalidated
StreamCaptureMerge StreamCaptureUnmatched StreamCaptureUnjoined StreamCaptureIsolation StreamCaptureImplicit
CapturedEvent StreamCaptureWrongThread GraphExecUpdateFailure Unknown
"""


def fail() -> None:
    """A call that fails with infinirtErrorInvalidDevice."""
    rt.SetDevice(9999)


@case(
    "error.last.is-the-failure",
    about="GetLastError",
    rule="Errors: GetLastError is per thread and resets",
    level="minimal",
)
def last(t: Bench) -> None:
    """The error of a call that failed is the last error."""
    fail()
    same(int(rt.GetLastError()[0]), 101, "the last error")


@case(
    "error.last.resets",
    about="GetLastError",
    rule="Errors: GetLastError is per thread and resets",
    level="minimal",
)
def resets(t: Bench) -> None:
    """Asking for the last error takes it away."""
    fail()
    rt.GetLastError()
    same(int(rt.GetLastError()[0]), 0, "the last error, asked for a second time")


@case("error.last.peek-keeps", about="PeekAtLastError", rule="Errors: PeekAtLastError does not reset")
def peek_keeps(t: Bench) -> None:
    """Peeking at the last error leaves it."""
    fail()
    for _ in range(3):
        same(int(rt.PeekAtLastError()[0]), 101, "the last error")
    same(int(rt.GetLastError()[0]), 101, "the last error in the end")


@case("error.last.success-keeps", about="GetLastError", rule="contract of infinirtGetLastError")
def success_keeps(t: Bench) -> None:
    """A call that succeeds does not take the last error away."""
    fail()
    ok(rt.DeviceSynchronize())
    same(int(rt.GetLastError()[0]), 101, "the last error")


@case("error.last.per-thread", about="GetLastError", rule="Errors: GetLastError is per thread")
def per_thread(t: Bench) -> None:
    """A failure on one thread is not the last error of another."""
    fail()
    same(t.elsewhere(lambda: int(rt.PeekAtLastError()[0])), 0, "the last error of another thread")
    same(int(rt.GetLastError()[0]), 101, "the last error of this thread")


@case("error.last.latest", about="GetLastError", rule="contract of infinirtGetLastError")
def latest(t: Bench) -> None:
    """Of two failures the later is the last error."""
    fail()
    rt.Malloc(1 << 60)
    same(int(rt.GetLastError()[0]), 2, "the last error")


@case("error.different", about="GetErrorName", rule='Traps: every failure was "unknown error"')
def different(t: Bench) -> None:
    """Different failures have different codes, and none of them is unknown."""
    memory = t.memory(64)
    codes = [
        int(result[0])
        for result in (
            rt.SetDevice(9999),
            rt.Malloc(1 << 60),
            rt.Free(memory + 16),
            rt.Memcpy(memory, t.plain(16), 16, 9),
            rt.EventQuery(0),
            rt.HostUnregister(t.plain(16)),
        )
    ]
    rt.GetLastError()
    same(codes, [101, 2, 1, 21, 400, 713], "the codes of six different mistakes")


@case("error.names", about="GetErrorName", rule="contract of infinirtGetErrorName")
def names(t: Bench) -> None:
    """Error codes have the API's names, and numbers that are none have none."""
    for name in NAMES.split():
        member = error_code(name)
        same(ok(rt.GetErrorName(member)).decode(), member.name, f"the name of {int(member)}")
    same(ok(rt.GetErrorName(98765)), b"unrecognized error code", "the name of a code that does not exist")


@case("error.texts", about="GetErrorString", rule="contract of infinirtGetErrorString")
def texts(t: Bench) -> None:
    """Different error codes have different texts."""
    found = [ok(rt.GetErrorString(error_code(name))) for name in NAMES.split()]
    holds(all(found), "texts that are not empty")
    same(len(set(found)), len(found), "the number of different texts")
    same(ok(rt.GetErrorString(0)), b"no error", "the text of success")


@case(
    "error.message.names-the-call",
    about="Malloc Free SetDevice",
    rule="bad input: a failing call leaves a message that names it",
)
def message_names(t: Bench) -> None:
    """The message of a failure says which function failed."""
    memory = t.memory(64)
    calls: tuple[tuple[str, Callable[[], Any]], ...] = (
        ("infinirtSetDevice", lambda: rt.SetDevice(9999)),
        ("infinirtMalloc", lambda: rt.Malloc(1 << 60)),
        ("infinirtFree", lambda: rt.Free(memory + 16)),
    )
    for name, call in calls:
        call()
        holds(name in message(), f"a message with {name}", message())
        rt.GetLastError()


@case(
    "error.not-ready-is-none",
    about="StreamQuery EventQuery EventElapsedTime",
    rule="Streams: NotReady is not an error",
)
def not_ready(t: Bench) -> None:
    """No function that answers not ready leaves it behind as the last error, and an earlier error stays."""
    stream, start, event = t.stream(), t.event(), t.event()
    ok(rt.EventRecord(start, stream))
    gate = t.gate(stream)
    ok(rt.EventRecord(event, stream))
    fail()
    for result in (rt.StreamQuery(stream), rt.EventQuery(event), rt.EventElapsedTime(start, event)):
        same(int(result[0]), int(error_code("NotReady")), "the answer")
    same(int(rt.GetLastError()[0]), 101, "the last error")
    gate.open()
