"""What is largest, in which order, and which experts a token goes to: operators whose arguments are PyTorch's or InfiniCore's."""

from __future__ import annotations

from . import _core
from ._views import integer
from .creation import empty, full
from .dtype import float32, int32, int64
from .tensor import Tensor

__all__ = [
    "argmax", "argmin", "argsort", "cummax", "cummin", "cumprod", "cumsum", "kthvalue", "moe_align", "moe_fused_gate", "moe_topk_sigmoid",
    "moe_topk_softmax", "prepare_moe_input", "sort", "topk", "topkrouter", "topksoftmax",
]  # fmt: skip

_blocks = _core.building_blocks
Pair = tuple[Tensor, Tensor]


def _place(function: str, input: Tensor, dim: int) -> int:
    """The dimension counted from the first; of a single number, which is taken for a row, there is one."""
    if not isinstance(input, Tensor):
        raise TypeError(f"{function}(): input must be a Tensor, not {type(input).__name__}")
    count = max(input.ndim, 1)
    try:
        is_there = -count <= dim < count
    except (TypeError, ValueError):
        is_there = -count <= integer(dim, function, "dim") < count
    if not is_there:
        raise IndexError(f"{function}(): dim is {dim}, but must be from {-count} to {count - 1}")
    return dim % count


def _as_rows(input: Tensor) -> Tensor:
    return input if input.ndim else input.view(1)


def _pair(input: Tensor, made: object, out: Pair | None) -> Pair:
    """What was made; of a single number, which was taken for a row, single numbers."""
    if out is not None:
        return out
    assert isinstance(made, tuple)
    values, places = made
    return (values, places) if input.ndim or not values.numel() else (values.view([]), places.view([]))


def topk(
    input: Tensor,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
    *,
    out: Pair | None = None,
) -> Pair:
    """The `k` largest, or smallest, elements along a dimension, in order, and their places, as int32.

    Of equal ones the first come first; not-a-number is larger than all others. They are in order with `sorted` or without.

    >>> import infinicore
    >>> values, places = infinicore.topk(infinicore.from_list([3.0, 9.0, 4.0], dtype=infinicore.float32), 2)
    >>> values.tolist(), places.tolist()
    ([9.0, 4.0], [1, 2])
    """
    place = _place("topk", input, dim)
    rows = _as_rows(input)
    try:
        is_there = 0 <= k <= rows.size(place)
    except (TypeError, ValueError):
        is_there = 0 <= integer(k, "topk", "k") <= rows.size(place)
    if not is_there:
        raise ValueError(
            f"topk(): k is {k}, but must be from 0 to {rows.size(place)}, the size of dimension {dim}"
        )
    return _pair(input, _blocks["topk"](rows, k, place, largest, sorted, out=out), out)


def sort(
    input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, *, out: Pair | None = None
) -> Pair:
    """The elements along a dimension in order, and where they come from, as int64.

    Equal ones stay in their order, with `stable` or without; not-a-number is larger than all others.

    >>> import infinicore
    >>> values, places = infinicore.sort(infinicore.from_list([3.0, 9.0, 4.0], dtype=infinicore.float32), descending=True)
    >>> values.tolist(), places.tolist()
    ([9.0, 4.0, 3.0], [1, 2, 0])
    """
    place = _place("sort", input, dim)
    return _pair(input, _blocks["sort"](_as_rows(input), place, descending, out=out), out)


def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Where the elements along a dimension come from when they are in order, as `sort` has it."""
    return sort(input, dim, descending, stable)[1]


def _extreme(function: str, input: Tensor, dim: int | None, keepdim: bool, out: Tensor | None) -> Tensor:
    if dim is None:
        _place(function, input, 0)
        if input.ndim and keepdim:
            shape = [1] * input.ndim
            if out is not None and out.shape != shape:
                raise ValueError(f"{function}(): out has shape {out.shape}, not {shape}")
            found = _blocks[function](input.reshape(-1), 0, False, out=None if out is None else out.view([]))
            return found.view(*shape) if out is None else out
        return _blocks[function](input.reshape(-1), 0, False, out=out)
    place = _place(function, input, dim)
    return _blocks[function](_as_rows(input), place, bool(keepdim) and input.ndim > 0, out=out)


def argmax(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Where the largest element is, along a dimension or, without one, among all; the first of equal ones, as int64.

    Not-a-number is larger than all others.

    >>> import infinicore
    >>> infinicore.argmax(infinicore.from_list([3.0, 9.0, 4.0], dtype=infinicore.float32)).item()
    1
    """
    return _extreme("argmax", input, dim, keepdim, out)


