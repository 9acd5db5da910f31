"""Streams and events, through the flat API."""

from __future__ import annotations

import ctypes

from flat_api import HostFunction, fails, host, ok, rt


def check_streams() -> None:
    plain = ok(rt.StreamCreate())
    other = ok(rt.StreamCreateWithFlags(rt.StreamNonBlocking))
    least, greatest = ok(rt.DeviceGetStreamPriorityRange())
    urgent = ok(rt.StreamCreateWithPriority(rt.StreamNonBlocking, greatest - 5))
    assert isinstance(plain, rt.Stream_t)
    assert len({int(plain), int(other), int(urgent)}) == 3
    assert ok(rt.StreamGetFlags(plain)) == rt.StreamDefault
    assert ok(rt.StreamGetFlags(other)) == rt.StreamNonBlocking
    assert ok(rt.StreamGetPriority(urgent)) == greatest
    assert greatest <= ok(rt.StreamGetPriority(plain)) <= least
    assert len({ok(rt.StreamGetId(s)) for s in (plain, other, urgent)}) == 3
    assert ok(rt.StreamGetDevice(plain)) == 0
    assert ok(rt.StreamQuery(int(plain))) is None
    assert ok(rt.StreamSynchronize(stream=plain)) is None
    assert ok(rt.StreamCopyAttributes(other, urgent)) is None
    assert plain.__cuda_stream__() == (0, int(plain))
    for stream in (plain, other, urgent):
        assert ok(rt.StreamDestroy(stream)) is None
    fails(rt.StreamCreateWithFlags(0x40), "ErrorInvalidValue")


def check_predefined_streams() -> None:
    for stream in (None, 0, rt.StreamLegacy, rt.StreamPerThread, rt.Stream_t(0)):
        ok(rt.StreamSynchronize(stream))
        ok(rt.StreamQuery(stream))
        assert ok(rt.StreamGetFlags(stream)) == 0


def check_stream_attributes() -> None:
    stream = ok(rt.StreamCreate())
    attribute = rt.member("StreamAttrID", "LaunchAttributeSynchronizationPolicy")
    value = rt.StreamAttrValue()
    value.syncPolicy = rt.member("SynchronizationPolicy", "SyncPolicyYield")
    ok(rt.StreamSetAttribute(stream, attribute, value))
    assert ok(rt.StreamGetAttribute(stream, attribute)).syncPolicy == value.syncPolicy
    ok(rt.StreamDestroy(stream))


def check_events() -> None:
    stream = ok(rt.StreamCreate())
    start, end = ok(rt.EventCreate()), ok(rt.EventCreateWithFlags(rt.EventBlockingSync))
    assert isinstance(start, rt.Event_t)
    assert ok(rt.EventQuery(start)) is None
    fails(rt.EventElapsedTime(start, end), "ErrorInvalidResourceHandle")
    ok(rt.EventRecord(start, stream))
    ok(rt.StreamWaitEvent(stream, start, 0))
    ok(rt.EventRecordWithFlags(end, stream, rt.EventRecordDefault))
    ok(rt.EventSynchronize(end))
    elapsed = ok(rt.EventElapsedTime(start, end))
    assert isinstance(elapsed, float)
    assert 0 <= elapsed < 60_000
    silent = ok(rt.EventCreateWithFlags(rt.EventDisableTiming))
    ok(rt.EventRecord(silent, stream))
    ok(rt.StreamSynchronize(stream))
    fails(rt.EventElapsedTime(start, silent), "ErrorInvalidResourceHandle")
    fails(rt.EventCreateWithFlags(rt.EventInterprocess), "ErrorInvalidValue")
    fails(rt.EventQuery(None), "ErrorInvalidResourceHandle")
    fails(rt.EventRecord(0, stream), "ErrorInvalidResourceHandle")
    for event in (start, end, silent):
        ok(rt.EventDestroy(event))
    ok(rt.StreamDestroy(stream))


def check_host_functions_run_in_order() -> None:
    stream = ok(rt.StreamCreate())
    function = HostFunction()
    for value in range(1, 6):
        ok(rt.LaunchHostFunc(stream, function.address, value))
    ok(rt.LaunchHostFunc(stream, rt.HostFn_t(function.address), None))
    ok(rt.StreamSynchronize(stream))
    assert function.arguments == [1, 2, 3, 4, 5, None]
    ok(rt.StreamDestroy(stream))


CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


def check_stream_callback() -> None:
    stream = ok(rt.StreamCreate())
    calls: list[tuple[int | None, int, int | None]] = []
    function = CALLBACK(lambda *arguments: calls.append(arguments))
    ok(rt.StreamAddCallback(stream, ctypes.cast(function, ctypes.c_void_p).value, 17, 0))
    ok(rt.StreamSynchronize(stream))
    assert calls == [(int(stream), 0, 17)]
    ok(rt.StreamDestroy(stream))


def check_work_that_is_not_finished() -> None:
    """A host function that waits keeps the stream, and an event behind it, busy."""
    import threading

    stream, event = ok(rt.StreamCreate()), ok(rt.EventCreate())
    gate = threading.Event()
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: gate.wait(10))
    address = ctypes.cast(function, ctypes.c_void_p).value
    ok(rt.LaunchHostFunc(stream, address, 0))
    ok(rt.EventRecord(event, stream))
    fails(rt.StreamQuery(stream), "ErrorNotReady")
    fails(rt.EventQuery(event), "ErrorNotReady")
    fails(rt.EventElapsedTime(event, event), "ErrorNotReady")
    rt.GetLastError()
    gate.set()
    ok(rt.EventSynchronize(event))
    ok(rt.StreamQuery(stream))
    ok(rt.EventDestroy(event))
    ok(rt.StreamDestroy(stream))


def check_attach_and_prefetch() -> None:
    stream = ok(rt.StreamCreate())
    pointer = ok(rt.MallocManaged(4096, rt.MemAttachGlobal))
    ok(rt.StreamAttachMemAsync(stream, pointer, 0, rt.MemAttachGlobal))
    location = rt.MemLocation()
    location.type = rt.member("MemLocationType", "MemLocationTypeDevice")
    location.id = 0
    advice = rt.member("MemoryAdvise", "MemAdviseSetPreferredLocation")
    attribute = rt.member("MemRangeAttribute", "MemRangeAttributePreferredLocation")
    ok(rt.MemAdvise(pointer, 4096, advice, location))
    assert ok(rt.MemRangeGetAttribute(4, attribute, pointer, 4096)) == 0
    ok(rt.MemPrefetchAsync(pointer, 4096, location, 0, stream))
    ok(rt.StreamSynchronize(stream))
    values = ok(rt.MemRangeGetAttributes([4, 4], [attribute] * 2, 2, pointer, 4096))
    assert values == [0, 0]
    ok(rt.Memset(pointer, 3, 4096))
    ok(rt.DeviceSynchronize())
    buffer = host(4096)
    ok(rt.Memcpy(buffer, pointer, 4096, rt.copy_kind("Default")))
    assert buffer.raw == b"\3" * 4096
    ok(rt.Free(pointer))
    ok(rt.StreamDestroy(stream))
