"""Which experts a token goes to, and with what weights."""

from __future__ import annotations

from typing import Any

from .model import Attribute, Operator, Tensor, Written

NARROW = ("F16", "BF16", "F32")
WEIGHTS = Tensor("topk_weights", "out", dtypes=("F32",))
EXPERTS = Tensor("topk_indices", "out", dtypes=("I32",))
MOST_EXPERTS = ("n <= 8192", "there can be 8192 experts at most")
ENOUGH = ("k <= n", "k must not be more than there are experts, n")
ENOUGH_LATE = ("topk <= n", "topk must not be more than there are experts, n")


def sigmoid(np: Any, x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def softmax(np: Any, x: Any) -> Any:
    weights = np.exp(x - np.max(x, axis=-1, keepdims=True, initial=-np.inf))
    return weights / np.sum(weights, axis=-1, keepdims=True)


def choose(np: Any, choice: Any, k: int) -> Any:
    """The places of the k largest; of equal ones the first."""
    return np.argsort(-choice, axis=-1, kind="stable")[:, :k]


def groups_masked(np: Any, choice: Any, groups: int, best: int, instead: float) -> Any:
    """Only the groups count whose two best experts are best together."""
    grouped = choice.reshape(choice.shape[0], groups, choice.shape[1] // groups)
    pairs = np.sum(np.sort(grouped, axis=-1)[..., -2:], axis=-1)
    kept = np.zeros(pairs.shape, bool)
    np.put_along_axis(kept, choose(np, pairs, best), True, axis=1)
    return np.where(kept[..., None], grouped, instead).reshape(choice.shape)


def weighed(np: Any, scores: Any, choice: Any, k: int) -> Any:
    found = choose(np, choice, k)
    return np.take_along_axis(scores, found, 1), found


def topk_softmax(np: Any, x: Any, topk: float, norm: float) -> Any:
    scores = softmax(np, x)
    weights, found = weighed(np, scores, scores, int(topk))
    return (weights / np.sum(weights, axis=1, keepdims=True) if norm else weights), found


def topk_router(np: Any, x: Any, correction_bias: Any, routed_scaling_factor: float, topk: float) -> Any:
    scores = sigmoid(np, x)
    choice = groups_masked(np, scores + correction_bias, 8, 4, 0.0)
    weights, found = weighed(np, scores, choice, int(topk))
    return routed_scaling_factor * weights / (np.sum(weights, axis=1, keepdims=True) + 1e-9), found


def moe_topk_softmax(
    np: Any,
    topk_weights: Any,
    gating_output: Any,
    correction_bias: Any,
    renormalize: float,
    moe_softcapping: float,
) -> Any:
    x = gating_output
    if moe_softcapping != 0:
        x = np.tanh(x / moe_softcapping) * moe_softcapping
    return shares(np, softmax(np, x), correction_bias, topk_weights.shape[1], renormalize)


def moe_topk_sigmoid(
    np: Any, topk_weights: Any, gating_output: Any, correction_bias: Any, renormalize: float
) -> Any:
    return shares(np, sigmoid(np, gating_output), correction_bias, topk_weights.shape[1], renormalize)


def shares(np: Any, scores: Any, bias: Any, k: int, renormalize: float) -> Any:
    weights, found = weighed(np, scores, scores if bias is None else scores + bias, k)
    return (weights / np.sum(weights, axis=1, keepdims=True) if renormalize else weights), found


def moe_fused_gate(
    np: Any,
    topk_weights: Any,
    input: Any,
    bias: Any,
    num_expert_group: float,
    topk_group: float,
    num_fused_shared_experts: float,
    routed_scaling_factor: float,
    apply_routed_scaling_factor_on_output: float,
) -> Any:
    shared = int(num_fused_shared_experts)
    scores = sigmoid(np, input)
    choice = groups_masked(np, scores + bias, int(num_expert_group), int(topk_group), -np.inf)
    weights, found = weighed(np, scores, choice, topk_weights.shape[1] - shared)
    weights = weights / np.sum(weights, axis=1, keepdims=True)
    # The shared experts stand behind the others, with the weight that the routed ones have together before they are scaled.
    weights = np.concatenate([weights, np.full((len(weights), shared), 1 / routed_scaling_factor)], axis=1)
    found = np.concatenate([found, np.tile(input.shape[1] + np.arange(shared), (len(found), 1))], axis=1)
    return weights * (routed_scaling_factor if apply_routed_scaling_factor_on_output else 1), found


def tokens(random: Any, t: int, n: int) -> Any:
    return random.normal(size=(t, n)) * 2


def topk_softmax_trials(np: Any, random: Any) -> Any:
    for t, n, topk, norm in (
        (5, 32, 4, 1),
        (3, 64, 6, 0),
        (70, 128, 8, 1),
        (2, 9, 9, 1),
        (0, 16, 2, 1),
        (1, 300, 1, 0),
    ):
        yield {"x": tokens(random, t, n), "topk": topk, "norm": norm}


def topk_router_trials(np: Any, random: Any) -> Any:
    for t, n, topk in ((5, 256, 8), (3, 64, 6), (40, 16, 4), (0, 256, 8)):
        yield {
            "x": tokens(random, t, n),
            "correction_bias": random.uniform(0, 0.5, n),
            "routed_scaling_factor": 2.5,
            "topk": topk,
        }


def moe_topk_trials(np: Any, random: Any) -> Any:
    for t, n, k, biased, renormalize, cap in (
        (5, 32, 4, 1, 1, 0),
        (3, 64, 6, 0, 0, 0),
        (70, 128, 8, 1, 1, 3),
        (2, 9, 9, 0, 1, 2),
        (0, 16, 2, 1, 1, 0),
        (2, 1000, 20, 0, 1, 0),
    ):
        yield {
            "topk_weights": np.zeros((t, k)),
            "gating_output": tokens(random, t, n),
            "correction_bias": random.uniform(-0.2, 0.2, n) if biased else None,
            "renormalize": renormalize,
            "moe_softcapping": cap,
        }


def moe_topk_sigmoid_trials(np: Any, random: Any) -> Any:
    for trial in moe_topk_trials(np, random):
        del trial["moe_softcapping"]
        yield trial


def moe_fused_gate_trials(np: Any, random: Any) -> Any:
    for t, n, k, groups, best, shared, factor, scales in (
        (5, 256, 8, 8, 4, 0, 2.5, 0),
        (3, 128, 9, 4, 2, 1, 2.5, 1),
        (40, 64, 8, 1, 1, 0, 1.0, 1),
        (2, 30, 6, 3, 2, 2, 2.0, 1),
        (0, 32, 4, 4, 2, 0, 1.0, 0),
    ):
        yield {
            "topk_weights": np.zeros((t, k)),
            "input": tokens(random, t, n),
            "bias": random.uniform(-0.3, 0.3, n),
            "num_expert_group": groups,
            "topk_group": best,
            "num_fused_shared_experts": shared,
            "routed_scaling_factor": factor,
            "apply_routed_scaling_factor_on_output": scales,
        }


def moe_operator(name: str, scores: str, reference: Any, header: str, *further: Attribute) -> Operator:
    return Operator(
        name,
        f"The `k` experts of each token whose {scores}, plus `correction_bias`, are largest, in order, and these {scores} without the bias as "
        "weights.",
        (
            WEIGHTS,
            EXPERTS,
            Tensor("gating_output"),
            Tensor("correction_bias", dtypes=("F32",), optional=True),
        ),
        NARROW,
        reference,
        kind="written",
        written=Written(
            {"topk_weights": "t k", "topk_indices": "t k", "gating_output": "t n", "correction_bias": "n"},
            moe_topk_trials if further else moe_topk_sigmoid_trials,
            rules=(ENOUGH, MOST_EXPERTS),
        ),
        attributes=(
            Attribute(
                "renormalize", "bool", "whether a token's weights are made to have the sum 1", default=0
            ),
            *further,
        ),
        header=header,
        wrapped=True,
        ulps=8,
    )


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Topksoftmax",
        "The `topk` experts of each token with the largest `softmax(x)`, in order, and these as weights.",
        (
            Tensor("values", "out", dtypes=("F32",), described=False),
            Tensor("indices", "out", dtypes=("I32",), described=False),
            Tensor("x"),
        ),
        NARROW,
        topk_softmax,
        kind="written",
        written=Written(
            {"values": "t topk", "indices": "t topk", "x": "t n"},
            topk_softmax_trials,
            rules=(ENOUGH_LATE, MOST_EXPERTS),
        ),
        attributes=(
            Attribute("topk", "const size_t", "how many experts a token goes to", at_compute=True),
            Attribute(
                "norm",
                "const int",
                "whether a token's weights are made to have the sum 1",
                at_compute=True,
                default=0,
            ),
        ),
        wrapped=True,
        ulps=8,
    ),
    Operator(
        "Topkrouter",
        "DeepSeek's choice of experts: by `sigmoid(x) + correction_bias`, from the 4 of 8 groups whose two best are best together; what is "
        "not in these counts as 0. The weights are those of `sigmoid(x)`, made to have the sum `routed_scaling_factor`.",
        (
            Tensor("values", "out", dtypes=("F32",), described=False),
            Tensor("indices", "out", dtypes=("I32",), described=False),
            Tensor("x"),
            Tensor("correction_bias", dtypes=("F32",)),
        ),
        NARROW,
        topk_router,
        kind="written",
        written=Written(
            {"values": "t topk", "indices": "t topk", "x": "t n", "correction_bias": "n"},
            topk_router_trials,
            rules=(
                ENOUGH_LATE,
                ("n % 8 == 0 && n >= 16", "the experts, n, must be 8 groups of the same size, 2 at least"),
                MOST_EXPERTS,
            ),
        ),
        attributes=(
            Attribute(
                "routed_scaling_factor",
                "const float",
                "the sum of a token's weights",
                at_compute=True,
                default=1,
            ),
            Attribute("topk", "const size_t", "how many experts a token goes to", at_compute=True, default=8),
        ),
        wrapped=True,
        ulps=8,
    ),
    moe_operator(
        "MoeTopkSoftmax",
        "`softmax(gating_output)`",
        moe_topk_softmax,
        "moe_topk_softmax",
        Attribute(
            "moe_softcapping",
            "float",
            "`c * tanh(x / c)` is taken in place of `x` first; 0: `x` is",
            default=0,
        ),
    ),
    moe_operator("MoeTopkSigmoid", "`sigmoid(gating_output)`", moe_topk_sigmoid, "moe_topk_sigmoid"),
    Operator(
        "MoeFusedGate",
        "The experts of each token whose `sigmoid(input) + bias` is largest, from the `topk_group` of `num_expert_group` groups whose two best "
        "are best together, and `sigmoid(input)` of them, made to have the sum 1, as weights. Behind them stand the shared experts, "
        "numbered on from the others, each with the weight `1 / routed_scaling_factor`.",
        (WEIGHTS, EXPERTS, Tensor("input"), Tensor("bias", dtypes=("F32",))),
        NARROW,
        moe_fused_gate,
        kind="written",
        written=Written(
            {"topk_weights": "t k", "topk_indices": "t k", "input": "t n", "bias": "n"},
            moe_fused_gate_trials,
            rules=(
                (
                    "num_expert_group > 0 && n % num_expert_group == 0",
                    "the experts, n, must be num_expert_group groups of the same size",
                ),
                (
                    "topk_group > 0 && topk_group <= num_expert_group",
                    "topk_group must be from 1 to num_expert_group",
                ),
                (
                    "k > num_fused_shared_experts && k - num_fused_shared_experts <= n / num_expert_group * topk_group",
                    "k, less the shared experts, must be from 1 to the number of experts in topk_group groups",
                ),
                ("routed_scaling_factor != 0", "routed_scaling_factor must not be 0"),
                MOST_EXPERTS,
            ),
        ),
        attributes=(
            Attribute("num_expert_group", "size_t", "how many groups there are"),
            Attribute("topk_group", "size_t", "from how many of them experts are taken"),
            Attribute(
                "num_fused_shared_experts", "size_t", "how many shared experts every token goes to", default=0
            ),
            Attribute("routed_scaling_factor", "float", "the factor of the routed experts", default=1),
            Attribute(
                "apply_routed_scaling_factor_on_output",
                "bool",
                "whether the weights are multiplied by it",
                default=0,
            ),
        ),
        header="moe_fused_gate",
        wrapped=True,
        ulps=8,
    ),
)
