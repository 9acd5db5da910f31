"""Rules whose state goes from token to token, and weights of 4 bits: from Python, against NumPy, and one step after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import Tensor
from infinicore.nn import functional

Array = np.ndarray[Any, Any]


def numbers(*shape: int, seed: int = 5) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def tensors(*arrays: Array) -> list[Tensor]:
    return [infinicore.from_numpy(np.ascontiguousarray(each)) for each in arrays]


def inputs(tokens: int) -> list[Array]:
    """q, k, v, g, beta of two sequences, two heads of keys and four of values."""
    gates = -abs(numbers(2, tokens, 4, seed=4))
    shares = 1 / (1 + np.exp(-numbers(2, tokens, 4, seed=6)))
    return [
        numbers(2, tokens, 2, 8, seed=1),
        numbers(2, tokens, 2, 8, seed=2),
        numbers(2, tokens, 4, 6, seed=3),
        gates,
        shares,
    ]


def rule(q: Array, k: Array, v: Array, g: Array, beta: Array, state: Array) -> tuple[Array, Array]:
    """Of one sequence, after the formula."""
    out, state = np.zeros_like(v), state.astype("float64")
    for t in range(len(q)):
        query, key = (
            np.repeat(x[t] / np.sqrt((x[t] ** 2).sum(-1, keepdims=True) + 1e-6), 2, axis=0) for x in (q, k)
        )
        state = state * np.exp(g[t])[:, None, None]
        off = (v[t] - (state * key[:, None]).sum(-1)) * beta[t][:, None]
        state = state + off[..., None] * key[:, None]
        out[t] = (state * query[:, None]).sum(-1) / np.sqrt(8)
    return out, state


def test_a_rule_goes_on_with_the_next_token() -> None:
    given, start = inputs(5), numbers(2, 4, 6, 8)
    expected = [rule(*(each[i] for each in given), start[i]) for i in range(2)]
    kept = infinicore.empty([2, 4, 6, 8])
    whole = functional.chunk_gated_delta_rule(
        *tensors(*given), *tensors(start), use_qk_l2norm=True, final_state=kept
    )
    for i in range(2):
        assert np.allclose(whole.numpy()[i], expected[i][0], atol=1e-5)
        assert np.allclose(kept.numpy()[i], expected[i][1], atol=1e-5)
    pool = np.zeros((4, 4, 6, 8), "float32")
    pool[[3, 1]] = start
    (states,), slots = tensors(pool), infinicore.from_list([3, 1], dtype=infinicore.int32)
    for t in range(5):
        made = functional.recurrent_gated_delta_rule(
            *tensors(*(each[:, t : t + 1] for each in given)), states,
            initial_state_indices=slots, final_state_indices=slots, use_qk_l2norm=True,
        )  # fmt: skip
        assert np.allclose(made.numpy()[:, 0], whole.numpy()[:, t], atol=1e-5)
    assert np.allclose(states.numpy()[[3, 1]], kept.numpy(), atol=1e-5)
    assert not states.numpy()[[0, 2]].any()


def test_sequences_one_after_the_other() -> None:
    given, start = [each[:1] for each in inputs(7)], numbers(2, 4, 6, 8)
    ends = infinicore.from_list([0, 3, 7], dtype=infinicore.int64)
    made = functional.chunk_gated_delta_rule(
        *tensors(*given), *tensors(start), cu_seqlens=ends, use_qk_l2norm=True
    )
    for i, (begin, end) in enumerate(((0, 3), (3, 7))):
        expected, _ = rule(*(each[0, begin:end] for each in given), start[i])
        assert np.allclose(made.numpy()[0, begin:end], expected, atol=1e-5)


def test_what_a_rule_refuses() -> None:
    q, k, v, g, beta = tensors(*inputs(1))
    state = infinicore.zeros([2, 4, 6, 8])
    with pytest.raises(ValueError, match="must be a multiple of those of q and k"):
        functional.recurrent_gated_delta_rule(
            infinicore.ones([2, 1, 3, 8]), infinicore.ones([2, 1, 3, 8]), v, g, beta, state
        )
    with pytest.raises(ValueError, match="a state for each sequence"):
        functional.recurrent_gated_delta_rule(q, k, v, g, beta, infinicore.zeros([1, 4, 6, 8]))
    elsewhere = infinicore.from_list([0, 2], dtype=infinicore.int64)
    made = functional.recurrent_gated_delta_rule(q, k, v, g, beta, state, initial_state_indices=elsewhere)
    with pytest.raises(ValueError, match="infiniopRecurrentGatedDeltaRule"):
        made.numpy()


def test_gates() -> None:
    a, b, decay, bias = numbers(3, 2, 5), numbers(3, 2, 5, seed=1), numbers(5, seed=2), numbers(5, seed=3)
    made = functional.fused_gated_delta_net_gating(*tensors(decay, a, b, bias))
    assert np.allclose(made[0].numpy(), -np.exp(decay) * np.log1p(np.exp(a + bias)), rtol=1e-5)
    assert np.allclose(made[1].numpy(), 1 / (1 + np.exp(-b)), rtol=1e-5)
    assert made[0].dtype is infinicore.float32


def packed(*shape: int, seed: int = 7) -> tuple[Array, Array, Array]:
    """Bytes, scales, and the numbers that they stand for."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, 16, shape)
    scales = random.integers(124, 129, (*shape[:-1], shape[-1] // 32)).astype("uint8")
    values = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])[codes & 7] * np.where(codes & 8, -1, 1)
    numbers = values * np.repeat(2.0 ** (scales.astype(int) - 127), 32, axis=-1)
    return (codes[..., ::2] | codes[..., 1::2] << 4).astype("uint8"), scales, numbers


