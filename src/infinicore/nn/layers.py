"""Functions of `nn.functional` that are more than one operator, or have arguments that operators do not."""

from __future__ import annotations

import math

from .. import _core
from .._arguments import as_said_of, wrong_argument
from ..indexing import one_hot
from ..moving import pad, pixel_shuffle, pixel_unshuffle, unfold
from ..products import bilinear
from ..tensor import Tensor

__all__ = [
    "ACT_SILU",
    "ACT_SWIGLU",
    "RopeAlgo",
    "bilinear",
    "causal_conv1d",
    "chunk_gated_delta_rule",
    "flash_attention",
    "linear",
    "multi_margin_loss",
    "one_hot",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "recurrent_gated_delta_rule",
    "scaled_dot_product_attention",
    "unfold",
]

_product = _core.building_blocks["gemm"]


# What `fused_moe` calls them.
ACT_SILU = "silu"
ACT_SWIGLU = "swiglu"


class RopeAlgo:
    """Which elements of a head `rope` turns together."""

    GPT_J = 0
    """Neighbours."""

    GPT_NEOX = 1
    """One of the first half and one of the second."""


def linear(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    alpha: float = 1.0,
    out: Tensor | None = None,
) -> Tensor:
    """`alpha * input * weight^T + bias`; `weight` has a row for each feature of the result.

    >>> import infinicore
    >>> x, w = infinicore.ones([1, 3]), infinicore.ones([2, 3])
    >>> infinicore.nn.functional.linear(x, w).tolist()
    [[3.0, 3.0]]
    """
    try:
        fits = weight.ndim == 2 and input.ndim >= 1 and input.size(-1) == weight.size(1)
    except AttributeError as error:
        raise wrong_argument(linear, locals()) or error from None
    if not fits:
        raise ValueError(
            f"linear(): input has shape {input.shape} and weight {weight.shape}; weight must have two dimensions, the second as large "
            "as the last of input"
        )
    if input.dtype is not weight.dtype:
        raise TypeError(
            f"linear(): weight is {weight.dtype.name}, but input is {input.dtype.name}; they must be the same, and .to() converts"
        )
    try:
        if out is None and bias is None and input.ndim == 2:  # one token, often
            return _product(input, weight.permute(1, 0), alpha, 0.0)
        return _linear(input, weight, bias, alpha, out)
    except (AttributeError, TypeError, ValueError) as error:
        raise wrong_argument(linear, locals()) or as_said_of("linear", error, other="weight") from None


def _linear(input: Tensor, weight: Tensor, bias: Tensor | None, alpha: float, out: Tensor | None) -> Tensor:
    rows = input if input.ndim == 2 else input.reshape(-1, input.size(-1))
    shape = [*input.shape[:-1], weight.size(0)]
    if out is not None and out.shape != shape:
        raise ValueError(f"linear(): out has shape {out.shape}, not {shape}")
    direct = out is not None and (out.ndim == 2 or out.is_contiguous())
    target = out
    if out is not None and out.ndim != 2:
        target = out.view(-1, weight.size(0)) if direct else None
    made = _product(rows, weight.permute(1, 0), alpha, 0.0, out=target)
    if bias is not None:
        try:
            made += bias
        except (TypeError, ValueError) as error:
            raise as_said_of("linear", error, input="the product", other="bias") from None
    if direct and out is not None:
        return out
    result = made if input.ndim == 2 else made.view(*shape)
    return result if out is None else out.copy_(result)


def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    total_kv_len: Tensor | None = None,
    attn_mask: None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Attention of `query` (batch, heads, queries, size) to `key` and `value` (batch, heads of keys, keys, size).

    `total_kv_len` says how many keys of each sequence count. With `is_causal` the last query sees all of these, and each query before
    it one less. `scale` is one over the root of the heads' size unless said otherwise. Heads of `query` may share those of `key`, with
    `enable_gqa` or without. Masks and dropout there are none: other values than these defaults are refused.
    """
    if attn_mask is not None or dropout_p:
        raise ValueError(
            "flash_attention(): there are no masks and no dropout; total_kv_len and is_causal say what is seen"
        )
    attend = _core.building_blocks["flash_attention"]
    try:
        if scale is None:
            scale = 1 / math.sqrt(max(query.shape[-1], 1))
        return attend(query, key, value, total_kv_len, scale, int(is_causal), out=out)
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        wrong = wrong_argument(flash_attention, locals())
        raise wrong or as_said_of("flash_attention", error, q="query", k="key", v="value") from None


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`flash_attention` under PyTorch's name, with its rule for `is_causal`: the first query sees the first key.

    Where there are as many queries as keys both rules are one; otherwise `flash_attention` is what a cache of keys needs, and
    is_causal is refused here.
    """
    try:
        if is_causal and query.shape[-2:-1] != key.shape[-2:-1]:
            raise ValueError(
                f"scaled_dot_product_attention(): is_causal with {query.shape[-2]} queries and {key.shape[-2]} keys; flash_attention() "
                "counts from the last key, as decoding with a cache needs it"
            )
        return flash_attention(
            query, key, value, None, attn_mask, dropout_p, is_causal, scale, enable_gqa, out=out
        )
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        wrong = wrong_argument(scaled_dot_product_attention, locals())
        raise wrong or as_said_of("scaled_dot_product_attention", error) from None


