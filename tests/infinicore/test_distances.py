"""Distances, determinants, numbers in place of what is none, and extremes so far: PyTorch's meaning, from Python."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import infinicore

torch = pytest.importorskip("torch")


def numbers(*shape: int, seed: int = 3) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape)


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, math.inf])
def test_distances_are_pytorch_s(p: float) -> None:
    x, y = numbers(4, 1, 5, 6), numbers(3, 7, 6, seed=4)
    made = infinicore.cdist(infinicore.from_numpy(x), infinicore.from_numpy(y), p)
    expected = torch.cdist(torch.from_numpy(x), torch.from_numpy(y), p)
    assert np.allclose(made.numpy(), expected.numpy(), rtol=1e-12)
    one = infinicore.dist(infinicore.from_numpy(x), infinicore.from_numpy(y[:, :5]), p)
    assert one.shape == []
    assert math.isclose(
        one.item(), torch.dist(torch.from_numpy(x), torch.from_numpy(y[:, :5]), p).item(), rel_tol=1e-12
    )


def test_what_distances_refuse() -> None:
    x = infinicore.ones([2, 3])
    with pytest.raises(ValueError, match="p must be 0 or more"):
        infinicore.cdist(x, x, -1.0)
    with pytest.raises(ValueError, match="two dimensions or more"):
        infinicore.cdist(x[0], x)
    with pytest.raises(ValueError, match="y must have one element"):
        infinicore.dist(x, x, out=infinicore.empty([2]))


def test_determinants() -> None:
    x = numbers(3, 20, 20)
    x = x @ x.transpose(0, 2, 1) + np.eye(20)
    x[1, 0] *= -1
    made = infinicore.logdet(infinicore.from_numpy(x)).numpy()
    assert np.allclose(made, torch.logdet(torch.from_numpy(x)).numpy(), rtol=1e-12, equal_nan=True)
    assert math.isnan(made[1])
    assert infinicore.logdet(infinicore.zeros([2, 2])).item() == -math.inf
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        infinicore.logdet(infinicore.ones([2, 3]))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_numbers_in_place_of_none(name: str) -> None:
    values = torch.tensor([1.5, math.nan, math.inf, -math.inf, -2.0], dtype=getattr(torch, name))
    x = infinicore.from_torch(values)
    assert infinicore.to_torch_dtype(x.dtype) is values.dtype
    for more in (
        {},
        {"nan": 3.0},
        {"posinf": 5.0},
        {"neginf": -7.0},
        {"nan": 1.0, "posinf": 2.0, "neginf": -2.0},
    ):
        assert infinicore.nan_to_num(x, **more).tolist() == torch.nan_to_num(values, **more).tolist()
    assert infinicore.nan_to_num(x, neginf=-7.0, out=x) is x
    assert x.tolist() == torch.nan_to_num(values, neginf=-7.0).tolist()
    whole = infinicore.arange(3)
    assert infinicore.nan_to_num(whole).tolist() == [0, 1, 2]


@pytest.mark.parametrize("function", ["cummax", "cummin"])
def test_extremes_so_far_are_pytorch_s(function: str) -> None:
    values = np.round(numbers(4, 30, 3) * 2).astype("float32")
    values[0, 7, 1] = values[0, 20, 1] = values[2, 0, 0] = np.nan
    values[1, 5:9] = -0.0
    for dim in (0, 1, -1):
        made = getattr(infinicore, function)(infinicore.from_numpy(values), dim)
        expected = getattr(torch, function)(torch.from_numpy(values), dim)
        assert np.array_equal(made[0].numpy(), expected[0].numpy(), equal_nan=True)
        assert np.array_equal(made[1].numpy(), expected[1].numpy())
        assert made[1].dtype is infinicore.int64
    x = infinicore.from_numpy(values)
    places = infinicore.empty(x.shape, dtype=infinicore.int64)
    getattr(infinicore, function)(x, 1, out=(x, places))
    expected = getattr(torch, function)(torch.from_numpy(values), 1)
    assert np.array_equal(x.numpy(), expected[0].numpy(), equal_nan=True)
    single = getattr(infinicore, function)(infinicore.full([], 2.5), 0)
    assert [each.tolist() for each in single] == [2.5, 0]
    with pytest.raises(IndexError, match="dim is 3"):
        getattr(infinicore, function)(x, 3)


def test_the_next_number() -> None:
    x = np.array([1.0, 0.0, -0.0, np.inf, 3e38, -1e-45], "float32")
    y = np.array([2.0, -1.0, 1.0, 0.0, np.inf, 1.0], "float32")
    made = infinicore.nextafter(infinicore.from_numpy(x), infinicore.from_numpy(y))
    assert np.array_equal(made.numpy(), np.nextafter(x, y))
    assert infinicore.nextafter(infinicore.ones([1], dtype=infinicore.float64), 0.0).item() == 1 - 2**-53
