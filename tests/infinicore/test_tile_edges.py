"""Operators whose CPU kernels work in tiles, at sizes that end inside of one, in every order of memory."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional

ml_dtypes = pytest.importorskip("ml_dtypes")
TYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}


def random(*shape: int, dtype: np.dtype[Any] = TYPES["f32"]) -> np.ndarray[Any, Any]:
    numbers: np.ndarray[Any, Any] = np.random.default_rng(sum(shape)).integers(-8, 9, shape) / 8
    return numbers.astype(dtype)


def laid_out(array: np.ndarray[Any, Any], order: str) -> infinicore.Tensor:
    """The same numbers, by rows, by columns, or with gaps."""
    if order == "columns":
        return infinicore.from_numpy(np.ascontiguousarray(array.T)).permute(1, 0)
    if order == "gaps":
        wide = np.zeros((array.shape[0] + 1, 2 * array.shape[1]), array.dtype)
        wide[1:, ::2] = array
        return infinicore.from_numpy(wide)[1:, ::2]
    return infinicore.from_numpy(array)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("order", ["rows", "columns", "gaps"])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (1, 300, 257),
        (3, 513, 130),
        (8, 33, 129),
        (9, 256, 32),
        (12, 257, 33),
        (25, 64, 31),
        (400, 70, 300),
        (30, 600, 1100),
        (14, 1027, 66),
        (541, 35, 40),
        (2, 4200, 70),
        (70, 4200, 70),  # longer than what is summed up at a time
        (40, 4100, 600),
    ],
)
def test_products(dtype: str, order: str, m: int, k: int, n: int) -> None:
    a, b = random(m, k, dtype=TYPES[dtype]), random(k, n, dtype=TYPES[dtype])
    expected = a.astype(np.float64) @ b.astype(np.float64)
    close = {"f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}[dtype]
    for left in ("rows", order):
        made = infinicore.matmul(laid_out(a, left), laid_out(b, order))
        np.testing.assert_allclose(made.numpy().astype(np.float64), expected, rtol=close, atol=close)
    c = random(m, n, dtype=TYPES[dtype])
    out = laid_out(c, order)
    infinicore.matmul(laid_out(a, order), laid_out(b, "rows"), alpha=0.5, out=out)
    np.testing.assert_allclose(out.numpy().astype(np.float64), 0.5 * expected, rtol=close, atol=close)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_products_of_nothing(dtype: str) -> None:
    kind = getattr(infinicore, dtype)
    x, w = infinicore.zeros([10, 300], dtype=kind), infinicore.zeros([300, 300], dtype=kind)
    assert list(infinicore.matmul(x[3:3], w).shape) == [0, 300]
    assert list(infinicore.matmul(infinicore.empty([0, 5], dtype=kind), w[:5]).shape) == [0, 300]
    assert list(infinicore.matmul(w.permute(1, 0), x[3:3].permute(1, 0)).shape) == [300, 0]
    assert infinicore.matmul(x[:, :0], w[:0]).tolist() == np.zeros((10, 300)).tolist()


def test_sums_do_not_depend_on_threads() -> None:
    """37 rows by two threads: one has a single row."""
    code = """
import numpy as np, infinicore, hashlib
rows = np.random.default_rng(0).normal(size=(37, 600)).astype(np.float32)
made = []
for kind in (infinicore.bfloat16, infinicore.float16, infinicore.float32):
    a = infinicore.from_numpy(rows).to(kind)
    b = infinicore.from_numpy(rows.T.copy()[:, :30]).to(kind)
    made.append(infinicore.matmul(a, b).to(infinicore.float32).numpy().tobytes())
