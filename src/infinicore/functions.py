"""Views and products as functions, as InfiniCore has them."""

from __future__ import annotations

from collections.abc import Sequence

from . import _core
from .tensor import Tensor

__all__ = ["broadcast_to", "narrow", "rearrange", "squeeze", "unsqueeze"]


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """`length` of the elements of a dimension, from `start` on; a view."""
    return input.narrow(dim, start, length)


def squeeze(input: Tensor, dim: int | None = None) -> Tensor:
    """Without a dimension of size 1, or without all of them; a view."""
    return input.squeeze(dim)


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """With a dimension of size 1 more, before `dim`; a view."""
    return input.unsqueeze(dim)


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


def rearrange(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A copy with other strides: contiguous, or those of `out`."""
    return _core.building_blocks["rearrange"](input, out=out)
