"""What is done to recorded graphs before they run: calls left out, operators fused, memory shared; and what must not change."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from tensor_support import numbers

import infinicore
import infinirt
from infinicore.nn import functional


@pytest.fixture(autouse=True, params=["cpu", pytest.param("nvidia", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> Iterator[str]:
    """What is made without a device is there."""
    before = infinicore.get_device()
    infinicore.set_device(request.param)
    yield request.param
    infinicore.set_device(before)


OFF = {"remove_unused": False, "fuse": False, "share_memory": False}
Program = Callable[[infinicore.Tensor], Any]


def recorded(program: Program, x: infinicore.Tensor, **options: bool) -> tuple[Any, infinicore.Graph]:
    with infinicore.record(**options) as recorder:
        result = program(x)
    return result, recorder.graph


def there(shape: Sequence[int]) -> infinicore.Tensor:
    return infinicore.from_numpy(numbers(shape), device=infinicore.get_device())


def bits(tensor: infinicore.Tensor) -> bytes:
    return tensor.contiguous().numpy().tobytes()


def check(
    program: Program, *, dtype: Any = infinicore.float32, shape: tuple[int, ...] = (37, 53)
) -> infinicore.Graph:
    """Recorded results are the calls' own, bit for bit, with everything on and everything off."""
    x = there(shape).to(dtype)
    eager = bits(program(x.clone()))
    for options in (OFF, {}):
        source = x.clone()
        result, graph = recorded(program, source, **options)
        for _ in range(2):
            graph.run()
            assert bits(result) == eager, options
            source.copy_(x)
    return graph


@pytest.mark.parametrize(
    "dtype", [infinicore.float32, infinicore.float64, infinicore.bfloat16, infinicore.float16]
)
def test_a_chain_is_one_kernel_and_bit_for_bit_the_calls(dtype: Any) -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        return functional.silu(t * 2 + 0.5) - t

    graph = check(program, dtype=dtype)
    assert graph.operator_count == graph.fused_count == 5
    assert len(graph._recorded.steps) == 1  # type: ignore[union-attr]
    assert "5 fused into 1 kernel" in graph.explain()


@pytest.mark.parametrize("function", ["gelu", "relu", "silu", "softplus", "tanh"])
@pytest.mark.parametrize("dtype", [infinicore.bfloat16, infinicore.float16])
def test_every_number_of_16_bits_is_the_same_in_chains_and_views(function: str, dtype: Any) -> None:
    """Operators may have loops of their own for a type where it lies side by side: the bits are those of all others."""
    every = np.arange(65536, dtype=np.uint16).view(infinicore.to_numpy_dtype(dtype))
    x = infinicore.from_numpy(every, device=infinicore.get_device())
    call = getattr(functional, function)
    eager = bits(call(x))
    strided = infinicore.empty([65536, 2], dtype=dtype)
    strided[:, 0].copy_(x)
    assert bits(call(strided[:, 0])) == eager
    result, graph = recorded(lambda t: infinicore.neg(infinicore.neg(call(t))), x)
    graph.run()
    assert graph.fused_count == graph.operator_count == 3
    assert bits(result) == eager


def test_truth_stays_inside_a_chain() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        chosen = (t > 1) & ~(t > 2)
        return infinicore.where(chosen, -t, infinicore.masked_fill(t, t < 0, 0.25)) ** 2

    for dtype in (infinicore.float32, infinicore.float64, infinicore.bfloat16):
        graph = check(program, dtype=dtype)
        assert graph.fused_count == graph.operator_count
        assert len(graph._recorded.steps) == 1  # type: ignore[union-attr]


def test_long_chains_become_several_kernels() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        for _ in range(20):
            t = functional.relu(t + 0.25) - 1
        return t

    graph = check(program)
    kernels = len(graph._recorded.steps)  # type: ignore[union-attr]
    assert 1 < kernels < 10
    assert graph.fused_count == graph.operator_count == 100


