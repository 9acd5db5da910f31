"""Recorded graphs: the same results as calling the operators, again and again, from memory that stays in place."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_support import keep_busy, new_place, numbers

import infinicore
import infinirt
from infinicore import _core
from infinicore.nn import functional

UNARY = ["tanh", "sigmoid", "erf", "floor", "relu", "gelu", "silu"]
BINARY = ["add", "sub", "mul", "fmin", "hypot"]


def run_program(x: infinicore.Tensor, program: list[tuple[str, int, int]]) -> list[infinicore.Tensor]:
    """Each step takes earlier results; only every third one is kept, so that memory of others is used again."""
    alive: list[infinicore.Tensor] = [x]
    kept: list[infinicore.Tensor] = []
    for number, (name, first, second) in enumerate(program):
        a, b = alive[first % len(alive)], alive[second % len(alive)]
        function = getattr(infinicore, name)
        made = function(a) if name in UNARY else function(a, b)
        alive = [*alive, made][-4:]
        if number % 3 == 0:
            kept.append(made)
    return [*kept, alive[-1]]


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(UNARY + BINARY), st.integers(0, 9), st.integers(0, 9)),
        min_size=1,
        max_size=40,
    )
)
def test_a_run_gives_bit_for_bit_what_the_calls_give(program: list[tuple[str, int, int]]) -> None:
    place = new_place()
    x = infinicore.zeros([3, 5], device=place)
    with infinicore.record(place) as recorded:
        outputs = run_program(x, program)
    graph = recorded.graph
    assert graph.segment_count == 1
    for factor in (0.25, -1.0):
        value = infinicore.from_numpy(numbers([3, 5]) * np.float32(factor), device=place)
        x.copy_(value)
        graph.run()
        for mine, theirs in zip(outputs, run_program(value, program), strict=True):
            np.testing.assert_array_equal(mine.clone().numpy(), theirs.clone().numpy())


def test_nothing_runs_while_it_is_recorded() -> None:
    x = infinicore.ones([3])
    with infinicore.record() as recorded:
        infinicore.add(x, 1.0, out=x)
        assert x._place.is_recording
        inside = x * 2
        assert "when the graph has run" in repr(inside)
        with pytest.raises(RuntimeError, match="after the with block"):
            _ = recorded.graph
    assert not x._place.is_recording
    assert x.tolist() == [1, 1, 1]
    recorded.graph.execute()
    recorded.graph.run()
    assert x.tolist() == [3, 3, 3]
    assert inside.tolist() == [6, 6, 6]


def test_functions_of_one_s_own_stand_between_device_graphs() -> None:
    place = new_place()
    x = infinicore.ones([4], device=place)
    seen: list[Any] = []

    def look(stream: infinirt.Stream) -> None:
        assert stream is place.stream
        seen.append(y.tolist())

    with infinicore.record(place) as recorded:
        y = x + x
        recorded.call(look)
        z = y * 3
    graph = recorded.graph
    assert graph.segment_count == 3
    text = graph.explain()
    assert "look(stream)" in text
    assert "called in each run" in text
    assert "add(float32[4], float32[4]) -> float32[4]  [48 bytes]" in text
    dot = graph.to_dot()
    assert dot.count("subgraph") == 3
    assert dot.count("->") == 2 + dot.count(") -> ")
    graph.run()
    x.fill_(2)
    graph.run()
    assert seen == [[2] * 4, [4] * 4]
    assert z.tolist() == [12] * 4
    assert "run 2 times" in graph.explain()


def test_a_function_that_fails_ends_the_run_with_its_error() -> None:
    x = infinicore.zeros([2])

    def fail(stream: object) -> None:
        raise KeyError("mine")

    with infinicore.record() as recorded:
        infinicore.add(x, 1.0, out=x)
        recorded.call(fail)
        infinicore.add(x, 1.0, out=x)
    with pytest.raises(KeyError, match="mine"):
        recorded.graph.run()
    assert x.tolist() == [1, 1]


def test_an_operator_that_fails_leaves_the_recording_as_it_was() -> None:
    x = infinicore.ones([3])
    with infinicore.record() as recorded:
        y = x + x
        with pytest.raises(TypeError, match="must be the same"):
            infinicore.add(x, infinicore.from_numpy(numbers([3], "int32")))
        with pytest.raises(ValueError, match="shape"):
            infinicore.add(x, 1.0, out=y[:2])  # the number alone is no call
        with pytest.raises(TypeError, match="function of one argument"):
            recorded.call(1)  # type: ignore[arg-type]
        z = y * y
    assert recorded.graph.operator_count == 2
    recorded.graph.run()
    assert z.tolist() == [4, 4, 4]


def test_recordings_do_not_nest_and_need_a_beginning() -> None:
    place = new_place()
    with pytest.raises(RuntimeError, match="records nothing"):
        place.stop_recording()
    with pytest.raises(RuntimeError, match="records nothing"):
        place.record_call(print)
    place.cancel_recording()
    place.start_recording()
    with pytest.raises(RuntimeError, match="do not nest"):
        place.start_recording()
    x = infinicore.ones([2], device=place)
    graph = infinicore.Graph(place.stop_recording())
    assert graph.operator_count == 1
    place.start_recording()
    with pytest.raises(RuntimeError, match="while this thread records"):
        graph.run()
    place.cancel_recording()
    graph.run()
    assert x.tolist() == [1, 1]
    with pytest.raises(TypeError, match="made by recording"):
        infinicore.Graph(1)  # type: ignore[arg-type]


def test_an_exception_drops_the_recording_and_its_memory() -> None:
    place = new_place()
    x = infinicore.ones([1000], device=place)
    before = place.pool.statistics.live_blocks
    kept = []

    def fail() -> None:
        with infinicore.record(place):
            kept.append(x + x)
            _ = 1 / 0

    with pytest.raises(ZeroDivisionError):
        fail()
    assert not place.is_recording
    kept.clear()
    place.sync()
    assert place.pool.statistics.live_blocks == before
    assert (x + x).tolist()[0] == 2


def test_a_thread_that_ends_drops_what_it_recorded() -> None:
    place = new_place()
    x = infinicore.ones([1000], device=place)
    before = place.pool.statistics.live_blocks

    def work(where: _core.Place, what: infinicore.Tensor) -> None:
        where.start_recording()
        _ = what + what

    thread = threading.Thread(target=work, args=(place, x))
    thread.start()
    thread.join()
    assert not place.is_recording
    place.sync()
    assert place.pool.statistics.live_blocks == before
    gone = weakref.ref(place)
    del x, thread, place
    gc.collect()
    assert gone() is None


def test_threads_record_at_once_each_its_own_graph_beside_calls_that_run() -> None:
    place = new_place()
    barrier = threading.Barrier(3)
    results: dict[int, Any] = {}

    def record(number: int) -> None:
        x = infinicore.full([100], float(number), device=place)
        barrier.wait()
        for _ in range(5):
            with infinicore.record(place) as recorded:
                y = x
                for _ in range(30):
                    y = y + x
            recorded.graph.run()
            results.setdefault(number, []).append((recorded.graph.operator_count, y.tolist()[0]))

    def call() -> None:
        barrier.wait()
        x = infinicore.ones([100], device=place)
        for _ in range(300):
            x = x + 1.0
        results[0] = x.tolist()[0]

    threads = [threading.Thread(target=record, args=(n,)) for n in (1, 2)] + [threading.Thread(target=call)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {0: 301, 1: [(30, 31)] * 5, 2: [(30, 62)] * 5}


def test_memory_of_dead_intermediates_is_used_again_and_others_keep_off_it() -> None:
    place = new_place()
    x = infinicore.ones([1000], device=place)
    with infinicore.record(place) as recorded:
        y = x
        for _ in range(50):
            y = y + x
    graph = recorded.graph._recorded
    assert graph.reserved_bytes <= 3 * 4000
    noise = [infinicore.full([1000], -1.0, device=place) for _ in range(20)]
    graph.run()
    assert y.tolist()[0] == 51
    assert all(each.tolist()[0] == -1 for each in noise)
    # What the program lets go of after recording still belongs to the graph.
    del y
    others = [infinicore.full([1000], -2.0, device=place) for _ in range(20)]
    graph.run()
    assert all(set(each.tolist()) == {-2.0} for each in others)


def test_constants_made_while_recording_stay() -> None:
    place = new_place()
    x = infinicore.zeros([64], device=place)
    with infinicore.record(place) as recorded:
        table = infinicore.from_numpy(numbers([64]), device=place)
        y = x + table
        y = functional.relu(y * 2)
        del table
        for _ in range(5):
            y = y + x
    for value in (0.0, 1.0):
        x.fill_(value)
        recorded.graph.run()
        assert y.tolist() == ((numbers([64]) + value) * 2 + 5 * value).tolist()


def test_copies_from_elsewhere_are_no_part_of_a_graph() -> None:
    place = new_place()
    x = infinicore.ones([2], device=place)
    other = infinicore.ones([2], device=new_place())
    with infinicore.record(place), pytest.raises(RuntimeError, match="cannot be recorded"):
        x.copy_(other)


def test_memory_shared_with_numpy_is_ready_when_a_run_returns() -> None:
    array = np.zeros(100_000, "f4")
    x = infinicore.from_numpy(array, copy=False)
    with infinicore.record("cpu") as recorded:
        infinicore.add(x, infinicore.ones([1], device="cpu"), out=x)
    for number in range(1, 4):
        keep_busy(x._place)
        recorded.graph.run()
        assert array[0] == number == array[-1]


def test_many_runs_leak_nothing_and_the_graph_gives_everything_back() -> None:
    place = new_place()
    x = infinicore.zeros([16], device=place)
    place.sync()
    blocks = place.pool.statistics.live_blocks
    with infinicore.record(place) as recorded:
        y = x
        for _ in range(10):
            y = y + 1.0
    graph = recorded.graph
    graph.run()
    place.sync()
    before = place.pool.statistics
    for _ in range(10_000):
        graph.run()
    place.sync()
    after = place.pool.statistics
    assert (after.live_blocks, after.reserved, after.allocations) == (
        before.live_blocks,
        before.reserved,
        before.allocations,
    )
    assert y.tolist() == [10.0] * 16
    del graph, recorded, y
    gc.collect()
    place.sync()
    assert place.pool.statistics.live_blocks == blocks
    # Its memory is everybody's again.
    place.pool.trim()
    assert place.pool.statistics.reserved <= before.reserved


def test_a_graph_that_goes_while_it_runs_lets_the_run_finish() -> None:
    place = new_place()
    x = infinicore.zeros([1 << 16], device=place)
    for turn in range(30):
        with infinicore.record(place) as recorded:
            infinicore.add(x, infinicore.ones([1 << 16], device=place), out=x)
        recorded.graph.run()
        del recorded
        infinicore.full([1 << 16], -5.0, device=place)
        assert x[-1].item() == turn + 1


def test_a_graph_of_a_closed_place_says_so() -> None:
    place = new_place()
    with infinicore.record(place) as recorded:
        infinicore.ones([2], device=place)
    place.close()
    with pytest.raises(infinirt.InvalidHandleError, match="closed"):
        recorded.graph.run()


def test_a_function_that_refers_to_its_graph_is_collected() -> None:
    place = new_place()
    box: list[Any] = []
    with infinicore.record(place) as recorded:
        recorded.call(lambda stream, held=box: held[0])
    raw = recorded.graph._recorded
    box.append(raw)
    gone = weakref.ref(raw)
    del raw, recorded, box
    gc.collect()
    assert gone() is None


def test_an_empty_recording_is_a_graph_that_does_nothing() -> None:
    with infinicore.record() as recorded:
        pass
    recorded.graph.run()
    assert repr(recorded.graph).startswith("<Graph of 0 calls in 0 segments on cpu:0")
    assert isinstance(recorded.graph._recorded, _core.RecordedGraph)


def test_a_graph_whose_last_reference_goes_in_a_host_function() -> None:
    place = new_place()
    x = infinicore.zeros([8], device=place)
    for _ in range(20):
        with infinicore.record(place) as recorded:
            y = x + 1.0
        recorded.graph.run()
        held = [recorded.graph._recorded, y]
        del recorded, y
        place.stream.launch_host_func(held.clear)
        place.sync()
        assert held == []
    assert x.tolist() == [0.0] * 8  # what could not be destroyed there was so by later calls
    place.sync()
    assert place.pool.statistics.live_blocks == 1


def test_calls_on_tensors_without_elements_or_memory_are_recorded_too() -> None:
    place = new_place()
    x = infinicore.ones([4], device=place)
    nowhere = _core.wrap(place, infinicore.float32, [0], [1], 0, None, False, False)
    assert nowhere.numel() == 0
    with infinicore.record(place) as recorded:
        infinicore.add(nowhere, nowhere, out=nowhere)
        y = x + x
    recorded.graph.run()
    assert y.tolist() == [2.0] * 4


def test_what_a_graph_makes_is_not_read_before_it_has_run() -> None:
    x = infinicore.zeros([4])
    with infinicore.record() as recorded:
        y = x + 1.0
    for read in (y.tolist, y[0].item):
        with pytest.raises(RuntimeError, match=r"after graph\.run\(\)"):
            read()
    assert "when the graph has run" in str(y)
    assert x.tolist() == [0.0] * 4
    shared = y.numpy()
    recorded.graph.run()
    assert y.tolist() == [1.0] * 4
    assert shared.tolist() == [1.0] * 4


def test_operators_do_not_take_what_a_graph_has_not_made_yet() -> None:
    x = infinicore.ones([4])
    with infinicore.record() as recorded:
        y = x + 1.0
    for use in (
        lambda: y + 1.0,
        lambda: x * y,
        y.clone,
        lambda: y.to(dtype=infinicore.float64),
        lambda: y[::2] > 0,
    ):
        with pytest.raises(
            RuntimeError, match=r"\(\): an input was made by a recording whose graph has not run"
        ):
            use()
    z = infinicore.zeros([4])
    with infinicore.record() as further:  # what comes after it may be recorded before it runs
        infinicore.mul(y, 3.0, out=z)
    recorded.graph.run()
    further.graph.run()
    assert (y + 1.0).tolist() == [3.0] * 4
    assert z.tolist() == [6.0] * 4


def test_other_recordings_that_never_ran_bar_nothing() -> None:
    with infinicore.record():
        infinicore.ones([4])
    x = infinicore.ones([4])
    assert (x + x).tolist() == [2.0] * 4


def test_a_trace_names_what_a_fused_kernel_is_made_of(tmp_path: Path) -> None:
    x = infinicore.ones([64])
    with infinirt.trace(tmp_path / "trace.json"):
        with infinicore.record() as recorded:
            _y = x * 2 + 1
        recorded.graph.run()
        infinicore.sync_stream()
    traced = (tmp_path / "trace.json").read_text()
    assert '"mul_scalar + add"' in traced
    assert '"Chain"' not in traced
