"""Matrix products against NumPy's in float64: types, layouts, batches, factors, and what is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from op_support import (
    BAD_DTYPE,
    BAD_SHAPE,
    BAD_STRIDES,
    BY_NAME,
    NULL_POINTER,
    NUMPY,
    Array,
    compute,
    create,
    create_tensor,
    destroy,
    handle,
    library,
    message,
    ok,
    run,
)

GEMM = BY_NAME["Gemm"]
TYPES = GEMM.dtypes
# Of a result's size: the sums of k products are rounded at every step, and the result once more.
PRECISION = {"F64": 1e-13, "F32": 1e-5, "F16": 2e-3, "BF16": 1.6e-2}
on_devices = pytest.mark.usefixtures("device")


def numbers(dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(NUMPY[dtype])


def check(dtype: str, c: Array, a: Array, b: Array, alpha: float, beta: float, what: str = "") -> None:
    """Computes in place in `c`."""
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    before = c.astype(np.float64)
    expected = GEMM.reference(np, before, wide_a, wide_b, np.float32(alpha), np.float32(beta))
    scale = abs(alpha) * (np.abs(wide_a) @ np.abs(wide_b)) + (abs(beta) * np.abs(before) if beta else 0)
    run(GEMM, {"c": c, "a": a, "b": b}, dict.fromkeys("cab", dtype), alpha=alpha, beta=beta)
    off = np.abs(c.astype(np.float64) - expected)
    limit = PRECISION[dtype] * np.maximum(scale, 1e-3)
    assert (off <= limit).all(), (what, dtype, float(off.max()), np.argwhere(~(off <= limit))[:3].tolist())


def laid_out(how: str, dtype: str, rows: int, columns: int, seed: int) -> Array:
    if how == "rows":
        return numbers(dtype, (rows, columns), seed)
    if how == "columns":
        return numbers(dtype, (columns, rows), seed).T
    if how == "part":
        return numbers(dtype, (rows + 3, columns + 5), seed)[1 : rows + 1, 2 : columns + 2]
    if how == "gaps":
        return numbers(dtype, (2 * rows, 3 * columns), seed)[::2, ::3]
    assert how == "backwards"
    return numbers(dtype, (rows, columns), seed)[::-1, ::-1]


LAYOUTS = ("rows", "columns", "part", "gaps", "backwards")


@on_devices
@pytest.mark.parametrize("dtype", TYPES)
def test_layouts(dtype: str) -> None:
    for c, a, b in product(("rows", "columns", "gaps", "backwards"), LAYOUTS, LAYOUTS):
        m, n, k = 33, 17, 21
        check(
            dtype, laid_out(c, dtype, m, n, 0), laid_out(a, dtype, m, k, 1), laid_out(b, dtype, k, n, 2), 0.75, -0.5,
            f"c {c}, a {a}, b {b}",
        )  # fmt: skip


@on_devices
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("m", "n", "k"),
    [
        (1, 1, 1),
        (1, 64, 300),
        (64, 1, 300),
        (300, 300, 1),
        (1, 1, 1000),
        (2, 3, 4),
        (300, 520, 700),
        (96, 64, 1040),
        (8, 2100, 16),
    ],
)
def test_sizes(dtype: str, m: int, n: int, k: int) -> None:
    c = np.full((m, n), np.nan).astype(NUMPY[dtype])
    check(dtype, c, numbers(dtype, (m, k), 1), numbers(dtype, (k, n), 2), 1, 0, f"{m} x {n} x {k}")


@on_devices
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 64, 1), (13, 64, 300), (65, 128, 200), (6, 192, 64), (40, 1024, 24)]
)
def test_small_matrices(dtype: str, m: int, n: int, k: int) -> None:
    """Their columns are a multiple of what registers hold, so that the CPU multiplies floats where they lie: whole blocks of rows, and what is left."""
    a, b = numbers(dtype, (3, m, k), 1), numbers(dtype, (3, k, n), 2)
    gaps = numbers(dtype, (3, m + 2, k + 5), 4)[:, 1 : m + 1, 3 : k + 3]
    for left, right in ((a, b), (a[0], b[1]), (gaps, b), (a, b[:1]), (a[::-1], b)):
        shape = (m, n) if left.ndim == 2 else (3, m, n)
        what = f"{left.shape} {left.strides} {right.shape}"
        for beta in (0, 1):
            c = np.full(shape, np.nan).astype(NUMPY[dtype]) if beta == 0 else numbers(dtype, shape, 3)
            check(dtype, c, left, right, 1, beta, what)
    wide = numbers(dtype, (k, n + 16), 5)[:, :n]
    check(dtype, numbers(dtype, (m, n + 3), 3)[:, :n], a[0], wide, 1, 1, "b and c with gaps")


@on_devices
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("few", [1, 2, 3, 4, 5, 6, 7, 8, 9])
def test_few_rows_of_one_and_many_of_the_other(dtype: str, few: int) -> None:
    """Kernels of their own take these: a row for each token, times weights that have a row for each result."""
    for many, k in ((523, 40), (1031, 200), (520, 31)):
        rows = {count: numbers(dtype, (count, k + 8), count)[:, :k] for count in (few, many)}
        for c in ("rows", "columns", "gaps"):
            for alpha, beta in ((1, 0), (0.5, -2), (0, 0.5)):
                what = f"{few} x {many} x {k} in {c}, alpha {alpha}, beta {beta}"
                check(dtype, laid_out(c, dtype, few, many, 3), rows[few], rows[many].T, alpha, beta, what)
                check(dtype, laid_out(c, dtype, many, few, 3), rows[many], rows[few].T, alpha, beta, what)
    a, b = numbers(dtype, (3, few, 64), 1), numbers(dtype, (3, 600, 64), 2)
    check(
        dtype,
        np.full((3, few, 600), np.nan).astype(NUMPY[dtype]),
        a,
        np.swapaxes(b, 1, 2),
        1,
        0,
        "three at once",
    )


@on_devices
@pytest.mark.parametrize("dtype", TYPES)
def test_factors(dtype: str) -> None:
    a, b = numbers(dtype, (40, 50), 1), numbers(dtype, (50, 60), 2)
    for alpha, beta in product((1.0, -2.5, 0.0), (0.0, 1.0, 0.25)):
        for how in ("rows", "gaps"):
            check(dtype, laid_out(how, dtype, 40, 60, 3), a, b, alpha, beta, f"alpha {alpha}, beta {beta}")


@on_devices
@pytest.mark.parametrize("dtype", TYPES)
def test_what_has_factor_0_is_not_read(dtype: str) -> None:
    a, b = numbers(dtype, (40, 50), 1), numbers(dtype, (50, 60), 2)
    for c in (np.full((40, 60), np.nan), np.full((80, 60), np.nan)[::2]):
        c = c.astype(NUMPY[dtype])
        check(dtype, c, a, b, 1, 0)
    bad = np.full(a.shape, np.nan).astype(a.dtype)
    c = numbers(dtype, (40, 60), 3)
    expected = c.astype(np.float64) * 2
    run(GEMM, {"c": c, "a": bad, "b": b}, dict.fromkeys("cab", dtype), alpha=0, beta=2)
    assert np.array_equal(c.astype(np.float64), expected)


@on_devices
@pytest.mark.parametrize("dtype", TYPES)
def test_batches(dtype: str) -> None:
    a, b = numbers(dtype, (5, 20, 30), 1), numbers(dtype, (5, 30, 40), 2)
    one_a, one_b = a[:1], b[2]
    for left, right in ((a, b), (one_a, b), (a, one_b), (a[0], b), (one_a, one_b), (a[::-1], b)):
        check(dtype, numbers(dtype, (5, 20, 40), 3), left, right, 1, 1, f"{left.shape} {right.shape}")
    repeated = np.broadcast_to(one_a, a.shape)
    check(dtype, numbers(dtype, (5, 20, 40), 3), repeated, b, 1, 0, "stride 0")
    # Matrices of c in columns, and side by side in one.
    check(dtype, numbers(dtype, (5, 40, 20), 3).transpose(0, 2, 1), a, b, 1, 0.5, "columns")
    check(dtype, numbers(dtype, (20, 5, 40), 3).transpose(1, 0, 2), a, b, 1, 0.5, "side by side")
    check(dtype, numbers(dtype, (20, 40, 5), 3).transpose(2, 0, 1), a, b, 1, 0.5, "woven")


@on_devices
@pytest.mark.parametrize("dtype", TYPES)
def test_nothing_to_sum_up_and_nothing_to_do(dtype: str) -> None:
    c = numbers(dtype, (7, 9), 3)
    expected = c.astype(np.float64) * 0.5
    empty_a, empty_b = numbers(dtype, (7, 0), 1), numbers(dtype, (0, 9), 1)
    run(GEMM, {"c": c, "a": empty_a, "b": empty_b}, dict.fromkeys("cab", dtype), alpha=1, beta=0.5)
    assert np.array_equal(c.astype(np.float64), expected.astype(NUMPY[dtype]).astype(np.float64))
    run(GEMM, {"c": c, "a": empty_a, "b": empty_b}, dict.fromkeys("cab", dtype), alpha=1, beta=0)
    assert not c.any()
    for m, n in ((0, 5), (5, 0)):
        c = numbers(dtype, (m, n), 0)
        run(GEMM, {"c": c, "a": numbers(dtype, (m, 3), 1), "b": numbers(dtype, (3, n), 2)}, dict.fromkeys("cab", dtype),
            alpha=1, beta=1)  # fmt: skip


def refused(
    c: list[int],
    a: list[int],
    b: list[int],
    dtypes: str | list[str] = "F32",
    strides: list[int] | None = None,
) -> tuple[int, str]:
    names = [dtypes] * 3 if isinstance(dtypes, str) else dtypes
    with handle() as owner:
        tensors = {}
        for name, shape, dtype in zip("cab", (c, a, b), names, strict=True):
            status, tensors[name] = create_tensor(dtype, shape, strides if name == "c" else None)
            ok(status)
        status, _ = create(GEMM, owner, tensors)
        text = message()
        for tensor in tensors.values():
            ok(library().infiniopDestroyTensorDescriptor(tensor))
    return status, text


@pytest.mark.parametrize(
    ("c", "a", "b", "words"),
    [
        ([2, 3], [4, 5], [5, 3], ["a has shape (4, 5)", "dimension 0 has size 4", "dimension 0 of c", "(2, 3)", "has 2"]),
        ([2, 3], [2, 5], [5, 4], ["b has shape (5, 4)", "dimension 1 has size 4", "dimension 1 of c", "has 3"]),
        ([2, 3], [2, 5], [6, 3], ["a has shape (2, 5)", "dimension 1 has size 5", "dimension 0 of b", "has 6"]),
        ([7, 2, 3], [7, 2, 5], [4, 5, 3], ["b has shape (4, 5, 3)", "4 matrices", "(7, 2, 3)", "has 7", "1 was"]),
        ([2, 3], [4, 2, 5], [5, 3], ["a has shape (4, 2, 5)", "4 matrices", "has 1"]),
        ([3], [3, 3], [3, 3], ["c has shape (3)", "a matrix"]),
        ([1, 1, 2, 3], [2, 5], [5, 3], ["c has shape (1, 1, 2, 3)"]),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(c: list[int], a: list[int], b: list[int], words: list[str]) -> None:
    status, text = refused(c, a, b)
    assert status == BAD_SHAPE, text
    for word in ["infiniopCreateGemmDescriptor", *words]:
        assert word in text


def test_other_bad_input() -> None:
    status, text = refused([2, 3], [2, 5], [5, 3], ["F32", "F32", "F64"])
    assert status == BAD_DTYPE
    assert "F64" in text
    status, text = refused([2, 3], [2, 5], [5, 3], "I32")
    assert status == BAD_DTYPE
    assert "F16, F32, F64, BF16" in text
    status, text = refused([2, 3], [2, 5], [5, 3], strides=[0, 1])
    assert status == BAD_STRIDES
    assert "c has stride 0 in dimension 0" in text
    with handle() as owner:
        tensors = {name: create_tensor("F32", [3, 3])[1] for name in "cab"}
        status, gemm = create(GEMM, owner, tensors)
        ok(status)
        for tensor in tensors.values():
            ok(library().infiniopDestroyTensorDescriptor(tensor))
    assert compute(GEMM, gemm, {"c": 8, "a": None, "b": 8}, alpha=1, beta=0) == NULL_POINTER
    assert "a is null" in message()
    ok(destroy(GEMM, gemm))


PROGRAM = """
import sys; sys.path[:0] = sys.argv[1:]
import test_gemm
for dtype in test_gemm.TYPES:
    test_gemm.test_layouts(dtype)
    test_gemm.test_batches(dtype)
    test_gemm.test_nothing_to_sum_up_and_nothing_to_do(dtype)
    test_gemm.test_sizes(dtype, 300, 520, 700)
    test_gemm.test_what_has_factor_0_is_not_read(dtype)
print("/scipy_openblas64/lib/" in open("/proc/self/maps").read())
"""


def elsewhere(**environment: str) -> str:
    here = Path(__file__).parent
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(here), str(here.parent)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_without_a_library() -> None:
    """The same results from the kernel that needs nothing."""
    assert elsewhere(INFINIOP_BLAS_LIBRARY="none") == "False\n"


def test_a_library_that_cannot_be_loaded_is_named() -> None:
    assert "INFINIOP_BLAS_LIBRARY is '/nowhere/libblas.so'" in elsewhere(
        INFINIOP_BLAS_LIBRARY="/nowhere/libblas.so"
    )


@pytest.mark.peer("scipy-openblas64")
def test_the_package_is_found() -> None:
    assert elsewhere(INFINIOP_BLAS_LIBRARY="") == "True\n"
