"""Recording graphs with a Runtime: what is recorded runs when it is told to, from memory that stays where it is."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import pytest

import infinicore
import infinirt

MIB = 1 << 20


@pytest.fixture
def runtime() -> Iterator[infinicore.Runtime]:
    with infinicore.Runtime("cpu") as made:  # closed afterwards, and not the thread's any more
        yield made.activate()


def value_of(runtime: infinicore.Runtime, memory: infinicore.Memory) -> int:
    out = bytearray(1)
    runtime.memcpy_d2h(out, memory, 1)
    return out[0]


def test_operators_run_with_the_graph_and_not_before(runtime: infinicore.Runtime) -> None:
    first, second = runtime.allocate_memory(64), runtime.allocate_memory(64)
    runtime.set_device_memory(second, 1, 64)
    runtime.start_graph_recording()
    assert runtime.is_graph_recording()
    runtime.add_graph_operator(lambda: runtime.memcpy_d2d(second, first, 64))
    runtime.add_graph_operator(infinicore.GraphOperator(runtime.set_device_memory_async, first, 9, 64))
    graph = runtime.stop_graph_recording()
    assert not runtime.is_graph_recording()
    assert value_of(runtime, second) == 1
    assert graph.segment_count == 1
    for value in (3, 4):
        runtime.set_device_memory(first, value, 64)
        graph.execute()
        assert (value_of(runtime, second), value_of(runtime, first)) == (value, 9)
    assert graph.operator_count == 2
    assert "set_device_memory_async" in graph.explain()


def test_what_cannot_be_captured_is_called_in_between(runtime: infinicore.Runtime) -> None:
    memory, seen = runtime.allocate_memory(8), []

    def look() -> None:
        seen.append(value_of(runtime, memory))  # waits for the stream, which no capture survives

    runtime.start_graph_recording()
    for value in (1, 2):
        runtime.add_graph_operator(lambda value=value: runtime.set_device_memory_async(memory, value, 8))
        runtime.add_graph_operator(look)
    graph = runtime.stop_graph_recording()
    assert graph.segment_count == 4
    seen.clear()
    graph.run()
    graph.run()
    assert seen == [1, 2, 1, 2]
    assert not runtime.stream.is_capturing


def test_memory_of_a_recording_is_the_graphs(runtime: infinicore.Runtime) -> None:
    result = runtime.allocate_memory(MIB)
    runtime.start_graph_recording()
    temporary = runtime.allocate_memory(MIB)
    address = temporary.data()
    runtime.add_graph_operator(lambda: runtime.set_device_memory_async(address, 5, MIB))
    runtime.add_graph_operator(lambda: runtime.memcpy_d2d(result.data(), address, MIB))
    del temporary
    graph = runtime.stop_graph_recording()
    strangers = [runtime.allocate_memory(MIB) for _ in range(16)]
    assert address not in [memory.data() for memory in strangers]
    assert any(block.is_reserved and block.address == address for block in runtime.allocator.pool.blocks())
    graph.run()
    assert value_of(runtime, result) == 5
    graph.close()
    graph.close()
    with pytest.raises(RuntimeError, match="closed"):
        graph.run()
    runtime.sync_stream()
    strangers += [runtime.allocate_memory(MIB) for _ in range(64)]
    assert address in [memory.data() for memory in strangers]


def test_recordings_of_threads_are_their_own(runtime: infinicore.Runtime) -> None:
    runtime.start_graph_recording()
    with pytest.raises(RuntimeError, match="already"):
        runtime.start_graph_recording()
    found: list[object] = []

    def other() -> None:
        runtime.activate()
        found.append(runtime.is_graph_recording())
        with pytest.raises(RuntimeError, match="start_graph_recording"):
            runtime.add_graph_operator(print)
        runtime.start_graph_recording()
        runtime.allocate_memory(MIB)
        found.append(runtime.is_graph_recording())
        # Ends without stopping: the recording is dropped, and its memory comes back.

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [False, True]
    runtime.cancel_graph_recording()
    gc.collect()
    runtime.sync_device()
    runtime.allocate_memory(1)
    assert not any(block.is_reserved for block in runtime.allocator.pool.blocks())


def test_failures_leave_nothing_behind(runtime: infinicore.Runtime) -> None:
    for call in (runtime.stop_graph_recording, runtime.cancel_graph_recording):
        with pytest.raises(RuntimeError, match="no graph is being recorded"):
            call()

    def broken() -> None:
        raise KeyError("mine")

    runtime.start_graph_recording()
    with pytest.raises(TypeError, match="function"):
        runtime.add_graph_operator(3)  # type: ignore[arg-type]
    runtime.allocate_memory(MIB)
    with pytest.raises(KeyError, match="mine"):
        runtime.add_graph_operator(broken)
    assert runtime.is_graph_recording()
    assert not runtime.stream.is_capturing
    runtime.cancel_graph_recording()
    assert not runtime.is_graph_recording()
    runtime.sync_device()
    runtime.allocate_memory(1)
    assert not any(block.is_reserved for block in runtime.allocator.pool.blocks())
    runtime.start_graph_recording()
    assert runtime.stop_graph_recording().segment_count == 0


def test_a_graph_of_a_closed_runtime_says_so() -> None:
    runtime = infinicore.Runtime("cpu")
    memory = runtime.allocate_memory(8)
    runtime.start_graph_recording()
    runtime.add_graph_operator(lambda: runtime.set_device_memory_async(memory, 1, 8))
    graph = runtime.stop_graph_recording()
    runtime.close()
    with pytest.raises(RuntimeError, match="was closed"):
        graph.run()
    graph.close()


def test_a_reserve_that_was_closed_gives_nothing() -> None:
    pool = infinirt.CachingPool("cpu")
    reserve = pool.reserve()
    assert reserve.pool is pool
    assert reserve.device is pool.device
    buffer = reserve.allocate(100)
    reserve.close()
    reserve.close()
    assert reserve.is_closed
    with pytest.raises(ValueError, match="was closed"):
        reserve.allocate(1)
    buffer.close()
    assert pool.statistics.live_blocks == 0


def test_operators_of_infinicore_and_others_make_one_graph(runtime: infinicore.Runtime) -> None:
    x = infinicore.zeros([16], device=runtime.place)
    other = runtime.allocate_memory(64)
    runtime.start_graph_recording()
    y = x + 1
    runtime.add_graph_operator(lambda: runtime.memcpy_d2d(other, y.data_ptr(), 64))
    runtime.add_graph_operator(infinicore.GraphOperator(infinicore.mul, y, y, out=y))
    graph = runtime.stop_graph_recording()
    assert graph.segment_count == 1
    for value in (1.0, 2.0):
        x.copy_(infinicore.full([16], value, device=runtime.place))
        graph.run()
        back = infinicore.zeros([16], device=runtime.place)
        runtime.memcpy_d2d(back.data_ptr(), other, 64)
        assert back.tolist() == [value + 1] * 16
        assert y.tolist() == [(value + 1) ** 2] * 16


def test_an_operator_does_one_thing_or_the_other(runtime: infinicore.Runtime) -> None:
    x, other = infinicore.zeros([16], device=runtime.place), runtime.allocate_memory(64)

    def both() -> None:
        infinicore.add(x, x, out=x)
        runtime.set_device_memory_async(other, 1, 64)

    def waits() -> None:
        infinicore.add(x, x, out=x)
        runtime.sync_stream()

    runtime.start_graph_recording()
    with pytest.raises(RuntimeError, match="make two graph operators"):
        runtime.add_graph_operator(both)
    runtime.add_graph_operator(waits)  # cannot be captured: called in each run, and not recorded twice
    graph = runtime.stop_graph_recording()
    assert graph.operator_count == 1
    x.copy_(infinicore.ones([16], device=runtime.place))
    graph.run()
    assert x.tolist() == [2.0] * 16


def test_memory_that_runs_out_while_recording_leaves_the_recording_as_it_was() -> None:
    with infinicore.Runtime("cpu") as runtime:
        runtime.activate()
        x = infinicore.ones([1000], device=runtime.place)
        runtime.allocator.limit = 8 * MIB
        runtime.start_graph_recording()
        y = x + x
        before = runtime.place.recorded_steps
        with pytest.raises(infinirt.OutOfMemoryError, match="bytes were asked for"):
            infinicore.broadcast_to(x, [10_000, 1000])
        assert runtime.place.recorded_steps == before
        z = y + x
        graph = runtime.stop_graph_recording()
        graph.run()
        assert z.tolist() == [3.0] * 1000
