"""What goes from token to token of a sequence, with a state that the next call takes up."""

from __future__ import annotations

from typing import Any

from .model import INDICES, Attribute, Operator, Tensor, Written


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


def gating(np: Any, A_log: Any, a: Any, b: Any, dt_bias: Any, beta: float, threshold: float) -> Any:
    x = a + dt_bias
    grown = np.where(beta * x > threshold, x, np.log1p(np.exp(np.minimum(beta * x, threshold))) / beta)
    return -np.exp(A_log) * grown, 1 / (1 + np.exp(-b))


def gating_trials(np: Any, random: Any) -> Any:
    for shape, beta, threshold in (((2, 3, 32), 1, 20), ((7, 5), 2, 1), ((300,), 0.5, 20), ((0, 4), 1, 20)):
        yield {
            "A_log": random.normal(size=shape[-1]),
            "a": random.normal(size=shape) * 3,
            "b": random.normal(size=shape) * 3,
            "dt_bias": random.normal(size=shape[-1]),
            "beta": beta,
            "threshold": threshold,
        }


def delta_rule(
    np: Any, initial_state: Any, final_state: Any, q: Any, k: Any, v: Any, g: Any, beta: Any, initial_state_indices: Any,
    final_state_indices: Any, use_qk_l2norm: float, cu_seqlens: Any = None, chunk_size: float = 0,
) -> Any:  # fmt: skip
    rows = [each.reshape(-1, *each.shape[2:]) for each in (q, k, v, g, beta)]
    ends = np.arange(q.shape[0] + 1) * q.shape[1] if cu_seqlens is None else cu_seqlens.astype(int)
    requests, groups, width = len(ends) - 1, v.shape[2] // max(1, q.shape[2]), q.shape[3]
    out, pool = np.zeros_like(rows[2]), initial_state.copy()
    kept = np.zeros((requests, *initial_state.shape[1:]))
    for r in range(requests):
        state = initial_state[r if initial_state_indices is None else int(initial_state_indices[r])].copy()
        for t in range(ends[r], ends[r + 1]):
            query, key = (np.repeat(each[t], groups, axis=0) for each in rows[:2])
            if use_qk_l2norm:
                query, key = (x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True) + 1e-6) for x in (query, key))
            state = state * np.exp(rows[3][t])[:, None, None]
            off = (rows[2][t] - np.einsum("hvk,hk->hv", state, key)) * rows[4][t][:, None]
            state = state + off[:, :, None] * key[:, None, :]
            out[t] = np.einsum("hvk,hk->hv", state, query) / max(1, width) ** 0.5
        kept[r] = state
    if final_state_indices is not None:
        pool[final_state_indices.astype(int)] = kept
    return out.reshape(v.shape), pool, kept if final_state is not False else None


def delta_trial(
    np: Any,
    random: Any,
    b: int,
    t: int,
    heads: tuple[int, int],
    sizes: tuple[int, int],
    pool: int,
    **more: Any,
) -> dict[str, Any]:
    (hk, hv), (dk, dv) = heads, sizes
    return {
        "initial_state": random.normal(size=(pool, hv, dv, dk)),
        "q": random.normal(size=(b, t, hk, dk)),
        "k": random.normal(size=(b, t, hk, dk)) / max(1, dk) ** 0.5,
        "v": random.normal(size=(b, t, hv, dv)),
        "g": -random.uniform(0, 1, (b, t, hv)),
        "beta": random.uniform(0, 1, (b, t, hv)),
        "initial_state_indices": None,
        "final_state_indices": None,
        "use_qk_l2norm": 0,
        **more,
    }