print(hashlib.sha256(b"".join(made)).hexdigest())
"""
    said = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "INFINIRT_CPU_THREADS": threads},
            capture_output=True, text=True, check=True,
        ).stdout
        for threads in "1237"
    }  # fmt: skip
    assert len(said) == 1


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (16, 1, 32),
        (24, 7, 33),
        (13, 513, 64),
        (20, 255, 31),
        (3, 33, 40),
        (1, 7, 9),
        (8, 1, 33),
        (70, 65, 40),
        (33, 4100, 70),
    ],
)
def test_products_of_parts_read_nothing_else(dtype: str, turned: bool, m: int, k: int, n: int) -> None:
    """What lies behind the last elements is not a number."""
    a, b = (np.full(shape, np.nan).astype(TYPES[dtype]) for shape in ((m + 1, k + 3), (k + 3, n + 5)))
    a[:m, :k], b[:k, :n] = random(m, k, dtype=TYPES[dtype]), random(k, n, dtype=TYPES[dtype])
    expected = a[:m, :k].astype(np.float64) @ b[:k, :n].astype(np.float64)
    right = (
        infinicore.from_numpy(np.ascontiguousarray(b.T)).permute(1, 0) if turned else infinicore.from_numpy(b)
    )
    made = infinicore.matmul(infinicore.from_numpy(a)[:m, :k], right[:k, :n])
    close = {"f32": 1e-5, "f16": 2e-3, "bf16": 1e-2}[dtype]
    np.testing.assert_allclose(made.numpy().astype(np.float64), expected, rtol=close, atol=close)


@pytest.mark.parametrize("order", ["rows", "columns", "gaps"])
@pytest.mark.parametrize(
    ("m", "k", "n"),
    [
        (1, 70, 33),
        (3, 1025, 5),
        (4, 64, 130),
        (5, 3, 31),
        (13, 1100, 129),
        (200, 65, 140),
        (2, 1, 1),
        (64, 4099, 64),
        (300, 2100, 150),
    ],
)
def test_products_of_bytes_are_exact(order: str, m: int, k: int, n: int) -> None:
    random_bytes = np.random.default_rng(m * k * n)
    a = random_bytes.integers(-128, 128, (m, k)).astype(np.int8)
    b = random_bytes.integers(-128, 128, (k, n)).astype(np.int8)
    ones = [infinicore.ones([rows, 1]) for rows in (m, n)]
    made = infinicore.empty([m, n], dtype=infinicore.float32)
    for each in ("rows", order):
        infinicore.scaled_mm_i8(laid_out(a, each), ones[0], laid_out(b, order), ones[1], out=made)
        np.testing.assert_array_equal(
            made.numpy(), (a.astype(np.int64) @ b.astype(np.int64)).astype(np.float32)
        )


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize(
    ("shape", "dims"),
    [
        ((1, 5), (1, 0)), ((17, 33), (1, 0)), ((512, 70), (1, 0)), ((3, 50, 65), (0, 2, 1)), ((40, 3, 50), (2, 1, 0)),
        ((20, 33, 7), (1, 0, 2)), ((2, 3, 4, 5), (3, 1, 0, 2)), ((70, 600), (1, 0)), ((2, 700, 33), (2, 0, 1)),
    ],
)  # fmt: skip
def test_copies_in_another_order(dtype: str, shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    moved = infinicore.rearrange(infinicore.from_numpy(array).permute(*dims))
    np.testing.assert_array_equal(moved.numpy(), array.transpose(dims))
    target = infinicore.empty([2 * size for size in moved.shape], dtype=moved.dtype)
    part = target[tuple(slice(0, None, 2) for _ in dims)]
    part.copy_(infinicore.from_numpy(array).permute(*dims))
    np.testing.assert_array_equal(part.contiguous().numpy(), array.transpose(dims))


@pytest.mark.parametrize("shape", [[0], [1], [3, 5], [1025], [40000]])
@pytest.mark.parametrize("value", [0, 1, -1, 7])
def test_constants(shape: list[int], value: int) -> None:
    for dtype in (infinicore.int8, infinicore.int64, infinicore.float32, infinicore.bfloat16):
        made = infinicore.full(shape, value, dtype=dtype)
        assert (made.numpy().astype(np.float64) == value).all()
        strided = infinicore.zeros([*shape, 2], dtype=dtype)
        strided[..., 0].fill_(value)
        assert (strided.numpy().astype(np.float64) == np.array([value, 0])).all()
    assert infinicore.zeros(shape).tolist() == np.zeros(shape).tolist()
    assert infinicore.ones(tuple(shape), dtype=infinicore.int32).tolist() == np.ones(shape).tolist()


@pytest.mark.parametrize("tokens", [1, 7, 60])
@pytest.mark.parametrize("biased", [False, True])
def test_experts_of_few_and_of_many_tokens(tokens: int, biased: bool) -> None:
    experts, hidden, inner, chosen = 3, 40, 70, 2
    x, up, down = random(tokens, hidden), random(experts, 2 * inner, hidden), random(experts, hidden, inner)
    which = np.stack([np.random.default_rng(t).permutation(experts + 1)[:chosen] for t in range(tokens)])
    scales = random(tokens, chosen)
    up_bias, down_bias = (random(experts, size) if biased else None for size in (2 * inner, hidden))
    expected = np.zeros((tokens, hidden))
    for token in range(tokens):
        for expert, scale in zip(which[token], scales[token], strict=True):
            if expert == experts:  # lives elsewhere
                continue
            both = up[expert].astype(np.float64) @ x[token] + (up_bias[expert] if up_bias is not None else 0)
            gate, value = both[:inner], both[inner:]
            made = down[expert] @ (gate / (1 + np.exp(-gate)) * value)
            expected[token] += scale * (made + (down_bias[expert] if down_bias is not None else 0))
    tensors = [
        None if each is None else infinicore.from_numpy(each)
        for each in (x, which.astype(np.int32), scales, up, down, up_bias, down_bias)
    ]
    result = functional.fused_moe(*tensors)  # type: ignore[arg-type]
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4, atol=1e-3)


def test_views_say_what_is_wrong() -> None:
    x = infinicore.zeros([2, 3])
    assert x.narrow(-1, -2, 2).shape == [2, 2]
    assert x.permute([1, 0]).shape == x.permute(-1, -2).shape == [3, 2]
    assert infinicore.zeros([]).permute().shape == []
    with pytest.raises(IndexError, match="4 elements from 0 are not in dimension 1 of size 3"):
        x.narrow(1, 0, 4)
    with pytest.raises(IndexError, match="no dimension 2"):
        x.narrow(2, 0, 1)
    with pytest.raises(ValueError, match="each of the 2 dimensions was expected once"):
        x.permute(0, 0)
    with pytest.raises(IndexError, match="no dimension 2"):
        x.permute(0, 2)
    with pytest.raises(IndexError):
        x.permute(0, 2**70)


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((64, 40, 160), (1, 0, 2)),  # blocks end inside of tiles
        ((512, 32, 128), (1, 0, 2)),
        ((16, 3, 129), (1, 0, 2)),
        ((24, 5, 700), (1, 0, 2)),
        ((12, 5, 128), (1, 0, 2)),  # not a whole number of tiles
        ((3, 16, 6, 128), (0, 2, 1, 3)),
        ((16, 2, 3, 128), (1, 2, 0, 3)),
        ((16, 4, 8, 200), (2, 1, 0, 3)),
        ((4, 3, 5, 2, 16, 3, 130), (5, 1, 2, 3, 4, 0, 6)),
    ],
)
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_rows_in_another_order(shape: tuple[int, ...], order: tuple[int, ...], dtype: str) -> None:
    count = int(np.prod(shape))
    array = (np.arange(count) % 65521).astype(np.uint32 if dtype == "f32" else np.uint16)
    array = array.view(TYPES[dtype]).reshape(shape)
    expected = np.ascontiguousarray(array.transpose(order))
    tensor = infinicore.from_numpy(array)
    assert tensor.permute(*order).contiguous().numpy().tobytes() == expected.tobytes()
    wide = infinicore.zeros([*expected.shape[:-1], 2 * expected.shape[-1]], dtype=tensor.dtype)
    part = wide[..., : expected.shape[-1]]
    part.copy_(tensor.permute(*order))
    assert part.contiguous().numpy().tobytes() == expected.tobytes()
    assert not wide[..., expected.shape[-1] :].contiguous().numpy().view(np.uint8).any()
    back = infinicore.zeros(list(shape), dtype=tensor.dtype)
    back.permute(*order).copy_(infinicore.from_numpy(expected))
    assert back.numpy().tobytes() == array.tobytes()


@pytest.mark.parametrize("bits", [0x7FF8000000000000, 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF])
def test_limits_that_are_not_numbers_stay_so(bits: int) -> None:
    """BF16 is rounded without a look at what is not a number, whose bits could become those of 0."""
    limit = struct.unpack("<d", struct.pack("<Q", bits))[0]
    x = infinicore.from_numpy(np.ones(100, TYPES["bf16"]))
    assert np.isnan(infinicore.clamp(x, limit, limit).numpy().astype(np.float32)).all()
