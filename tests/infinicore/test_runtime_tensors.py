"""Tensors and a Runtime's own operators in one recorded graph."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import infinicore


@pytest.fixture
def runtime() -> Iterator[infinicore.Runtime]:
    with infinicore.Runtime("cpu") as made:
        yield made.activate()


def test_tensors_live_with_the_threads_runtime(runtime: infinicore.Runtime) -> None:
    x = infinicore.from_list([1.0, 2.0], dtype=infinicore.float32)
    assert x.device == infinicore.device("cpu")
    assert (x + infinicore.ones([2])).tolist() == [2.0, 3.0]
    assert runtime.allocator.statistics.live_blocks >= 1


def test_operators_of_tensors_are_recorded(runtime: infinicore.Runtime) -> None:
    x = infinicore.zeros([3])
    infinicore.start_graph_recording()
    y = x * 2 + 1
    graph = infinicore.stop_graph_recording()
    assert isinstance(graph, infinicore.Graph)
    x.copy_(infinicore.ones([3]))
    graph.execute()
    assert y.tolist() == [3.0, 3.0, 3.0]
    assert "add" in graph.explain()


def test_both_kinds_keep_their_order(runtime: infinicore.Runtime) -> None:
    x, copy = infinicore.zeros([4]), infinicore.zeros([4])
    runtime.sync_stream()
    runtime.start_graph_recording()
    doubled = x * 2
    runtime.add_graph_operator(lambda: runtime.memcpy_d2d(copy.data_ptr(), doubled.data_ptr(), 16))
    runtime.add_graph_operator(lambda: runtime.set_device_memory_async(x.data_ptr(), 0, 16))
    total = copy + 1
    graph = runtime.stop_graph_recording()
    assert isinstance(graph, infinicore.Graph)
    assert graph.operator_count >= 4
    assert graph.segment_count == 1
    for value in (1.0, 5.0):
        x.copy_(infinicore.full([4], value))
        graph.run()
        assert total.tolist() == [2 * value + 1] * 4
        assert x.tolist() == [0.0] * 4
    assert "<lambda>" in graph.explain()
    assert "s0 -> s1;" in graph.to_dot()
    runtime.start_graph_recording()
    infinicore.ones([2])
    runtime.cancel_graph_recording()
    assert (x + 1).tolist() == [1.0] * 4