def recurrent_trials(np: Any, random: Any) -> Any:
    yield delta_trial(np, random, 2, 1, (2, 4), (32, 24), 2)
    yield delta_trial(np, random, 3, 1, (1, 1), (70, 5), 3, use_qk_l2norm=1)
    slots = {"initial_state_indices": np.array([4, 0]), "final_state_indices": np.array([1, 0])}
    yield delta_trial(np, random, 2, 1, (1, 2), (128, 16), 5, use_qk_l2norm=1, final_state=None, **slots)
    yield delta_trial(np, random, 1, 3, (2, 2), (16, 8), 1)
    yield delta_trial(np, random, 0, 1, (2, 2), (16, 8), 1)


def chunk_trials(np: Any, random: Any) -> Any:
    yield delta_trial(np, random, 2, 9, (2, 4), (32, 24), 2, use_qk_l2norm=1, chunk_size=64, cu_seqlens=None)
    slots = {"initial_state_indices": np.array([4, 0, 2]), "final_state_indices": np.array([1, 0, 3])}
    ends = {"cu_seqlens": np.array([0, 3, 3, 12]), "chunk_size": 16}
    yield delta_trial(np, random, 1, 12, (1, 2), (48, 16), 5, final_state=None, **slots, **ends)
    yield delta_trial(np, random, 1, 12, (1, 1), (16, 40), 3, use_qk_l2norm=1, **ends)
    yield delta_trial(np, random, 1, 150, (1, 1), (64, 8), 1, use_qk_l2norm=1, chunk_size=64, cu_seqlens=None)


REQUESTS = "(plan.tensor[tensor::cu_seqlens].is_given ? c - 1 : b)"


def delta_operator(name: str, header: str, doc: str, trials: Any, varies: bool) -> Operator:
    """`varies`: sequences may lie one after the other."""
    each = "r" if varies else "b"
    ends = {"cu_seqlens": "c"} if varies else {}
    requests = REQUESTS if varies else "b"
    return Operator(
        name,
        doc,
        (
            Tensor("out", "out"),
            Tensor("initial_state", "inout"),
            Tensor("final_state", "out", optional=True),
            Tensor("q"),
            Tensor("k"),
            Tensor("v"),
            Tensor("g", dtypes=("F16", "BF16", "F32")),
            Tensor("beta", dtypes=("F16", "BF16", "F32")),
            *(Tensor(tensor, dtypes=INDICES, optional=True) for tensor in ends),
            Tensor("initial_state_indices", dtypes=INDICES, optional=True),
            Tensor("final_state_indices", dtypes=INDICES, optional=True),
        ),
        ("F16", "BF16", "F32"),
        delta_rule,
        kind="written",
        written=Written(
            {
                "out": "b t hv dv",
                "initial_state": "pool hv dv dk",
                "final_state": f"{each} hv dv dk",
                "q": "b t hk dk",
                "k": "b t hk dk",
                "v": "b t hv dv",
                "g": "b t hv",
                "beta": "b t hv",
                **ends,
                "initial_state_indices": each,
                "final_state_indices": each,
            },
            trials,
            rules=(
                ("hk > 0 && hv % hk == 0", "the heads of v, hv, must be a multiple of those of q and k, hk"),
                ("dk <= 1024", "dk must be at most 1024"),
                (
                    "!(plan.tensor[tensor::final_state_indices].is_given && plan.tensor[tensor::final_state].is_given)",
                    "final_state must be null where final_state_indices say where states go",
                ),
                (
                    f"plan.tensor[tensor::initial_state_indices].is_given || pool >= {requests}",
                    "initial_state must have a state for each sequence where no initial_state_indices are given",
                ),
                *(
                    (
                        (
                            "!plan.tensor[tensor::cu_seqlens].is_given || (c >= 1 && b == 1)",
                            "with cu_seqlens, which has one number more than there are sequences, all others must have size 1 in their first dimension, b",
                        ),
                        (
                            f"r < 0 || r == {requests}",
                            "final_state and the indices must have as many elements, r, as there are sequences",
                        ),
                        ("chunk_size >= 1", "chunk_size must be 1 or more"),
                    )
                    if varies
                    else ()
                ),
            ),
        ),
        attributes=(
            Attribute(
                "use_qk_l2norm", "bool", "whether q and k are made to have the norm 1 first", default=0
            ),
            *((Attribute("chunk_size", "size_t", "taken, and not needed", default=64),) if varies else ()),
        ),
        header=header,
        python_order=(
            "q",
            "k",
            "v",
            "g",
            "beta",
            "initial_state",
            *ends,
            "initial_state_indices",
            "final_state_indices",
        ),
        wrapped=True,
        ulps=128,
    )


