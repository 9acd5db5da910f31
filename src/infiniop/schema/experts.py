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
    yield trial(40, 130, 600, 2, 1, 1)
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


def prepare_moe_input(
    np: Any, expert_offsets: Any, blockscale_offsets: Any, problem_sizes1: Any, problem_sizes2: Any, input_permutation: Any,
    output_permutation: Any, topk_ids: Any, num_experts: float, n: float, k: float,
) -> Any:  # fmt: skip
    pairs, experts, topk = topk_ids.reshape(-1), int(num_experts), topk_ids.shape[1]
    counts = np.array([np.sum(pairs == expert) for expert in range(experts)], np.int64)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    scales = np.concatenate([[0], np.cumsum(-(-counts // 128) * 128)])
    order = [i for expert in range(experts) for i in np.flatnonzero(pairs == expert)]
    sources, places = input_permutation.copy(), output_permutation.copy()
    for place, pair in enumerate(order):
        sources[place], places[pair] = pair // topk, place
    sizes = [[[count, 2 * n, k] for count in counts], [[count, k, n] for count in counts]]
    first, second = (
        np.array(each).reshape(like.shape)
        for each, like in zip(sizes, (problem_sizes1, problem_sizes2), strict=True)
    )
    return offsets, None if blockscale_offsets is False else scales, first, second, sources, places


def prepare_moe_input_trials(np: Any, random: Any) -> Any:
    for tokens, topk, experts, spare, scaled in (
        (5, 2, 4, 0, True),
        (300, 3, 17, 7, False),
        (1, 1, 1, 0, True),
        (0, 2, 3, 2, True),
    ):
        ids = random.integers(-1 if tokens == 300 else 0, experts + (tokens == 300), (tokens, topk))
        yield {
            "expert_offsets": np.zeros(experts + 1),
            **({} if scaled else {"blockscale_offsets": None}),
            "problem_sizes1": np.zeros((experts, 3) if scaled else 3 * experts),
            "problem_sizes2": np.zeros((experts, 3)),
            "input_permutation": np.full(tokens * topk + spare, 77),
            "output_permutation": np.full(tokens * topk + spare, 88),
            "topk_ids": ids,
            "num_experts": experts,
            "n": 24,
            "k": 40,
        }


def moe_align(
    np: Any, sorted_token_ids: Any, expert_ids: Any, topk_ids: Any, expert_map: Any, num_experts: float, block_size: float,
    pad_sorted_token_ids: float,
) -> Any:  # fmt: skip
    ids, size, experts = topk_ids.reshape(-1).astype(np.int64), int(block_size), int(num_experts)
    here = ids
    if expert_map is not None:
        here = np.array([expert_map[expert] if expert >= 0 else -1 for expert in ids], np.int64)
    tokens, owners = sorted_token_ids.copy(), expert_ids.copy()
    if pad_sorted_token_ids:
        tokens[:] = ids.size
    end = 0
    for expert in range(-1, experts):
        pairs = np.flatnonzero(here == expert) if expert >= 0 or expert_map is None else []
        blocks = -(-len(pairs) // size)
        tokens[end : end + len(pairs)] = pairs
        owners[end // size : end // size + blocks] = expert
        end += blocks * size
    return tokens, owners, np.array([end])


def moe_align_trials(np: Any, random: Any) -> Any:
    for tokens, topk, experts, size, mapped, pads in (
        (6, 2, 4, 4, False, 1),
        (300, 4, 30, 16, False, 0),
        (50, 3, 10, 8, True, 1),
        (1, 1, 1, 64, False, 1),
        (9, 2, 600, 2, False, 1),
        (0, 2, 3, 4, False, 1),
    ):
        pairs = tokens * topk
        room = pairs * size if pairs < experts + 1 else pairs + (experts + 1) * (size - 1)
        local = random.permutation(2 * experts) % experts
        yield {
            "sorted_token_ids": np.full(room + 3, 99),
            "expert_ids": np.full(-(-room // size) + 2, 55),
            "topk_ids": random.integers(-1, 2 * experts if mapped else experts, (tokens, topk)),
            "expert_map": np.where(random.uniform(size=2 * experts) < 0.5, local, -1) if mapped else None,
            "num_experts": experts,
            "block_size": size,
            "pad_sorted_token_ids": pads,
        }


def moe_fused_dense(
    np: Any, hidden_states: Any, w13: Any, w2: Any, topk_weights: Any, topk_ids: Any, **order: Any
) -> Any:
    return fused_moe(np, hidden_states, topk_ids, topk_weights, w13, w2, None, None, 1)


def moe_fused_dense_trials(np: Any, random: Any) -> Any:
    for trial in fused_moe_trials(np, random):
        ids = trial["token_selected_experts"]
        if trial["activation"] != 1 or ids.size == 0:
            continue
        order = {"sorted_token_ids": np.full(4 * ids.size, ids.size), "expert_ids": np.zeros(ids.size)}
        experts = len(trial["w1"])
        tokens, owners, count = moe_align(
            np,
            **order,
            topk_ids=ids,
            expert_map=None,
            num_experts=experts,
            block_size=4,
            pad_sorted_token_ids=1,
        )
        yield {
            "hidden_states": trial["input"],
            "w13": trial["w1"],
            "w2": trial["w2"],
            "topk_weights": trial["token_final_scales"],
            "topk_ids": ids,
            "sorted_token_ids": tokens,
            "expert_ids": owners,
            "num_tokens_post_padded": count,
        }


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "PrepareMoeInput",
        "How the pairs of tokens and experts in `topk_ids` become one product of matrices for each expert: where an expert's rows begin, and where they do in "
        "multiples of 128; rows, columns and depth of its two products, of weights `2 n * k` and `k * n`; the token that a row comes from, and "
        "the row that a pair goes to. Pairs of an expert keep their order; those of experts outside of 0 to `num_experts` - 1 go nowhere.",
        (
            Tensor("expert_offsets", "out"),
            Tensor("blockscale_offsets", "out", optional=True),
            Tensor("problem_sizes1", "out"),
            Tensor("problem_sizes2", "out"),
            Tensor("input_permutation", "inout"),
            Tensor("output_permutation", "inout"),
            Tensor("topk_ids"),
        ),
        ("I32",),
        prepare_moe_input,
        kind="written",
        written=Written(
            {
                "expert_offsets": "o",
                "blockscale_offsets": "o",
                "problem_sizes1": "*",
                "problem_sizes2": "*",
                "input_permutation": "a",
                "output_permutation": "z",
                "topk_ids": "t c",
            },
            prepare_moe_input_trials,
            rules=(
                ("num_experts >= 1 && n >= 1 && k >= 1", "num_experts, n and k must be 1 or more"),
                (
                    "o == num_experts + 1",
                    "expert_offsets, of o, must have one number more than there are experts",
                ),
                (
                    "has_threes(plan, tensor::problem_sizes1, num_experts) && has_threes(plan, tensor::problem_sizes2, num_experts)",
                    "problem_sizes1 and problem_sizes2 must have three numbers for each expert",
                ),
                (
                    "a >= t * c && z >= t * c",
                    "the permutations, of a and z, must have an element for each pair in topk_ids",
                ),
                ("t * c < 2147483648", "there must be less than 2^31 pairs of tokens and experts"),
            ),
        ),
        attributes=(
            Attribute("num_experts", "size_t", "how many experts there are"),
            Attribute("n", "size_t", "the size inside of an expert"),
            Attribute("k", "size_t", "the size of a token"),
        ),
        header="prepare_moe_input",
        wrapped=True,
        ulps=0,
    ),
    Operator(
        "MoeAlign",
        "The pairs of tokens and experts in `topk_ids` by their experts, in blocks of `block_size` of which each has one: the numbers of an expert's pairs, in their "
        "order, and what is left of its last block; of each block the expert; how many elements the blocks have. Expert -1 comes first. With "
        "`expert_map`, what that says of an expert's number counts, and what it makes negative is left out. `pad_sorted_token_ids`: whether "
        "all elements that are no pair become the number of pairs; they keep what they were otherwise.",
        (
            Tensor("sorted_token_ids", "inout"),
            Tensor("expert_ids", "inout"),
            Tensor("num_tokens_post_padded", "out"),
            Tensor("topk_ids"),
            Tensor("expert_map", described=False, optional=True),
        ),
        ("I32",),
        moe_align,
        kind="written",
        written=Written(
            {
                "sorted_token_ids": "s",
                "expert_ids": "q",
                "num_tokens_post_padded": "1",
                "topk_ids": "t c",
                "expert_map": "g",
            },
            moe_align_trials,
            rules=(
                ("num_experts >= 1 && block_size >= 1", "num_experts and block_size must be 1 or more"),
                ("num_experts <= 8192", "there can be 8192 experts at most"),
                (
                    "s >= (t * c < num_experts + 1 ? t * c * block_size : t * c + (num_experts + 1) * (block_size - 1))",
                    "sorted_token_ids, of s, must have room for the pairs in topk_ids in whole blocks of each expert",
                ),
                (
                    "q * block_size >= (t * c < num_experts + 1 ? t * c * block_size : t * c + (num_experts + 1) * (block_size - 1))",
                    "expert_ids, of q, must have a number for each block",
                ),
                ("s < 2147483648", "there must be less than 2^31 elements in all blocks"),
            ),
        ),
        attributes=(
            Attribute("num_experts", "size_t", "how many experts there are"),
            Attribute("block_size", "size_t", "how many pairs a block has"),
            Attribute(
                "pad_sorted_token_ids", "int", "whether the other elements are written", at_compute=True
            ),
        ),
        header="moe_align",
        wrapped=True,
        ulps=0,
    ),
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
        "MoeFusedDense",
        "FusedMoe with SwiGLU, of routes that MoeAlign has put in order. The order is checked and not needed.",
        (
            Tensor("output", "out"),
            Tensor("hidden_states"),
            Tensor("w13"),
            Tensor("w2"),
            Tensor("topk_weights", dtypes=("F32",)),
            Tensor("topk_ids", dtypes=("I32",)),
            Tensor("sorted_token_ids", dtypes=("I32",)),
            Tensor("expert_ids", dtypes=("I32",)),
            Tensor("num_tokens_post_padded", dtypes=("I32",)),
        ),
        ("F16", "BF16", "F32"),
        moe_fused_dense,
        kind="written",
        written=Written(
            {
                "output": "t h",
                "hidden_states": "t h",
                "w13": "e 2*i h",
                "w2": "e h i",
                "topk_weights": "t k",
                "topk_ids": "t k",
                "sorted_token_ids": "s",
                "expert_ids": "q",
                "num_tokens_post_padded": "1",
            },
            moe_fused_dense_trials,
            rules=(("s >= t * k", "sorted_token_ids, of s, must have an element for each pair in topk_ids"),),
            composed=True,
        ),
        header="moe_fused_dense",
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