def test_results_that_the_program_keeps_are_written() -> None:
    x = there([100])
    (a, b), graph = recorded(lambda t: ((first := t + 1), functional.relu(first * 2)), x)
    graph.run()
    np.testing.assert_array_equal(a.numpy(), x.numpy() + 1)
    np.testing.assert_array_equal(b.numpy(), np.maximum((x.numpy() + 1) * 2, 0))
    assert len(graph._recorded.steps) == 1  # type: ignore[union-attr]


def test_strided_broadcast_and_transposed_operands() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        return functional.silu(t[::2, 1:].T + t[0, 1:].unsqueeze(1)) * t[::2, 1:].T

    assert check(program).fused_count == 3


def test_a_result_that_is_read_in_another_order_ends_the_chain() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        square = t * t
        return square + square.T

    check(program, shape=(40, 40))


def test_other_types_on_the_way() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        half = (t * 3).to(infinicore.bfloat16)
        return (half > 0.5).to(infinicore.int32) + (half + 1).to(infinicore.int32)

    assert check(program).fused_count >= 6


def test_in_place_operators() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        before = t.clone()
        t += 1
        t *= 2
        t.copy_(t - before)
        return t + before

    check(program)


def test_a_copy_keeps_what_is_written_over_later() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        saved = t.clone()
        saved = saved.clone()
        t += 1
        last = saved.clone()
        return last * t

    check(program)


def test_operators_that_write_an_input() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        x, y = t.clone(), (t * 2).clone()
        infinicore.axpy(0.5, x, y)
        infinicore.scal(x, 3.0)
        return functional.silu_and_mul(x[:, :52] + y[:, 1:])

    check(program)


def test_parts_of_a_tensor_are_written() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        whole = t + 1
        whole[:, :10].copy_(t[:, 10:20])
        whole[3:] += whole[3:]
        return whole * 2

    check(program)


def test_numbers_and_scalars() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        scale = infinicore.full([], 3.0)
        scale += 1
        product = infinicore.ones([1]) * 2
        return t * scale + product - 0.5

    check(program)


def test_constants_in_the_middle_of_a_chain() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        three, one = infinicore.full([37, 53], 3.0), infinicore.ones([37, 53])
        return functional.relu(t * 2) + three - functional.relu(t) * one

    check(program)


def test_a_number_that_is_written_in_another_shape() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        number = infinicore.full([1], 3.0)
        same = number[0]
        same += 1
        return t * number

    check(program)


def test_a_copy_into_every_other_element_is_not_read_through() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        line = t.reshape(-1)
        whole = line + 1
        whole[::2].copy_((line * 3)[::2])
        return whole[:901] * 2

    check(program)


def test_attributes_of_descriptors_are_rounded_as_in_calls() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        return functional.relu(functional.hardtanh(t, -0.1, 0.1) - 0.01) + functional.softplus(t, 0.3, 0.7)

    check(program, dtype=infinicore.float64)


def test_tensors_made_from_an_address(device: str) -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        y = t + 1
        alias = infinicore.from_blob(y.data_ptr(), [8], device=device)
        z = alias * 2
        functional.relu(infinicore.ones([4])[4:])  # nothing, at no address
        return z

    check(program, shape=(8,))
    x = infinicore.from_numpy(numbers([3, 2000]), device=device)
    expected = x.numpy() + x.numpy()[0]
    alias = infinicore.from_blob(x.data_ptr(), [3, 2000], device=device)
    alias += x[0]
    assert np.array_equal(x.numpy(), expected)


def test_products_stand_between_chains() -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        return functional.relu((t + 1) @ (t.T - 1)) + 2

    graph = check(program, shape=(20, 30))
    assert [bool(parts) for _, _, parts in graph._recorded.steps] == [True, True, False, True]  # type: ignore[union-attr]


def test_what_nobody_reads_is_left_out() -> None:
    x = infinicore.ones([4, 4])

    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        _ = functional.silu(t + 5)
        return t.clone() @ t

    result, graph = recorded(program, x)
    assert graph.removed_count == 4
    text = graph.explain()
    assert "nobody reads its result" in text
    assert "what it copies is read in its place" in text
    graph.run()
    assert bits(result) == bits(x @ x)
    kept, graph = recorded(program, x, remove_unused=False, fuse=False)
    assert graph.removed_count == graph.fused_count == 0
    graph.run()
    assert bits(kept) == bits(result)