DELTA_RULE = (
    "Each token changes the state of its heads, `s = exp(g) s`, then `s = s + beta (v - s k) k^T`, and gives `s q / sqrt(dk)`. Heads of `v` share those of `q` "
    "and `k`. Sequence `i` begins with state `initial_state_indices[i]`, or `i`; what it leaves goes to state `final_state_indices[i]` of `initial_state`, or to "
    "`final_state`. Computed in float."
)


def selective_scan(
    np: Any, state: Any, x: Any, dt: Any, b: Any, c: Any, a_log: Any, d: Any, gate: Any, dt_bias: Any
) -> Any:
    steps = np.logaddexp(0, dt + dt_bias)
    out, after = np.zeros_like(x), state.copy()
    for n in range(x.shape[0]):
        for t in range(x.shape[1]):
            step = steps[n, t][:, None]
            after[n] = np.exp(-np.exp(a_log) * step) * after[n] + step * b[n, t] * x[n, t][:, None]
            share = gate[n, t] / (1 + np.exp(-gate[n, t]))
            out[n, t] = (after[n] @ c[n, t] + x[n, t] * d) * share
    return out, after


def selective_scan_trials(np: Any, random: Any) -> Any:
    for n, t, i, s, more in (
        (2, 5, 20, 16, 0),
        (1, 1, 300, 4, 2),
        (3, 9, 7, 33, 0),
        (0, 2, 4, 4, 1),
        (2, 0, 5, 8, 0),
    ):
        yield {
            **{name: random.normal(size=(n, t, i)) for name in ("x", "dt", "gate")},
            **{name: random.normal(size=(n, t, s)) for name in ("b", "c")},
            "a_log": random.normal(size=(i, s)) / 2,
            "d": random.normal(size=i),
            "dt_bias": random.normal(size=i),
            "state": random.normal(size=(n + more, i, s)),
        }


def wkv(np: Any, state: Any, receptance: Any, key: Any, value: Any, time_decay: Any, time_faaaa: Any) -> Any:
    heads, size = time_faaaa.shape
    r, k, v = (each.reshape(*each.shape[:2], heads, size) for each in (receptance, key, value))
    decay, out, after = np.exp(-np.exp(time_decay)), np.zeros_like(v), state.copy()
    for t in range(r.shape[1]):
        both = k[:, t, :, :, None] * v[:, t, :, None, :]
        out[:, t] = np.einsum("bhi,bhij->bhj", r[:, t], time_faaaa[..., None] * both + after)
        after = both + decay[..., None] * after
    return out.reshape(receptance.shape), after


