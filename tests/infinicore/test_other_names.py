"""Functions under other names, and those that are made of operators: PyTorch's meaning."""

from __future__ import annotations

import math

import numpy as np
import pytest

import infinicore

torch = pytest.importorskip("torch")
VALUES = [0.25, -0.0, 0.0, -1.5, 1.0, 0.75, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize(
    "name", ["absolute", "arcsin", "arctan", "fix", "logit", "negative", "signbit", "sinc"]
)
def test_of_one_number(name: str) -> None:
    x = np.array(VALUES)
    expected = getattr(torch, name)(torch.from_numpy(x)).numpy()
    made = getattr(infinicore, name)(infinicore.from_numpy(x)).numpy()
    assert np.allclose(made, expected, rtol=1e-14, atol=1e-16, equal_nan=True)


@pytest.mark.parametrize(
    "name",
    [
        "arctan2",
        "divide",
        "eq",
        "ge",
        "gt",
        "le",
        "logaddexp2",
        "lt",
        "multiply",
        "ne",
        "subtract",
        "true_divide",
    ],
)
def test_of_two_numbers(name: str) -> None:
    x, y = (each.reshape(-1) for each in np.meshgrid(VALUES, VALUES))
    if name == "logaddexp2":
        x, y = x[np.isfinite(x) & np.isfinite(y)], y[np.isfinite(x) & np.isfinite(y)]
    expected = getattr(torch, name)(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    made = getattr(infinicore, name)(infinicore.from_numpy(x), infinicore.from_numpy(y)).numpy()
    assert np.allclose(made, expected, rtol=1e-14, equal_nan=True)


@pytest.mark.parametrize("equal_nan", [False, True])
def test_what_is_close(equal_nan: bool) -> None:
    x, y = (each.reshape(-1) for each in np.meshgrid([*VALUES, 1 + 1e-6], VALUES))
    expected = torch.isclose(torch.from_numpy(x), torch.from_numpy(y), equal_nan=equal_nan)
    made = infinicore.isclose(infinicore.from_numpy(x), infinicore.from_numpy(y), equal_nan=equal_nan)
    assert made.tolist() == expected.tolist()
    whole = infinicore.arange(3)
    assert infinicore.isclose(whole, whole + 1, rtol=0.5).tolist() == [False, True, True]
    assert infinicore.signbit(whole - 1).tolist() == [True, False, False]


def test_what_is_written_in_place() -> None:
    x, y, weight = infinicore.ones([2, 4]), infinicore.full([2, 4], 3.0), infinicore.ones([4])
    made = infinicore.add_rms_norm_inplace(x, y, weight, 0.0)
    assert made[0] is x
    assert made[1] is y
    assert y.tolist() == [[4.0] * 4] * 2
    assert np.allclose(x.numpy(), 1)
    assert infinicore.blas_copy(y, x) is x
    assert x.tolist() == y.tolist()
