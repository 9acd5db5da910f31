"""Stream and Event."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import pytest
from objects_support import PATIENCE, TYPE, busy, nothing_stays_deferred

import infinirt
from infinirt import runtime


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device(TYPE)


@pytest.fixture
def stream(device: infinirt.Device) -> infinirt.Stream:
    return device.create_stream()


def test_query_sync_and_is_done(stream: infinirt.Stream) -> None:
    assert stream.query() is True
    with busy(stream):
        assert stream.query() is False
        assert stream.is_done is False
    stream.sync()
    assert stream.is_done is True


def test_sync_lets_other_threads_run(stream: infinirt.Stream) -> None:
    """The host function needs the interpreter while sync() waits: it must not hold the lock."""
    ran = []
    stream.launch_host_func(ran.append, 1)
    stream.sync()
    assert ran == [1]


def test_options(device: infinirt.Device) -> None:
    assert device.create_stream().is_nonblocking is True
    assert device.create_stream(infinirt.StreamOptions(nonblocking=False)).is_nonblocking is False
    assert device.create_stream(options=infinirt.StreamOptions(nonblocking=False)).is_nonblocking is False
    assert device.create_stream(
        options=infinirt.StreamOptions(nonblocking=False), nonblocking=True
    ).is_nonblocking
    least, greatest = device.stream_priority_range
    assert device.create_stream(priority=greatest).priority == greatest
    assert device.create_stream(priority=greatest - 100).priority == greatest
    assert device.create_stream().priority == least == 0
    with pytest.raises(AttributeError, match="immutable"):
        infinirt.StreamOptions().priority = 1


def test_handles_identity_and_protocol(device: infinirt.Device, stream: infinirt.Stream) -> None:
    assert stream.__cuda_stream__() == (0, stream.handle)
    assert int(stream) == stream.handle > 2
    same = infinirt.Stream.from_handle(stream.handle, device)
    assert same == stream
    assert hash(same) == hash(stream)
    assert device.create_stream() != stream
    assert stream.id != device.create_stream().id
    assert stream != 1

    class Foreign:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 0, stream.handle

    assert device.create_stream(Foreign()) == stream
    done: list[int] = []
    with busy(stream):
        event = device.create_event()
        event.record(Foreign())
        assert event.is_done is False
    event.sync()
    assert done == []


def test_objects_that_are_no_streams(stream: infinirt.Stream) -> None:
    class Wrong:
        def __cuda_stream__(self) -> tuple[int, int]:
            return 7, 0

    with pytest.raises(TypeError, match="version 7"):
        stream.wait(Wrong())
    with pytest.raises(TypeError, match="int"):
        stream.wait(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="create_stream"):
        infinirt.Stream()


def test_default_streams() -> None:
    assert infinirt.LEGACY_DEFAULT_STREAM.handle == 1
    assert infinirt.PER_THREAD_DEFAULT_STREAM.handle == 2
    with infinirt.Device(TYPE):
        infinirt.LEGACY_DEFAULT_STREAM.sync()
        infinirt.PER_THREAD_DEFAULT_STREAM.sync()
    infinirt.LEGACY_DEFAULT_STREAM.close()  # not ours: nothing happens
    assert not infinirt.LEGACY_DEFAULT_STREAM.is_closed


def test_closed_streams_say_so(device: infinirt.Device) -> None:
    with device.create_stream() as stream:
        pass
    stream.close()
    assert stream.is_closed
    assert "closed" in repr(stream)
    calls = [
        stream.query,
        stream.sync,
        stream.record,
        lambda: stream.handle,
        lambda: stream.wait(device.create_event()),
    ]
    for call in calls:
        with pytest.raises(infinirt.InvalidHandleError, match="closed"):
            call()
    with pytest.raises(infinirt.InvalidHandleError, match="closed"):
        device.allocate(1, stream=stream)


def test_destroyed_with_work_pending(device: infinirt.Device) -> None:
    """Dropping the last reference neither waits nor loses what was enqueued."""
    done = threading.Event()
    gate = threading.Event()
    stream = device.create_stream()
    gone = weakref.ref(stream)
    stream.launch_host_func(gate.wait, PATIENCE)
    stream.launch_host_func(done.set)
    del stream
    gc.collect()
    assert gone() is None
    assert not done.is_set()
    gate.set()
    assert done.wait(PATIENCE)


def test_the_last_reference_destroys(device: infinirt.Device) -> None:
    stream, event = device.create_stream(), device.create_event()
    stream_handle, event_handle = stream.handle, event.handle
    assert runtime.infinirtStreamQuery(stream_handle) == (runtime.infinirtError_t.infinirtSuccess,)
    del stream, event
    assert runtime.infinirtStreamQuery(stream_handle) == (
        runtime.infinirtError_t.infinirtErrorInvalidResourceHandle,
    )
    assert runtime.infinirtEventQuery(event_handle) == (
        runtime.infinirtError_t.infinirtErrorInvalidResourceHandle,
    )
    runtime.infinirtGetLastError()


def test_wait_orders_streams(device: infinirt.Device) -> None:
    first, second = device.create_stream(), device.create_stream()
    order: list[str] = []
    gate = threading.Event()
    first.launch_host_func(gate.wait, PATIENCE)
    first.launch_host_func(order.append, "first")
    second.wait(first.record())
    second.launch_host_func(order.append, "second")
    third = device.create_stream()
    third.wait(second)
    third.launch_host_func(order.append, "third")
    gate.set()
    third.sync()
    assert order == ["first", "second", "third"]


def test_host_functions(stream: infinirt.Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    stream.launch_host_func(lambda *args, **kwargs: seen.append((args, kwargs)), 1, two=2)
    errors: list[object] = []

    def fail() -> None:
        raise KeyError("from the host function")

    monkeypatch.setattr(sys, "unraisablehook", lambda info: errors.append(info.exc_value))
    stream.launch_host_func(fail)
    stream.launch_host_func(seen.append, threading.get_ident())
    stream.sync()
    assert seen[0] == ((1,), {"two": 2})
    assert isinstance(errors[0], KeyError)
    with pytest.raises(TypeError, match="callable"):
        stream.launch_host_func(3)  # type: ignore[arg-type]


def test_host_functions_may_not_call_the_api(device: infinirt.Device, stream: infinirt.Stream) -> None:
    caught: list[BaseException] = []

    def call() -> None:
        try:
            device.create_stream()
        except infinirt.InfiniRTError as error:
            caught.append(error)

    stream.launch_host_func(call)
    stream.sync()
    assert isinstance(caught[0], infinirt.NotPermittedError)


def test_arguments_of_host_functions_are_released(stream: infinirt.Stream) -> None:
    class Thing:
        pass

    thing = Thing()
    gone = weakref.ref(thing)
    stream.launch_host_func(lambda thing: None, thing)
    del thing
    stream.sync()
    for _ in range(200):
        if gone() is None:
            break
        threading.Event().wait(0.01)  # the worker drops its reference after the stream has moved on
    assert gone() is None


def test_events(device: infinirt.Device, stream: infinirt.Stream) -> None:
    event = device.create_event()
    assert event.is_done
    with busy(stream):
        assert stream.record(event) is event
        assert not event.is_done
    event.sync()
    assert event.is_done
    assert event == event
    assert event != device.create_event()
    assert int(event) == event.handle
    assert event.device is device
    with device.create_event() as closed:
        pass
    with pytest.raises(infinirt.InvalidHandleError, match="closed"):
        stream.record(closed)
    with pytest.raises(TypeError, match="str"):
        stream.record("event")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="'evnt'"):
        stream.record(evnt=event)  # type: ignore[call-arg]


def test_event_options(device: infinirt.Device, stream: infinirt.Stream) -> None:
    plain = stream.record()
    assert (plain.is_timing_enabled, plain.is_blocking_sync, plain.is_ipc_enabled) == (False, False, False)
    options = infinirt.EventOptions(timing_enabled=True, blocking_sync=True)
    assert stream.record(options=options).is_blocking_sync
    assert device.create_event(options).is_timing_enabled
    assert device.create_event(options, timing_enabled=False).is_timing_enabled is False
    assert device.create_event(ipc_enabled=True).is_ipc_enabled
    with pytest.raises(ValueError, match="other processes"):
        device.create_event(ipc_enabled=True, timing_enabled=True)
    assert infinirt.EventOptions() == infinirt.EventOptions(False)
    assert infinirt.EventOptions() != options


def test_elapsed_time(device: infinirt.Device, stream: infinirt.Stream) -> None:
    timed = infinirt.EventOptions(timing_enabled=True)
    start = stream.record(options=timed)
    stream.launch_host_func(threading.Event().wait, 0.02)
    end = stream.record(options=timed)
    end.sync()
    assert 15 < end - start < 10_000
    assert end - end == 0


def test_elapsed_time_gives_advice(device: infinirt.Device, stream: infinirt.Stream) -> None:
    timed = infinirt.EventOptions(timing_enabled=True)
    start = stream.record(options=timed)
    with pytest.raises(infinirt.InvalidHandleError, match="timing_enabled=True"):
        _ = stream.record() - start
    with pytest.raises(infinirt.InvalidHandleError, match="recorded"):
        _ = device.create_event(timed) - start
    with busy(stream):
        end = stream.record(options=timed)
        with pytest.raises(infinirt.NotReadyError, match=r"end event .*end\.sync"):
            _ = end - start
    stream.sync()
    with pytest.raises(TypeError):
        _ = end - 1  # type: ignore[operator]


def test_destroying_an_event_in_a_host_function_waits_for_a_better_moment(
    device: infinirt.Device, stream: infinirt.Stream
) -> None:
    holder = [device.create_event()]
    stream.launch_host_func(holder.clear)
    stream.sync()
    assert holder == []
    stream.sync()  # any call on an object will do
    assert nothing_stays_deferred()


def test_many_threads(device: infinirt.Device) -> None:
    def work(results: list[int], number: int) -> None:
        stream = device.create_stream()
        total: list[int] = []
        for value in range(50):
            stream.launch_host_func(total.append, value)
            event = stream.record()
        event.sync()
        results[number] = sum(total)

    results = [0] * 4
    threads = [threading.Thread(target=work, args=(results, number)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [sum(range(50))] * 4
