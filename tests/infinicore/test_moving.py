"""Tensors put together, taken apart, turned over and repeated: against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import Tensor
from infinicore.nn import functional


def tensor(*shape: int, seed: int = 1) -> Tensor:
    return infinicore.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def same(made: Tensor, expected: Any) -> bool:
    return bool(np.array_equal(made.numpy(), expected)) and made.shape == list(expected.shape)


def test_together() -> None:
    a, b = tensor(2, 3), tensor(2, 5, seed=2)
    assert same(infinicore.cat([a, b, a], 1), np.concatenate([a.numpy(), b.numpy(), a.numpy()], 1))
    assert same(infinicore.concat((a.T, b.T)), np.concatenate([a.numpy().T, b.numpy().T]))
    assert same(infinicore.stack([a, a], -1), np.stack([a.numpy()] * 2, -1))
    out = infinicore.empty([2, 8])
    assert infinicore.cat([a, b], -1, out=out) is out
    both = infinicore.cat([a, b], 1)
    turned = np.concatenate([both.numpy()[:, 3:], both.numpy()[:, :3]], 1)
    assert same(infinicore.cat([both[:, 3:], both[:, :3]], 1, out=both), turned)
    blocks = infinicore.block_diag(tensor(2, 3), tensor(1), tensor())
    assert blocks.shape == [4, 5]
    assert np.count_nonzero(blocks.numpy()) == 8


def test_apart() -> None:
    x = tensor(7, 4)
    assert [part.shape for part in infinicore.split(x, 3)] == [[3, 4], [3, 4], [1, 4]]
    parts = infinicore.split(x, [1, 0, 6], 0)
    assert same(parts[2], x.numpy()[1:])
    parts[0].zero_()  # a view
    assert not x.numpy()[0].any()
    assert [part.shape for part in infinicore.chunk(x, 3)] == [[3, 4], [3, 4], [1, 4]]
    assert [part.shape for part in infinicore.hsplit(x, [1, 3])] == [[7, 1], [7, 2], [7, 1]]
    assert [part.shape for part in infinicore.hsplit(x, 2)] == [[7, 2], [7, 2]]


def test_turned() -> None:
    x = tensor(3, 4, 5)
    assert same(infinicore.flip(x, [0, -1]), x.numpy()[::-1, :, ::-1])
    assert same(infinicore.flipud(x), x.numpy()[::-1])
    assert same(infinicore.fliplr(x), x.numpy()[:, ::-1])
    for shifts, dims in ((2, 1), (-7, 2), ([1, 2], [0, 2]), (3, None), (0, 0)):
        assert same(infinicore.roll(x, shifts, dims), np.roll(x.numpy(), shifts, dims)), (shifts, dims)
    assert same(infinicore.tril(x, -1), np.tril(x.numpy(), -1))
    assert same(infinicore.triu(x, diagonal=1), np.triu(x.numpy(), 1))
    assert infinicore.tril(x, out=x) is x
    assert same(x, np.tril(x.numpy()))


def test_repeated() -> None:
    x = tensor(2, 3)
    for times in ([2], [2, 1], [3, 2, 2], 2, [0, 2]):
        assert same(infinicore.tile(x, times), np.tile(x.numpy(), times)), times
    assert same(infinicore.tile(x.T, [2, 2]), np.tile(x.numpy().T, [2, 2]))
    assert same(infinicore.repeat_interleave(x, 3, 1), np.repeat(x.numpy(), 3, 1))
    assert same(infinicore.repeat_interleave(x, 2), np.repeat(x.numpy(), 2))


def test_padded() -> None:
    x = tensor(3, 4, 5)
    wide = ((0, 0), (1, 2), (2, 1))
    assert same(infinicore.pad(x, [2, 1, 1, 2], value=3), np.pad(x.numpy(), wide, constant_values=3))
    for mode, name in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        assert same(functional.pad(x, [2, 1, 1, 2], mode), np.pad(x.numpy(), wide, mode=name)), mode
    assert same(infinicore.pad(x, [-1, -2]), x.numpy()[:, :, 1:-2])
    assert same(infinicore.pad(x.T, [0, 1]), np.pad(x.numpy().T, ((0, 0), (0, 0), (0, 1))))


def test_images() -> None:
    x = tensor(2, 8, 3, 5)
    shuffled = infinicore.pixel_shuffle(x, 2)
    assert shuffled.shape == [2, 2, 6, 10]
    assert shuffled.numpy()[1, 1, 3, 4] == x.numpy()[1, 4 + 2, 1, 2]
    assert same(functional.pixel_unshuffle(shuffled, 2), x.numpy())
    columns = functional.unfold(x, [2, 3], dilation=[1, 2], padding=1, stride=[2, 1])
    assert columns.shape == [2, 8 * 6, 2 * 3]
    assert same(functional.unfold(x[0], 2), functional.unfold(x, 2).numpy()[0])
    assert np.array_equal(functional.unfold(x, [3, 5]).numpy()[0, :, 0], x.numpy()[0].reshape(-1))


def test_computed() -> None:
    x = tensor(4, 9)
    assert np.allclose(infinicore.diff(x).numpy(), np.diff(x.numpy()))
    assert np.allclose(
        infinicore.diff(x, 2, 0, prepend=x[:1]).numpy(),
        np.diff(x.numpy(), 2, 0, prepend=x.numpy()[:1]),
        atol=1e-5,
    )
    row = infinicore.from_list([1.0, 2.0, 3.0], dtype=infinicore.float32)
    assert same(infinicore.vander(row), np.vander(row.numpy()))
    assert same(infinicore.vander(row, 2, increasing=True), np.vander(row.numpy(), 2, True))
    counted = infinicore.histc(row, 2, 0, 4)
    assert counted.tolist() == [1, 2]
    assert infinicore.histc(row).shape == [100]


def test_vectors() -> None:
    x, y = tensor(6), tensor(6, seed=2)
    before = x.numpy().copy(), y.numpy().copy()
    given = infinicore.swap(x, y)
    assert given[0] is x
    assert same(x, before[1])
    c, s = (infinicore.from_list([number], dtype=infinicore.float32) for number in (0.6, 0.8))
    infinicore.rot(x, y, c, s)
    assert np.allclose(x.numpy(), 0.6 * before[1] + 0.8 * before[0], atol=1e-6)
    assert infinicore.blas_amax(y).item() == int(np.argmax(np.abs(y.numpy()))) + 1
    a, b = (infinicore.from_list([number], dtype=infinicore.float32) for number in (3.0, 4.0))
    c, s = infinicore.rotg(a, b)
    assert np.allclose([a.item(), c.item(), s.item()], [5, 0.6, 0.8])
    param = infinicore.rotmg(*(infinicore.ones([]) for _ in range(4)))
    assert param.tolist() == [1, 1, 0, 0, 1]


def test_what_is_refused() -> None:
    x = tensor(3, 4)
    with pytest.raises(ValueError, match=r"tensor 1 has shape \[2, 5\]"):
        infinicore.cat([x, tensor(2, 5)])
    with pytest.raises(TypeError, match="tensor 1 is int64"):
        infinicore.cat([x, infinicore.zeros([3, 4], dtype=infinicore.int64)])
    with pytest.raises(ValueError, match="together they must be as many"):
        infinicore.split(x, [1, 1])
    with pytest.raises(ValueError, match="each was expected once"):
        infinicore.flip(x, [0, 0])
    with pytest.raises(ValueError, match="mode is 'same'"):
        infinicore.pad(x, [1, 1], "same")
    with pytest.raises(ValueError, match="reflect takes at most one element less"):
        infinicore.pad(x, [4, 0], "reflect")
    with pytest.raises(ValueError, match="circular takes at most as many"):
        infinicore.pad(x, [5, 0], "circular")
    with pytest.raises(ValueError, match="multiple of its square"):
        infinicore.pixel_shuffle(tensor(3, 4, 4), 2)
    with pytest.raises(ValueError, match="does not fit into an image"):
        functional.unfold(tensor(1, 1, 2, 2), 3)
    with pytest.raises(ValueError, match="n must be from 0 to 32"):
        infinicore.diff(x, -1)
    with pytest.raises(ValueError, match="bins must be 1 or more"):
        infinicore.histc(x, 0)
    with pytest.raises(ValueError, match="result must have one element"):
        infinicore.blas_amax(x, out=infinicore.zeros([2], dtype=infinicore.int32))
