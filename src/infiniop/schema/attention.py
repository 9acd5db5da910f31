"""Positions, attention, and the memory that attention keeps."""

from __future__ import annotations

from typing import Any

from .model import INDICES, INTEGERS, Attribute, Operator, Tensor, Written

ROPE_ALGO = """typedef enum {
    INFINIOP_ROPE_ALGO_GPT_J = 0,
    INFINIOP_ROPE_ALGO_GPT_NEOX = 1,
    INFINIOP_ROPE_ALGO_COUNT = 2,
} infiniopRoPEAlgo_t;"""


def rope(np: Any, x: Any, pos_ids: Any, sin_table: Any, cos_table: Any, algo: float) -> Any:
    sin, cos = (table[pos_ids.astype(np.int64)][..., None, :] for table in (sin_table, cos_table))
    half = x.shape[-1] // 2
    first, second = (x[..., 0::2], x[..., 1::2]) if algo == 0 else (x[..., :half], x[..., half:])
    turned = first * cos - second * sin, first * sin + second * cos
    if algo == 0:
        return np.stack(turned, axis=-1).reshape(x.shape)
    return np.concatenate(turned, axis=-1)


def rope_trials(np: Any, random: Any) -> Any:
    def trial(*shape: int, algo: int, positions: int = 11, batched: bool = False) -> dict[str, Any]:
        angles = random.uniform(-3, 3, (positions, shape[-1] // 2))
        return {
            "x": random.normal(size=shape),
            "pos_ids": random.integers(0, positions, shape[:-2] if batched else shape[-3:-2]),
            "sin_table": np.sin(angles),
            "cos_table": np.cos(angles),
            "algo": algo,
        }

    yield trial(5, 3, 8, algo=1)
    yield trial(5, 3, 8, algo=0)
    yield trial(2, 7, 4, 128, algo=1)
    yield trial(2, 7, 4, 66, algo=0, batched=True)
    yield trial(0, 4, 16, algo=1)


def softmax_rows(np: Any, scores: Any, values: Any) -> Any:
    """Rows that see no key give 0."""
    largest = np.max(scores, axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = np.sum(weights, axis=-1, keepdims=True)
    return (weights / np.where(total == 0, 1, total)) @ values


def attend(np: Any, q: Any, k: Any, v: Any, scale: float, visible: Any, slopes: Any = None) -> Any:
    """Heads of queries (h, q, d), of keys (g, s, d) and values; query i sees the first visible[i] keys."""
    group = q.shape[0] // max(k.shape[0], 1)
    keys, values = (np.repeat(x, group, axis=0) for x in (k, v))
    scores = scale * (q @ np.swapaxes(keys, -1, -2))
    number = np.arange(k.shape[1])
    if slopes is not None:
        scores = scores + slopes[:, None, None] * (number[None, None, :] - visible[None, :, None] + 1)
    return softmax_rows(np, np.where(number[None, None, :] < visible[None, :, None], scores, -np.inf), values)


def causal(np: Any, queries: int, keys: int) -> Any:
    """How many keys each query sees: the last one all of them."""
    return np.clip(np.arange(queries) + keys - queries + 1, 0, None)


def flash_attention(
    np: Any, q: Any, k: Any, v: Any, total_kv_len: Any, scale: float, is_causal: float
) -> Any:
    out = np.zeros((*q.shape[:3], v.shape[-1]))
    for b in range(q.shape[0]):
        keys = k.shape[2] if total_kv_len is None else int(np.clip(total_kv_len[b], 0, k.shape[2]))
        visible = causal(np, q.shape[2], keys) if is_causal else np.full(q.shape[2], keys)
        out[b] = attend(np, q[b], k[b][:, :keys], v[b][:, :keys], scale, visible)
    return out


def flash_attention_trials(np: Any, random: Any) -> Any:
    def trial(
        b: int, h: int, g: int, q: int, s: int, d: int, e: int, is_causal: int, lengths: Any
    ) -> dict[str, Any]:
        return {
            "q": random.normal(size=(b, h, q, d)),
            "k": random.normal(size=(b, g, s, d)),
            "v": random.normal(size=(b, g, s, e)),
            "total_kv_len": None if lengths is None else np.array(lengths),
            "scale": 0.3,
            "is_causal": is_causal,
        }

    yield trial(2, 4, 2, 5, 7, 8, 8, 1, [7, 6])
    yield trial(1, 2, 2, 70, 70, 64, 64, 1, None)
    yield trial(1, 2, 1, 33, 150, 128, 128, 0, [131])
    yield trial(3, 8, 2, 1, 200, 64, 64, 1, [200, 1, 77])
    yield trial(1, 3, 1, 17, 40, 24, 10, 1, [40])
    yield trial(2, 2, 2, 4, 3, 16, 16, 1, [3, 0])
    yield trial(1, 4, 4, 0, 5, 8, 8, 1, [5])
    yield trial(1, 2, 2, 200, 300, 128, 128, 1, [290])


def attention(np: Any, q: Any, k: Any, v: Any, k_cache: Any, v_cache: Any, pos: float) -> Any:
    begin, count = int(pos), q.shape[1]
    k_cache, v_cache = k_cache.copy(), v_cache.copy()
    k_cache[:, begin : begin + count] = k
    v_cache[:, begin : begin + count] = v
    keys, values = (cache[:, : begin + count] for cache in (k_cache, v_cache))
    out = attend(np, q, keys, values, q.shape[2] ** -0.5, causal(np, count, begin + count))
    return np.swapaxes(out, 0, 1), k_cache, v_cache


def attention_trials(np: Any, random: Any) -> Any:
    def trial(h: int, g: int, q: int, d: int, m: int, n: int, pos: int) -> dict[str, Any]:
        shapes = {"q": (h, q, d), "k": (g, q, d), "v": (g, q, d), "k_cache": (g, m, d), "v_cache": (g, n, d)}
        return {**{name: random.normal(size=shape) for name, shape in shapes.items()}, "pos": pos}

    yield trial(4, 2, 3, 8, 9, 11, 5)
    yield trial(8, 8, 40, 64, 64, 64, 0)
    yield trial(8, 2, 1, 128, 100, 100, 99)


def kv_caching(np: Any, k_cache: Any, v_cache: Any, k: Any, v: Any, past_kv_lengths: Any) -> Any:
    k_cache, v_cache = k_cache.copy(), v_cache.copy()
    for b, past in enumerate(past_kv_lengths):
        k_cache[b, :, past : past + k.shape[2]] = k[b]
        v_cache[b, :, past : past + v.shape[2]] = v[b]
    return k_cache, v_cache


def kv_caching_trials(np: Any, random: Any) -> Any:
    for b, h, m, s, d, e in ((2, 3, 9, 4, 8, 8), (1, 2, 5, 1, 3, 7), (3, 4, 64, 17, 128, 128)):
        shapes = {"k_cache": (b, h, m, d), "v_cache": (b, h, m, e), "k": (b, h, s, d), "v": (b, h, s, e)}
        arrays = {name: random.normal(size=shape) for name, shape in shapes.items()}
        yield {**arrays, "past_kv_lengths": random.integers(0, m - s + 1, b)}


def paged_caching(np: Any, k_cache: Any, v_cache: Any, k: Any, v: Any, slot_mapping: Any) -> Any:
    k_cache, v_cache = k_cache.copy(), v_cache.copy()
    page = k_cache.shape[2]
    for token, slot in enumerate(slot_mapping):
        if slot >= 0:
            k_cache[slot // page, :, slot % page] = k[token]
            v_cache[slot // page, :, slot % page] = v[token]
    return k_cache, v_cache


def paged_caching_trials(np: Any, random: Any) -> Any:
    for n, h, p, t, d, e in ((5, 2, 4, 7, 8, 8), (3, 1, 16, 20, 40, 24), (9, 4, 16, 33, 128, 128)):
        shapes = {"k_cache": (n, h, p, d), "v_cache": (n, h, p, e), "k": (t, h, d), "v": (t, h, e)}
        slots = random.permutation(n * p)[:t]
        slots[t // 2] = -1
        yield {**{name: random.normal(size=shape) for name, shape in shapes.items()}, "slot_mapping": slots}


def pages(np: Any, cache: Any, table: Any, length: int) -> Any:
    """The first rows of a sequence, (g, length, d)."""
    number = np.arange(length)
    page = cache.shape[2]
    return np.swapaxes(cache[table[number // page], :, number % page], 0, 1)


def paged_attention(
    np: Any,
    q: Any,
    k_cache: Any,
    v_cache: Any,
    block_tables: Any,
    seq_lens: Any,
    alibi_slopes: Any,
    scale: float,
) -> Any:
    out = np.zeros((*q.shape[:2], v_cache.shape[3]))
    for i, length in enumerate(seq_lens):
        keys, values = (pages(np, cache, block_tables[i], int(length)) for cache in (k_cache, v_cache))
        out[i] = attend(np, q[i][:, None], keys, values, scale, np.array([length]), alibi_slopes)[:, 0]
    return out


def paged_trial(
    np: Any, random: Any, h: int, g: int, p: int, d: int, e: int, lengths: list[int], alibi: bool
) -> Any:
    per_sequence = max(-(-length // p) for length in lengths) + 1
    n = per_sequence * len(lengths) + 2
    return {
        "k_cache": random.normal(size=(n, g, p, d)),
        "v_cache": random.normal(size=(n, g, p, e)),
        "block_tables": random.permutation(n)[: per_sequence * len(lengths)].reshape(len(lengths), -1),
        "seq_lens": np.array(lengths),
        "alibi_slopes": random.uniform(0, 0.5, h) if alibi else None,
        "scale": 0.25,
    }


def paged_attention_trials(np: Any, random: Any) -> Any:
    for h, g, p, d, e, lengths, alibi in (
        (4, 2, 4, 8, 8, [5, 9], False),
        (8, 2, 16, 128, 128, [100, 1, 257], True),
        (3, 3, 16, 64, 64, [33], False),
        (2, 1, 8, 40, 24, [0, 12], False),
        (4, 1, 16, 128, 128, [1500], False),
    ):
        q = random.normal(size=(len(lengths), h, d))
        yield {"q": q, **paged_trial(np, random, h, g, p, d, e, lengths, alibi)}


def paged_attention_prefill(
    np: Any, q: Any, k_cache: Any, v_cache: Any, block_tables: Any, seq_lens: Any, cum_seq_lens_q: Any, alibi_slopes: Any,
    scale: float,
) -> Any:  # fmt: skip
    out = np.zeros((*q.shape[:2], v_cache.shape[3]))
    for i, length in enumerate(seq_lens):
        first, last = int(cum_seq_lens_q[i]), int(cum_seq_lens_q[i + 1])
        keys, values = (pages(np, cache, block_tables[i], int(length)) for cache in (k_cache, v_cache))
        queries = np.swapaxes(q[first:last], 0, 1)
        visible = causal(np, last - first, int(length))
        out[first:last] = np.swapaxes(attend(np, queries, keys, values, scale, visible, alibi_slopes), 0, 1)
    return out


def paged_attention_prefill_trials(np: Any, random: Any) -> Any:
    for h, g, p, d, e, lengths, new, alibi in (
        (4, 2, 4, 8, 8, [5, 9], [3, 9], False),
        (4, 2, 16, 64, 64, [70, 20, 40], [70, 1, 33], True),
        (2, 1, 8, 40, 24, [12], [5], False),
        (2, 2, 16, 128, 128, [150], [130], False),
    ):
        q = random.normal(size=(sum(new), h, d))
        trial = paged_trial(np, random, h, g, p, d, e, lengths, alibi)
        yield {"q": q, "cum_seq_lens_q": np.cumsum([0, *new]), **trial}


FLOATING = ("F16", "BF16", "F32", "F64")
SHARED_HEADS = ("h % g == 0", "the number of heads of q, h, must be a multiple of that of the keys, g")

OPERATORS: tuple[Operator, ...] = (
    Operator(
        "RoPE",
        "Turns pairs of elements of `x` by the angle that the tables have for their position: neighbours (GPT-J), or elements of the two "
        "halves (GPT-NeoX). A position that the tables do not have is an error of the stream.",
        (
            Tensor("y", "out"),
            Tensor("x"),
            Tensor("pos_ids", dtypes=INTEGERS),
            Tensor("sin_table", dtypes=("F16", "BF16", "F32", "F64")),
            Tensor("cos_table", dtypes=("F16", "BF16", "F32", "F64")),
        ),
        ("F16", "BF16", "F32", "F64"),
        rope,
        kind="written",
        written=Written(
            {
                "y": "... s h d",
                "x": "... s h d",
                "pos_ids": "...? s",
                "sin_table": "m d/2",
                "cos_table": "m d/2",
            },
            rope_trials,
            rules=(
                (
                    "algo == 0 || algo == 1",
                    "algo must be INFINIOP_ROPE_ALGO_GPT_J or INFINIOP_ROPE_ALGO_GPT_NEOX",
                ),
            ),
            in_place=True,
        ),
        attributes=(
            Attribute(
                "algo",
                "infiniopRoPEAlgo_t",
                "0: pairs are neighbours; 1: pairs are of the two halves",
                default=1,
            ),
        ),
        declares=ROPE_ALGO,
        python="rope",
        functional=True,
        ulps=3,
    ),
    Operator(
        "FlashAttention",
        "Attention of all heads, `softmax(scale * q * k^T) * v`, without its matrix ever being in memory. `total_kv_len` says how many keys "
        "each sequence has; without it all count. `is_causal`: the last query sees all of them, and each query before it one less. "
        "Heads of `q` may share those of `k` and `v`.",
        (
            Tensor("out", "out"),
            Tensor("q"),
            Tensor("k"),
            Tensor("v"),
            Tensor("total_kv_len", dtypes=INDICES, optional=True),
        ),
        FLOATING,
        flash_attention,
        kind="written",
        written=Written(
            {"out": "b h q e", "q": "b h q d", "k": "b g s d", "v": "b g s e", "total_kv_len": "b"},
            flash_attention_trials,
            rules=(SHARED_HEADS,),
        ),
        attributes=(
            Attribute("scale", "float", "the factor of the products"),
            Attribute(
                "is_causal", "char", "whether queries see only the keys up to their own place", default=0
            ),
        ),
        header="flash_attention",
        wrapped=True,
        ulps=64,
        narrow_ulps=1,
    ),
    Operator(
        "Attention",
        "Keys and values of new tokens go into the caches from place `pos` on; then causal attention of the new queries to everything "
        "there, scaled by one over the root of the heads' size.",
        (
            Tensor("out", "out"),
            Tensor("q"),
            Tensor("k"),
            Tensor("v"),
            Tensor("k_cache", "inout"),
            Tensor("v_cache", "inout"),
        ),
        FLOATING,
        attention,
        kind="written",
        written=Written(
            {
                "out": "q h d",
                "q": "h q d",
                "k": "g q d",
                "v": "g q d",
                "k_cache": "g m d",
                "v_cache": "g n d",
            },
            attention_trials,
            rules=(
                SHARED_HEADS,
                (
                    "pos + q <= m && pos + q <= n",
                    "the caches, of m and n places, must have room for the new tokens from pos on",
                ),
            ),
        ),
        attributes=(Attribute("pos", "size_t", "how many tokens the caches hold already"),),
        python_order=("q", "k", "v", "k_cache", "v_cache"),
        ulps=64,
        narrow_ulps=1,
    ),
    Operator(
        "KVCaching",
        "Keys and values go into the caches of their sequences, behind the `past_kv_lengths` that are there. What does not fit is an "
        "error of the stream.",
        (
            Tensor("k_cache", "inout"),
            Tensor("v_cache", "inout"),
            Tensor("k"),
            Tensor("v"),
            Tensor("past_kv_lengths", dtypes=INDICES),
        ),
        FLOATING,
        kv_caching,
        kind="written",
        written=Written(
            {
                "k_cache": "b h m d",
                "v_cache": "b h m e",
                "k": "b h s d",
                "v": "b h s e",
                "past_kv_lengths": "b",
            },
            kv_caching_trials,
            rules=(("s <= m", "the caches, of m places, must have room for s tokens"),),
        ),
        header="kv_caching",
        python="kv_caching",
        ulps=0,
    ),
    Operator(
        "PagedCaching",
        "The keys and values of token `i` go to place `slot_mapping[i]` of caches made of pages; negative places are left out. A place "
        "that the cache does not have is an error of the stream.",
        (
            Tensor("k_cache", "inout"),
            Tensor("v_cache", "inout"),
            Tensor("k"),
            Tensor("v"),
            Tensor("slot_mapping", dtypes=INDICES),
        ),
        FLOATING,
        paged_caching,
        kind="written",
        written=Written(
            {"k_cache": "n h p d", "v_cache": "n h p e", "k": "t h d", "v": "t h e", "slot_mapping": "t"},
            paged_caching_trials,
        ),
        header="paged_caching",
        ulps=0,
    ),
    Operator(
        "PagedAttention",
        "Attention of one query for each sequence to the `seq_lens` keys that it has in pages, which `block_tables` names. "
        "`alibi_slopes` adds `slope * (place - last place)`.",
        (
            Tensor("out", "out"),
            Tensor("q"),
            Tensor("k_cache"),
            Tensor("v_cache"),
            Tensor("block_tables", dtypes=INDICES),
            Tensor("seq_lens", dtypes=INDICES, python="cache_lens"),
            Tensor("alibi_slopes", dtypes=("F32",), optional=True),
        ),
        FLOATING,
        paged_attention,
        kind="written",
        written=Written(
            {
                "out": "s h e",
                "q": "s h d",
                "k_cache": "n g p d",
                "v_cache": "n g p e",
                "block_tables": "s t",
                "seq_lens": "s",
                "alibi_slopes": "h",
            },
            paged_attention_trials,
            rules=(SHARED_HEADS,),
        ),
        attributes=(Attribute("scale", "float", "the factor of the products", default=1),),
        header="paged_attention",
        ulps=64,
        narrow_ulps=1,
    ),
    Operator(
        "PagedAttentionPrefill",
        "The same for several new queries of each sequence: those of sequence `i` are `cum_seq_lens_q[i]` to `cum_seq_lens_q[i + 1]`; the "
        "last one sees all of its keys, and each one before it one less.",
        (
            Tensor("out", "out"),
            Tensor("q"),
            Tensor("k_cache"),
            Tensor("v_cache"),
            Tensor("block_tables", dtypes=INDICES),
            Tensor("seq_lens", dtypes=INDICES, python="history_lens"),
            Tensor("cum_seq_lens_q", dtypes=INDICES, python="cu_seqlens_q"),
            Tensor("alibi_slopes", dtypes=("F32",), optional=True),
        ),
        FLOATING,
        paged_attention_prefill,
        kind="written",
        written=Written(
            {
                "out": "t h e",
                "q": "t h d",
                "k_cache": "n g p d",
                "v_cache": "n g p e",
                "block_tables": "s u",
                "seq_lens": "s",
                "cum_seq_lens_q": "c",
                "alibi_slopes": "h",
            },
            paged_attention_prefill_trials,
            rules=(
                SHARED_HEADS,
                ("c == s + 1", "cum_seq_lens_q has one element more than there are sequences, s"),
            ),
        ),
        attributes=(Attribute("scale", "float", "the factor of the products", default=1),),
        header="paged_attention_prefill",
        ulps=64,
        narrow_ulps=1,
    ),
)
