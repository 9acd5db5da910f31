"""Views: every index, shape and broadcast means what it means in NumPy, and none reaches outside of the memory."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tensor_support import SHAPES, indices, numbers, same, strided

import infinicore

quick = settings(max_examples=60, deadline=None)


@quick
@given(st.data())
def test_an_index_gives_what_numpy_gives(data: st.DataObject) -> None:
    shape = data.draw(SHAPES)
    array = numbers(shape)
    tensor = infinicore.from_numpy(array)
    key = data.draw(indices(shape))
    same(tensor[key], array[key])
    deeper = data.draw(indices(list(array[key].shape)))
    same(tensor[key][deeper], array[key][deeper])


@quick
@given(strided(), st.data())
def test_a_view_names_the_same_elements_or_says_that_it_cannot(pair: Any, data: st.DataObject) -> None:
    tensor, array = pair
    count = array.size
    divisors = [d for d in range(1, count + 1) if count % d == 0] if count else [1]
    first = data.draw(st.sampled_from(divisors))
    wanted = data.draw(st.permutations([first, count // first, 1]))
    same(tensor.reshape(wanted), array.reshape(wanted))
    in_place = count == 0 or np.shares_memory(array.reshape(wanted), array)
    if in_place:
        viewed = tensor.view(wanted)
        same(viewed, array.reshape(wanted))
        assert count == 0 or viewed._storage == tensor._storage
    else:
        with pytest.raises(ValueError, match=r"contiguous\(\) first"):
            tensor.view(wanted)


@quick
@given(strided(), st.data())
def test_dimensions_come_and_go_as_in_numpy(pair: Any, data: st.DataObject) -> None:
    tensor, array = pair
    dim = data.draw(st.integers(-array.ndim - 1, array.ndim))
    same(tensor.unsqueeze(dim), np.expand_dims(array, dim))
    same(tensor.squeeze(), array.squeeze())
    if array.ndim:
        dim = data.draw(st.integers(-array.ndim, array.ndim - 1))
        start = data.draw(st.integers(0, array.shape[dim]))
        length = data.draw(st.integers(0, array.shape[dim] - start))
        same(tensor.narrow(dim, start, length), array.take(range(start, start + length), dim))
        same(tensor.transpose(0, dim), array.swapaxes(0, dim))
    wanted = data.draw(st.lists(st.integers(1, 3), max_size=2)) + list(array.shape)
    same(tensor.broadcast_to(wanted), np.broadcast_to(array, wanted))
    same(tensor.T, array.T)


def test_copies_of_nothing_whatever_the_strides() -> None:
    base = infinicore.from_numpy(numbers([64]))
    for shape in itertools.product((0, 1, 3), repeat=3):
        for strides in itertools.product((1, 2, 4), repeat=3):
            view = base.as_strided(list(shape), list(strides))
            assert tuple(view.clone().shape) == shape


def test_iterating_and_length() -> None:
    array = numbers([3, 2])
    tensor = infinicore.from_numpy(array)
    assert len(tensor) == 3
    for row, expected in zip(tensor, array, strict=True):
        same(row, expected)


def test_writing_through_an_index() -> None:
    array = numbers([3, 4])
    tensor = infinicore.from_numpy(array)
    tensor[1] = 7
    tensor[:, ::-2] = tensor[:, 0:2]
    array[1] = 7
    array[:, ::-2] = array[:, 0:2].copy()
    same(tensor, array)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda t: t[3], IndexError, "index 3 is out of range for dimension 0 of size 3"),
        (lambda t: t[0, 0, 0], IndexError, "3 indices for a tensor of 2 dimensions"),
        (lambda t: t[..., ...], IndexError, "at most one ellipsis"),
        (lambda t: t[[0, 1]], TypeError, "not by list"),
        (lambda t: t[True], TypeError, "not by bool"),
        (lambda t: t[t > 1], TypeError, "not by Tensor; .* masked_select"),
        (lambda t: t.view([5]), ValueError, "has 12 elements, which do not fit"),
        (lambda t: t.view([-1, -1]), ValueError, "only one size"),
        (lambda t: t.view([-2]), ValueError, "0 or more, or -1"),
        (lambda t: t.T.view([12]), ValueError, "contiguous"),
        (lambda t: t.permute([0, 0]), ValueError, "each of the 2 dimensions was expected once"),
        (lambda t: t.permute([0, 2]), IndexError, "no dimension 2"),
        (lambda t: t.narrow(0, 2, 2), IndexError, "2 elements from 2 are not in dimension 0 of size 3"),
        (lambda t: t.squeeze(2), IndexError, "no dimension 2"),
        (lambda t: t.broadcast_to([3, 5]), ValueError, "cannot be broadcast"),
        (lambda t: t.as_strided([4, 4], [4, 1]), ValueError, "memory that has 48 bytes"),
        (lambda t: t.as_strided([2], [1], -1), ValueError, "from byte -4"),
        (lambda t: t.as_strided([2], [1 << 62]), ValueError, "too large"),
        (lambda t: t.as_strided([2], [1, 1]), ValueError, "one for each dimension"),
        (lambda t: t.as_strided([-1], [1]), ValueError, "a size is 0 or more"),
        (lambda t: t.size(2), IndexError, "2 dimensions"),
        (lambda t: t.as_strided([1] * 65, [0] * 65), ValueError, "at most 64 dimensions"),
        (lambda t: infinicore.empty([1 << 40, 1 << 40]), ValueError, "larger than any memory"),
        (lambda t: infinicore.empty([-1]), ValueError, "a size is 0 or more"),
        (lambda t: t.item(), ValueError, "one element"),
        (lambda t: bool(t), ValueError, "neither true nor false"),
        (lambda t: type(t)(), TypeError, "made by functions"),
    ],
)
def test_what_is_wrong_is_said(call: Any, error: type[Exception], words: str) -> None:
    tensor = infinicore.from_numpy(numbers([3, 4]))
    with pytest.raises(error, match=words):
        call(tensor)
    same(tensor, numbers([3, 4]))


def test_a_view_of_a_part_reaches_the_whole_memory_and_no_further() -> None:
    whole = infinicore.from_numpy(numbers([10]))
    part = whole[4:6]
    assert part.as_strided([10], [1], -4).tolist() == whole.tolist()
    with pytest.raises(ValueError, match="from byte -4"):
        part.as_strided([10], [1], -5)


def test_views_keep_the_memory() -> None:
    part = infinicore.from_numpy(numbers([100]))[50:]
    for _ in range(20):
        infinicore.full([100], -1.0)
    same(part, numbers([100])[50:])


def test_a_step_may_be_longer_than_addresses() -> None:
    x = infinicore.zeros([3])
    assert x[:: 1 << 63].shape == [1]
    assert x[3 :: 1 << 70].shape == [0]
    assert x[::-1][:: 1 << 63].tolist() == [0.0]
