"""Faults: memory that runs out, work that fails later, processes that end in the middle."""

from __future__ import annotations

import os
from typing import Any

from ..bench import HOST_FUNCTION, Bench, address_of
from ..case import Register
from ..check import Finished, Inapplicable, code_of, fails, holds, message, ok, rt, same
from ..other import Channel, Peer
from .kernel import make
from .memory import free_bytes
from .pool import MIB, new_pool, set_value

case = Register("fault", "full")


def limit_memory(t: Bench, more: int) -> None:
    """Lets the device give out `more` bytes from now on."""
    free, total = ok(rt.MemGetInfo())
    result = rt.XSetMemoryLimit(t.ordinal, int(total) - int(free) + more)
    if code_of(result):
        raise Inapplicable("the memory of this device type cannot be limited")
    t.later(lambda: ok(rt.XSetMemoryLimit(t.ordinal, 0)))


@case(
    "fault.memory.limit",
    about="Malloc",
    rule="contract of infinirtMalloc: 2 when there is not enough",
    alone=True,
)
def limit(t: Bench) -> None:
    """A full device says so, and gives memory again when there is some."""
    limit_memory(t, 8 * MIB)
    first = ok(rt.Malloc(6 * MIB))
    fails(rt.Malloc(6 * MIB), "MemoryAllocation")
    ok(rt.Free(first))
    ok(rt.Free(ok(rt.Malloc(6 * MIB))))


@case(
    "fault.memory.nothing-lost",
    about="Malloc MemGetInfo",
    rule="contract of infinirtMalloc: a failure changes nothing",
    alone=True,
)
def nothing_lost(t: Bench) -> None:
    """A hundred allocations that fail take no memory away."""
    limit_memory(t, 8 * MIB)
    before = free_bytes()
    for _ in range(100):
        fails(rt.Malloc(64 * MIB), "MemoryAllocation")
    same(free_bytes(), before, "free memory")


@case("fault.memory.message", about="Malloc", rule="USERS: out-of-memory messages that explain", alone=True)
def explained(t: Bench) -> None:
    """The message of a full device says how much was asked for."""
    limit_memory(t, 8 * MIB)
    rt.Malloc(64 * MIB)
    holds(str(64 * MIB) in message(), f"a message with {64 * MIB}", message())
    rt.GetLastError()


@case(
    "fault.memory.pool",
    about="MallocAsync FreeAsync",
    rule="contract of infinirtMallocAsync: 2 when there is not enough",
    alone=True,
)
def pool(t: Bench) -> None:
    """A pool on a full device says so, and gives memory again when some was freed."""
    pool, stream = new_pool(t), t.stream()
    limit_memory(t, 16 * MIB)
    first = ok(rt.MallocFromPoolAsync(12 * MIB, pool, stream))
    fails(rt.MallocFromPoolAsync(12 * MIB, pool, stream), "MemoryAllocation")
    ok(rt.FreeAsync(first, stream))
    ok(rt.FreeAsync(ok(rt.MallocFromPoolAsync(12 * MIB, pool, stream)), stream))


@case(
    "fault.memory.other-pools-give-back",
    about="MallocFromPoolAsync MemPoolSetAttribute",
    rule="USERS: out of memory while memory is free",
    alone=True,
)
def give_back(t: Bench) -> None:
    """What another pool keeps unused is given back before an allocation fails."""
    hoarder, stream = new_pool(t), t.stream()
    limit_memory(t, 16 * MIB)
    ok(set_value(hoarder, "AttrReleaseThreshold", 1 << 40))
    ok(rt.FreeAsync(ok(rt.MallocFromPoolAsync(12 * MIB, hoarder, stream)), stream))
    ok(rt.StreamSynchronize(stream))
    other = new_pool(t)
    ok(rt.FreeAsync(ok(rt.MallocFromPoolAsync(12 * MIB, other, stream)), stream))


def failing(t: Bench, code: int) -> int:
    return make(t, lambda block, args: code)


@case(
    "fault.work.told-later",
    about="LaunchKernel StreamSynchronize",
    rule="Errors: asynchronous errors surface at a later call",
    alone=True,
)
def told_later(t: Bench) -> None:
    """Work that fails does so at a later call, once, with its code; the launch has succeeded."""
    stream, kernel = t.stream(), failing(t, 1)
    gate = t.gate(stream)
    ok(rt.LaunchKernel(kernel, 1, 1, 0, 0, stream))
    gate.open()
    fails(rt.StreamSynchronize(stream), "InvalidValue")
    ok(rt.StreamSynchronize(stream))


