"""Events of a Runtime, and DeviceEvent."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

import infinicore
import infinirt


@pytest.fixture
def runtime() -> Iterator[infinicore.Runtime]:
    with infinicore.Runtime("cpu") as made:  # closed afterwards, and not the thread's any more
        yield made.activate()


def test_elapsed_time_waits_for_the_end(runtime: infinicore.Runtime) -> None:
    gate = threading.Event()
    start, end = runtime.create_event(), runtime.create_event()
    runtime.record_event(start)
    runtime.stream.launch_host_func(gate.wait, 30)
    runtime.record_event(end)
    assert runtime.query_event(start) in (True, False)
    assert not runtime.query_event(end)
    threading.Timer(0.05, gate.set).start()
    assert runtime.elapsed_time(start, end) > 0
    assert runtime.query_event(end)
    runtime.synchronize_event(end)
    for event in (start, end):
        runtime.destroy_event(event)
        runtime.destroy_event(event)
    with pytest.raises(infinirt.InvalidHandleError):
        runtime.record_event(start)


def test_flags_are_cudas(runtime: infinicore.Runtime) -> None:
    assert runtime.create_event().is_timing_enabled
    assert runtime.create_event_with_flags(1).is_blocking_sync
    assert not runtime.create_event_with_flags(2).is_timing_enabled
    assert runtime.create_event_with_flags(6).is_ipc_enabled
    for wrong in (8, -1, True, "1"):
        with pytest.raises(ValueError, match="flags"):
            runtime.create_event_with_flags(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="time"):
        runtime.create_event_with_flags(4)


def test_a_stream_waits_for_an_event(runtime: infinicore.Runtime) -> None:
    device = infinirt.Device("cpu")
    other, gate, order = device.create_stream(), threading.Event(), []
    event = runtime.create_event()
    other.launch_host_func(gate.wait, 30)
    other.launch_host_func(order.append, "other")
    runtime.record_event(event, other)
    runtime.stream_wait_event(None, event)
    runtime.stream.launch_host_func(order.append, "own")
    runtime.stream_wait_event(other, runtime.create_event())  # never recorded: no wait
    gate.set()
    runtime.sync_device()
    assert order == ["other", "own"]


def test_device_event(runtime: infinicore.Runtime) -> None:
    event = infinicore.DeviceEvent(device="cpu")
    assert event.device == infinicore.device("cpu")
    assert not event.is_recorded
    assert event.query()
    event.record()
    event.synchronize()
    assert event.is_recorded
    assert event.query()
    assert not event.enable_timing
    assert "recorded=True" in repr(event)
    event.wait()
    event.wait(runtime.stream)
    timed = [infinicore.DeviceEvent(enable_timing=True) for _ in range(2)]
    assert timed[0].device == infinicore.get_device()
    for each in timed:
        each.record(runtime.stream)
    assert timed[0].elapsed_time(timed[1]) >= 0
    assert infinicore.DeviceEvent(blocking=True).blocking
    assert infinicore.DeviceEvent(interprocess=True).interprocess


def test_device_events_say_why_there_is_no_time() -> None:
    plain, timed = infinicore.DeviceEvent(device="cpu"), infinicore.DeviceEvent(True, "cpu")
    plain.record()
    recorded = infinicore.DeviceEvent(True, "cpu")
    recorded.record()
    with pytest.raises(RuntimeError, match="the other event does not measure the time"):
        recorded.elapsed_time(plain)
    with pytest.raises(RuntimeError, match="this event was not recorded"):
        timed.elapsed_time(timed)
    with pytest.raises(TypeError, match="DeviceEvent"):
        timed.elapsed_time(3)  # type: ignore[arg-type]
    if infinicore.get_device_count("cpu") > 1:
        there = infinicore.DeviceEvent(True, "cpu:1")
        there.record()
        timed.record()
        with pytest.raises(RuntimeError, match="cpu:0 and cpu:1"):
            timed.elapsed_time(there)
