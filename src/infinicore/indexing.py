"""Elements and slices that indices name: read, written over, added to."""

from __future__ import annotations

from collections.abc import Callable

from . import _core
from .creation import full
from .tensor import Tensor

__all__ = [
    "gather",
    "index_add",
    "index_copy",
    "index_select",
    "scatter",
    "scatter_add",
    "select_last_token_hidden",
]

_blocks = _core.building_blocks
_REDUCTIONS = {None: 0, "add": 1, "multiply": 2}


def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The slices of `input` along `dim` that `index` names, one after the other.

    >>> import infinicore
    >>> x = infinicore.from_list([[1.0, 2.0], [3.0, 4.0]], dtype=infinicore.float32)
    >>> infinicore.index_select(x, 0, infinicore.from_list([1, 1], dtype=infinicore.int64)).tolist()
    [[3.0, 4.0], [3.0, 4.0]]
    """
    return _blocks["index_select"](input, index, dim, out=out)


def gather(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """For each element of `index` the one of `input` at its place, but in dimension `dim` at the place that it names.

    >>> import infinicore
    >>> x = infinicore.from_list([[1.0, 2.0], [3.0, 4.0]], dtype=infinicore.float32)
    >>> infinicore.gather(x, 1, infinicore.from_list([[1], [0]], dtype=infinicore.int64)).tolist()
    [[2.0], [3.0]]
    """
    return _blocks["gather"](input, index, dim, out=out)


def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | float,
    *,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """`input`, with each element of `src` at its place, but in dimension `dim` at the place that `index` names.

    `reduce`: "add" and "multiply" combine it with what is there, None writes over it. Where indices name an element more than
    once the order is that of memory on the CPU, and any on a GPU. `out` may be `input`.
    """
    if reduce not in _REDUCTIONS:
        raise ValueError(f"scatter(): reduce is {reduce!r}; None, 'add' or 'multiply' was expected")
    if not isinstance(src, Tensor):
        src = full([1] * index.ndim, src, dtype=input.dtype, device=input.device).broadcast_to(index.shape)
    return _update(_blocks["scatter"], input, index, src, dim, _REDUCTIONS[reduce], out=out)


def scatter_add(
    input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """`scatter` that adds."""
    return _update(_blocks["scatter"], input, index, src, dim, 1, out=out)


def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: float = 1, out: Tensor | None = None
) -> Tensor:
    """`input`, with the slices of `source`, times `alpha`, added to those along `dim` that `index` names.

    Slices that are named more than once are added in their order on the CPU, and in any on a GPU. `out` may be `input`.
    """
    return _update(_blocks["index_add"], input, index, source, dim, alpha, out=out)


def index_copy(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """`input`, with the slices of `source` in place of those along `dim` that `index` names. `out` may be `input`."""
    return _update(_blocks["index_copy"], input, index, source, dim, out=out)


def _update(
    function: Callable[..., Tensor], input: Tensor, index: Tensor, source: Tensor, *numbers: float, out: Tensor | None
) -> Tensor:
    if out is not None and source is out:  # it is read after it was written
        source = source.clone()
    return function(input, index, source, *numbers, out=out)


def select_last_token_hidden(
    hidden_states: Tensor, input_offsets: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """The row of the last token of each sequence, as (1, sequences, size).

    Sequence `i` is rows `input_offsets[i]` to `input_offsets[i + 1]` of `hidden_states`, in which all dimensions but the last count
    tokens.
    """
    if out is None and input_offsets.ndim == 1 and hidden_states.ndim > 0 and input_offsets.size(0) > 0:
        shape = [1, input_offsets.size(0) - 1, hidden_states.size(-1)]
        out = _core.empty(hidden_states._place, hidden_states.dtype, shape)
    return _blocks["select_last_token_hidden"](hidden_states, input_offsets, out=out)
