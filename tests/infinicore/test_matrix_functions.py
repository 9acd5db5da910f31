"""Products of matrices and vectors under PyTorch's names: against NumPy, over types, strides, broadcast inputs and results that are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import Tensor

Array = np.ndarray[Any, Any]


def pair(*shape: int, dtype: str = "float64", seed: int = 0) -> tuple[Tensor, Array]:
    array = np.random.default_rng(sum(shape) + seed).uniform(-1, 1, shape).astype(dtype)
    return infinicore.from_numpy(array), array


def near(made: Tensor, expected: Array) -> None:
    assert made.shape == list(expected.shape)
    limit = {"float16": 2e-3, "float32": 1e-5, "float64": 1e-13}[str(expected.dtype)]
    np.testing.assert_allclose(made.numpy(), expected, rtol=limit, atol=limit)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(3, 5), (5,), (1, 5), (3, 1), ()])
def test_addmm(dtype: str, shape: tuple[int, ...]) -> None:
    (c, z), (a, x), (b, y) = pair(*shape, dtype=dtype), pair(3, 4, dtype=dtype), pair(4, 5, dtype=dtype)
    wide = [each.astype("float64") for each in (x, y, z)]
    # 0.3 and -1.7 are no numbers of 32 bits: as float64 they count in full.
    expected = (0.3 * wide[2] - 1.7 * (wide[0] @ wide[1])).astype(dtype)
    near(infinicore.addmm(c, a, b, beta=0.3, alpha=-1.7), expected)
    out = infinicore.empty([5, 3], dtype=a.dtype).T
    assert infinicore.addmm(c, a, b, beta=0.3, alpha=-1.7, out=out) is out
    near(out, expected)


def test_an_input_that_is_the_result_and_one_that_is_not_read() -> None:
    (c, z), (a, x), (b, y) = pair(3, 5), pair(3, 4), pair(4, 5)
    assert infinicore.addmm(c, a, b, out=c) is c
    near(c, z + x @ y)
    nothing = infinicore.from_numpy(np.full((3, 5), np.nan))
    near(infinicore.addmm(nothing, a, b, beta=0), x @ y)
    near(infinicore.addbmm(nothing, a.unsqueeze(0), b.unsqueeze(0), beta=0), x @ y)
    square, values = pair(4, 4)
    infinicore.addmm(square, square, square, out=square)
    near(square, values + values @ values)
    wide, values = pair(4, 4)
    infinicore.addmm(wide[0], a.T @ a, b @ b.T, out=wide)
    near(wide, values[0] + (x.T @ x) @ (y @ y.T))


def test_batches() -> None:
    (c, z), (a, x), (b, y) = pair(2, 3, 5), pair(2, 3, 4), pair(2, 4, 5)
    near(infinicore.bmm(a, b), x @ y)
    near(infinicore.baddbmm(c, a, b, beta=2, alpha=0.5), 2 * z + 0.5 * (x @ y))
    near(infinicore.baddbmm(c[0, 0], a, b), z[0, 0] + x @ y)
    near(infinicore.addbmm(c[1], a, b, beta=0.1, alpha=3), 0.1 * z[1] + 3 * (x @ y).sum(0))
    out = infinicore.empty([5, 2, 3], dtype=a.dtype).permute(1, 2, 0)
    assert infinicore.bmm_strided(a, b, out=out) is out
    near(out, x @ y)
    # Many matrices of float16 are summed up before they are rounded.
    (a, x), (b, y) = pair(64, 3, 16, dtype="float16"), pair(64, 16, 5, dtype="float16")
    exact = (x.astype("float64") @ y.astype("float64")).sum(0)
    made = infinicore.addbmm(infinicore.zeros([1], dtype=a.dtype), a, b).numpy()
    assert np.abs(made - exact).max() <= np.spacing(np.float16(np.abs(exact).max()))


def test_vectors() -> None:
    (m, x), (v, y), (w, z) = pair(3, 4), pair(4), pair(3)
    near(infinicore.mv(m, v), x @ y)
    near(infinicore.addmv(w, m, v, beta=0.5, alpha=2), 0.5 * z + 2 * (x @ y))
    assert infinicore.addmv(w, m, v, out=w) is w
    near(w, z + x @ y)
    out = infinicore.empty([6], dtype=m.dtype)[::2]
    assert infinicore.mv(m, v, out=out) is out
    near(out, x @ y)
    near(infinicore.outer(v, v), np.outer(y, y))
    near(infinicore.vdot(v, v), np.array(y @ y))
    near(infinicore.addr(m, m[:, 0], v, beta=0.3, alpha=0.7), 0.3 * x + 0.7 * np.outer(x[:, 0], y))
    integers = infinicore.arange(3)
    assert infinicore.outer(integers, integers).tolist() == [[0, 0, 0], [0, 1, 2], [0, 2, 4]]


@pytest.mark.parametrize(
    ("first", "second"),
    [((3, 4), (2, 4)), ((4,), (4,)), ((2, 3, 4), (5, 4)), ((2, 3, 4), (3, 2, 4)), ((), (2, 3))],
)
def test_inner(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    (a, x), (b, y) = pair(*first), pair(*second)
    near(infinicore.inner(a, b), np.inner(x, y))
    out = infinicore.empty(list(np.inner(x, y).shape)[::-1], dtype=a.dtype)
    turned = out.permute(*reversed(range(out.ndim))) if out.ndim else out
    infinicore.inner(a.permute(*range(a.ndim)) if a.ndim else a, b, out=turned)
    near(turned, np.inner(x, y))


def test_inner_of_rows_that_cannot_be_one_dimension() -> None:
    (a, x), (b, y) = pair(3, 2, 4), pair(6, 5, 4)
    near(infinicore.inner(a.permute(1, 0, 2), b[::2, 1:]), np.inner(x.transpose(1, 0, 2), y[::2, 1:]))


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_kron(dtype: str) -> None:
    for first, second in (((2, 3), (4, 2)), ((3,), (2, 2)), ((2, 1, 2), (3,)), ((), (2,))):
        x = np.arange(1, 1 + int(np.prod(first)), dtype=dtype).reshape(first)
        y = np.arange(2, 2 + int(np.prod(second)), dtype=dtype).reshape(second)
        made = infinicore.kron(infinicore.from_numpy(x), infinicore.from_numpy(y))
        assert np.array_equal(made.numpy(), np.kron(x, y))
    with pytest.raises(ValueError, match="the product of the sizes"):
        infinicore.kron(infinicore.ones([2]), infinicore.ones([3]), out=infinicore.empty([5]))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6, 13])
def test_powers_of_matrices(n: int) -> None:
    a, x = pair(2, 3, 3)
    near(infinicore.matrix_power(a, n), np.linalg.matrix_power(x, n))
    near(infinicore.matrix_power(a[0].T, n), np.linalg.matrix_power(x[0].T, n))
    half, y = pair(4, 4, dtype="float16")
    near(infinicore.matrix_power(half, n), np.linalg.matrix_power(y.astype("float64"), n).astype("float16"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_bilinear(dtype: str) -> None:
    (a, x), (b, y), (w, z) = (
        pair(2, 3, 4, dtype=dtype),
        pair(2, 3, 5, dtype=dtype),
        pair(6, 4, 5, dtype=dtype),
    )
    bias, offset = pair(6, dtype=dtype)
    wide = [each.astype("float64") for each in (x, y, z, offset)]
    expected = (np.einsum("...i,oij,...j->...o", *[wide[0], wide[2], wide[1]]) + wide[3]).astype(dtype)
    near(infinicore.nn.functional.bilinear(a, b, w, bias), expected)


def test_recorded_products_run_again() -> None:
    a, x = pair(3, 3)
    with infinicore.record("cpu") as recorded:
        power = infinicore.matrix_power(a, 5)
        total = infinicore.addbmm(power, a.unsqueeze(0), a.unsqueeze(0))
    infinicore.scal(a, 0.5)
    recorded.graph.run()
    near(power, np.linalg.matrix_power(x / 2, 5))
    near(total, np.linalg.matrix_power(x / 2, 5) + (x / 2) @ (x / 2))


ones = infinicore.ones


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: infinicore.bmm(ones([2, 2]), ones([2, 2, 2])), r"bmm\(\): input has shape \[2, 2\]; three dimensions"),
        (lambda: infinicore.bmm(ones([2, 2, 2]), ones([1, 2, 2])), "2 matrices and mat2 1"),
        (lambda: infinicore.mm(ones([2]), ones([2, 2])), "a matrix was expected"),
        (lambda: infinicore.mv(ones([2, 2]), ones([3])), r"input has shape \[2, 2\] and vec \[3\]"),
        (lambda: infinicore.addmm(ones([3, 3]), ones([2, 2]), ones([2, 2])), r"cannot be broadcast to \[2, 2\]"),
        (lambda: infinicore.addmm(ones([2]), ones([2, 2]), ones([2, 2]), out=ones([3])), r"out has shape \[3\]"),
        (lambda: infinicore.addbmm(ones([3]), ones([1, 2, 2]), ones([1, 2, 2])), "input must have the shape of out"),
        (lambda: infinicore.addr(ones([2, 2]), ones([2, 2]), ones([2])), r"vec1 has shape \(2, 2\); \(n\) was expected"),
        (lambda: infinicore.inner(ones([2, 3]), ones([2, 4])), "the last dimensions of input and other"),
        (lambda: infinicore.matrix_power(ones([2, 3]), 2), "as many rows as columns"),
        (lambda: infinicore.matrix_power(ones([2, 2]), -1), "n must be 0 or more"),
        (lambda: infinicore.bilinear(ones([2, 3]), ones([2, 4]), ones([5, 4, 3])), "rows"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit_are_refused(call: Callable[[], Tensor], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_types_that_do_not_fit_are_refused() -> None:
    double = ones([2, 2], dtype=infinicore.float64)
    with pytest.raises(TypeError, match="mat2 is float64, but mat1 is float32"):
        infinicore.addmm(ones([2]), ones([2, 2]), double)
    with pytest.raises(TypeError, match="input is float64, but the factors are float32"):
        infinicore.addmm(double, ones([2, 2]), ones([2, 2]))
    with pytest.raises(TypeError, match="vec must be a Tensor, not int"):
        infinicore.mv(double, 3)  # type: ignore[arg-type]
