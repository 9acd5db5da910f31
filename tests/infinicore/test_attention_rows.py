"""Attention of many and of few queries, at sizes that end inside of what is computed together, with numbers that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional

ml_dtypes = pytest.importorskip("ml_dtypes")
TYPES = {"f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
# Weights are rounded before they are summed up where tiles of BF16 are multiplied.
CLOSE = {"f32": 2e-5, "f16": 4e-3, "bf16": 2e-2}

Array = np.ndarray[Any, Any]


def random(seed: int, *shape: int, dtype: np.dtype[Any]) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def expected(
    q: Array, k: Array, v: Array, *, causal: bool, scale: float | None = None, slopes: Array | None = None
) -> Array:
    """Of one sequence: heads x tokens x elements, computed as float64."""
    q, k, v = (each.astype(np.float64) for each in (q, k, v))
    heads, queries, size = q.shape
    k, v = (each.repeat(heads // each.shape[0], 0) for each in (k, v))
    keys = k.shape[1]
    scores = q @ k.transpose(0, 2, 1) * (size**-0.5 if scale is None else scale)
    ends = np.arange(queries)[:, None] + keys - queries
    places = np.arange(keys)[None]
    if slopes is not None:
        scores += slopes.astype(np.float64)[:, None, None] * (places - ends)
    if causal:
        scores = np.where(places <= ends, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ v


def check(actual: infinicore.Tensor, wanted: Array, dtype: str) -> None:
    found = actual.numpy().astype(np.float64)
    np.testing.assert_allclose(found, wanted, rtol=CLOSE[dtype], atol=CLOSE[dtype])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize(
    ("queries", "keys", "size", "wide"),
    [
        (1, 1, 64, 64),
        (1, 300, 128, 128),
        (3, 33, 64, 64),
        (9, 257, 80, 80),
        (31, 31, 33, 33),  # an odd size
        (32, 256, 64, 64),
        (33, 513, 128, 128),
        (70, 300, 96, 40),  # values of another size
        (97, 97, 7, 5),
        (40, 300, 300, 64),  # longer than what floats have tiles for
    ],
)
def test_sizes(queries: int, keys: int, size: int, wide: int, causal: bool, dtype: str) -> None:
    kind = TYPES[dtype]
    q = random(1, 1, 4, queries, size, dtype=kind)
    k, v = random(2, 1, 2, keys, size, dtype=kind), random(3, 1, 2, keys, wide, dtype=kind)
    made = functional.flash_attention(*map(infinicore.from_numpy, (q, k, v)), is_causal=causal)
    check(made, expected(q[0], k[0], v[0], causal=causal)[None], dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("scale", [0.0, -0.3, 4.0])
def test_scales(scale: float, dtype: str) -> None:
    q, k, v = (random(seed, 1, 2, 40, 64, dtype=TYPES[dtype]) for seed in range(3))
    made = functional.flash_attention(*map(infinicore.from_numpy, (q, k, v)), scale=scale)
    check(made, expected(q[0], k[0], v[0], causal=False, scale=scale)[None], dtype)


@pytest.mark.parametrize("dtype", ["f32", "bf16"])
@pytest.mark.parametrize("size", [1e5, 1e9])
def test_large_scores(size: float, dtype: str) -> None:
    """Of each query all but the largest weigh nothing, and that is itself."""
    q, k = (np.array(random(seed, 1, 1, 70, 64, dtype=TYPES[dtype]) * size, TYPES[dtype]) for seed in (1, 2))
    v = random(3, 1, 1, 70, 64, dtype=TYPES[dtype])
    made = functional.flash_attention(*map(infinicore.from_numpy, (q, k, v)))
    scores = q[0, 0].astype(np.float64) @ k[0, 0].astype(np.float64).T
    check(made, v[0, 0].astype(np.float64)[scores.argmax(-1)][None, None], dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_elements_apart(dtype: str) -> None:
    """Queries, keys, values and results whose elements do not lie side by side."""
    q, k, v = (random(seed, 2, 70, 48, dtype=TYPES[dtype]) for seed in range(3))

    def turned(array: Array) -> infinicore.Tensor:
        return infinicore.from_numpy(np.ascontiguousarray(array.transpose(0, 2, 1))[None]).permute(0, 1, 3, 2)

    out = turned(np.zeros_like(q))
    made = functional.flash_attention(turned(q), turned(k), turned(v), is_causal=True, out=out)
    assert made is out
    check(made, expected(q, k, v, causal=True)[None], dtype)


@pytest.mark.parametrize("dtype", TYPES)
def test_pages_and_slopes(dtype: str) -> None:
    """Keys in pages in any order, scores that fall with the distance; the last page is not full."""
    kind, heads, shared, new, keys, size, page = TYPES[dtype], 4, 2, 50, 300, 64, 16
    pages = -(-keys // page)
    order = np.random.default_rng(4).permutation(pages)
    q = random(1, new, heads, size, dtype=kind)
    k, v = (random(seed, shared, keys, size, dtype=kind) for seed in (2, 3))
    slopes = np.float32(2.0) ** -np.arange(1, heads + 1, dtype=np.float32)

    def paged(array: Array) -> infinicore.Tensor:
        stored = np.full((pages, shared, page, size), np.nan, dtype=kind)
        for place in range(keys):
            stored[order[place // page], :, place % page] = array[:, place]
        return infinicore.from_numpy(stored)

    made = functional_prefill(q, paged(k), paged(v), order, keys, new, slopes, size**-0.5)
    wanted = expected(q.transpose(1, 0, 2), k, v, causal=True, slopes=slopes).transpose(1, 0, 2)
    check(made, wanted, dtype)


def functional_prefill(
    q: Array,
    k: infinicore.Tensor,
    v: infinicore.Tensor,
    order: Array,
    keys: int,
    new: int,
    slopes: Array,
    scale: float,
) -> infinicore.Tensor:
    return infinicore.paged_attention_prefill(
        infinicore.from_numpy(q),
        k,
        v,
        infinicore.from_numpy(order.astype(np.int64)[None]),
        infinicore.from_numpy(np.array([keys])),
        infinicore.from_numpy(np.array([0, new])),
        infinicore.from_numpy(slopes),
        scale,
    )


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", ["query", "key", "value"])
def test_numbers_that_are_none(which: str, bad: float, dtype: str) -> None:
    """What is not a number is so for the queries that see it, and not for those before its block."""
    q, k, v = (random(seed, 1, 1, 300, 64, dtype=TYPES[dtype]) for seed in range(3))
    before = expected(q[0], k[0], v[0], causal=True)[0, :256]
    {"query": q, "key": k, "value": v}[which][0, 0, 280, 5] = bad
    made = functional.flash_attention(*map(infinicore.from_numpy, (q, k, v)), is_causal=True)
    with np.errstate(invalid="ignore"):
        wanted = expected(q[0], k[0], v[0], causal=True)[0]
    found = made.numpy()[0, 0].astype(np.float64)
    np.testing.assert_allclose(found[:256], before, rtol=CLOSE[dtype], atol=CLOSE[dtype])
    if which == "query":
        np.testing.assert_allclose(found, wanted, rtol=CLOSE[dtype], atol=CLOSE[dtype])
    assert np.isnan(found[280:]).any() == np.isnan(wanted[280:]).any()
    assert np.isfinite(found[280]).all() == np.isfinite(wanted[280]).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_nobody_sees_a_key(dtype: str) -> None:
    """More queries than keys: the first ones see nothing, and are 0."""
    q = random(0, 1, 1, 60, 64, dtype=TYPES[dtype])
    k, v = (random(seed, 1, 1, 20, 64, dtype=TYPES[dtype]) for seed in (1, 2))
    made = functional.flash_attention(*map(infinicore.from_numpy, (q, k, v)), is_causal=True).numpy()
    assert (made[0, 0, :40] == 0).all()
    wanted = expected(q[0][:, 40:], k[0], v[0], causal=True)
    np.testing.assert_allclose(
        made[0, :, 40:].astype(np.float64), wanted, rtol=CLOSE[dtype], atol=CLOSE[dtype]
    )
