"""InfiniCore's runtime, allocators and recorded graphs on a GPU."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import infinicore
import infinirt
from infinicore.memory import AllocationTrace, record_history, replay, snapshot
from installed import output_of

pytestmark = pytest.mark.gpu
ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20


@pytest.fixture
def runtime() -> Iterator[infinicore.Runtime]:
    with infinicore.Runtime("cuda:0") as made:
        yield made.activate()


def test_the_published_example() -> None:
    said = output_of(sys.executable, ROOT / "examples" / "infinicore_runtime.py", INFINIRT_DEVICE="nvidia")
    assert "Kernel time: " in said
    assert "1 launch for 2 operators on cuda:0" in said


def test_copies_there_and_back(runtime: infinicore.Runtime) -> None:
    data = np.arange(1 << 18, dtype=np.float32)
    memory, pinned = runtime.allocate_memory(data.nbytes), runtime.allocate_pinned_host_memory(data.nbytes)
    assert pinned.is_pinned()
    assert (memory.device(), pinned.device()) == (runtime.device, runtime.device)
    runtime.memcpy_h2d(memory, data, data.nbytes)
    runtime.memcpy_d2h(pinned, memory, data.nbytes)
    assert np.array_equal(np.frombuffer(pinned.buffer, np.float32), data)
    runtime.set_device_memory_async(memory, 0, 4096)
    back = np.empty_like(data)
    runtime.memcpy_d2h(back, memory.data(), data.nbytes)
    assert (back[:1024] == 0).all()
    assert (back[1024:] == data[1024:]).all()


def test_events_take_the_time(runtime: infinicore.Runtime) -> None:
    start, end = (infinicore.DeviceEvent(enable_timing=True, device="cuda") for _ in range(2))
    memory = runtime.allocate_memory(256 * MIB)
    start.record(runtime.stream)
    runtime.set_device_memory_async(memory, 1, 256 * MIB)
    end.record(runtime.stream)
    assert start.elapsed_time(end) > 0


def test_graphs(runtime: infinicore.Runtime) -> None:
    result = runtime.allocate_memory(MIB)
    runtime.start_graph_recording()
    scratch = runtime.allocate_memory(MIB)
    address = scratch.data()
    runtime.add_graph_operator(lambda: runtime.set_device_memory_async(address, 5, MIB))
    runtime.add_graph_operator(lambda: runtime.memcpy_d2d(result.data(), address, MIB))
    runtime.add_graph_operator(runtime.sync_stream)  # cannot be captured
    runtime.add_graph_operator(lambda: runtime.memcpy_d2d(result.data(), address, 16))
    del scratch
    graph = runtime.stop_graph_recording()
    assert graph.segment_count == 3
    strangers = [runtime.allocate_memory(MIB) for _ in range(8)]
    assert address not in [memory.data() for memory in strangers]
    out = bytearray(MIB)
    for _ in range(3):
        graph.run()
    runtime.memcpy_d2h(out, result, MIB)
    assert out == b"\5" * MIB
    graph.close()


def test_memory_that_is_out_is_explained(runtime: infinicore.Runtime) -> None:
    with pytest.raises(
        infinirt.OutOfMemoryError, match=r"asked for; the cache of nvidia:0 holds .* are free"
    ):
        runtime.allocate_memory(1 << 45)
    assert runtime.allocate_memory(MIB).size() == MIB


def test_traces_take_no_more_than_they_ask_for_by_far(runtime: infinicore.Runtime) -> None:
    for path in sorted((ROOT / "benchmarks" / "traces").glob("*.json")):
        allocator = infinicore.PinnableBlockAllocator("cuda:0")
        result = replay(AllocationTrace.load(path), allocator)
        assert result.peak_reserved <= 1.25 * result.peak_requested, path.stem
        runtime.sync_device()
        allocator.trim()
        assert allocator.statistics.reserved == 0


def test_snapshots(runtime: infinicore.Runtime) -> None:
    record_history(source=runtime)
    memory = runtime.allocate_memory(3 * MIB)
    (block,) = [block for block in snapshot(runtime).blocks("used") if block.address == memory.data()]
    assert block.requested == 3 * MIB
    assert "test_snapshots" in block.stack[0]
    record_history(False, runtime)