@pytest.mark.parametrize("dtype", [infinicore.float16, infinicore.bfloat16, infinicore.float32])
def test_weights_of_4_bits(dtype: infinicore.dtype) -> None:
    weight, scales, exact = packed(6, 64)
    made = infinicore.mxfp4_dequantize(*tensors(weight, scales), dtype)
    assert made.dtype is dtype
    assert np.array_equal(made.to(infinicore.float32).numpy(), exact)
    x, bias = numbers(2, 3, 64), numbers(6)
    given = [each.to(dtype) for each in tensors(x, bias)]
    wide = [each.to(infinicore.float32).numpy() for each in given]
    linear = functional.linear_mxfp4(given[0], *tensors(weight, scales), given[1], 0.5)
    assert np.allclose(
        linear.to(infinicore.float32).numpy(), 0.5 * wide[0] @ exact.T + wide[1], rtol=1e-2, atol=1e-1
    )
    turned = infinicore.empty([6, 3, 2], dtype=dtype).permute(2, 1, 0)
    assert functional.linear_mxfp4(given[0], *tensors(weight, scales), given[1], 0.5, out=turned) is turned
    assert turned.tolist() == linear.tolist()
    with pytest.raises(ValueError, match="scales has shape"):
        infinicore.mxfp4_dequantize(*tensors(weight, scales[:, :1]), dtype)


def test_experts_of_4_bits_and_in_blocks() -> None:
    (first, first_scales, w1), (second, second_scales, w2) = packed(3, 64, 32), packed(3, 32, 32, seed=8)
    x, weights = numbers(4, 32), abs(numbers(4, 2))
    ids = np.array([[0, 2], [1, 0], [2, 1], [0, 1]], "int32")
    plain = functional.fused_moe(
        *tensors(x, ids, weights, w1.astype("float32"), w2.astype("float32"))
    ).numpy()
    made = functional.fused_moe_mxfp4(*tensors(x, ids, weights, first, first_scales, second, second_scales))
    assert np.array_equal(made.numpy(), plain)
    order = infinicore.moe_align(*tensors(ids), 3, 4)
    (hidden, pairs, shares), both = (
        tensors(x, ids, weights),
        tensors(w1.astype("float32"), w2.astype("float32")),
    )
    dense = functional.moe_fused_dense(hidden, *both, shares, pairs, *order)
    assert np.array_equal(dense.numpy(), plain)


def test_scans_go_on_with_the_next_token() -> None:
    x, dt, gate = (numbers(2, 6, 5, seed=seed) for seed in range(3))
    b, c = numbers(2, 6, 4, seed=3), numbers(2, 6, 4, seed=4)
    a_log, d, bias, start = (
        numbers(5, 4, seed=6),
        numbers(5, seed=7),
        numbers(5, seed=8),
        numbers(2, 5, 4, seed=9),
    )
    (whole,), fixed = tensors(start), tensors(a_log, d)
    (bias_tensor,) = tensors(bias)
    made = functional.mamba_selective_scan(
        *tensors(x, dt, b, c), *fixed, *tensors(gate), bias_tensor, whole
    ).numpy()
    state = start.astype("float64")
    for t in range(6):
        step = np.log1p(np.exp(dt[:, t] + bias))[..., None]
        state = np.exp(-np.exp(a_log) * step) * state + step * b[:, t, None] * x[:, t, :, None]
        y = (state * c[:, t, None]).sum(-1) + x[:, t] * d
        assert np.allclose(made[:, t], y * gate[:, t] / (1 + np.exp(-gate[:, t])), atol=1e-4)
    assert np.allclose(whole.numpy(), state, atol=1e-4)
    (steps,) = tensors(start)
    for t in range(6):
        part = [each[:, t : t + 1] for each in (x, dt, b, c, gate)]
        one = functional.mamba_selective_scan(
            *tensors(*part[:4]), *fixed, *tensors(part[4]), bias_tensor, steps
        )
        assert np.allclose(one.numpy()[:, 0], made[:, t], atol=1e-5)
    assert np.allclose(steps.numpy(), whole.numpy(), atol=1e-5)
    with pytest.raises(ValueError, match="a state for each sequence"):
        functional.mamba_selective_scan(
            *tensors(x, dt, b, c), *fixed, *tensors(gate), bias_tensor, infinicore.zeros([1, 5, 4])
        )


def test_heads_of_rwkv() -> None:
    r, k, v = (numbers(2, 5, 12, seed=seed) for seed in range(3))
    decay, first, start = numbers(3, 4, seed=3), numbers(3, 4, seed=4), numbers(2, 3, 4, 4, seed=6)
    (state,) = tensors(start)
    made = functional.rwkv5_wkv(*tensors(r, k, v, decay, first), state).numpy()
    after = start.astype("float64")
    for t in range(5):
        query, key, value = (each[:, t].reshape(2, 3, 4) for each in (r, k, v))
        both = key[..., None] * value[..., None, :]
        expected = (query[..., None] * (first[..., None] * both + after)).sum(-2).reshape(2, 12)
        assert np.allclose(made[:, t], expected, atol=1e-4)
        after = both + np.exp(-np.exp(decay))[..., None] * after
    assert np.allclose(state.numpy(), after, atol=1e-4)
    with pytest.raises(ValueError, match="h heads of d numbers"):
        functional.rwkv5_wkv(*tensors(r[..., :8], k[..., :8], v[..., :8], decay, first), state)
