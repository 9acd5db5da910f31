"""Pairs of tokens and experts in order, networks and convolutions of sequences: what Python makes, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import Tensor
from infinicore.nn import functional


def numbers(*shape: int, seed: int = 5) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def pairs(rows: list[list[int]]) -> Tensor:
    return infinicore.from_numpy(np.array(rows, "int32"))


def test_rows_of_experts() -> None:
    offsets, scales, first, second, sources, rows = infinicore.prepare_moe_input(
        pairs([[2, 0], [0, 5], [1, 0]]), 3, 8, 4, blockscale_offsets=True
    )
    assert offsets.tolist() == [0, 3, 4, 5]
    assert scales.tolist() == [0, 128, 256, 384]
    assert first.tolist() == [[3, 16, 4], [1, 16, 4], [1, 16, 4]]
    assert second.tolist() == [[3, 4, 8], [1, 4, 8], [1, 4, 8]]
    assert sources.tolist() == [0, 1, 2, 2, 0, -1]
    assert rows.tolist() == [4, 0, 1, -1, 3, 2]
    assert len(infinicore.prepare_moe_input(pairs([[0]]), 1, 1, 1)) == 5
    with pytest.raises(ValueError, match="num_experts, n and k must be 1 or more"):
        infinicore.prepare_moe_input(pairs([[0]]), 1, 0, 1)


def test_blocks_of_experts() -> None:
    tokens, experts, count = infinicore.moe_align(pairs([[1, 0], [1, 1]]), 2, 2)
    assert count.item() == 6
    assert tokens.tolist()[:6] == [1, 4, 0, 2, 3, 4]
    assert set(tokens.tolist()[6:]) <= {4}
    assert experts.tolist()[:3] == [0, 1, 1]
    # Expert 1 is 0 here, and 0 lives elsewhere.
    there = infinicore.from_numpy(np.array([-1, 0], "int32"))
    tokens, experts, count = infinicore.moe_align(
        pairs([[1, 0], [1, 1]]), 1, 2, there, pad_sorted_token_ids=False
    )
    assert count.item() == 4
    assert tokens.tolist()[:3] == [0, 2, 3]
    assert experts.tolist()[:2] == [0, 0]
    with pytest.raises(ValueError, match="block_size must be 1 or more"):
        infinicore.moe_align(pairs([[0]]), 1, 0)


def test_a_recorded_alignment_runs_again() -> None:
    ids = pairs([[1, 0], [1, 1]])
    with infinicore.record() as recorded:
        tokens, _, count = infinicore.moe_align(ids, 2, 2)
    ids.copy_(pairs([[0, 0], [0, 0]]))
    recorded.graph.run()
    assert count.item() == 4
    assert tokens.tolist()[:4] == [0, 1, 2, 3]


@pytest.mark.parametrize("adds", [False, True])
def test_a_network(adds: bool) -> None:
    x, residual, norm = numbers(3, 8), numbers(3, 8, seed=6), numbers(8, seed=7)
    gate_up, down = numbers(20, 8, seed=8), numbers(8, 10, seed=9)
    given = [infinicore.from_numpy(each) for each in (x, residual, norm, gate_up, down)]
    if not adds:
        given[1] = None  # type: ignore[call-overload]
    made = infinicore.fused_ffn(*given, 1e-5)
    normed = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-5) * norm
    gate, up = np.split(normed @ gate_up.T, 2, axis=-1)
    expected = (gate / (1 + np.exp(-gate)) * up) @ down.T + (residual if adds else 0)
    assert np.allclose(made.numpy(), expected, atol=1e-4)
    out = infinicore.from_numpy(residual) if adds else infinicore.empty([3, 8])
    given[1] = out if adds else given[1]
    assert infinicore.fused_ffn(*given, 1e-5, out=out) is out
    assert np.allclose(out.numpy(), expected, atol=1e-4)


def test_a_convolution_goes_on_with_the_next_token() -> None:
    x, weight, bias = numbers(2, 9, 5), numbers(5, 1, 4, seed=6), numbers(5, seed=7)
    given = infinicore.from_numpy(weight), infinicore.from_numpy(bias)
    slots = infinicore.from_list([3, 1], dtype=infinicore.int32)
    whole = functional.causal_conv1d(infinicore.from_numpy(x), infinicore.zeros([2, 5, 3]), *given).numpy()
    padded = np.concatenate([np.zeros((2, 3, 5), "float32"), x], axis=1)
    expected = sum(padded[:, j : j + 9] * weight[:, 0, j] for j in range(4)) + bias
    assert np.allclose(whole, expected, atol=1e-5)
    pool = infinicore.zeros([4, 5, 3])
    for begin, end in ((0, 5), (5, 6), (6, 9)):
        made = functional.causal_conv1d(
            infinicore.from_numpy(x[:, begin:end].copy()), pool, *given,
            initial_state_indices=slots, final_state_indices=slots,
        )  # fmt: skip
        assert np.allclose(made.numpy(), expected[:, begin:end], atol=1e-5)
    assert np.allclose(pool.numpy()[[3, 1]], x[:, 6:].transpose(0, 2, 1))
    kept = infinicore.empty([2, 5, 3])
    functional.causal_conv1d(
        infinicore.from_numpy(x), infinicore.zeros([2, 5, 3]), *given, final_conv_state=kept
    )
    assert np.array_equal(kept.numpy(), x[:, 6:].transpose(0, 2, 1))


def test_sequences_that_there_are_not() -> None:
    x, state, weight = infinicore.ones([1, 4, 5]), infinicore.ones([2, 5, 3]), infinicore.ones([5, 1, 4])
    with pytest.raises(ValueError, match="one column, s, less than weight"):
        functional.causal_conv1d(x, state, infinicore.ones([5, 1, 3]))
    ends = infinicore.from_list([0, 2, 3, 4], dtype=infinicore.int64)
    with pytest.raises(ValueError, match="a state for each sequence"):
        functional.causal_conv1d(x, state, weight, cu_seqlens=ends)
    elsewhere = infinicore.from_list([2], dtype=infinicore.int64)
    made = functional.causal_conv1d(x, state, weight, initial_state_indices=elsewhere)
    with pytest.raises(ValueError, match="infiniopCausalConv1d"):
        made.numpy()


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("p", [1, 2])
def test_margins_are_pytorch_s(reduction: str, p: int) -> None:
    torch = pytest.importorskip("torch")
    x, weight, target = numbers(6, 9), abs(numbers(9)), np.arange(6) % 9
    given = [infinicore.from_numpy(each) for each in (x, target, weight)]
    made = functional.multi_margin_loss(given[0], given[1], p, 0.5, given[2], reduction)
    expected = torch.nn.functional.multi_margin_loss(
        torch.from_numpy(x), torch.from_numpy(target), p, 0.5, torch.from_numpy(weight), reduction=reduction
    )
    assert np.allclose(made.numpy(), expected.numpy(), rtol=1e-5)
    triplet = [infinicore.from_numpy(numbers(6, 9, seed=seed)) for seed in range(3)]
    loss = functional.triplet_margin_with_distance_loss(*triplet, swap=1, reduction=reduction)
    theirs = torch.nn.functional.triplet_margin_with_distance_loss(
        *(torch.from_numpy(each.numpy()) for each in triplet), swap=True, reduction=reduction
    )
    assert np.allclose(loss.numpy(), theirs.numpy(), rtol=1e-5)


def test_a_class_that_there_is_not() -> None:
    x = infinicore.ones([2, 3])
    made = functional.multi_margin_loss(x, infinicore.from_list([0, 3], dtype=infinicore.int64))
    with pytest.raises(ValueError, match="infiniopMultiMarginLoss"):
        made.numpy()
    with pytest.raises(ValueError, match="p must be 1 or 2"):
        functional.multi_margin_loss(x, infinicore.from_list([0, 1], dtype=infinicore.int64), 3)
