"""Sizes given one by one, and shapes that do not fit an assignment."""

from __future__ import annotations

import numpy as np
import pytest

import infinicore


@pytest.mark.parametrize("make", [infinicore.empty, infinicore.zeros, infinicore.ones])
def test_sizes_are_one_sequence_or_one_by_one(make: object) -> None:
    assert callable(make)
    for tensor in (make(2, 3), make([2, 3]), make((2, 3)), make(size=[2, 3])):
        assert tensor.shape == [2, 3]
    assert make(4).shape == [4]
    assert make(2, 1, dtype=infinicore.int8).dtype == infinicore.int8
    assert make(2, 3, device="cpu", pin_memory=True).shape == [2, 3]
    with pytest.raises(TypeError):
        make([2], 3)


@pytest.mark.parametrize("value", [infinicore.zeros([5], device="cpu"), np.zeros(5, np.float32)])
def test_an_assignment_that_does_not_fit_names_both_shapes(value: object) -> None:
    x = infinicore.zeros([3, 4], device="cpu")
    with pytest.raises(ValueError, match=r"the shape \[5\], and cannot be repeated to the part's, \[4\]"):
        x[0] = value
