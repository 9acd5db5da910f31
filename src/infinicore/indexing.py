"""Elements and slices that indices name: read, written over, added to."""

from __future__ import annotations

from collections.abc import Callable

from . import _core, _views
from ._arguments import as_said_of
from .creation import full, zeros
from .dtype import int64
from .tensor import Tensor

__all__ = [
    "argwhere",
    "gather",
    "index_add",
    "index_copy",
    "index_select",
    "masked_select",
    "one_hot",
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
    return _scattered("scatter", input, dim, index, src, _REDUCTIONS[reduce], out)


def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`scatter` that adds."""
    return _scattered("scatter_add", input, dim, index, src, 1, out)


def _scattered(
    function: str, input: Tensor, dim: int, index: Tensor, src: Tensor, reduction: int, out: Tensor | None
) -> Tensor:
    try:
        return _update(_blocks["scatter"], input, index, src, dim, reduction, out=out)
    except (TypeError, ValueError) as error:
        raise as_said_of(function, error, indices="index", updates="src") from None


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
    function: Callable[..., Tensor],
    input: Tensor,
    index: Tensor,
    source: Tensor,
    *numbers: float,
    out: Tensor | None,
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


def one_hot(input: Tensor, num_classes: int) -> Tensor:
    """For each number a row of `num_classes` that is 0, but 1 where the number says; int64.

    >>> import infinicore
    >>> infinicore.nn.functional.one_hot(infinicore.from_list([2, 0], dtype=infinicore.int64), 3).tolist()
    [[0, 0, 1], [1, 0, 0]]
    """
    made = zeros([*input.shape, num_classes], dtype=int64, device=input.device)
    try:
        return scatter(made, -1, input.unsqueeze(-1), 1, out=made)
    except (TypeError, ValueError) as error:
        raise as_said_of("one_hot", error, index="input") from None


def _true_places(input: Tensor) -> Tensor:
    """The numbers of the elements that are not 0. Waits for the device, since only it knows how many there are."""
    places = _core.empty(input._place, int64, [input.numel()])
    count = _blocks["true_places"](places, input)
    return places[: int(count.item())]


def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements of `input` where `mask` is not 0, in a row; either is broadcast to the other. Waits for the device.

    >>> import infinicore
    >>> x = infinicore.from_list([1.0, 2.0, 3.0], dtype=infinicore.float32)
    >>> infinicore.masked_select(x, x > 1).tolist()
    [2.0, 3.0]
    """
    shape = _views.together(input.shape, mask.shape)
    places = _true_places(mask.broadcast_to(shape))
    return _core.operators["take"](input.broadcast_to(shape), places, out=out)


def argwhere(input: Tensor) -> Tensor:
    """For each element that is not 0 a row of its place in each dimension, int64. Waits for the device.

    >>> import infinicore
    >>> infinicore.argwhere(infinicore.from_list([[0, 5], [6, 0]], dtype=infinicore.int64)).tolist()
    [[0, 1], [1, 0]]
    """
    places = _true_places(input)
    made = _core.empty(input._place, int64, [places.size(0), input.ndim])
    for d in reversed(range(input.ndim)):
        made[:, d].copy_(places % input.size(d))
        places = places // input.size(d)
    return made
