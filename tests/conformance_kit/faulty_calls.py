"""Stands between the kit and `infinirt.runtime`: the kit calls the functions by name, and finds these. KIT_FAULT chooses.

`crash` and `hang` are no faults of the list; they show that the kit contains what a device does to its process.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import infinirt
from infinirt import runtime

FAULT = os.environ.get("KIT_FAULT", "")
SUCCESS = runtime.infinirtError_t(0)
NOT_READY = runtime.infinirtError_t(600)
thread = threading.local()


def replace(name: str) -> Callable[[Callable[..., Any]], None]:
    """The decorated function gets the real one as its first argument."""

    def install(function: Callable[..., Any]) -> None:
        real = getattr(runtime, name)
        setattr(runtime, name, lambda *args, **kwargs: function(real, *args, **kwargs))

    return install


def is_busy(stream: Any) -> bool:
    return int(query_stream(stream)[0]) == 600


query_stream = runtime.infinirtStreamQuery

if FAULT == "lost-copy":
    pending: dict[int, int] = {}

    @replace("infinirtMemcpyAsync")
    def lost_copy(real: Any, dst: Any, src: Any, count: int, kind: Any, stream: Any) -> Any:
        if int(kind) == 2 and isinstance(dst, int) and int(stream) > 2:
            if int(runtime.infinirtStreamIsCapturing(stream)[1] or 0):
                return real(dst, src, count, kind, stream)
            pending[int(stream)] = pending.get(int(stream), 0) + 1 if is_busy(stream) else 0
            if pending[int(stream)] > 256:
                return (SUCCESS,)
        return real(dst, src, count, kind, stream)


if FAULT == "event-never-completes":
    sleeping: set[int] = set()

    @replace("infinirtEventCreateWithFlags")
    def remember(real: Any, flags: int) -> Any:
        result = real(flags)
        if flags & 1 and int(result[0]) == 0:
            sleeping.add(int(result[1]))
        return result

    @replace("infinirtEventSynchronize")
    def never(real: Any, event: Any) -> Any:
        while int(event) in sleeping:
            time.sleep(0.05)
        return real(event)


if FAULT == "elapsed-in-seconds":
    for version in ("infinirtEventElapsedTime", "infinirtEventElapsedTime_v2"):

        @replace(version)
        def in_seconds(real: Any, start: Any, end: Any) -> Any:
            error, time_ms = real(start, end)
            return (error, time_ms / 1000 if time_ms is not None else None)


if FAULT == "wait-across-devices":
    homes: dict[int, int] = {}

    @replace("infinirtEventCreateWithFlags")
    def remember_device(real: Any, flags: int) -> Any:
        result = real(flags)
        if int(result[0]) == 0:
            homes[int(result[1])] = int(runtime.infinirtGetDevice()[1])
        return result

    @replace("infinirtStreamWaitEvent")
    def dropped(real: Any, stream: Any, event: Any, flags: int) -> Any:
        error, _, device = runtime.infinirtXStreamGetDevice(stream)
        if int(error) == 0 and homes.get(int(event or 0), device) != device:
            return (SUCCESS,)
        return real(stream, event, flags)


if FAULT == "free-twice":
    plain: set[int] = set()

    @replace("infinirtMalloc")
    def note(real: Any, size: int) -> Any:
        result = real(size)
        if int(result[0]) == 0:
            plain.add(int(result[1]))
        return result

    for pooled in ("infinirtMallocAsync", "infinirtMallocFromPoolAsync"):

        @replace(pooled)
        def forget(real: Any, *args: Any) -> Any:
            """Pools may get memory again that was plain before."""
            result = real(*args)
            if int(result[0]) == 0:
                plain.discard(int(result[1]))
            return result

    @replace("infinirtFree")
    def again(real: Any, pointer: Any) -> Any:
        result = real(pointer)
        if int(result[0]) == 1 and pointer is not None and int(pointer) in plain:
            runtime.infinirtGetLastError()
            return (SUCCESS,)
        return result


if FAULT == "not-ready-is-an-error":
    for each in ("infinirtStreamQuery", "infinirtEventQuery", "infinirtEventElapsedTime"):

        @replace(each)
        def left_behind(real: Any, *args: Any) -> Any:
            result = real(*args)
            thread.left = (
                thread.left if int(result[0]) != 600 and hasattr(thread, "left") else int(result[0]) == 600
            )
            return result

    @replace("infinirtPeekAtLastError")
    def peek(real: Any) -> Any:
        return (NOT_READY,) if getattr(thread, "left", False) else real()

    @replace("infinirtGetLastError")
    def take(real: Any) -> Any:
        left, thread.left = getattr(thread, "left", False), False
        result = real()
        return (NOT_READY,) if left else result


if FAULT == "capture-runs":

    @replace("infinirtMemsetAsync")
    def runs_too(real: Any, pointer: Any, value: int, count: int, stream: Any) -> Any:
        result = real(pointer, value, count, stream)
        # Only memory that exists already: what a capture allocates has no memory yet.
        capturing = int(stream or 0) > 2 and int(runtime.infinirtStreamIsCapturing(stream)[1] or 0) == 1
        if (
            int(result[0]) == 0
            and capturing
            and int(runtime.infinirtPointerGetAttributes(pointer)[1].type) == 2
        ):
            runtime.infinirtMemset(pointer, value, count)
            runtime.infinirtGetLastError()
        return result


if FAULT == "large-copies-wait":

    @replace("infinirtMemcpyAsync")
    def waits(real: Any, dst: Any, src: Any, count: int, kind: Any, stream: Any) -> Any:
        result = real(dst, src, count, kind, stream)
        if int(kind) == 1 and count > 2 << 20 and isinstance(src, int):
            runtime.infinirtStreamSynchronize(stream)
        return result


if FAULT == "limit-that-is-none":
    support = infinirt.support

    def declared(function: str, type: str | None = None) -> str:
        return "none" if function == "infinirtCtxResetPersistingL2Cache" else support(function, type)

    infinirt.support = declared


if FAULT == "crash":

    @replace("infinirtDeviceGetCacheConfig")
    def crash(real: Any) -> Any:
        return ctypes.string_at(8)


if FAULT == "hang":

    @replace("infinirtDeviceGetStreamPriorityRange")
    def hang(real: Any) -> Any:
        while True:
            time.sleep(1)