def argmin(
    input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Where the smallest element is; as `argmax`, with not-a-number before all others, too."""
    return _extreme("argmin", input, dim, keepdim, out)


def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False, *, out: Pair | None = None) -> Pair:
    """The `k`-th smallest element along a dimension, counted from 1, and its place, as int64.

    Of equal ones the earlier counts as the smaller.
    """
    place = _place("kthvalue", input, dim)
    keeps = int(bool(keepdim) and input.ndim > 0)
    return _pair(input, _blocks["kthvalue"](_as_rows(input), k, place, keeps, out=out), out)


def _scan(function: str, input: Tensor, dim: int, out: Tensor | None) -> Tensor:
    place = _place(function, input, dim)
    # Sums of small integers would not fit into them.
    rows = _as_rows(input if input.dtype.is_floating_point else input.to(int64))
    if input.ndim or out is not None:
        return _blocks[function](rows, place, out=out)
    return _blocks[function](rows, place).view([])


def cumsum(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """The sum of each element and all before it along a dimension; of integers and truth as int64.

    >>> import infinicore
    >>> infinicore.cumsum(infinicore.from_list([1.0, 2.0, 4.0], dtype=infinicore.float32), 0).tolist()
    [1.0, 3.0, 7.0]
    """
    return _scan("cumsum", input, dim, out)


def cumprod(input: Tensor, dim: int, *, out: Tensor | None = None) -> Tensor:
    """The product of each element and all before it along a dimension; of integers and truth as int64."""
    return _scan("cumprod", input, dim, out)


def cummax(input: Tensor, dim: int, *, out: Pair | None = None) -> Pair:
    """The largest of each element and all before it along a dimension, and where it is, as int64: the last of equal ones.

    From the first element on that is not a number, results are not either.

    >>> import infinicore
    >>> values, places = infinicore.cummax(infinicore.from_list([3.0, 1.0, 4.0], dtype=infinicore.float32), 0)
    >>> values.tolist(), places.tolist()
    ([3.0, 3.0, 4.0], [0, 0, 2])
    """
    place = _place("cummax", input, dim)
    return _pair(input, _blocks["cummax"](_as_rows(input), place, out=out), out)


def cummin(input: Tensor, dim: int, *, out: Pair | None = None) -> Pair:
    """The smallest of each element and all before it along a dimension, and where it is; as `cummax`."""
    place = _place("cummin", input, dim)
    return _pair(input, _blocks["cummin"](_as_rows(input), place, out=out), out)


def topksoftmax(x: Tensor, topk: int, norm: bool = False) -> Pair:
    """The `topk` experts of each token with the largest `softmax(x)`, in order: these as weights (float32), and the experts (int32).

    `norm`: whether a token's weights are made to have the sum 1.
    """
    return _blocks["topksoftmax"](x, topk, int(norm))  # type: ignore[return-value]


def topkrouter(x: Tensor, correction_bias: Tensor, routed_scaling_factor: float = 1.0, topk: int = 8) -> Pair:
    """DeepSeek's choice of experts: weights (float32) and experts (int32) of each token.

    By `sigmoid(x) + correction_bias`, from the 4 of 8 groups whose two best are best together; what is not in these counts as 0.
    The weights are those of `sigmoid(x)`, made to have the sum `routed_scaling_factor`.
    """
    return _blocks["topkrouter"](x, correction_bias, routed_scaling_factor, topk)  # type: ignore[return-value]


def _chosen(input: Tensor, topk: int, out: Pair | None) -> Pair:
    """Memory for the weights and experts of all tokens."""
    if out is not None:
        return out
    tokens = input.size(0) if input.ndim else 0
    return (
        empty([tokens, topk], dtype=float32, device=input.device),
        empty([tokens, topk], dtype=int32, device=input.device),
    )


def moe_topk_softmax(
    gating_output: Tensor,
    topk: int,
    renormalize: bool = False,
    correction_bias: Tensor | None = None,
    moe_softcapping: float = 0.0,
    *,
    out: Pair | None = None,
) -> Pair:
    """The `topk` experts of each token with the largest `softmax(gating_output) + correction_bias`, in order: the softmaxes as weights
    (float32), and the experts (int32).

    `renormalize`: whether a token's weights are made to have the sum 1. With `moe_softcapping` c, `c * tanh(x / c)` is taken in place of
    `x` first.
    """
    out = _chosen(gating_output, topk, out)
    _blocks["moe_topk_softmax"](gating_output, correction_bias, renormalize, moe_softcapping, out=out)
    return out


def moe_topk_sigmoid(
    gating_output: Tensor,
    topk: int,
    renormalize: bool = False,
    correction_bias: Tensor | None = None,
    *,
    out: Pair | None = None,
) -> Pair:
    """The same with `sigmoid(gating_output)`."""
    out = _chosen(gating_output, topk, out)
    _blocks["moe_topk_sigmoid"](gating_output, correction_bias, renormalize, out=out)
    return out


def moe_fused_gate(
    input: Tensor,
    bias: Tensor,
    num_expert_group: int,
    topk_group: int,
    topk: int,
    num_fused_shared_experts: int = 0,
    routed_scaling_factor: float = 1.0,
    apply_routed_scaling_factor_on_output: bool = False,
    *,
    out: Pair | None = None,
) -> Pair:
    """Experts of each token by `sigmoid(input) + bias`, from the `topk_group` of `num_expert_group` groups whose two best are best
    together: weights (float32), with the sum 1, and experts (int32).

    The last `num_fused_shared_experts` of the `topk` are the shared ones, numbered on from the others, each with the weight
    `1 / routed_scaling_factor`. `apply_routed_scaling_factor_on_output`: all weights are multiplied by that factor.
    """
    out = _chosen(input, topk, out)
    _blocks["moe_fused_gate"](
        input, bias, num_expert_group, topk_group, num_fused_shared_experts, routed_scaling_factor,
        apply_routed_scaling_factor_on_output, out=out,
    )  # fmt: skip
    return out


def prepare_moe_input(
    topk_ids: Tensor, num_experts: int, n: int, k: int, *, blockscale_offsets: bool = False
) -> tuple[Tensor, ...]:
    """How pairs of tokens and experts, (tokens, experts of each) in int32, become a product of matrices for each expert; all int32.

    Where each expert's rows begin, and behind them their number; the same in multiples of 128, if `blockscale_offsets`; rows, columns and
    depth of its first products, and of its second, with weights `2 * n` by `k` and `k` by `n`; the token that a row comes from; the row that a pair goes to.
    Pairs of an expert keep their order; of experts that there are not, -1 stands in place of their rows.
    """
    device = topk_ids.device
    offsets = empty([num_experts + 1], dtype=int32, device=device)
    scales = empty([num_experts + 1], dtype=int32, device=device) if blockscale_offsets else None
    sizes = [empty([num_experts, 3], dtype=int32, device=device) for _ in range(2)]
    sources, rows = (full([topk_ids.numel()], -1, dtype=int32, device=device) for _ in range(2))
    _blocks["prepare_moe_input"](sources, rows, topk_ids, num_experts, n, k, out=(offsets, scales, *sizes))
    return (offsets, *([scales] if scales is not None else []), *sizes, sources, rows)


def moe_align(
    topk_ids: Tensor,
    num_experts: int,
    block_size: int,
    expert_map: Tensor | None = None,
    *,
    pad_sorted_token_ids: bool = True,
) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs of tokens and experts, (tokens, experts of each) in int32, in blocks of `block_size` of which each has one expert; all int32.

    The numbers of an expert's pairs, in their order, and behind them the number of pairs until its last block is full; the expert of each block; how
    many elements the blocks have together. `expert_map` has another number for each expert, and leaves those out that it makes negative.
    """
    pairs, device = topk_ids.numel(), topk_ids.device
    room = pairs * block_size if pairs < num_experts + 1 else pairs + (num_experts + 1) * (block_size - 1)
    # What the operator does not write.
    tokens = (
        empty([room], dtype=int32, device=device)
        if pad_sorted_token_ids
        else full([room], pairs, dtype=int32, device=device)
    )
    experts = full([-(-room // max(1, block_size))], -1, dtype=int32, device=device)
    count = empty([1], dtype=int32, device=device)
    _blocks["moe_align"](
        tokens, experts, topk_ids, expert_map, num_experts, block_size, int(pad_sorted_token_ids), out=count
    )
    return tokens, experts, count
