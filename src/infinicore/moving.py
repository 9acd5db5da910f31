"""Tensors put together, taken apart, turned over and repeated. What can be a view is one; everything else is copies of views."""

from __future__ import annotations

from collections.abc import Sequence

from . import _core, _views
from .tensor import Tensor

__all__ = [
    "cat",
    "chunk",
    "concat",
    "flip",
    "fliplr",
    "hsplit",
    "repeat_interleave",
    "roll",
    "split",
    "stack",
    "tile",
]


def _made(like: Tensor, shape: list[int], out: Tensor | None, what: str) -> Tensor:
    """Where a result goes."""
    if out is None:
        return _core.empty(like._place, like.dtype, shape)
    if out.shape != shape:
        raise ValueError(f"{what}(): out has shape {out.shape}, not {shape}")
    if out.dtype is not like.dtype:
        raise TypeError(f"{what}(): out is {out.dtype.name}, but the result is {like.dtype.name}")
    return out


def _slice(tensor: Tensor, dim: int, part: slice) -> Tensor:
    return tensor[(slice(None),) * dim + (part,)]


def _copied(view: Tensor, out: Tensor | None, what: str) -> Tensor:
    """A view's elements, in their order."""
    if out is None:
        return view.clone()
    return _made(view, view.shape, out, what).copy_(view)


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """One after the other along `dim`; all other dimensions, and the type, must be the same.

    >>> import infinicore
    >>> infinicore.cat([infinicore.ones([1, 2]), infinicore.zeros([2, 2])]).tolist()
    [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
    """
    given = list(tensors)
    if not given:
        raise ValueError("cat(): a tensor or more was expected")
    first = given[0]
    at = _views.dimension(dim, first.ndim, "cat")
    for number, each in enumerate(given):
        same = each.ndim == first.ndim and all(
            d == at or size == first.size(d) for d, size in enumerate(each.shape)
        )
        if not same:
            raise ValueError(
                f"cat(): tensor {number} has shape {each.shape}, and the first {first.shape}; they may differ in dimension {at} only"
            )
        if each.dtype is not first.dtype:
            raise TypeError(
                f"cat(): tensor {number} is {each.dtype.name}, but the first is {first.dtype.name}; they must be the same, and .to() "
                "converts"
            )
    shape = first.shape
    shape[at] = sum(each.size(at) for each in given)
    result = _made(first, shape, out, "cat")
    if out is not None and any(each._overlaps(out) for each in given):
        return out.copy_(cat(given, at))
    begin = 0
    for each in given:
        end = begin + each.size(at)
        if end > begin:
            _slice(result, at, slice(begin, end)).copy_(each)
        begin = end
    return result


concat = cat


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """One after the other along a dimension more, before `dim`; shapes and types must be the same."""
    given = list(tensors)
    if not given:
        raise ValueError("stack(): a tensor or more was expected")
    for number, each in enumerate(given):
        if each.shape != given[0].shape:
            raise ValueError(
                f"stack(): tensor {number} has shape {each.shape}, and the first {given[0].shape}; they must be the same"
            )
    at = _views.dimension(dim, given[0].ndim + 1, "stack")
    return cat([each.unsqueeze(at) for each in given], at, out=out)


