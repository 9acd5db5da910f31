"""What goes from token to token of a sequence, with a state that the next call takes up."""

from __future__ import annotations

from typing import Any

from .model import INDICES, Operator, Tensor, Written


def causal_conv1d(
    np: Any, conv_state: Any, final_conv_state: Any, qkv: Any, weight: Any, bias: Any, cu_seqlens: Any,
    initial_state_indices: Any, final_state_indices: Any,
) -> Any:  # fmt: skip
    tokens = qkv.reshape(-1, qkv.shape[-1])
    ends = np.arange(qkv.shape[0] + 1) * qkv.shape[1] if cu_seqlens is None else cu_seqlens.astype(int)
    requests, length, taps = len(ends) - 1, weight.shape[-1] - 1, weight.shape[-1]
    out, pool = np.zeros_like(tokens), conv_state.copy()
    kept = np.zeros((requests, *conv_state.shape[1:]))
    for r in range(requests):
        slot = r if initial_state_indices is None else int(initial_state_indices[r])
        given = tokens[ends[r] : ends[r + 1]]
        both = np.concatenate([conv_state[slot].T, given])
        for t in range(len(given)):
            out[ends[r] + t] = np.sum(both[t : t + taps] * weight[:, 0].T, axis=0)
        kept[r] = both[len(both) - length :].T
    if final_state_indices is not None:
        pool[final_state_indices.astype(int)] = kept
    result = (out + (0 if bias is None else bias)).reshape(qkv.shape)
    return result, pool, kept if final_conv_state is not False else None


def causal_conv1d_trials(np: Any, random: Any) -> Any:
    def trial(
        b: int, t: int, c: int, k: int, pool: int, bias: bool, ends: list[int] | None = None, **more: Any
    ) -> dict[str, Any]:
        return {
            "conv_state": random.normal(size=(pool, c, k - 1)),
            "qkv": random.normal(size=(b, t, c)),
            "weight": random.normal(size=(c, 1, k)),
            "bias": random.normal(size=c) if bias else None,
            "cu_seqlens": None if ends is None else np.array(ends),
            "initial_state_indices": None,
            "final_state_indices": None,
            **more,
        }

    yield trial(2, 7, 20, 4, 2, True)
    yield trial(1, 1, 130, 4, 1, False)  # a token with the state of earlier ones
    yield trial(1, 12, 9, 3, 3, True, [0, 2, 9, 12])
    slots = {"initial_state_indices": np.array([4, 0, 2]), "final_state_indices": np.array([1, 0, 3])}
    yield trial(1, 9, 16, 4, 5, True, [0, 1, 1, 9], **slots, final_conv_state=None)
    yield trial(2, 5, 6, 4, 4, False, initial_state_indices=np.array([3, 1]))
    yield trial(2, 3, 8, 1, 2, True, final_conv_state=None)
    yield trial(2, 0, 8, 4, 2, False)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "CausalConv1d",
        "A convolution of each channel along the tokens of each sequence, which sees no later ones: `k` numbers of `weight` over a token and those before it, "
        "of which the first are `conv_state`'s. Sequences are rows of `qkv`, or what lies between the numbers in `cu_seqlens`. Sequence `i` begins with state "
        "`initial_state_indices[i]`, or `i`; what it leaves goes to state `final_state_indices[i]` of `conv_state`, or to `final_conv_state`.",
        (
            Tensor("out", "out"),
            Tensor("conv_state", "inout"),
            Tensor("final_conv_state", "out", optional=True),
            Tensor("qkv"),
            Tensor("weight"),
            Tensor("bias", optional=True),
            Tensor("cu_seqlens", dtypes=INDICES, optional=True),
            Tensor("initial_state_indices", dtypes=INDICES, optional=True),
            Tensor("final_state_indices", dtypes=INDICES, optional=True),
        ),
        ("F16", "BF16", "F32"),
        causal_conv1d,
        kind="written",
        written=Written(
            {
                "out": "b t c",
                "conv_state": "pool c s",
                "final_conv_state": "r c s",
                "qkv": "b t c",
                "weight": "c 1 k",
                "bias": "c",
                "cu_seqlens": "q",
                "initial_state_indices": "r",
                "final_state_indices": "r",
            },
            causal_conv1d_trials,
            rules=(
                (
                    "k >= 1 && s == k - 1",
                    "conv_state must have one column, s, less than weight has, k, and that 1 or more",
                ),
                (
                    "!plan.tensor[tensor::cu_seqlens].is_given || (q >= 1 && b == 1)",
                    "with cu_seqlens, which has one number more than there are sequences, qkv must have size 1 in its first dimension, b",
                ),
                (
                    "!(plan.tensor[tensor::final_state_indices].is_given && plan.tensor[tensor::final_conv_state].is_given)",
                    "final_conv_state must be null where final_state_indices say where states go",
                ),
                (
                    "r < 0 || r == (plan.tensor[tensor::cu_seqlens].is_given ? q - 1 : b)",
                    "final_conv_state and the indices must have as many elements, r, as there are sequences",
                ),
                (
                    "plan.tensor[tensor::initial_state_indices].is_given || pool >= (plan.tensor[tensor::cu_seqlens].is_given ? q - 1 : b)",
                    "conv_state must have a state for each sequence where no initial_state_indices are given",
                ),
            ),
        ),
        header="causal_conv1d",
        python="causal_conv1d",
        python_order=(
            "qkv",
            "conv_state",
            "weight",
            "bias",
            "cu_seqlens",
            "initial_state_indices",
            "final_state_indices",
        ),
        wrapped=True,
        ulps=16,
    ),
)
