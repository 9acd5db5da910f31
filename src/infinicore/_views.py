"""Shapes and strides of views: what an index, a new shape or a broadcast makes of those that are there. No memory is touched here."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index as as_index
from typing import Any

# Shape, strides, and how many elements further the first one lies.
Layout = tuple[list[int], list[int], int]


def integer(number: Any, what: str, name: str) -> int:
    """An integer that was given for the parameter `name` of the function `what`."""
    try:
        return as_index(number)
    except (TypeError, ValueError):
        raise TypeError(f"{what}(): {name} must be an integer, not {type(number).__name__}") from None


def dimension(dim: int, ndim: int, what: str, name: str = "dim") -> int:
    """A dimension, counted from the end if negative."""
    try:
        number = as_index(dim)
    except (TypeError, ValueError):
        number = integer(dim, what, name)  # says whose it was
    if not -ndim <= number < ndim:
        raise IndexError(
            f"{what}: there is no dimension {number}; the tensor has {ndim}, which are -{ndim} to {ndim - 1}"
            if ndim
            else f"{what}: there is no dimension {number}; the tensor has none"
        )
    return number + ndim if number < 0 else number


def sizes(given: Sequence[Any], what: str, name: str) -> list[int]:
    """`(2, 3)` and `((2, 3),)` alike: sizes may be given one by one or as one sequence."""
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        given = given[0]
    try:
        return [as_index(size) for size in given]
    except (TypeError, ValueError):
        kinds = " and ".join(sorted({type(each).__name__ for each in given} - {"int"}))
        raise TypeError(
            f"{what}(): {name} must be integers, one by one or in one list, not {kinds}"
        ) from None


def indexed(shape: list[int], strides: list[int], key: Any) -> Layout:
    """What `tensor[key]` is; `key` is made of integers, slices, None and one ellipsis."""
    keys = list(key) if isinstance(key, tuple) else [key]
    taken = sum(1 for part in keys if part is not None and part is not Ellipsis)
    if taken > len(shape):
        raise IndexError(f"{taken} indices for a tensor of {len(shape)} dimensions")
    if sum(1 for part in keys if part is Ellipsis) > 1:
        raise IndexError("an index has at most one ellipsis")
    if not any(part is Ellipsis for part in keys):
        keys.append(Ellipsis)
    new_shape: list[int] = []
    new_strides: list[int] = []
    offset = at = 0
    for part in keys:
        if part is None:
            new_shape.append(1)
            new_strides.append(0)
        elif part is Ellipsis:
            kept = len(shape) - taken
            new_shape += shape[at : at + kept]
            new_strides += strides[at : at + kept]
            at += kept
        elif isinstance(part, slice):
            begin, end, step = _bounds(part, shape[at])
            length = len(range(begin, end, step))
            offset += begin * strides[at] if length else 0
            new_shape.append(length)
            far = step * strides[at]
            # A step of any size is allowed where there is nothing to step to.
            new_strides.append(far if length > 1 or -(1 << 62) < far < 1 << 62 else strides[at])
            at += 1
        else:
            offset += _position(part, shape[at], at) * strides[at]
            at += 1
    return new_shape, new_strides, offset


def _bounds(part: slice, size: int) -> tuple[int, int, int]:
    try:
        return part.indices(size)
    except TypeError:
        raise TypeError(
            f"a slice of a tensor has integers or nothing on both sides of the colon, not {part.start!r} and {part.stop!r}"
            + ("" if part.step is None else f", and an integer as its step, not {part.step!r}")
        ) from None


def _position(part: Any, size: int, dim: int) -> int:
    is_number = hasattr(part, "__index__") and not isinstance(part, bool)
    if not is_number or getattr(part, "shape", None):  # a tensor or an array, though it may have one element
        raise TypeError(
            f"a tensor is indexed by integers, slices, None and ..., not by {type(part).__name__}; "
            "for other selections there are index_select(), gather(), take() and masked_select(), or .numpy()"
        )
    number = as_index(part)
    if not -size <= number < size:
        raise IndexError(f"index {number} is out of range for dimension {dim} of size {size}")
    return number + size if number < 0 else number


def viewed(shape: list[int], strides: list[int], wanted: list[int]) -> tuple[list[int], list[int]]:
    """The same elements, in their order, with another shape. ValueError where strides cannot say that."""
    count = 1
    for size in shape:
        count *= size
    new_shape = _without_minus_one(wanted, count, shape)
    if count == 0:
        return new_shape, _contiguous(new_shape)
    # Runs of old dimensions whose elements are evenly spaced, from the last one: (elements, stride of the last of them).
    runs: list[list[int]] = []
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 1:
            continue
        if runs and stride == runs[-1][0] * runs[-1][1]:
            runs[-1][0] *= size
        else:
            runs.append([size, stride])
    new_strides: list[int] = []
    run, used = 0, 1
    for size in reversed(new_shape):
        if size == 1:
            new_strides.append(0 if not runs else used * runs[min(run, len(runs) - 1)][1])
            continue
        if used == runs[run][0]:
            run, used = run + 1, 1
        if runs[run][0] % (used * size):
            raise ValueError(
                f"view({wanted}): the elements of a tensor of shape {shape} and strides {strides} do not lie so that this "
                "shape could name them; contiguous() first"
            )
        new_strides.append(used * runs[run][1])
        used *= size
    return new_shape, new_strides[::-1]


def _without_minus_one(wanted: list[int], count: int, shape: list[int]) -> list[int]:
    unknown = [i for i, size in enumerate(wanted) if size == -1]
    known = 1
    for size in wanted:
        if size < -1:
            raise ValueError(
                f"view({wanted}): a size is 0 or more, or -1 for the one that follows from the others"
            )
        known *= 1 if size == -1 else size
    if len(unknown) > 1:
        raise ValueError(f"view({wanted}): only one size can follow from the others")
    if unknown and known and count % known == 0:
        return [count // known if size == -1 else size for size in wanted]
    if unknown or known != count:
        raise ValueError(f"view({wanted}): a tensor of shape {shape} has {count} elements, which do not fit")
    return list(wanted)


def _contiguous(shape: list[int]) -> list[int]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return strides[::-1]


def broadcast(shape: list[int], strides: list[int], wanted: list[int]) -> tuple[list[int], list[int]]:
    """The shape `wanted`, with stride 0 where elements are repeated."""
    missing = len(wanted) - len(shape)
    fits = missing >= 0 and all(size in (1, wanted[missing + d]) for d, size in enumerate(shape))
    if not fits or any(size < 0 for size in wanted):
        raise ValueError(
            f"shape {shape} cannot be broadcast to {wanted}: aligned at the last dimension, each size must be the same or 1"
        )
    repeated = [0] * missing
    return wanted, repeated + [
        0 if s == 1 != wanted[missing + d] else strides[d] for d, s in enumerate(shape)
    ]


def together(first: list[int], second: list[int]) -> list[int]:
    """The shape that both can be broadcast to."""
    ndim = max(len(first), len(second))
    sizes = zip([1] * (ndim - len(first)) + first, [1] * (ndim - len(second)) + second, strict=True)
    found = []
    for one, other in sizes:
        if one != other and 1 not in (one, other):
            raise ValueError(
                f"shapes {first} and {second}: aligned at the last dimension, sizes must be the same or 1"
            )
        found.append(other if one == 1 else one)
    return found
