"""Functions of `nn.functional` that are more than one operator, or have arguments that operators do not."""

from __future__ import annotations

import math

from .. import _core
from ..functions import matmul
from ..indexing import one_hot
from ..moving import pad, pixel_shuffle, pixel_unshuffle, unfold
from ..tensor import Tensor

__all__ = [
    "RopeAlgo",
    "flash_attention",
    "linear",
    "one_hot",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "scaled_dot_product_attention",
    "unfold",
]

_product = _core.building_blocks["gemm"]


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
    if weight.ndim != 2 or input.ndim < 1 or input.size(-1) != weight.size(1):
        raise ValueError(
            f"linear(): input has shape {input.shape} and weight {weight.shape}; weight must have two dimensions, the second as large "
            "as the last of input"
        )
    if out is None and bias is None and input.ndim == 2 and input.dtype is weight.dtype:  # one token, often
        return _product(input, weight.permute(1, 0), alpha, 0.0)
    rows = input if input.ndim == 2 else input.reshape(-1, input.size(-1))
    shape = [*input.shape[:-1], weight.size(0)]
    if out is not None and out.shape != shape:
        raise ValueError(f"linear(): out has shape {out.shape}, not {shape}")
    direct = out is not None and (out.ndim == 2 or out.is_contiguous())
    target = out
    if out is not None and out.ndim != 2:
        target = out.view(-1, weight.size(0)) if direct else None
    made = matmul(rows, weight.permute(1, 0), alpha=alpha, out=target)
    if bias is not None:
        made += bias
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
    if scale is None:
        scale = 1 / math.sqrt(max(query.shape[-1], 1))
    attend = _core.building_blocks["flash_attention"]
    return attend(query, key, value, total_kv_len, scale, int(is_causal), out=out)


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
    if is_causal and query.shape[-2:-1] != key.shape[-2:-1]:
        raise ValueError(
            f"scaled_dot_product_attention(): is_causal with {query.shape[-2]} queries and {key.shape[-2]} keys; flash_attention() "
            "counts from the last key, as decoding with a cache needs it"
        )
    return flash_attention(
        query, key, value, None, attn_mask, dropout_p, is_causal, scale, enable_gqa, out=out
    )