def wkv_trials(np: Any, random: Any) -> Any:
    for b, t, h, d in ((2, 3, 3, 16), (1, 1, 2, 64), (1, 7, 1, 33), (0, 2, 2, 8), (2, 0, 2, 8)):
        yield {
            **{name: random.normal(size=(b, t, h * d)) for name in ("receptance", "key", "value")},
            **{name: random.normal(size=(h, d)) for name in ("time_decay", "time_faaaa")},
            "state": random.normal(size=(b, h, d, d)),
        }


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
    Operator(
        "FusedGatedDeltaNetGating",
        "`g = -exp(A_log) * softplus(a + dt_bias)`, where `softplus(x)` is `log(1 + exp(beta x)) / beta`, and `x` where `beta x` is over `threshold`; and "
        "`beta_output = sigmoid(b)`.",
        (
            Tensor("g", "out", dtypes=("F32",)),
            Tensor("beta_output", "out", dtypes=("F32",)),
            Tensor("A_log", python="A_log"),
            Tensor("a", python="a"),
            Tensor("b", python="b"),
            Tensor("dt_bias"),
        ),
        ("F16", "BF16", "F32"),
        gating,
        kind="written",
        written=Written(
            {"g": "... h", "beta_output": "... h", "A_log": "h", "a": "... h", "b": "... h", "dt_bias": "h"},
            gating_trials,
            rules=(("beta > 0", "beta must be positive"),),
        ),
        attributes=(
            Attribute("beta", "float", "the steepness of softplus", default=1),
            Attribute("threshold", "float", "from where on softplus is the number itself", default=20),
        ),
        header="fused_gated_delta_net_gating",
        functional=True,
        ulps=16,
    ),
    delta_operator(
        "RecurrentGatedDeltaRule", "recurrent_gated_delta_rule", DELTA_RULE, recurrent_trials, varies=False
    ),
    delta_operator(
        "ChunkGatedDeltaRule",
        "chunk_gated_delta_rule",
        f"RecurrentGatedDeltaRule of sequences that may lie one after the other, between the numbers in `cu_seqlens`. {DELTA_RULE}",
        chunk_trials,
        varies=True,
    ),
    Operator(
        "MambaSelectiveScan",
        "Each token changes the states of its channels, `s = exp(-exp(a_log) dt) s + dt b x`, and gives `(s c + d x) silu(gate)`, where `dt` is "
        "`softplus(dt + dt_bias)`. Computed in float.",
        (
            Tensor("out", "out"),
            Tensor("x", python="x"),
            Tensor("dt"),
            Tensor("b", python="b"),
            Tensor("c"),
            Tensor("a_log"),
            Tensor("d"),
            Tensor("gate"),
            Tensor("dt_bias"),
            Tensor("state", "inout", dtypes=("F32",)),
        ),
        ("F16", "BF16", "F32"),
        selective_scan,
        kind="written",
        written=Written(
            {
                "out": "n t i",
                "x": "n t i",
                "dt": "n t i",
                "b": "n t s",
                "c": "n t s",
                "a_log": "i s",
                "d": "i",
                "gate": "n t i",
                "dt_bias": "i",
                "state": "pool i s",
            },
            selective_scan_trials,
            rules=(
                ("pool >= n", "state must have a state for each sequence"),
                ("s >= 1 && s <= 256", "a channel's state, s, must have from 1 to 256 numbers"),
            ),
        ),
        header="mamba_selective_scan",
        python="mamba_selective_scan",
        functional=True,
        ulps=64,
    ),
    Operator(
        "Rwkv5Wkv",
        "Each token gives `r (time_faaaa k v^T + s)` for each head, and then changes its state, `s = k v^T + exp(-exp(time_decay)) s`. Computed in float.",
        (
            Tensor("out", "out"),
            Tensor("receptance"),
            Tensor("key"),
            Tensor("value"),
            Tensor("time_decay"),
            Tensor("time_faaaa"),
            Tensor("state", "inout", dtypes=("F32",)),
        ),
        ("F16", "BF16", "F32"),
        wkv,
        kind="written",
        written=Written(
            {
                "out": "b t e",
                "receptance": "b t e",
                "key": "b t e",
                "value": "b t e",
                "time_decay": "h d",
                "time_faaaa": "h d",
                "state": "b h d d",
            },
            wkv_trials,
            rules=(
                (
                    "e == h * d",
                    "receptance, key and value must have h heads of d numbers in their last dimension, e",
                ),
                ("d <= 256", "a head can have 256 numbers at most"),
            ),
        ),
        header="rwkv5_wkv",
        python="rwkv5_wkv",
        functional=True,
        ulps=64,
    ),
)
