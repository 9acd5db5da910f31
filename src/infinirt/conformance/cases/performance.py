"""Speed: what calls cost and how fast bytes move. Reported beside the rules, never judged."""

from __future__ import annotations

import ctypes
import statistics
import time
from collections.abc import Callable
from typing import Any

from infinirt import runtime

from ..bench import D2D, D2H, DISABLE_TIMING, H2D, Bench
from ..case import Register
from ..check import ok, rt
from .graph import empty, instantiate, new_graph, set_params

case = Register("performance", "full")
RULE = "performance is reported, not judged"
ROUNDS, LEAST = 7, 0.002  # rounds of which the median counts, and the least seconds of one


def time_of(call: Callable[[], Any]) -> float:
    """Seconds of one call: the median of several rounds, each long enough to be timed."""
    call()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < LEAST:
        call()
        count += 1
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(count):
            call()
        found.append((time.perf_counter() - began) / max(count, 1))
    return statistics.median(found)


def latency(t: Bench, name: str, call: Callable[[], Any]) -> None:
    t.measured(name, time_of(call) * 1e6, "µs", kind="latency")


@case("performance.calls.asking", about="GetDevice StreamQuery", rule=RULE)
def asking(t: Bench) -> None:
    """What it costs to ask: the current device, a stream, an event."""
    stream, event = t.stream(), t.event(DISABLE_TIMING)
    ok(rt.EventRecord(event, stream))
    ok(rt.StreamSynchronize(stream))
    latency(t, "GetDevice", runtime.infinirtGetDevice)
    latency(t, "StreamQuery, idle", lambda: runtime.infinirtStreamQuery(stream))
    latency(t, "EventQuery, complete", lambda: runtime.infinirtEventQuery(event))


@case("performance.calls.synchronise", about="StreamSynchronize DeviceSynchronize", rule=RULE)
def synchronise(t: Bench) -> None:
    """What it costs to synchronise with a stream and a device that are idle."""
    stream = t.stream()
    latency(t, "StreamSynchronize, idle", lambda: runtime.infinirtStreamSynchronize(stream))
    latency(t, "DeviceSynchronize, idle", runtime.infinirtDeviceSynchronize)


@case("performance.calls.round-trip", about="LaunchHostFunc StreamSynchronize MemsetAsync", rule=RULE)
def round_trip(t: Bench) -> None:
    """How long work takes from its call to the end of its synchronisation: a small set, a small copy, an event."""
    stream, memory, event = t.stream(), t.memory(4096), t.event(DISABLE_TIMING)

    def small_set() -> None:
        runtime.infinirtMemsetAsync(memory, 0, 256, stream)
        runtime.infinirtStreamSynchronize(stream)

    def small_copy() -> None:
        runtime.infinirtMemcpyAsync(memory, memory + 2048, 256, D2D, stream)
        runtime.infinirtStreamSynchronize(stream)

    def record() -> None:
        runtime.infinirtEventRecord(event, stream)
        runtime.infinirtEventSynchronize(event)

    latency(t, "set 256 B and synchronise", small_set)
    latency(t, "copy 256 B and synchronise", small_copy)
    latency(t, "record an event and wait for it", record)


@case("performance.calls.memory", about="Malloc Free MallocAsync FreeAsync", rule=RULE)
def memory(t: Bench) -> None:
    """What an allocation and its free cost: plain, and in stream order."""
    stream = t.stream()

    def plain() -> None:
        runtime.infinirtFree(runtime.infinirtMalloc(65536)[1])

    def ordered() -> None:
        runtime.infinirtFreeAsync(runtime.infinirtMallocAsync(65536, stream)[1], stream)

    latency(t, "Malloc and Free, 64 KiB", plain)
    latency(t, "MallocAsync and FreeAsync, 64 KiB", ordered)
    ok(rt.StreamSynchronize(stream))


@case("performance.calls.objects", about="StreamCreate StreamDestroy EventCreate EventDestroy", rule=RULE)
def objects(t: Bench) -> None:
    """What it costs to make and destroy a stream and an event."""

    def stream() -> None:
        runtime.infinirtStreamDestroy(runtime.infinirtStreamCreateWithFlags(1)[1])

    def event() -> None:
        runtime.infinirtEventDestroy(runtime.infinirtEventCreate()[1])

    latency(t, "StreamCreate and StreamDestroy", stream)
    latency(t, "EventCreate and EventDestroy", event)


