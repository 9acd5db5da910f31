"""Random numbers and the smaller ways to make a tensor."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import infinicore

DEVICES = ["cpu", pytest.param("nvidia", marks=pytest.mark.gpu)]


@pytest.mark.parametrize("device", DEVICES)
def test_a_seed_gives_the_same_numbers_on_every_device(device: str) -> None:
    infinicore.manual_seed(7)
    first = [infinicore.rand(3, 4, device=device), infinicore.randn([5], device=device)]
    infinicore.manual_seed(7)
    again = [infinicore.rand([3, 4], device="cpu"), infinicore.randn(5, device="cpu")]
    assert [x.device for x in first] == [infinicore.device(device)] * 2
    for one, other in zip(first, again, strict=True):
        assert one.to("cpu").tolist() == other.tolist()


def test_without_a_seed_they_differ() -> None:
    assert infinicore.rand(8).tolist() != infinicore.rand(8).tolist()


def test_their_distribution() -> None:
    infinicore.manual_seed(1)
    flat, normal = infinicore.rand(100_000).numpy(), infinicore.randn(100_000).numpy()
    assert flat.dtype == normal.dtype == np.float32
    assert 0 <= flat.min() < 0.001 < 0.999 < flat.max() < 1
    assert abs(flat.mean() - 0.5) < 0.01
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1) < 0.02
    whole = infinicore.randint(-2, 3, [10_000])
    assert whole.dtype is infinicore.int64
    assert sorted(set(whole.tolist())) == [-2, -1, 0, 1, 2]
    assert sorted(set(infinicore.randint(2, [100]).tolist())) == [0, 1]
    assert infinicore.randint(2, size=(3,), dtype=infinicore.int8).dtype is infinicore.int8


@pytest.mark.parametrize("dtype", [infinicore.float16, infinicore.bfloat16, infinicore.float64], ids=str)
def test_in_other_types(dtype: infinicore.dtype) -> None:
    assert infinicore.randn(4, dtype=dtype).dtype is dtype


def test_threads_draw_from_one_generator() -> None:
    infinicore.manual_seed(3)
    drawn: list[float] = []
    threads = [threading.Thread(target=lambda: drawn.extend(infinicore.rand(100).tolist())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    infinicore.manual_seed(3)
    assert sorted(drawn) == sorted(infinicore.rand(400).tolist())


def test_what_cannot_be_drawn_is_said() -> None:
    with pytest.raises(TypeError, match=r"rand\(\).*randint\(\) draws integers"):
        infinicore.rand(2, dtype=infinicore.int32)
    with pytest.raises(ValueError, match="no integer"):
        infinicore.randint(3, 3, [2])
    with pytest.raises(TypeError, match="size is missing"):
        infinicore.randint(3)
    with pytest.raises(ValueError, match="must not be negative"):
        infinicore.manual_seed(-1)
    with pytest.raises(ValueError, match="int8 does not hold all integers from 0 to 999"):
        infinicore.randint(0, 1000, [8], dtype=infinicore.int8)
    with pytest.raises(TypeError, match="high must be an integer, not list"):
        infinicore.randint(5, [2], [3])


def test_numbers_of_numpy_are_numbers() -> None:
    infinicore.manual_seed(np.int64(3))
    drawn = infinicore.randint(5, np.int64(10), [200]).tolist()
    assert (min(drawn), max(drawn), len(drawn)) == (5, 9, 200)


@pytest.mark.parametrize("dtype", [infinicore.float16, infinicore.bfloat16, infinicore.float8], ids=str)
def test_one_is_never_drawn(dtype: infinicore.dtype) -> None:
    drawn = infinicore.rand(200_000, dtype=dtype).to(infinicore.float32).numpy()
    assert 0 <= drawn.min() < drawn.max() < 1


@pytest.mark.parametrize("device", DEVICES)
def test_small_ways_to_make_a_tensor(device: str) -> None:
    x = infinicore.from_numpy(np.zeros((2, 3), np.int32)).to(device)
    assert infinicore.zeros_like(x).tolist() == [[0] * 3] * 2
    assert infinicore.ones_like(x, dtype=infinicore.float32).tolist() == [[1.0] * 3] * 2
    assert infinicore.full_like(x, 5).tolist() == [[5] * 3] * 2
    assert infinicore.full_like(x, 5).device == x.device
    assert infinicore.linspace(-1, 1, 5, device=device).tolist() == [-1, -0.5, 0, 0.5, 1]
    assert infinicore.eye(2, 3, device=device).tolist() == [[1, 0, 0], [0, 1, 0]]
    infinicore.synchronize()
    infinicore.synchronize(device)


def test_formats_are_for_one_element() -> None:
    assert f"{infinicore.full([1], 0.5):.2f}" == "0.50"
    assert f"{infinicore.full([], 7):>4}" == "   7"
    with pytest.raises(TypeError, match=r"'.2f' is for one element; the tensor has 2"):
        f"{infinicore.zeros(2):.2f}"
    assert "tensor(" in f"{infinicore.zeros(2)}"


def test_unknown_parameters_of_operators_are_told_what_there_is() -> None:
    x = infinicore.zeros([2, 2])
    with pytest.raises(
        TypeError, match=r"sum\(\) has no parameter 'axis', which is dim here; it takes input, dim"
    ):
        infinicore.sum(x, axis=0)
    with pytest.raises(TypeError, match=r"no parameter 'stream': operators run on the stream"):
        infinicore.add(x, x, stream=1)