def test_a_copy_stays_where_its_source_is_written_before_the_last_reader() -> None:
    x = there([6, 6])

    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        saved = t.clone()
        t.copy_(t @ t)
        return saved @ saved

    expected = x.numpy() @ x.numpy()
    result, graph = recorded(program, x)
    assert graph.removed_count == 0
    graph.run()
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_functions_and_captured_work_see_what_was_computed() -> None:
    x = infinicore.ones([8])
    seen: list[list[float]] = []
    with infinicore.record() as recorder:
        y = x + 1
        recorder.call(lambda stream, y=y: seen.append(y.tolist()))  # type: ignore[misc]
        del y
        z = x + 2
    recorder.graph.run()
    assert seen == [[2.0] * 8]
    assert z.tolist() == [3.0] * 8


def test_captured_work_sees_what_was_computed(device: str) -> None:
    x, target = infinicore.ones([8]), infinicore.zeros([8])
    runtime = infinicore.get_runtime(device)
    runtime.start_graph_recording()
    made = [x + 5]

    def copy() -> None:
        address = made[0].data_ptr()
        source = infinirt.Buffer.from_handle(address, 32, owner=made[0], device=runtime.stream.device)
        source.copy_to(target._owner[:32], stream=runtime.stream)

    runtime.add_graph_operator(copy)
    made.clear()  # nobody but the captured copy reads it
    graph = runtime.stop_graph_recording()
    graph.run()
    assert target.tolist() == [6.0] * 8


def test_captured_work_may_let_go_of_what_it_reads(device: str) -> None:
    x, target = infinicore.ones([8]), infinicore.zeros([8])
    runtime = infinicore.get_runtime(device)
    runtime.start_graph_recording()
    made = [x + 7]

    def copy() -> None:
        source = made.pop()
        buffer = infinirt.Buffer.from_handle(
            source.data_ptr(), 32, owner=source, device=runtime.stream.device
        )
        buffer.copy_to(target._owner[:32], stream=runtime.stream)

    runtime.add_graph_operator(copy)
    graph = runtime.stop_graph_recording()
    graph.run()
    assert target.tolist() == [8.0] * 8


def test_a_product_that_is_added_reads_what_is_there() -> None:
    x = there([4, 4])
    gemm = infinicore._core.building_blocks["gemm"]

    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        total = t + 1
        gemm(t, t, 1.0, 1.0, out=total)
        return total

    result, graph = recorded(program, x)
    graph.run()
    np.testing.assert_allclose(result.numpy(), x.numpy() @ x.numpy() + x.numpy() + 1, rtol=1e-4)


def test_a_number_in_several_kernels_is_one_call() -> None:
    def program(t: infinicore.Tensor) -> list[infinicore.Tensor]:
        number = infinicore.full([], 3.0)
        return [t + number, t[0] + number, t * number]

    _, graph = recorded(program, there([4, 4]))
    assert graph.fused_count == graph.operator_count == 4
    assert "4 fused into 3 kernels" in graph.explain()


def test_what_is_not_to_be_left_out_is_done(device: str) -> None:
    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        functional.relu(t + 1)
        return t * 2

    _, graph = recorded(program, there([4]), remove_unused=False)
    assert graph.removed_count == 0
    assert "refused" not in graph.explain()
    graph.run()