@case("performance.graph", about="GraphLaunch", rule=RULE)
def graph(t: Bench) -> None:
    """How long a graph of a hundred small sets takes, and the same sets one call each."""
    made, stream, pointer = new_graph(t), t.stream(), t.memory(4096)
    last = empty(made)
    for _ in range(100):
        last = ok(rt.GraphAddMemsetNode(made, [last], 1, set_params(pointer, 1, 64)))
    executable = instantiate(t, made)

    def launch() -> None:
        runtime.infinirtGraphLaunch(executable, stream)
        runtime.infinirtStreamSynchronize(stream)

    def calls() -> None:
        for _ in range(100):
            runtime.infinirtMemsetAsync(pointer, 1, 64, stream)
        runtime.infinirtStreamSynchronize(stream)

    latency(t, "100 sets as a graph and synchronise", launch)
    latency(t, "100 sets, one call each, and synchronise", calls)


def bandwidth(t: Bench, direction: str, make: Callable[[int], Callable[[], Any]], most: int) -> None:
    """Bytes a second by size, from 4 KiB upwards."""
    size = 4096
    while size <= most:
        seconds = time_of(make(size))
        t.measured(
            f"{direction}, {label(size)}",
            size / seconds / 1e9,
            "GB/s",
            kind="bandwidth",
            series=direction,
            size=size,
        )
        size *= 8


def label(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def largest(t: Bench) -> int:
    """32 MiB, or an eighth of what is free."""
    return min(32 << 20, int(ok(rt.MemGetInfo())[0]) // 8)


@case("performance.bandwidth.pinned", about="MemcpyAsync", rule=RULE, limit=2)
def pinned(t: Bench) -> None:
    """How fast page-locked memory is copied to the device and back, by size."""
    most, stream = largest(t), t.stream()
    device, host = t.memory(most, fill=1), t.pinned(most)

    def copy(dst: int, src: int, kind: int) -> Callable[[int], Callable[[], Any]]:
        def of_size(size: int) -> Callable[[], Any]:
            def call() -> None:
                runtime.infinirtMemcpyAsync(dst, src, size, kind, stream)
                runtime.infinirtStreamSynchronize(stream)

            return call

        return of_size

    bandwidth(t, "host to device, pinned", copy(device, host, H2D), most)
    bandwidth(t, "device to host, pinned", copy(host, device, D2H), most)


@case("performance.bandwidth.device", about="MemcpyAsync MemsetAsync", rule=RULE, limit=2)
def within(t: Bench) -> None:
    """How fast memory is copied and set within the device, by size, beside the host's own memcpy."""
    most, stream = largest(t), t.stream()
    one, two = t.memory(most, fill=1), t.memory(most, fill=2)
    a, b = t.plain(most, fill=1), t.plain(most, fill=2)

    def copy(size: int) -> Callable[[], Any]:
        def call() -> None:
            runtime.infinirtMemcpyAsync(one, two, size, D2D, stream)
            runtime.infinirtStreamSynchronize(stream)

        return call

    def fill(size: int) -> Callable[[], Any]:
        def call() -> None:
            runtime.infinirtMemsetAsync(one, 0, size, stream)
            runtime.infinirtStreamSynchronize(stream)

        return call

    bandwidth(t, "within the device", copy, most)
    bandwidth(t, "set", fill, most)
    bandwidth(t, "the host's memcpy", lambda size: lambda: ctypes.memmove(a, b, size), most)


@case("performance.bandwidth.pageable", about="Memcpy", rule=RULE, limit=2)
def pageable(t: Bench) -> None:
    """How fast pageable memory is copied to the device, by size."""
    most = largest(t)
    device, host = t.memory(most, fill=1), t.plain(most, fill=2)

    def copy(size: int) -> Callable[[], Any]:
        return lambda: runtime.infinirtMemcpy(device, host, size, H2D)

    bandwidth(t, "host to device, pageable", copy, most)
