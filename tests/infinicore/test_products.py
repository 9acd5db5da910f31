"""Products of matrices in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore


def matrices(*shape: int) -> tuple[infinicore.Tensor, np.ndarray[Any, Any]]:
    array = np.random.default_rng(sum(shape)).uniform(-1, 1, shape).astype("float32")
    return infinicore.from_numpy(array), array


def test_vectors_and_numbers_are_no_matrices() -> None:
    matrix = infinicore.ones([2, 2])
    with pytest.raises(ValueError, match=r"other has shape \[2\]; a matrix was expected"):
        _ = matrix @ infinicore.ones([2])
    with pytest.raises(TypeError, match="other must be a Tensor, not int"):
        infinicore.matmul(matrix, 2)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ((3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)), ((2, 3, 4), (4, 5)), ((3, 4), (2, 4, 5)), ((1, 3, 4), (6, 4, 5)),
        ((2, 3, 4, 5), (2, 3, 5, 6)), ((2, 3, 4, 5), (5, 6)), ((3, 0), (0, 5)), ((0, 4), (4, 5)),
    ],
)  # fmt: skip
def test_products_are_numpy_s(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    (a, x), (b, y) = matrices(*first), matrices(*second)
    made = a @ b
    assert made.shape == list((x @ y).shape)
    np.testing.assert_allclose(made.numpy(), x @ y, rtol=1e-5, atol=1e-6)
    out = infinicore.empty(made.shape)
    assert infinicore.matmul(a, b, alpha=-2.0, out=out) is out
    np.testing.assert_allclose(out.numpy(), -2 * (x @ y), rtol=1e-5, atol=1e-6)


def test_transposed_matrices_and_recorded_products() -> None:
    (a, x), (b, y) = matrices(4, 3), matrices(5, 4)
    np.testing.assert_allclose((a.T @ b.T).numpy(), x.T @ y.T, rtol=1e-5, atol=1e-6)
    with infinicore.record("cpu") as recorded:
        made = infinicore.nn.functional.relu(a.T @ b.T)
    recorded.graph.run()
    np.testing.assert_allclose(made.numpy(), np.maximum(x.T @ y.T, 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((3, 4), (5, 4), "4 columns and 5 rows"),
        ((2, 3, 4), (3, 4, 5), "as many or 1 was expected"),
        ((2, 3, 4, 5), (3, 2, 5, 6), "dimensions before the last two"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(
    first: tuple[int, ...], second: tuple[int, ...], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        _ = matrices(*first)[0] @ matrices(*second)[0]
