"""Forks while a stream is busy: the child has the memory, empty streams and new workers; the parent notices nothing."""

from __future__ import annotations

import ctypes
import os
import sys
import threading

from infinirt import runtime as rt

BLOCKING = os.environ.get("INFINIRT_CPU_SCHEDULE", "async") == "async"


def check(result: tuple[object, ...]) -> object:
    if int(result[0]) != 0:  # type: ignore[call-overload]
        raise RuntimeError(f"{result[0]!r}: {rt.infinirtXGetLastErrorMessage()}")
    return result[1] if len(result) == 2 else None


def content(pointer: int) -> bytes:
    out = ctypes.create_string_buffer(8)
    check(
        rt.infinirtMemcpy(ctypes.addressof(out), pointer, 8, rt.infinirtMemcpyKind.infinirtMemcpyDeviceToHost)
    )
    return out.raw


memory = int(check(rt.infinirtMalloc(4096)))  # type: ignore[call-overload]
stream = check(rt.infinirtStreamCreateWithFlags(1))
done_event, pending_event = (check(rt.infinirtEventCreate()) for _ in range(2))
check(rt.infinirtMemset(memory, 1, 8))
check(rt.infinirtEventRecord(done_event, stream))
check(rt.infinirtDeviceSynchronize())

release = threading.Event()
if BLOCKING:  # a schedule without workers would run this in the forking thread
    check(rt.infinirtLaunchHostFunc(stream, lambda _: release.wait(), 0))
    check(rt.infinirtMemsetAsync(memory, 9, 8, stream))
    check(rt.infinirtEventRecord(pending_event, stream))

child = os.fork()
if child == 0:
    try:
        assert content(memory) == b"\1" * 8, "memory is as at the fork"
        (state,) = rt.infinirtStreamQuery(stream)
        assert int(state) == 0, "streams are empty in the child"
        check(rt.infinirtEventSynchronize(done_event))
        if BLOCKING:
            (state,) = rt.infinirtEventQuery(pending_event)
            assert int(state) == 400, f"an event pending at the fork is invalid: {state!r}"
            assert "fork" in str(rt.infinirtXGetLastErrorMessage())
        ran: list[int] = []
        check(rt.infinirtLaunchHostFunc(stream, lambda _: ran.append(1), 0))
        check(rt.infinirtMemsetAsync(memory, 5, 8, stream))
        check(rt.infinirtEventRecord(pending_event, stream))
        check(rt.infinirtEventSynchronize(pending_event))
        check(rt.infinirtStreamSynchronize(stream))
        assert ran == [1]
        assert content(memory) == b"\5" * 8
        other = check(rt.infinirtMallocAsync(1024, stream))
        check(rt.infinirtFreeAsync(other, stream))
        check(rt.infinirtDeviceSynchronize())
        print("child ok", flush=True)
    except BaseException as problem:  # the parent must see the status, whatever went wrong
        print("child failed:", repr(problem), file=sys.stderr, flush=True)
        os._exit(1)
    sys.exit(0)

_, status = os.waitpid(child, 0)
assert status == 0, status
assert content(memory) in (b"\1" * 8,), "the child's work does not reach the parent"
release.set()
check(rt.infinirtStreamSynchronize(stream))
if BLOCKING:
    assert content(memory) == b"\x09" * 8
    check(rt.infinirtEventSynchronize(pending_event))
print("parent ok", flush=True)
