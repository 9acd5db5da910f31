"""Networks of experts: each token goes through those that a router chose for it."""

from __future__ import annotations

from typing import Any

from .model import INDICES, Attribute, Operator, Tensor, Written

ACTIVATIONS = """typedef enum {
    INFINIOP_FUSED_MOE_ACT_SILU = 0,
    INFINIOP_FUSED_MOE_ACT_SWIGLU = 1,
    INFINIOP_FUSED_MOE_ACT_SITUGLU = 2,
} infiniopFusedMoeActivation_t;"""


def activated(np: Any, row: Any, activation: float) -> Any:
    if activation == 0:
        return row / (1 + np.exp(-row))
    gate, up = np.split(row, 2, axis=-1)
    share = 1 / (1 + np.exp(-gate))
    return gate * share * up if activation == 1 else 4 * np.tanh(gate / 4) * share * 25 * np.tanh(up / 25)


def fused_moe(
    np: Any,
    input: Any,
    token_selected_experts: Any,
    token_final_scales: Any,
    w1: Any,
    w2: Any,
    b1: Any,
    b2: Any,
    activation: float,
) -> Any:
    out = np.zeros_like(input)
    routes = zip(token_selected_experts.astype(int), token_final_scales, strict=True)
    for token, (chosen, weights) in enumerate(routes):
        for expert, weight in zip(chosen, weights, strict=True):
            if not 0 <= expert < len(w1):
                continue
            hidden = w1[expert] @ input[token] + (0 if b1 is None else b1[expert])
            result = w2[expert] @ activated(np, hidden, activation) + (0 if b2 is None else b2[expert])
            out[token] += weight * result
    return out


def fused_moe_trials(np: Any, random: Any) -> Any:
    def trial(
        tokens: int, width: int, inner: int, experts: int, chosen: int, activation: int, bias: bool = False
    ) -> dict[str, Any]:
        rows = inner if activation == 0 else 2 * inner
        picked = [random.permutation(experts)[:chosen] for _ in range(tokens)]
        return {
            "input": random.normal(size=(tokens, width)),
            "token_selected_experts": np.array(picked, np.int64).reshape(tokens, chosen),
            "token_final_scales": random.uniform(0.1, 1, (tokens, chosen)),
            "w1": random.normal(size=(experts, rows, width)) / max(1, width) ** 0.5,
            "w2": random.normal(size=(experts, width, inner)) / max(1, inner) ** 0.5,
            "b1": random.normal(size=(experts, rows)) if bias else None,
            "b2": random.normal(size=(experts, width)) if bias else None,
            "activation": activation,
        }

    yield trial(3, 32, 16, 5, 2, 1)
    yield trial(1, 16, 24, 4, 1, 0, bias=True)
    yield trial(7, 40, 33, 6, 3, 2, bias=True)
    yield trial(150, 72, 70, 3, 2, 1)
    # Experts that live elsewhere.
    elsewhere = trial(4, 32, 16, 3, 2, 1)
    elsewhere["token_selected_experts"] = np.array([[-1, 0], [7, 2], [1, -1], [-1, -1]])
    yield elsewhere
    yield trial(0, 32, 16, 3, 2, 1)
    yield trial(2, 32, 16, 3, 0, 1)


def moe_sum(np: Any, input: Any) -> Any:
    return input.sum(axis=1)


def moe_sum_trials(np: Any, random: Any) -> Any:
    for shape in ((3, 2, 32), (1, 8, 130), (5, 1, 7), (0, 2, 8), (2, 0, 8)):
        yield {"input": random.normal(size=shape)}


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "FusedMoe",
        "Each row of `input` through the experts that `token_selected_experts` names for it, summed with `token_final_scales`: "
        "an expert is `w2 * act(w1 * x + b1) + b2`. SwiGLU and SiTUGLU take the first half of the rows of `w1` for the gate. "
        "Experts outside of 0 to e-1 live elsewhere, and add nothing.",
        (
            Tensor("out", "out"),
            Tensor("input"),
            Tensor("token_selected_experts", dtypes=INDICES),
            Tensor("token_final_scales", dtypes=("F32",)),
            Tensor("w1"),
            Tensor("w2"),
            Tensor("b1", optional=True),
            Tensor("b2", optional=True),
        ),
        ("F16", "BF16", "F32"),
        fused_moe,
        kind="written",
        written=Written(
            {
                "out": "t h",
                "input": "t h",
                "token_selected_experts": "t k",
                "token_final_scales": "t k",
                "w1": "e r h",
                "w2": "e h i",
                "b1": "e r",
                "b2": "e h",
            },
            fused_moe_trials,
            rules=(
                (
                    "activation >= 0 && activation <= 2",
                    "activation must be one of infiniopFusedMoeActivation_t",
                ),
                (
                    "activation == 0 ? r == i : r == 2 * i",
                    "w1 must have as many rows, r, as w2 has columns, i, or twice as many where the activation has a gate",
                ),
                ("t * k < 2147483648", "there must be less than 2^31 pairs of tokens and experts"),
            ),
        ),
        attributes=(
            Attribute(
                "activation",
                "infiniopFusedMoeActivation_t",
                "what stands between the two products",
                default=1,
                choices=("silu", "swiglu", "situglu"),
            ),
        ),
        header="fused_moe",
        declares=ACTIVATIONS,
        functional=True,
        ulps=64,
        narrow_ulps=2,
    ),
    Operator(
        "MoeSum",
        "The sum of what the experts of each token gave: `output[t] = sum of input[t]`.",
        (Tensor("output", "out"), Tensor("input")),
        ("F16", "BF16", "F32"),
        moe_sum,
        kind="written",
        written=Written({"output": "t h", "input": "t k h"}, moe_sum_trials),
        header="moe_sum",
    ),
)