def split(input: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0) -> tuple[Tensor, ...]:
    """Pieces of that size along `dim`, the last one smaller if need be, or of the sizes of a list; views.

    >>> import infinicore
    >>> [part.shape for part in infinicore.split(infinicore.ones([5, 2]), 2)]
    [[2, 2], [2, 2], [1, 2]]
    """
    at = _views.dimension(dim, input.ndim, "split")
    size = input.size(at)
    if isinstance(split_size_or_sections, int):
        step = split_size_or_sections
        if step < 0 or (step == 0 and size > 0):
            raise ValueError(f"split(): pieces of size {step}; 1 or more was expected")
        sizes = [min(step, size - begin) for begin in range(0, size, max(step, 1))] or [0]
    else:
        sizes = list(split_size_or_sections)
        if sum(sizes) != size or any(each < 0 for each in sizes):
            raise ValueError(
                f"split(): pieces of {sizes}, but dimension {at} has size {size}; together they must be as many"
            )
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return tuple(
        _slice(input, at, slice(end - length, end)) for end, length in zip(ends, sizes, strict=True)
    )


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` pieces of one size along `dim`, the last one smaller if need be; views."""
    if chunks < 1:
        raise ValueError(f"chunk(): {chunks} pieces; 1 or more was expected")
    at = _views.dimension(dim, input.ndim, "chunk")
    size = input.size(at)
    return split(input, max(1, -(-size // chunks)), at) if size else split(input, [0] * chunks, at)


def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Pieces along the second dimension, or the first of a vector: so many of one size, or what lies between these places; views."""
    if input.ndim < 1:
        raise ValueError("hsplit(): a tensor without dimensions has no pieces")
    at = 1 if input.ndim > 1 else 0
    size = input.size(at)
    if isinstance(indices_or_sections, int):
        if indices_or_sections < 1 or size % indices_or_sections:
            raise ValueError(
                f"hsplit(): {indices_or_sections} pieces of a dimension of size {size}; they must be of one size"
            )
        return split(input, max(1, size // indices_or_sections), at)
    places = [0, *indices_or_sections]
    return tuple(
        _slice(input, at, slice(begin, end))
        for begin, end in zip(places, [*places[1:], size], strict=True)
    )


def flip(input: Tensor, dims: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
    """These dimensions in reverse order; a copy.

    >>> import infinicore
    >>> infinicore.flip(infinicore.arange(3), [0]).tolist()
    [2, 1, 0]
    """
    chosen = [dims] if isinstance(dims, int) else list(dims)
    places = [_views.dimension(dim, input.ndim, "flip") for dim in chosen]
    if len(set(places)) != len(places):
        raise ValueError(f"flip(): dimensions {chosen}; each was expected once")
    key = tuple(slice(None, None, -1) if d in places else slice(None) for d in range(input.ndim))
    return _copied(input[key] if key else input, out, "flip")


def fliplr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The second dimension in reverse order; a copy."""
    if input.ndim < 2:
        raise ValueError(f"fliplr(): input has shape {input.shape}; two dimensions or more were expected")
    return flip(input, [1], out=out)


def roll(
    input: Tensor,
    shifts: int | Sequence[int],
    dims: int | Sequence[int] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Elements moved on by `shifts` along `dims`; what goes beyond the end comes in at the beginning. Without `dims` all dimensions are
    one.

    >>> import infinicore
    >>> infinicore.roll(infinicore.arange(4), 1).tolist()
    [3, 0, 1, 2]
    """
    if dims is None:
        if not isinstance(shifts, int) and len(list(shifts)) != 1:
            raise ValueError(f"roll(): shifts {list(shifts)} without dims; one number was expected")
        flat = roll(input.reshape(-1), shifts, 0).view(input.shape)
        return flat if out is None else _made(input, input.shape, out, "roll").copy_(flat)
    steps = [shifts] if isinstance(shifts, int) else list(shifts)
    places = [dims] if isinstance(dims, int) else list(dims)
    if len(steps) != len(places):
        raise ValueError(f"roll(): {len(steps)} shifts for {len(places)} dimensions; they must be as many")
    made = input
    for step, dim in zip(steps, places, strict=True):
        at = _views.dimension(dim, input.ndim, "roll")
        size = input.size(at)
        cut = -step % size if size else 0
        if cut:
            made = cat([_slice(made, at, slice(cut, size)), _slice(made, at, slice(0, cut))], at)
    return _copied(made, out, "roll") if made is input or out is not None else made


def tile(input: Tensor, dims: int | Sequence[int], *, out: Tensor | None = None) -> Tensor:
    """`input` repeated so often along each dimension, the last of them being the last of the tensor; a copy.

    >>> import infinicore
    >>> infinicore.tile(infinicore.arange(2), [2, 2]).tolist()
    [[0, 1, 0, 1], [0, 1, 0, 1]]
    """
    times = [dims] if isinstance(dims, int) else list(dims)
    if any(each < 0 for each in times):
        raise ValueError(f"tile(): {times} times; 0 or more was expected")
    ndim = max(len(times), input.ndim)
    times = [1] * (ndim - len(times)) + times
    shape = [1] * (ndim - input.ndim) + input.shape
    result = _made(input, [count * size for count, size in zip(times, shape, strict=True)], out, "tile")
    if result.numel() == 0:
        return result
    source, target, wanted = input.view(shape), result, [size for size in shape for _ in (0, 1)]
    for d in range(ndim):
        source = source.unsqueeze(2 * d)
        wanted[2 * d] = times[d]
        strides = target.stride()
        target = target.as_strided(
            [*target.shape[: 2 * d], times[d], shape[d], *target.shape[2 * d + 1 :]],
            [*strides[: 2 * d], shape[d] * strides[2 * d], *strides[2 * d :]],
        )
    target.copy_(source.broadcast_to(wanted))
    return result


def repeat_interleave(
    input: Tensor, repeats: int, dim: int | None = None, *, out: Tensor | None = None
) -> Tensor:
    """Each element `repeats` times along `dim`, or of all elements in a row; a copy.

    >>> import infinicore
    >>> infinicore.repeat_interleave(infinicore.arange(2), 2).tolist()
    [0, 0, 1, 1]
    """
    if repeats < 0:
        raise ValueError(f"repeat_interleave(): {repeats} times; 0 or more was expected")
    if dim is None:
        return repeat_interleave(input.reshape(-1), repeats, 0, out=out)
    at = _views.dimension(dim, input.ndim, "repeat_interleave")
    shape = input.shape
    shape[at] *= repeats
    result = _made(input, shape, out, "repeat_interleave")
    if result.numel() == 0:
        return result
    wanted = [*input.shape[: at + 1], repeats, *input.shape[at + 1 :]]
    strides = result.stride()
    target = result.as_strided(wanted, [*strides[:at], strides[at] * repeats, *strides[at:]])
    target.copy_(input.unsqueeze(at + 1).broadcast_to(wanted))
    return result
