"""Host functions and callbacks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from ..bench import HOST_FUNCTION, Bench, address_of, download, soon
from ..case import Register
from ..check import fails, holds, ok, rt, same

case = Register("host-function", "full")
CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


@case("host-function.runs", about="LaunchHostFunc", rule="contract of infinirtLaunchHostFunc")
def runs(t: Bench) -> None:
    """A host function is called once, with its argument."""
    stream, calls = t.stream(), t.calls()
    ok(rt.LaunchHostFunc(stream, calls.address, 4711))
    ok(rt.StreamSynchronize(stream))
    same(calls.seen, [4711], "the calls")


@case("host-function.order", about="LaunchHostFunc", rule="Streams: work of one stream runs in order")
def order(t: Bench) -> None:
    """A host function sees what the stream did before it, and the stream waits for it."""
    stream, pinned, memory = t.stream(), t.pinned(16), t.memory(16, fill=1)
    seen: list[bytes] = []

    def body(_: object) -> None:
        seen.append(ctypes.string_at(pinned, 16))
        ctypes.memset(pinned, 9, 16)

    function = t.keep(HOST_FUNCTION(body))
    ok(rt.MemcpyAsync(pinned, memory, 16, 2, stream))
    ok(rt.LaunchHostFunc(stream, address_of(function), 0))
    ok(rt.MemcpyAsync(memory, pinned, 16, 1, stream))
    ok(rt.StreamSynchronize(stream))
    same(seen, [b"\1" * 16], "what the host function saw")
    same(download(memory, 16), b"\x09" * 16, "what the copy behind it copied")


@case(
    "host-function.returns", about="LaunchHostFunc", rule="contract of infinirtLaunchHostFunc: asynchronous"
)
def returns(t: Bench) -> None:
    """Enqueueing a host function does not wait for the stream."""
    stream, calls = t.stream(), t.calls()
    t.returns(stream, lambda: rt.LaunchHostFunc(stream, calls.address, 1))
    same(calls.seen, [1], "the calls")


@case(
    "host-function.other-streams-go-on",
    about="LaunchHostFunc",
    rule="Callbacks: a host function may block; other streams go on",
)
def others(t: Bench) -> None:
    """While a host function blocks, copies of another stream run."""
    held, other, mark = t.stream(), t.stream(), t.mark()
    gate = t.gate(held)
    gate.wait_until_entered()
    mark.set_by(other)
    ok(rt.StreamSynchronize(other))
    holds(mark.is_set, "the other stream's copy to have run")
    gate.open()


@case(
    "host-function.api-barred",
    about="LaunchHostFunc",
    rule="Callbacks: in a host function every API call gives NotPermitted",
)
def barred(t: Bench) -> None:
    """In a host function every call of the API is refused, those that only ask included."""
    stream, event = t.stream(), t.event()
    ok(rt.EventRecord(event, stream))
    codes: list[int] = []

    calls: tuple[Callable[[], Any], ...] = (
        lambda: rt.GetDevice(),
        lambda: rt.SetDevice(t.ordinal),
        lambda: rt.DeviceSynchronize(),
        lambda: rt.StreamSynchronize(stream),
        lambda: rt.StreamQuery(stream),
        lambda: rt.EventQuery(event),
        lambda: rt.Malloc(64),
        lambda: rt.MallocAsync(64, stream),
        lambda: rt.Free(0),
    )
    function = t.keep(HOST_FUNCTION(lambda _: codes.extend(int(call()[0]) for call in calls)))
    ok(rt.LaunchHostFunc(stream, address_of(function), 0))
    ok(rt.StreamSynchronize(stream))
    same(codes, [800] * 9, "what nine calls answered (800: not permitted)")


@case("host-function.null", about="LaunchHostFunc", rule="contract of infinirtLaunchHostFunc")
def null(t: Bench) -> None:
    """A null function is an invalid value."""
    fails(rt.LaunchHostFunc(t.stream(), 0, 0), "InvalidValue")


@case("host-function.legacy", about="LaunchHostFunc", rule="Streams: the legacy stream takes all work")
def legacy(t: Bench) -> None:
    """Host functions run on the legacy and on the per-thread stream, too."""
    calls = t.calls()
    for i, stream in enumerate((0, 1, 2)):
        ok(rt.LaunchHostFunc(stream, calls.address, i + 1))
        ok(rt.StreamSynchronize(stream))
    same(calls.seen, [1, 2, 3], "the calls")


@case(
    "host-function.owner",
    about="LaunchHostFunc",
    rule="contract of infinirtXLaunchHostFunc: destroy runs once, after the function",
)
def owner(t: Bench) -> None:
    """Data given away with a host function is destroyed once, after the call."""
    stream, log = t.stream(), t.keep([])
    run = t.keep(HOST_FUNCTION(lambda data: log.append(("run", data))))
    destroy = t.keep(HOST_FUNCTION(lambda data: log.append(("destroy", data))))
    ok(rt.XLaunchHostFunc(stream, address_of(run), 17, address_of(destroy)))
    ok(rt.StreamSynchronize(stream))
    soon(lambda: len(log) >= 2, "the data to be destroyed")
    same(log, [("run", 17), ("destroy", 17)], "what happened")


@case("host-function.callback", about="StreamAddCallback", rule="contract of infinirtStreamAddCallback")
def callback(t: Bench) -> None:
    """A callback is called with its stream, success and its argument."""
    stream, seen = t.stream(), t.keep([])
    function = t.keep(CALLBACK(lambda *arguments: seen.append(arguments)))
    ok(rt.StreamAddCallback(stream, address_of(function), 23, 0))
    ok(rt.StreamSynchronize(stream))
    same(seen, [(int(stream), 0, 23)], "the calls")


@case(
    "host-function.callback.flags",
    about="StreamAddCallback",
    rule="contract of infinirtStreamAddCallback: flags must be 0",
)
def callback_flags(t: Bench) -> None:
    """A callback with flags, or without a function, is refused."""
    function = t.keep(CALLBACK(lambda *_: None))
    fails(rt.StreamAddCallback(t.stream(), address_of(function), 0, 1), "InvalidValue")
    fails(rt.StreamAddCallback(t.stream(), 0, 0, 0), "InvalidValue")


@case(
    "host-function.callback.order",
    about="StreamAddCallback LaunchHostFunc",
    rule="contract of infinirtStreamAddCallback: in stream order",
)
def callback_order(t: Bench) -> None:
    """Callbacks and host functions of a stream run in the order of their calls."""
    stream, seen = t.stream(), t.keep([])
    first = t.keep(CALLBACK(lambda s, e, data: seen.append(data)))
    second = t.keep(HOST_FUNCTION(lambda data: seen.append(data)))
    for i in range(1, 21):
        if i % 2:
            ok(rt.StreamAddCallback(stream, address_of(first), i, 0))
        else:
            ok(rt.LaunchHostFunc(stream, address_of(second), i))
    ok(rt.StreamSynchronize(stream))
    same(seen, list(range(1, 21)), "the order of the calls")