@case(
    "fault.work.sticky",
    about="LaunchKernel DeviceSynchronize",
    rule="Errors: sticky errors are returned by every later call",
    alone=True,
)
def sticky(t: Bench) -> None:
    """After an illegal address every later call on the device returns it."""
    stream, kernel, event = t.stream(), failing(t, 700), t.event()
    ok(rt.LaunchKernel(kernel, 1, 1, 0, 0, stream))
    for result in (
        rt.StreamSynchronize(stream),
        rt.DeviceSynchronize(),
        rt.Malloc(64),
        rt.StreamQuery(stream),
        rt.EventRecord(event, stream),
        rt.MallocAsync(64, stream),
        rt.StreamCreate(),
    ):
        fails(result, "IllegalAddress")
    raise Finished


@case(
    "fault.work.host-functions-not-called",
    about="LaunchKernel LaunchHostFunc",
    rule="Callbacks: a host function is not called after a device error",
    alone=True,
)
def not_called(t: Bench) -> None:
    """After a device error host functions are not called, and copies do nothing."""
    stream, kernel, calls = t.stream(), failing(t, 719), t.calls()
    gate = t.gate(stream)
    ok(rt.LaunchKernel(kernel, 1, 1, 0, 0, stream))
    ok(rt.LaunchHostFunc(stream, calls.address, 1))
    gate.open()
    fails(rt.StreamSynchronize(stream), "LaunchFailure")
    same(calls.seen, [], "the calls")
    raise Finished


@case(
    "fault.work.other-device",
    about="LaunchKernel DeviceSynchronize",
    rule="Errors: on that device",
    alone=True,
)
def other_device(t: Bench) -> None:
    """A device that failed does not fail another."""
    other = t.other_device()
    kernel = failing(t, 700)
    ok(rt.LaunchKernel(kernel, 1, 1, 0, 0, 0))
    fails(rt.DeviceSynchronize(), "IllegalAddress")
    ok(rt.SetDevice(other))
    pointer = ok(rt.Malloc(64))
    ok(rt.Memset(pointer, 0, 64))
    ok(rt.DeviceSynchronize())
    raise Finished


# ---- processes that end


def leave_busy(t: Bench, channel: Channel) -> None:
    """Ends with work in flight on several streams, and with memory, events and graphs alive."""
    keep: list[Any] = []
    pinned, memory = ok(rt.MallocHost(1 << 20)), ok(rt.Malloc(1 << 20))
    for _ in range(4):
        stream, event = ok(rt.StreamCreateWithFlags(1)), ok(rt.EventCreate())
        for _ in range(20):
            ok(rt.MemcpyAsync(memory, pinned, 1 << 20, 1, stream))
            ok(rt.EventRecord(event, stream))
        keep += [stream, event]
    channel.send("busy")


def leave_in_capture(t: Bench, channel: Channel) -> None:
    stream, pointer = ok(rt.StreamCreateWithFlags(1)), ok(rt.Malloc(64))
    ok(rt.StreamBeginCapture(stream, rt.StreamCaptureMode(2)))
    ok(rt.MemsetAsync(pointer, 1, 64, stream))
    channel.send("capturing")


def leave_at_once(t: Bench, channel: Channel) -> None:
    function = HOST_FUNCTION(lambda _: None)
    stream = ok(rt.StreamCreateWithFlags(1))
    ok(rt.LaunchHostFunc(stream, address_of(function), 0))
    channel.send("leaving")
    os._exit(0)


def leaves(body: str, says: str) -> None:
    peer = Peer("fault", body)
    same(peer.receive(), says, "what the other process says")
    same(peer.join(), 0, "its status")


@case(
    "fault.exit.busy",
    about="MemcpyAsync EventRecord",
    rule="Exit: a process may end at any moment, with work in flight",
    limit=2,
)
def exit_busy(t: Bench) -> None:
    """A process that ends with work in flight ends well."""
    for _ in range(3):
        leaves("leave_busy", "busy")


@case(
    "fault.exit.in-capture", about="StreamBeginCapture", rule="Exit: a process may end at any moment", limit=2
)
def exit_capture(t: Bench) -> None:
    """A process that ends in a capture ends well."""
    leaves("leave_in_capture", "capturing")


@case(
    "fault.exit.at-once",
    about="LaunchHostFunc",
    rule="Exit: nothing is destroyed under a running worker",
    limit=2,
)
def exit_at_once(t: Bench) -> None:
    """A process that leaves at once, with a host function pending, ends well."""
    leaves("leave_at_once", "leaving")
