"""Traces of allocations: recording, files, replaying; and what the benchmark of them says."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path

import pytest

import infinicore
import infinirt
from infinicore.memory import AllocationTrace, TraceEvent, record_trace, replay
from installed import output_of

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def allocator() -> infinicore.PinnableBlockAllocator:
    return infinicore.PinnableBlockAllocator("cpu")


def test_what_happens_is_recorded(allocator: infinicore.PinnableBlockAllocator) -> None:
    device = allocator.pool.device
    first, second = device.create_stream(), device.create_stream()
    before = allocator.allocate(10, first)
    with record_trace(allocator, name="mine") as recording:
        one = allocator.allocate(1000, first)
        with pytest.raises(RuntimeError, match="after the with block"):
            _ = recording.trace
        two = allocator.allocate(2000, second)
        one.record_stream(second)
        del before, one
        two.buffer.close(first)
        empty = allocator.allocate(0, first)
        failed = infinirt.OutOfMemoryError
        with pytest.raises(failed):
            allocator.allocate(1 << 50, first)
        kept = allocator.allocate(3000, second)
    after = allocator.allocate(1, first)
    trace = recording.trace
    assert [(e.kind, e.block, e.size, e.stream) for e in trace.events if e.kind != "use"] == [
        ("allocate", 0, 1000, 0),
        ("allocate", 1, 2000, 1),
        ("free", 0, 0, 0),
        ("free", 1, 0, 0),
        ("allocate", 2, 3000, 1),
    ]
    assert [e.time for e in trace.events] == sorted(e.time for e in trace.events)
    assert trace.peak_requested == 3000
    assert (trace.name, trace.lost, trace.stream_count) == ("mine", 0, 2)
    del empty, kept, after


def test_uses_on_other_streams_are_recorded(allocator: infinicore.PinnableBlockAllocator) -> None:
    device = allocator.pool.device
    first, second = device.create_stream(), device.create_stream()
    memory = None
    with record_trace(allocator) as recording:
        memory = allocator.allocate(1000, first)
        second.launch_host_func(lambda: None)
        memory.record_stream(second)
        del memory
    assert ("use", 0, 1) in [(e.kind, e.block, e.stream) for e in recording.trace.events]


def test_it_survives_a_file(allocator: infinicore.PinnableBlockAllocator, tmp_path: Path) -> None:
    with record_trace(allocator) as recording:
        kept = [allocator.allocate(size) for size in (100, 200, 300)]
        kept.clear()
    path = tmp_path / "trace.json"
    recording.trace.save(path)
    back = AllocationTrace.load(path)
    assert [e[:4] for e in back.events] == [e[:4] for e in recording.trace.events]
    assert all(abs(a.time - b.time) <= 0.5 for a, b in zip(back.events, recording.trace.events, strict=True))


def test_what_is_no_trace_is_refused() -> None:
    good = {"format": "infinicore-allocation-trace", "version": 1, "events": []}
    assert AllocationTrace.from_json(json.dumps(good)).peak_requested == 0
    for change, words in [
        ({"format": "x"}, "no allocation trace"),
        ({"version": 2}, "version 2"),
        ({"events": 3}, "no list"),
        ({"events": [["x", 1, 0, 0]]}, "event 0"),
        ({"events": [["a", 1]]}, "event 0"),
        ({"events": [["a", -1, 0, 0]]}, "event 0"),
        ({"events": [["a", 8, 0, 0], ["f", 0, 0, 0], ["f", 0, 0, 0]]}, "block 0, which is not allocated"),
    ]:
        with pytest.raises(ValueError, match=words):
            AllocationTrace.from_json(json.dumps({**good, **change}))
    with pytest.raises(ValueError, match="numbered in order"):
        AllocationTrace([TraceEvent("allocate", 5, 1, 0, 0)])


def test_recording_ends_where_its_room_does(allocator: infinicore.PinnableBlockAllocator) -> None:
    with record_trace(allocator, max_events=3) as recording:
        with pytest.raises(infinirt.InvalidValueError, match="records already"):
            allocator.pool.begin_trace()
        for _ in range(5):
            allocator.allocate(100)
    assert len(recording.trace.events) == 3
    assert recording.trace.lost == 7
    with pytest.raises(TypeError, match="can be recorded"):
        record_trace(3)  # type: ignore[arg-type]


def test_threads_are_recorded_in_an_order_that_can_be_replayed(
    allocator: infinicore.PinnableBlockAllocator,
) -> None:
    def work(seed: int) -> None:
        stream = allocator.pool.device.create_stream()
        for number in range(300):
            allocator.allocate(1000 * (1 + (seed + number) % 7), stream)

    with record_trace(allocator) as recording:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(recording.trace.events) == 2 * 4 * 300
    result = replay(recording.trace, infinicore.PinnableBlockAllocator("cpu"))
    assert result.peak_requested <= result.peak_used <= result.peak_reserved


def test_a_replay_asks_for_the_same(allocator: infinicore.PinnableBlockAllocator) -> None:
    events = [
        TraceEvent("allocate", 0, MIB, 0, 0),
        TraceEvent("allocate", 1, 5 * MIB, 1, 1),
        TraceEvent("use", 0, 0, 1, 2),
        TraceEvent("free", 0, 0, 0, 3),
        TraceEvent("allocate", 2, 100, 0, 4),
    ]
    seen = []
    result = replay(
        AllocationTrace(events), allocator, after_each=lambda _: seen.append(allocator.statistics.requested)
    )
    assert seen == [MIB, 6 * MIB, 6 * MIB, 5 * MIB, 5 * MIB + 100]
    assert result.peak_requested == 6 * MIB
    assert allocator.statistics.live_blocks == 0


@pytest.mark.parametrize("path", sorted((BENCHMARKS / "traces").glob("*.json")), ids=lambda path: path.stem)
def test_stored_traces_are_small_and_take_no_more_than_they_should(path: Path) -> None:
    assert path.stat().st_size < 200_000
    sys.path.insert(0, str(BENCHMARKS))
    try:
        from allocator_trace_bench import model, ours
    finally:
        sys.path.remove(str(BENCHMARKS))
    trace = AllocationTrace.load(path)
    assert ours(trace, "cpu") <= 1.05 * model(trace)


def test_the_benchmark_runs() -> None:
    said = output_of(
        sys.executable,
        BENCHMARKS / "allocator_trace_bench.py",
        "--device",
        "cpu",
        BENCHMARKS / "traces" / "gpt_training.json",
    )
    assert "gpt_training" in said
    assert "geometric mean:" in said
