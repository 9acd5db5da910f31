"""Losses from Python: words for how they are reduced, and what shape comes of it. Positions of three coordinates, which turn two tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional

F32 = infinicore.float32


def numbers(*shape: int, seed: int = 5) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def test_reductions_are_words() -> None:
    a, b = numbers(4, 6), numbers(4, 6, seed=6)
    x, y = infinicore.from_numpy(a), infinicore.from_numpy(b)
    each = functional.smooth_l1_loss(x, y, reduction="none")
    assert each.shape == [4, 6]
    assert functional.smooth_l1_loss(x, y).shape == []
    assert math.isclose(functional.smooth_l1_loss(x, y).item(), each.numpy().mean(), rel_tol=1e-5)
    assert math.isclose(functional.smooth_l1_loss(x, y, 1.0, "sum").item(), each.numpy().sum(), rel_tol=1e-5)
    with pytest.raises(
        ValueError, match=r"huber_loss\(\): reduction is 'all'; one of none\|mean\|sum was expected"
    ):
        functional.huber_loss(x, y, reduction="all")
    with pytest.raises(ValueError, match="one of none"):
        functional.huber_loss(x, y, reduction=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="delta must be positive"):
        functional.huber_loss(x, y, delta=0)


def test_a_result_that_is_given_has_one_element() -> None:
    x, y = infinicore.from_numpy(numbers(4, 6)), infinicore.from_numpy(numbers(4, 6, seed=6))
    out = infinicore.empty([1], dtype=F32)
    assert functional.hinge_embedding_loss(x, y, reduction="sum", out=out) is out
    with pytest.raises(ValueError, match=r"\(4, 6\); one element was expected"):
        functional.hinge_embedding_loss(x, y, out=infinicore.empty([4, 6], dtype=F32))
    with pytest.raises(ValueError, match=r"was expected|it must be"):
        functional.hinge_embedding_loss(x, y, reduction="none", out=out)


def test_weights_of_the_binary_cross_entropy_may_be_a_row() -> None:
    x, y = infinicore.from_numpy(numbers(4, 6)), infinicore.from_numpy(abs(numbers(4, 6, seed=6)) % 1)
    row = infinicore.from_numpy(abs(numbers(6)))
    whole = infinicore.from_numpy(np.broadcast_to(abs(numbers(6)), (4, 6)).copy())
    losses = [
        functional.binary_cross_entropy_with_logits(
            x, y, weight=each, pos_weight=each, reduction="none"
        ).numpy()
        for each in (row, whole)
    ]
    assert np.array_equal(*losses)


def test_a_recorded_loss_runs_again() -> None:
    x, target = infinicore.from_numpy(numbers(3, 9)), infinicore.from_list([1, 8, 4], dtype=infinicore.int64)
    with infinicore.record() as recorded:
        loss = functional.cross_entropy(x, target)
        total = functional.triplet_margin_loss(x, x, x)
    infinicore.scal(x, 2.0)
    recorded.graph.run()
    values = numbers(3, 9).astype("float64") * 2
    expected = np.log(np.exp(values).sum(-1)) - values[range(3), [1, 8, 4]]
    assert np.allclose(loss.numpy(), expected, rtol=1e-5)
    assert total.item() == 1


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_heads_are_turned_in_place_and_across(order: tuple[int, int]) -> None:
    angles = numbers(7, 4)
    tables = [infinicore.from_numpy(np.cos(angles)), infinicore.from_numpy(np.sin(angles))]
    positions = infinicore.from_list([[0, 1, 2], [3, 4, 5], [6, 0, 1]], dtype=infinicore.int64)
    rest = (*tables, positions, 8, 8, 2, 1, 1)
    q, k = infinicore.from_numpy(numbers(3, 16)), infinicore.from_numpy(numbers(3, 16, seed=8))
    expected = [each.numpy() for each in infinicore.mrope(q, k, *rest)]
    both = (q, k)
    infinicore.mrope(q, k, *rest, out=(both[order[0]], both[order[1]]))
    assert np.array_equal(both[order[0]].numpy(), expected[0])
    assert np.array_equal(both[order[1]].numpy(), expected[1])
    with pytest.raises(ValueError, match="the three sections must have rotary_dim / 2 pairs"):
        infinicore.mrope(q, k, *tables, positions, 8, 8, 2, 1, 2)
