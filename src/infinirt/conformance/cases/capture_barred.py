"""What a capture bars and what it allows, call by call and mode by mode, as a GPU was measured to do."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import partial
from typing import Any

from infinirt import runtime

from ..bench import D2D, D2H, H2D, Bench
from ..case import Register
from ..check import code_of, fails, ok, rt, same
from .capture import ACTIVE, INVALIDATED, MODES, capturing, status
from .copy_shapes import attributes
from .graph import add_host, new_graph
from .pool import attribute, location, properties

case = Register("capture", "full")
Call = Callable[[], Any]


class Things:
    """One of each object, for calls that need valid arguments; what a call uses up is made for each mode."""

    def __init__(self, t: Bench) -> None:
        self.t = t
        self.stream, self.blocking = t.stream(), t.blocking_stream()
        self.event, self.recorded, self.later = t.event(), t.event(), t.event()
        for event in (self.recorded, self.later):
            ok(rt.EventRecord(event, self.stream))
        self.device, self.other = t.memory(4096, fill=0), t.memory(4096, fill=0)
        self.pinned, self.plain = t.pinned(4096), t.plain(8192)
        self.calls = t.calls()
        self.graph = new_graph(t)
        add_host(self.graph, self.calls.address, 1)
        self.executable = ok(rt.GraphInstantiate(self.graph, 0))
        t.later(lambda: ok(rt.GraphExecDestroy(self.executable)))
        self.pool = ok(rt.DeviceGetDefaultMemPool(t.ordinal))
        ok(rt.DeviceSynchronize())


def check(
    t: Bench,
    make: Callable[[Things], Call],
    barred_in: tuple[str, ...],
    clear: Callable[[Things, Any], None] | None = None,
) -> None:
    """Calls in each mode: barred calls answer 900 and invalidate the capture, others succeed and leave it."""
    for mode in MODES:
        things = Things(t)
        call = make(things)
        with capturing(t, mode) as stream:
            result = call()
            code = code_of(result)
            state = status(stream)
        barred = mode in barred_in
        what = f"code and state of the capture, {mode} mode"
        same((code, state), (900, INVALIDATED) if barred else (0, ACTIVE), what)
        if code == 0 and clear is not None:
            clear(things, result)


STRICT = ("global", "thread-local")
ALWAYS = ("global", "thread-local", "relaxed")


def free_made(things: Things, result: Any) -> None:
    ok(rt.Free(result[1]))


def consume(
    create: Call, destroy: Callable[[Any], Any], undo: Callable[[Any], None]
) -> Callable[[Things], Call]:
    """A call that takes something away: made before the capture; where the call is barred it is still there."""

    def make(things: Things) -> Call:
        thing = ok(create())
        gone: list[bool] = []

        def call() -> Any:
            result = destroy(thing)
            gone.append(int(result[0]) == 0)
            return result

        things.t.later(lambda: None if any(gone) else undo(thing))
        return call

    return make


def simple(call: Callable[[Things], Any]) -> Callable[[Things], Call]:
    return lambda things: lambda: call(things)


# id, sentence, functions, call, clean-up. Barred in global and thread-local mode.
BARRED: list[tuple[str, str, str, Callable[[Things], Call], Callable[[Things, Any], None] | None]] = [
    ("malloc", "allocating memory", "Malloc", simple(lambda x: rt.Malloc(4096)), free_made),
    ("malloc-host", "allocating page-locked memory", "MallocHost", simple(lambda x: rt.MallocHost(4096)), lambda x, r: ok(rt.FreeHost(r[1]))),
    ("free", "freeing memory", "Free", consume(lambda: rt.Malloc(64), lambda p: rt.Free(p), lambda p: ok(rt.Free(p))), None),
    ("free-null", "freeing null", "Free", simple(lambda x: rt.Free(0)), None),
    ("free-host", "freeing page-locked memory", "FreeHost", consume(lambda: rt.MallocHost(64), lambda p: rt.FreeHost(p), lambda p: ok(rt.FreeHost(p))), None),
    ("host-register", "registering host memory", "HostRegister", simple(lambda x: rt.HostRegister((x.plain + 4095) // 4096 * 4096, 4096, 0)), lambda x, r: ok(rt.HostUnregister((x.plain + 4095) // 4096 * 4096))),
    ("stream-query", "asking another stream", "StreamQuery", simple(lambda x: rt.StreamQuery(x.stream)), None),
    ("stream-synchronise", "synchronising with another stream", "StreamSynchronize", simple(lambda x: rt.StreamSynchronize(x.stream)), None),
    ("legacy-query", "asking the legacy stream", "StreamQuery", simple(lambda x: rt.StreamQuery(0)), None),
    ("event-query", "asking an event of before", "EventQuery", simple(lambda x: rt.EventQuery(x.recorded)), None),
    ("event-synchronise", "synchronising with an event of before", "EventSynchronize", simple(lambda x: rt.EventSynchronize(x.recorded)), None),
    ("malloc-async", "allocating on another stream", "MallocAsync", simple(lambda x: rt.MallocAsync(64, x.stream)), free_made),
    ("malloc-from-pool", "allocating from a pool on another stream", "MallocFromPoolAsync", simple(lambda x: rt.MallocFromPoolAsync(64, x.pool, x.stream)), free_made),
    ("pool-create", "making a pool", "MemPoolCreate", simple(lambda x: rt.MemPoolCreate(properties(x.t.ordinal))), lambda x, r: ok(rt.MemPoolDestroy(r[1]))),
    ("pool-trim", "trimming a pool", "MemPoolTrimTo", simple(lambda x: rt.MemPoolTrimTo(x.pool, 0)), None),
    ("pool-attribute", "reading an attribute of a pool", "MemPoolGetAttribute", simple(lambda x: rt.MemPoolGetAttribute(x.pool, attribute("AttrReleaseThreshold"))), None),
    ("pool-set-attribute", "setting an attribute of a pool", "MemPoolSetAttribute", simple(lambda x: rt.MemPoolSetAttribute(x.pool, attribute("AttrReleaseThreshold"), runtime.cuuint64_t(0))), None),
    ("pool-access", "asking for access to a pool", "MemPoolGetAccess", simple(lambda x: rt.MemPoolGetAccess(x.pool, location(1, x.t.ordinal))), None),
    ("set-pool", "setting the device's pool", "DeviceSetMemPool", simple(lambda x: rt.DeviceSetMemPool(x.t.ordinal, x.pool)), None),
    ("instantiate", "instantiating a graph", "GraphInstantiate", simple(lambda x: rt.GraphInstantiate(x.graph, 0)), lambda x, r: ok(rt.GraphExecDestroy(r[1]))),
    ("set-limit", "setting a limit of the device", "DeviceSetLimit", simple(lambda x: rt.DeviceSetLimit(rt.member("Limit", "LimitStackSize"), 1024)), None),
]  # fmt: skip

# Allowed in every mode.
ALLOWED: list[tuple[str, str, str, Callable[[Things], Call], Callable[[Things, Any], None] | None]] = [
    ("get-device", "asking for the current device", "GetDevice", simple(lambda x: rt.GetDevice()), None),
    ("set-device", "setting the device", "SetDevice", simple(lambda x: rt.SetDevice(x.t.ordinal)), None),
    ("properties", "asking for properties and attributes", "GetDeviceProperties", simple(lambda x: rt.GetDeviceProperties(x.t.ordinal)), None),
    ("memory-info", "asking for free memory", "MemGetInfo", simple(lambda x: rt.MemGetInfo()), None),
    ("pointer-attributes", "asking what a pointer is", "PointerGetAttributes", simple(lambda x: rt.PointerGetAttributes(x.device)), None),
    ("stream-create", "making a stream", "StreamCreate", simple(lambda x: rt.StreamCreate()), lambda x, r: ok(rt.StreamDestroy(r[1]))),
    ("event-create", "making an event", "EventCreate", simple(lambda x: rt.EventCreate()), lambda x, r: ok(rt.EventDestroy(r[1]))),
    ("graph-create", "making a graph", "GraphCreate", simple(lambda x: rt.GraphCreate(0)), lambda x, r: ok(rt.GraphDestroy(r[1]))),
    ("graph-clone", "cloning a graph", "GraphClone", simple(lambda x: rt.GraphClone(x.graph)), lambda x, r: ok(rt.GraphDestroy(r[1]))),
    ("graph-launch", "launching a graph on another stream", "GraphLaunch", simple(lambda x: rt.GraphLaunch(x.executable, x.stream)), None),
    ("copy-up", "a synchronous upload", "Memcpy", simple(lambda x: rt.Memcpy(x.device, x.plain, 64, H2D)), None),
    ("copy-down", "a synchronous download", "Memcpy", simple(lambda x: rt.Memcpy(x.pinned, x.device, 64, D2H)), None),
    ("copy-async", "a copy on another stream", "MemcpyAsync", simple(lambda x: rt.MemcpyAsync(x.device, x.other, 64, D2D, x.stream)), None),
    ("set", "a set on the legacy stream", "Memset", simple(lambda x: rt.Memset(x.device, 0, 64)), None),
    ("set-async", "a set on another stream", "MemsetAsync", simple(lambda x: rt.MemsetAsync(x.device, 0, 64, x.stream)), None),
    ("host-function", "a host function on another stream", "LaunchHostFunc", simple(lambda x: rt.LaunchHostFunc(x.stream, x.calls.address, 0)), None),
    ("record", "recording an event on another stream", "EventRecord", simple(lambda x: rt.EventRecord(x.event, x.stream)), None),
    ("wait", "waiting for an event on another stream", "StreamWaitEvent", simple(lambda x: rt.StreamWaitEvent(x.stream, x.recorded, 0)), None),
    ("elapsed", "the time between events of before", "EventElapsedTime", simple(lambda x: rt.EventElapsedTime(x.recorded, x.later)), None),
    ("default-pool", "asking for pools of the device", "DeviceGetMemPool", simple(lambda x: rt.DeviceGetMemPool(x.t.ordinal)), None),
    ("graph-trim", "trimming memory of graphs", "DeviceGraphMemTrim", simple(lambda x: rt.DeviceGraphMemTrim(x.t.ordinal)), None),
]  # fmt: skip


def _register() -> None:
    for id, what, functions, make, clear in BARRED:
        case.add(
            f"capture.barred.{id}",
            partial(check, make=make, barred_in=STRICT, clear=clear),
            f"In global and thread-local mode {what} is refused and invalidates the capture; in relaxed mode it is allowed.",
            functions,
            "Capture: global and thread-local bar unsafe calls; measured call by call",
        )
    for id, what, functions, make, clear in ALLOWED:
        case.add(
            f"capture.allowed.{id}",
            partial(check, make=make, barred_in=(), clear=clear),
            f"Beside a capture {what} is allowed in every mode.",
            functions,
            "Capture: only unsafe calls are barred; measured call by call",
        )


_register()


@case(
    "capture.barred.device-synchronise",
    about="DeviceSynchronize",
    rule="Measured: synchronising the device is 900 in every mode",
)
def device_synchronise(t: Bench) -> None:
    """Synchronising the device is refused beside a capture of every mode, and invalidates it."""
    check(t, simple(lambda x: rt.DeviceSynchronize()), ALWAYS)


# Calls on the capturing stream itself, relaxed mode: (id, sentence, functions, call, code, state afterwards).
ON_STREAM: list[tuple[str, str, str, Callable[[Things, Any], Any], int]] = [
    ("query", "asking", "StreamQuery", lambda x, s: rt.StreamQuery(s), 900),
    ("synchronise", "synchronising with", "StreamSynchronize", lambda x, s: rt.StreamSynchronize(s), 900),
    ("flags", "asking for the flags of", "StreamGetFlags", lambda x, s: rt.StreamGetFlags(s), 900),
    ("id", "asking for the id of", "StreamGetId", lambda x, s: rt.StreamGetId(s), 900),
    ("device", "asking for the device of", "StreamGetDevice", lambda x, s: rt.StreamGetDevice(s), 900),
    ("launch", "launching a graph on", "GraphLaunch", lambda x, s: rt.GraphLaunch(x.executable, s), 900),
    ("upload", "uploading a graph on", "GraphUpload", lambda x, s: rt.GraphUpload(x.executable, s), 900),
    ("priority", "asking for the priority of", "StreamGetPriority", lambda x, s: rt.StreamGetPriority(s), 0),
    ("pageable", "a copy from pageable memory on", "MemcpyAsync", lambda x, s: rt.MemcpyAsync(x.device, x.plain, 64, H2D, s), 0),
    ("external-record", "an external record on", "EventRecordWithFlags", lambda x, s: rt.EventRecordWithFlags(x.event, s, 1), 0),
    ("external-wait", "an external wait on", "StreamWaitEvent", lambda x, s: rt.StreamWaitEvent(s, x.recorded, 1), 0),
    ("plane", "setting a plane on", "Memset2DAsync", lambda x, s: rt.Memset2DAsync(x.device, 64, 0, 32, 4, s), 0),
    ("pool", "allocating from a pool on", "MallocFromPoolAsync", lambda x, s: rt.MallocFromPoolAsync(64, x.pool, s), 0),
]  # fmt: skip


def _on_stream(t: Bench, call: Callable[[Things, Any], Any], code: int) -> None:
    things = Things(t)
    with capturing(t, "relaxed") as stream:
        found = code_of(call(things, stream))
        same(
            (found, status(stream)), (code, INVALIDATED if code else ACTIVE), "code and state of the capture"
        )


def _register_on_stream() -> None:
    for id, what, functions, call, code in ON_STREAM:
        outcome = "breaks the capture, though it is relaxed" if code else "is allowed in a capture"
        case.add(
            f"capture.on-stream.{id}",
            partial(_on_stream, call=call, code=code),
            f"{what[0].upper()}{what[1:]} a capturing stream {outcome}.",
            functions,
            "Measured: calls on a capturing stream, relaxed mode",
        )


_register_on_stream()


@case(
    "capture.on-stream.callback",
    about="StreamAddCallback",
    rule="Callbacks: StreamAddCallback cannot be captured",
)
def callback(t: Bench) -> None:
    """A callback cannot be captured, and breaks the capture."""
    function = t.keep(ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)(lambda *_: None))
    address = ctypes.cast(function, ctypes.c_void_p).value
    with capturing(t, "relaxed") as stream:
        fails(rt.StreamAddCallback(stream, address, 0, 0), "StreamCaptureUnsupported")
        same(status(stream), INVALIDATED, "the state")


@case(
    "capture.on-stream.batch",
    about="MemcpyBatchAsync",
    rule="measured: batched copies in a capture are 900, the capture stays valid",
)
def batch(t: Bench) -> None:
    """A batch of copies is refused in a capture and leaves it valid."""
    one, two = t.memory(64), t.memory(64)
    with capturing(t, "relaxed") as stream:
        result = rt.MemcpyBatchAsync([one], [two], [64], 1, [attributes("Stream")], [0], 1, stream)
        fails(result, "StreamCaptureUnsupported")
        same(status(stream), ACTIVE, "the state")


def _malloc_with(mode: int) -> int:
    before = ok(rt.ThreadExchangeStreamCaptureMode(rt.StreamCaptureMode(mode)))
    try:
        result = rt.Malloc(64)
        code = code_of(result)
        if code == 0:
            ok(rt.Free(result[1]))
        return code
    finally:
        ok(rt.ThreadExchangeStreamCaptureMode(before))


@case(
    "capture.threads.global-bars-others",
    about="Malloc ThreadExchangeStreamCaptureMode",
    rule="Capture: global bars unsafe calls of other threads",
)
def global_bars(t: Bench) -> None:
    """A global capture bars unsafe calls of other threads, unless these have asked for less."""
    with capturing(t, "global") as stream:
        for mode in (1, 2):
            same(t.elsewhere(partial(_malloc_with, mode)), 0, "the code of Malloc elsewhere")
        same(t.elsewhere(lambda: _malloc_with(0)), 900, "the code of Malloc on a thread in global mode")
        same(status(stream), INVALIDATED, "the state")


@case(
    "capture.threads.local-does-not",
    about="Malloc",
    rule="Capture: thread-local bars unsafe calls of its own thread only",
)
def local_does_not(t: Bench) -> None:
    """A thread-local capture does not bar calls of other threads."""
    with capturing(t, "thread-local") as stream:
        same(t.elsewhere(lambda: _malloc_with(0)), 0, "the code of Malloc elsewhere")
        same(status(stream), ACTIVE, "the state")


@case(
    "capture.threads.own-relaxed",
    about="Malloc ThreadExchangeStreamCaptureMode",
    rule="contract of infinirtThreadExchangeStreamCaptureMode",
)
def own_relaxed(t: Bench) -> None:
    """A thread that captures globally, having asked for relaxed mode, may call everything."""
    with capturing(t, "global") as stream:
        same(_malloc_with(2), 0, "the code of Malloc")
        same(status(stream), ACTIVE, "the state")
