"""Elements that indices name, from Python: PyTorch's arguments, results, what is written in place, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import Tensor
from infinicore.nn import functional


def tensor(*shape: int, seed: int = 1) -> Tensor:
    return infinicore.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def integers(values: Any, dtype: Any = np.int64) -> Tensor:
    return infinicore.from_numpy(np.array(values, dtype=dtype))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_slices(dtype: Any) -> None:
    x, index = tensor(4, 6, 5), integers([3, 0, 3], dtype)
    for dim in (0, 1, 2, -1):
        made = infinicore.index_select(x, dim, index)
        assert np.array_equal(made.numpy(), np.take(x.numpy(), [3, 0, 3], dim))
    out = infinicore.empty([3, 6, 5])
    assert infinicore.index_select(x, 0, index, out=out) is out


def test_gathered_and_taken() -> None:
    x = tensor(4, 6)
    index = np.random.default_rng(2).integers(0, 6, (3, 9))
    expected = np.take_along_axis(x.numpy()[:3], index, 1)
    assert np.array_equal(infinicore.gather(x, 1, integers(index)).numpy(), expected)
    assert np.array_equal(infinicore.gather(x.T, -2, integers(index.T)).numpy(), expected.T)
    taken = infinicore.take(x, integers([[0, -1], [7, 23]]))
    assert np.array_equal(taken.numpy(), x.numpy().reshape(-1)[[[0, -1], [7, 23]]])


def test_scattered() -> None:
    x, index = infinicore.zeros([2, 4]), integers([[1, 1, 3], [0, 2, 0]])
    source = infinicore.from_numpy(np.arange(1, 7, dtype=np.float32).reshape(2, 3))
    added = infinicore.scatter_add(x, 1, index, source)
    assert added.tolist() == [[0, 3, 0, 3], [10, 0, 5, 0]]
    assert infinicore.scatter(x, 1, index, source, reduce="add").tolist() == added.tolist()
    assert infinicore.scatter(infinicore.ones([2, 4]), 1, index, source, reduce="multiply").tolist() == [
        [1, 2, 1, 3], [24, 1, 5, 1],
    ]  # fmt: skip
    assert infinicore.scatter(x, 0, integers([[1, 0]]), 7).tolist() == [[0, 7, 0, 0], [7, 0, 0, 0]]
    assert infinicore.scatter_add(x, 1, index, source, out=x) is x
    assert x.tolist() == added.tolist()
    assert functional.one_hot(integers([2, 0]), 3).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_slices_are_updated() -> None:
    x, source = tensor(5, 7), tensor(3, 7, seed=2)
    expected = x.numpy().copy()
    np.add.at(expected, [4, 0, 4], -2 * source.numpy())
    made = infinicore.index_add(x, 0, integers([4, 0, 4]), source, alpha=-2)
    assert np.allclose(made.numpy(), expected, atol=1e-6)
    copied = infinicore.index_copy(x, -1, integers([6, 1]), tensor(5, 2))
    expected = x.numpy().copy()
    expected[:, [6, 1]] = tensor(5, 2).numpy()
    assert np.array_equal(copied.numpy(), expected)
    # What is added is read before it is written.
    doubled = x.numpy()[::-1] + x.numpy()
    assert infinicore.index_add(x, 0, integers([4, 3, 2, 1, 0]), x, out=x) is x
    assert np.allclose(x.numpy(), doubled, atol=1e-6)


def test_last_tokens() -> None:
    hidden = tensor(1, 9, 4)
    made = infinicore.select_last_token_hidden(hidden, integers([0, 2, 3, 9], np.int32))
    assert np.array_equal(made.numpy(), hidden.numpy()[:, [1, 2, 8]])


@pytest.mark.parametrize(
    "call",
    [
        lambda x, index: infinicore.index_select(x, 0, index),
        lambda x, index: infinicore.gather(x, 0, index.view(1, 1)),
        lambda x, index: infinicore.scatter(x, 0, index.view(1, 1), tensor(1, 1)),
        lambda x, index: infinicore.index_add(x, 0, index, tensor(1, 6)),
        lambda x, index: infinicore.index_copy(x, 0, index, tensor(1, 6)),
    ],
)
@pytest.mark.parametrize("number", [-1, 4])
def test_a_number_that_is_out_of_range_is_an_error_of_the_stream(call: Any, number: int) -> None:
    made = call(tensor(4, 6), integers([number]))
    with pytest.raises(ValueError, match="infiniop"):
        made.numpy()
    taken = infinicore.take(tensor(4, 6), integers([24]))
    with pytest.raises(ValueError, match="infiniopTake"):
        taken.numpy()


def test_recorded_updates() -> None:
    x, index, source = tensor(5, 7), integers([1, 3]), tensor(2, 7, seed=2)
    with infinicore.record() as recorder:
        made = infinicore.index_add(x, 0, index, source)
        chosen = infinicore.index_select(made, 0, index)
    recorder.graph.run()
    assert np.allclose(chosen.numpy(), x.numpy()[[1, 3]] + source.numpy())


def test_what_is_refused() -> None:
    x = tensor(4, 6)
    with pytest.raises(TypeError, match="index has type float32; possible are int32, int64"):
        infinicore.index_select(x, 0, tensor(3))
    with pytest.raises(IndexError, match="dim is 2, but must be from -2 to 1"):
        infinicore.index_select(x, 2, integers([0]))
    with pytest.raises(
        ValueError, match="index must have as many dimensions as input, none of them larger but dim"
    ):
        infinicore.gather(x, 1, integers([[0]] * 5))
    with pytest.raises(ValueError, match="dim must be a dimension of input"):
        infinicore.gather(x, 2, integers([[0]]))
    with pytest.raises(ValueError, match="index must have as many dimensions as src"):
        infinicore.scatter(x, 1, integers([[0, 1]]), tensor(1, 1))
    with pytest.raises(ValueError, match="reduce is 'mean'"):
        infinicore.scatter(x, 1, integers([[0, 1]]), tensor(1, 2), reduce="mean")
    with pytest.raises(ValueError, match=r"source has shape \(3, 6\)"):
        infinicore.index_add(x, 0, integers([0, 1]), tensor(3, 6))
    with pytest.raises(TypeError, match="they must be the same"):
        infinicore.index_copy(x, 0, integers([0]), integers([[0] * 6]))
    with pytest.raises(ValueError, match="input_offsets has one element more"):
        infinicore.select_last_token_hidden(x, integers([0, 4]), out=infinicore.empty([1, 3, 6]))


def test_what_is_true() -> None:
    x = tensor(40, 30)
    assert np.array_equal(infinicore.masked_select(x, x > 0.5).numpy(), x.numpy()[x.numpy() > 0.5])
    row = infinicore.from_numpy(np.array([True, False, True]))
    assert infinicore.masked_select(infinicore.ones([2, 1]), row).shape == [4]
    assert np.array_equal(infinicore.argwhere(x > 1).numpy(), np.argwhere(x.numpy() > 1))
    assert np.array_equal(infinicore.argwhere((x > 1).T).numpy(), np.argwhere(x.numpy().T > 1))
    assert infinicore.argwhere(infinicore.zeros([3, 2])).shape == [0, 2]
    assert infinicore.argwhere(infinicore.ones([])).shape == [1, 0]
    with pytest.raises(ValueError, match="sizes must be the same or 1"):
        infinicore.masked_select(x, row)
