"""Results so large that they go past the caches (csrc/op/cpu/streaming.h; on a GPU, rope.cu): whole, also where memory is not aligned and where the last
vector is not full, and visible to whoever is told that they are there."""

from __future__ import annotations

import numpy as np
import pytest

import infinicore
from infinicore import Tensor
from infinicore.nn import functional

COUNT = (32 << 20) // 4 + 1021  # elements of float that it takes, and an odd number more


def numbers(count: int) -> np.ndarray:
    return np.resize(np.random.default_rng(7).normal(size=65521).astype(np.float32), count)


def part_of(count: int, first: int) -> Tensor:
    """Elements from `first` on of a tensor: aligned to 4 bytes, and no more."""
    return infinicore.empty([first + count], dtype=infinicore.float32)[first:]


@pytest.mark.parametrize("first", [0, 1, 3])
def test_sums(first: int) -> None:
    a, b = numbers(COUNT), numbers(COUNT + 1)[1:]
    out = part_of(COUNT, first)
    infinicore.add(infinicore.from_numpy(a), infinicore.from_numpy(b), out=out)
    assert np.array_equal(out.numpy(), a + b)


@pytest.mark.parametrize("first", [0, 1])
def test_functions_of_one_tensor(first: int) -> None:
    x = numbers(COUNT)
    out = part_of(COUNT, first)
    functional.relu(infinicore.from_numpy(x), out=out)
    assert np.array_equal(out.numpy(), np.maximum(x, 0))


def test_in_place() -> None:
    a, b = numbers(COUNT), numbers(COUNT + 1)[1:]
    x = infinicore.from_numpy(a.copy())
    infinicore.add(x, infinicore.from_numpy(b), out=x)
    assert np.array_equal(x.numpy(), a + b)


def test_narrow_types() -> None:
    count = (32 << 20) // 2 + 77
    x = numbers(count).astype(np.float16)
    tensor = infinicore.from_numpy(x)
    assert np.array_equal(infinicore.add(tensor, tensor).numpy(), x + x)
    assert np.array_equal(functional.relu(tensor).numpy(), np.maximum(x, np.float16(0)))


@pytest.mark.parametrize("first", [0, 1, 5])
def test_fills(first: int) -> None:
    for value in (0.0, 1.5):
        out = part_of(COUNT, first)
        out.fill_(value)
        assert np.array_equal(out.numpy(), np.full(COUNT, value, np.float32))


def test_copies_of_rows() -> None:
    x = numbers(2900 * 3000).reshape(2900, 3000)
    assert np.array_equal(infinicore.from_numpy(x)[:, 1:].contiguous().numpy(), x[:, 1:])


@pytest.mark.parametrize("shape", [(2100, 4099), (270_000, 33)])
def test_rows(shape: tuple[int, int]) -> None:
    x = numbers(shape[0] * shape[1]).reshape(shape)
    made = functional.softmax(infinicore.from_numpy(x), dim=-1).numpy()
    power = np.exp(x - x.max(1, keepdims=True))
    assert np.abs(made - power / power.sum(1, keepdims=True)).max() < 1e-6


@pytest.mark.gpu
@pytest.mark.parametrize("algorithm", [functional.RopeAlgo.GPT_NEOX, functional.RopeAlgo.GPT_J])
@pytest.mark.parametrize("dtype", [infinicore.bfloat16, infinicore.float32], ids=str)
def test_positions_on_a_gpu(algorithm: int, dtype: infinicore.dtype) -> None:
    positions, heads, size, part = (
        1100,
        66,
        128,
        100,
    )  # 66: the last threads have half of the heads that others have
    x = infinicore.from_numpy(numbers(positions * heads * size).reshape(positions, heads, size)).to(dtype)
    ids = infinicore.from_numpy(np.arange(positions, dtype=np.int64)[::-1].copy())
    tables = [
        infinicore.from_numpy(numbers(positions * size // 2 + k)[k:].reshape(positions, -1)) for k in (0, 9)
    ]
    there = [each.to("nvidia") for each in (x, ids, *tables)]
    whole = functional.rope(there[0], there[1], *there[2:], algorithm).to(infinicore.float32).numpy()
    for first in range(0, positions, part):
        few = [each.narrow(0, first, part) for each in there[:2]]
        parts = functional.rope(*few, *there[2:], algorithm).to(infinicore.float32).numpy()
        assert np.array_equal(whole[first : first + part], parts)
    here = functional.rope(x, ids, *tables, algorithm).to(infinicore.float32).numpy()
    np.testing.assert_allclose(whole, here, rtol=0.01, atol=0.02)
    in_place = there[0]
    functional.rope(in_place, there[1], *there[2:], algorithm, out=in_place)
    assert np.array_equal(in_place.to(infinicore.float32).numpy(), whole)
