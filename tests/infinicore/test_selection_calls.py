"""Order, choice, running sums and experts from Python: PyTorch's arguments, shapes and types of what is made, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import Tensor
from infinicore.nn import functional


def tensor(*shape: int, seed: int = 1) -> Tensor:
    return infinicore.from_numpy(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


def listed(*values: float) -> Tensor:
    return infinicore.from_numpy(np.array(values, dtype=np.float32))


def same(made: Tensor, expected: Any) -> None:
    assert made.shape == list(np.shape(expected))
    assert np.array_equal(made.numpy(), expected, equal_nan=True)


def test_the_largest() -> None:
    x = tensor(3, 7, 4)
    array = x.numpy()
    values, places = infinicore.topk(x, 2, 1)
    same(places, np.argsort(-array, axis=1, kind="stable")[:, :2])
    same(values, -np.sort(-array, axis=1)[:, :2])
    assert places.dtype is infinicore.int32
    smallest, _ = infinicore.topk(x, 7, dim=-2, largest=False)
    same(smallest, np.sort(array, axis=1))
    out = (infinicore.empty([3, 2, 4]), infinicore.empty([3, 2, 4], dtype=infinicore.int64))
    assert infinicore.topk(x, 2, 1, out=out) is out
    same(out[1], np.argsort(-array, axis=1, kind="stable")[:, :2])


def test_order() -> None:
    x = listed(2, float("nan"), -1, 2, float("inf"))
    values, places = infinicore.sort(x)
    same(places, [2, 0, 3, 4, 1])
    same(values, np.sort(x.numpy()))
    same(infinicore.argsort(x, descending=True), [1, 4, 0, 3, 2])
    single = infinicore.sort(infinicore.from_numpy(np.array(3.0, dtype=np.float32)))
    assert (single[0].item(), single[1].item(), single[0].shape) == (3.0, 0, [])


def test_extremes() -> None:
    x = tensor(3, 5, 2)
    array = x.numpy()
    assert infinicore.argmax(x).item() == array.argmax()
    assert infinicore.argmin(x).dtype is infinicore.int64
    same(infinicore.argmax(x, 1), array.argmax(1))
    same(infinicore.argmin(x, -1, keepdim=True), array.argmin(-1, keepdims=True))
    assert infinicore.argmax(x, keepdim=True).shape == [1, 1, 1]
    assert infinicore.argmax(listed(1, float("nan"), 3)).item() == 1
    assert infinicore.argmin(listed(1, 0, 0)).item() == 1
    same(infinicore.argmax(x.permute(2, 0, 1), 0), array.argmax(2))


def test_kth_values() -> None:
    x = tensor(4, 9)
    values, places = infinicore.kthvalue(x, 3, keepdim=True)
    same(places, np.argsort(x.numpy(), axis=1)[:, 2:3])
    same(values, np.sort(x.numpy(), axis=1)[:, 2:3])
    assert infinicore.kthvalue(x, 4, 0)[0].shape == [9]


def test_running_sums() -> None:
    x = tensor(4, 9)
    assert np.allclose(infinicore.cumsum(x, 1).numpy(), np.cumsum(x.numpy(), 1), atol=1e-5)
    assert np.allclose(infinicore.cumprod(x, 0).numpy(), np.cumprod(x.numpy(), 0), atol=1e-5)
    expected = np.logaddexp.accumulate(x.numpy(), axis=1)
    assert np.allclose(infinicore.logcumsumexp(x, 1).numpy(), expected, atol=1e-5)
    small = infinicore.from_numpy(np.full(300, 100, dtype=np.uint8))
    sums = infinicore.cumsum(small, 0)
    assert (sums.dtype, sums.numpy()[-1]) == (infinicore.int64, 30000)


def test_drawing() -> None:
    logits = listed(0, 3, 1, 2)
    assert functional.random_sample(logits, 0.5, 0.0, 0, 1.0).item() == 1
    weights = np.exp(np.array([3.0, 2, 1, 0]))
    sums = np.cumsum(weights / weights.sum())
    for random, wanted in ((0.3, 1), ((sums[0] + sums[1]) / 2, 3), (0.999, 0)):
        drawn = infinicore.random_sample(logits, random, 1.0, 0, 1.0)
        assert (drawn.item(), drawn.shape, drawn.dtype) == (wanted, [], infinicore.int32)
    assert infinicore.random_sample(logits, 0.999, 1.0, 2, 1.0).item() == 3
    assert infinicore.random_sample(tensor(5, 20), 0.7, 0.9, 5, 0.8).shape == [5]


def test_experts() -> None:
    x, bias = tensor(6, 64), tensor(64, seed=2)
    scores = 1 / (1 + np.exp(-x.numpy().astype(np.float64)))
    weights, experts = infinicore.topksoftmax(x, 4, norm=True)
    same(experts, np.argsort(-x.numpy(), axis=1, kind="stable")[:, :4])
    assert np.allclose(weights.numpy().sum(1), 1, atol=1e-6)
    assert (weights.dtype, experts.dtype) == (infinicore.float32, infinicore.int32)
    weights, experts = infinicore.moe_topk_sigmoid(x, 3, correction_bias=bias)
    same(experts, np.argsort(-(scores + bias.numpy()), axis=1)[:, :3])
    assert np.allclose(weights.numpy(), np.take_along_axis(scores, experts.numpy(), 1), atol=1e-6)
    weights, experts = infinicore.moe_topk_softmax(x, 3, renormalize=True)
    assert np.allclose(weights.numpy().sum(1), 1, atol=1e-6)
    weights, experts = infinicore.topkrouter(x, bias, 2.5, 6)
    assert np.allclose(weights.numpy().sum(1), 2.5, atol=1e-5)
    weights, experts = infinicore.moe_fused_gate(x, bias, 8, 4, 7, 1, 2.0)
    assert np.array_equal(experts.numpy()[:, -1], np.full(6, 64))
    assert np.allclose(weights.numpy()[:, -1], 0.5)


def test_recorded() -> None:
    x = infinicore.zeros([2, 5])
    with infinicore.record() as recorder:
        found = infinicore.argmax(x + 1, 1)
        values, _ = infinicore.topk(x, 1)
    x += listed(0, 0, 7, 0, 1)
    recorder.graph.run()
    same(found, [2, 2])
    same(values, [[7], [7]])


def test_what_is_refused() -> None:
    x = tensor(3, 4)
    with pytest.raises(ValueError, match=r"topk\(\): k is 5, but must be from 0 to 4"):
        infinicore.topk(x, 5)
    with pytest.raises(IndexError, match=r"sort\(\): dim is 2, but must be from -2 to 1"):
        infinicore.sort(x, 2)
    with pytest.raises(TypeError, match=r"argmax\(\): input must be a Tensor, not list"):
        infinicore.argmax([1.0])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="of none there is nothing to choose"):
        infinicore.argmax(infinicore.zeros([2, 0]), 1)
    with pytest.raises(ValueError, match="k must be from 1 to the number of a row's elements, n"):
        infinicore.kthvalue(x, 5)
    with pytest.raises(ValueError, match="must not be negative"):
        infinicore.random_sample(x, -0.5, 0.9, 1, 1.0)
    with pytest.raises(ValueError, match="topk must not be more than there are experts"):
        infinicore.topksoftmax(x, 5)
    with pytest.raises(ValueError, match="8 groups of the same size"):
        infinicore.topkrouter(x, tensor(4))
    with pytest.raises(TypeError, match="correction_bias has type int64"):
        infinicore.moe_topk_softmax(x, 2, correction_bias=infinicore.zeros([4], dtype=infinicore.int64))
    with pytest.raises(ValueError, match=r"correction_bias has shape \(5\)"):
        infinicore.moe_topk_softmax(x, 2, correction_bias=tensor(5))
    with pytest.raises(ValueError, match="topk_group must be from 1 to num_expert_group"):
        infinicore.moe_fused_gate(x, tensor(4), 2, 3, 2)