def causal_conv1d(
    qkv: Tensor,
    conv_state: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    cu_seqlens: Tensor | None = None,
    initial_state_indices: Tensor | None = None,
    final_state_indices: Tensor | None = None,
    final_conv_state: Tensor | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A convolution of each channel along the tokens of each sequence, which sees no later ones; no activation is applied.

    `qkv` is (sequences, tokens, channels), or, with `cu_seqlens`, which says where sequences begin and the last one ends, (1, all tokens, channels).
    `weight` is (channels, 1, k), and `conv_state`, (states, channels, k - 1), what came before the first tokens: state
    `initial_state_indices[i]` of sequence `i`, or `i`. What it leaves goes to state `final_state_indices[i]` of `conv_state`, or to
    `final_conv_state`, (sequences, channels, k - 1), or nowhere.
    """
    if out is None:
        out = _core.empty(qkv._place, qkv.dtype, qkv.shape)
    _core.building_blocks["causal_conv1d"](
        qkv,
        conv_state,
        weight,
        bias,
        cu_seqlens,
        initial_state_indices,
        final_state_indices,
        out=(out, final_conv_state),
    )
    return out


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The mean over the classes of `max(0, margin - x[target] + x[i])^p` of each row, without the target itself, times `weight[target]`.

    `reduction`: "none", a loss for each row; "mean" or "sum" of them.

    >>> import infinicore
    >>> x, target = infinicore.from_list([[0.0, 2.0]], dtype=infinicore.float32), infinicore.from_list([0], dtype=infinicore.int64)
    >>> infinicore.nn.functional.multi_margin_loss(x, target).item()
    1.5
    """
    return _core.building_blocks["multi_margin_loss"](input, target, weight, p, margin, reduction, out=out)


def recurrent_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    initial_state: Tensor,
    *,
    initial_state_indices: Tensor | None = None,
    final_state_indices: Tensor | None = None,
    final_state: Tensor | None = None,
    use_qk_l2norm: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """What each token gives that changes the state of its heads: `s = exp(g) s`, then `s = s + beta (v - s k) k^T`, gives `s q / sqrt(size of a key)`.

    `q` and `k` are (sequences, tokens, heads, size), `v` has as many heads or a multiple, and `g` and `beta` a number for each head of a token. `initial_state`
    is (states, heads of v, size of v, size of k): sequence `i` begins with state `initial_state_indices[i]`, or `i`. What it leaves goes to state
    `final_state_indices[i]` of it, or to `final_state`, or nowhere.
    """
    if out is None:
        out = _core.empty(v._place, v.dtype, v.shape)
    _core.building_blocks["recurrent_gated_delta_rule"](
        q,
        k,
        v,
        g,
        beta,
        initial_state,
        initial_state_indices,
        final_state_indices,
        use_qk_l2norm,
        out=(out, final_state),
    )
    return out


def chunk_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    initial_state: Tensor,
    *,
    cu_seqlens: Tensor | None = None,
    initial_state_indices: Tensor | None = None,
    final_state_indices: Tensor | None = None,
    final_state: Tensor | None = None,
    use_qk_l2norm: bool = False,
    chunk_size: int = 64,
    out: Tensor | None = None,
) -> Tensor:
    """`recurrent_gated_delta_rule` of sequences that, with `cu_seqlens`, which says where they begin and the last one ends, lie one after the other in
    (1, all tokens, heads, size). `chunk_size` is taken, and not needed."""
    if out is None:
        out = _core.empty(v._place, v.dtype, v.shape)
    _core.building_blocks["chunk_gated_delta_rule"](
        q, k, v, g, beta, initial_state, cu_seqlens, initial_state_indices, final_state_indices, use_qk_l2norm, chunk_size,
        out=(out, final_state),
    )  # fmt: skip
    return out
