"""Views, products and replacements as functions, as InfiniCore and PyTorch have them."""

from __future__ import annotations

from collections.abc import Sequence

from . import _core
from ._arguments import as_said_of, wrong_argument
from .dtype import bfloat16, float8, float16, float32, float64
from .tensor import Tensor

__all__ = [
    "broadcast_to",
    "matmul",
    "mxfp4_dequantize",
    "nan_to_num",
    "narrow",
    "rearrange",
    "squeeze",
    "unsqueeze",
]


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` of the elements of a dimension, from `start` on; a view."""
    try:
        return input.narrow(dim, start, length)
    except AttributeError as error:
        raise wrong_argument(narrow, locals()) or error from None


def squeeze(input: Tensor, dim: int | None = None) -> Tensor:
    """Without a dimension of size 1, or without all of them; a view."""
    try:
        return input.squeeze(dim)
    except AttributeError as error:
        raise wrong_argument(squeeze, locals()) or error from None


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of size 1 more, before `dim`; a view."""
    try:
        return input.unsqueeze(dim)
    except AttributeError as error:
        raise wrong_argument(unsqueeze, locals()) or error from None


def broadcast_to(input: Tensor, size: Sequence[int], *, out: Tensor | None = None) -> Tensor:
    """Repeated to a larger shape, as a contiguous copy; `Tensor.broadcast_to` is a view.

    >>> import infinicore
    >>> infinicore.broadcast_to(infinicore.ones([1, 2]), [3, 2]).stride()
    [2, 1]
    """
    repeated = input.broadcast_to(size)
    if out is None:
        return repeated.clone()
    if out.shape != repeated.shape:
        raise ValueError(f"broadcast_to(): out has shape {out.shape}, not {repeated.shape}")
    return out.copy_(repeated)


def matmul(input: Tensor, other: Tensor, *, alpha: float = 1.0, out: Tensor | None = None) -> Tensor:
    """`alpha` times the product of two matrices, or of as many as the dimensions before the last two say.

    Either may be one matrix for all of the other's.
    """
    for name, given in (("input", input), ("other", other)):
        if not isinstance(given, Tensor):
            raise TypeError(f"matmul(): {name} must be a Tensor, not {type(given).__name__}")
        if given.ndim < 2:
            raise ValueError(
                f"matmul(): {name} has shape {given.shape}; a matrix was expected. unsqueeze() makes a row or a column of a vector"
            )
    if input.size(-1) != other.size(-2):
        raise ValueError(
            f"matmul(): input has shape {input.shape} and other {other.shape}: {input.size(-1)} columns and {other.size(-2)} rows; "
            "they must be as many"
        )
    if input.dtype is not other.dtype:
        raise TypeError(
            f"matmul(): other is {other.dtype.name}, but input is {input.dtype.name}; they must be the same, and .to() converts"
        )
    product = _core.building_blocks["gemm"]
    if max(input.ndim, other.ndim) <= 3:
        try:
            return product(input, other, alpha, 0.0, out=out)
        except (TypeError, ValueError) as error:
            raise as_said_of("matmul", error) from None
    before = input.shape[:-2] if input.ndim > 3 else other.shape[:-2]
    if any(tensor.ndim != 2 and tensor.shape[:-2] != before for tensor in (input, other)):
        raise ValueError(
            f"matmul(): shapes {input.shape} and {other.shape}; the dimensions before the last two must be the same, or one of "
            "them a single matrix"
        )
    flat = [t if t.ndim == 2 else t.reshape(-1, *t.shape[-2:]) for t in (input, other)]
    try:
        product_of_all = product(*flat, alpha, 0.0)
    except (TypeError, ValueError) as error:
        raise as_said_of("matmul", error) from None
    made = product_of_all.view(*before, flat[0].size(-2), flat[1].size(-1))
    return made if out is None else out.copy_(made)


def rearrange(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy with other strides: contiguous, or those of `out`."""
    return _core.building_blocks["rearrange"](input, out=out)


# The largest finite numbers; of all other types that of float32.
_LARGEST = {
    float8: 448.0,
    float16: 65504.0,
    bfloat16: (2 - 2**-7) * 2.0**127,
    float64: (2 - 2**-52) * 2.0**1023,
}


def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`nan`, or 0, where `input` is not a number; `posinf` and `neginf`, or the largest and smallest numbers of its type, where it is infinite.

    >>> import infinicore, math
    >>> x = infinicore.from_list([1.0, math.nan, math.inf], dtype=infinicore.float32)
    >>> infinicore.nan_to_num(x, posinf=9).tolist()
    [1.0, 0.0, 9.0]
    """
    if not input.dtype.is_floating_point:
        return rearrange(input, out=out)
    largest = _LARGEST.get(input.dtype, (2 - 2**-23) * 2.0**127)
    above = largest if posinf is None else float(posinf)
    below = -largest if neginf is None else float(neginf)
    instead = 0.0 if nan is None else float(nan)
    # Before a result may take the place of what is looked at.
    is_below = None if below == -above else _core.operators["isneginf"](input)
    made = _core.building_blocks["nan_to_num"](input, instead, above, out=out)
    return made if is_below is None else _core.operators["masked_fill"](made, is_below, below, out=made)


def mxfp4_dequantize(
    packed: Tensor, scales: Tensor, dtype: _core.dtype = float32, *, out: Tensor | None = None
) -> Tensor:
    """Numbers from 4 bits, two in each byte of `packed`, the first in its low bits; each 32 of them have one scale, a power of two.

    >>> import infinicore
    >>> packed = infinicore.full([16], 0x21, dtype=infinicore.uint8)
    >>> infinicore.mxfp4_dequantize(packed, infinicore.full([1], 128, dtype=infinicore.uint8))[:2].tolist()
    [1.0, 2.0]
    """
    if out is None:
        out = _core.empty(
            packed._place, dtype, [*packed.shape[:-1], 2 * packed.size(-1)] if packed.ndim else []
        )
    return _core.building_blocks["mxfp4_dequantize"](packed, scales, out=out)