def test_numbers_are_shown() -> None:
    x = infinicore.ones([2])

    def program(t: infinicore.Tensor) -> list[infinicore.Tensor]:
        types = (
            infinicore.float64,
            infinicore.bfloat16,
            infinicore.int8,
            infinicore.uint16,
            infinicore.bool,
            infinicore.float16,
        )
        return [
            t * 2 + 0.25,
            *(
                infinicore.full([2], value, dtype=type_)
                for value, type_ in zip((2.5, -1.5, -7, 9, 1, 1), types, strict=True)
            ),
        ]

    _, graph = recorded(program, x)
    text = graph.explain()
    for expected in (
        "alpha=2)",
        "fill(0.25)",
        "fill(2.5)",
        "fill(-1.5)",
        "fill(-7)",
        "fill(9)",
        "fill(1) -> bool",
        "fill(0x3c00)",
    ):
        assert expected in text, text


def test_each_can_be_turned_off(device: str) -> None:
    x = there([1000])

    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        for _ in range(6):
            t = t + t
        return t

    _, fused = recorded(program, x)
    _, plain = recorded(program, x, fuse=False)
    _, apart = recorded(program, x, fuse=False, share_memory=False)
    assert fused.fused_count == 6
    assert plain.fused_count == apart.fused_count == 0
    assert plain._recorded.reserved_bytes * 3 <= apart._recorded.reserved_bytes  # type: ignore[union-attr]
    runtime = infinicore.get_runtime(device)
    runtime.start_graph_recording(fuse=False)
    program(x)
    assert runtime.stop_graph_recording().fused_count == 0
    infinicore.start_graph_recording(device, remove_unused=False)
    program(x)
    assert infinicore.stop_graph_recording().removed_count == 0


def test_pictures() -> None:
    import xml.etree.ElementTree

    x = infinicore.ones([4, 4])
    with infinicore.record() as recorder:
        functional.relu(x)
        y = functional.relu(x * 2) @ x
        recorder.call(lambda stream: None)
        z = y < 3
    graph = recorder.graph
    picture = xml.etree.ElementTree.fromstring(graph.to_svg())
    texts = ["".join(element.itertext()) for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    for expected in ("left out", "segment 1: called in each run", "nobody reads its result"):
        assert any(expected in text for text in texts), texts
    assert any(text.startswith("less(") for text in texts)
    boxes = [element.get("class") for element in picture.iter("{http://www.w3.org/2000/svg}rect")]
    assert {"chain", "step", "removed", "segment", "segment called"} <= set(boxes)
    dot = graph.to_dot()
    assert "style=filled" in dot
    assert "style=dotted" in dot
    graph.run()
    assert z.tolist() == [[False] * 4] * 4


def random_program(seed: int) -> Program:
    """Tensors of one or two shapes that are added, cut, copied, written over and dropped."""

    def program(t: infinicore.Tensor) -> infinicore.Tensor:
        chance = random.Random(seed)
        known = [t, t.clone()]
        for _ in range(chance.randrange(5, 40)):
            a, b = chance.choice(known), chance.choice(known)
            action = chance.randrange(15)
            if action < 3:
                known.append(a + b)
            elif action == 3:
                known.append(functional.relu(a) * 0.5)
            elif action == 4:
                known.append((a.T + b) * chance.choice([1, 0.5]))
            elif action == 5:
                known.append(a.clone())
            elif action == 6:
                a += chance.choice([1, 0.25])
            elif action == 7:
                a[2:9].copy_(b[1:8])
            elif action == 8:
                known.append((a - b).to(infinicore.bfloat16).to(infinicore.float32))
            elif action == 9:
                a.copy_(b * 0.5)
            elif action == 10:
                known.append(a - b[0])
            elif action == 11:
                known.append(infinicore.full([16, 16], chance.choice([0.5, -1.0])))
            elif action == 12:
                a[::2].copy_(b[1::2])
            elif action == 13:
                a[:, ::3] += 1
            elif len(known) > 2:
                del known[chance.randrange(1, len(known))]
        total = known[0]
        for other in known[1:]:
            total = total + other
        return total

    return program


@pytest.mark.parametrize("seed", range(25))
def test_random_programs(seed: int) -> None:
    check(random_program(seed), shape=(16, 16))


@pytest.mark.full
@pytest.mark.parametrize("seed", range(25, 425))
def test_more_random_programs(seed: int) -> None:
    check(random_program(seed), shape=(16, 16))
