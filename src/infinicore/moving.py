"""Tensors put together, taken apart, turned over and repeated. What can be a view is one; everything else is copies of views."""

from __future__ import annotations

from collections.abc import Sequence

from . import _core, _views
from ._arguments import wrong_argument
from .tensor import Tensor

__all__ = [
    "block_diag",
    "cat",
    "chunk",
    "concat",
    "diff",
    "flip",
    "fliplr",
    "hsplit",
    "pad",
    "pixel_shuffle",
    "pixel_unshuffle",
    "repeat_interleave",
    "roll",
    "split",
    "stack",
    "tile",
    "unfold",
    "vander",
]

_blocks = _core.building_blocks
_PAD_MODES = ("constant", "reflect", "replicate", "circular")
_MOST_PADS = 16


def _made(like: Tensor, shape: list[int], out: Tensor | None, what: str) -> Tensor:
    """Where a result goes."""
    if out is None:
        return _core.empty(like._place, like.dtype, shape)
    if not isinstance(out, Tensor):
        raise TypeError(f"{what}(): out must be a Tensor, not {type(out).__name__}")
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
    try:
        given = list(tensors)
        shapes = [each.shape for each in given]
    except (AttributeError, TypeError) as error:
        raise wrong_argument(cat, locals()) or error from None
    if not given:
        raise ValueError("cat(): a tensor or more was expected")
    first = given[0]
    at = _views.dimension(dim, first.ndim, "cat")
    wanted = shapes[0][:at] + shapes[0][at + 1 :]
    for number, (each, sizes) in enumerate(zip(given, shapes, strict=True)):
        if len(sizes) != len(shapes[0]) or sizes[:at] + sizes[at + 1 :] != wanted:
            raise ValueError(
                f"cat(): tensor {number} has shape {sizes}, and the first {shapes[0]}; they may differ in dimension {at} only"
            )
        if each.dtype is not first.dtype:
            raise TypeError(
                f"cat(): tensor {number} is {each.dtype.name}, but the first is {first.dtype.name}; they must be the same, and .to() "
                "converts"
            )
    shape = [*shapes[0][:at], sum(sizes[at] for sizes in shapes), *shapes[0][at + 1 :]]
    result = _made(first, shape, out, "cat")
    if out is not None and any(each._storage == out._storage for each in given):
        return out.copy_(cat(given, at))  # a piece could be written before it is read
    strides = result.stride()
    copy, begin = _blocks["rearrange"], 0
    for each, sizes in zip(given, shapes, strict=True):
        if sizes[at] > 0:
            copy(each, out=result._strided(sizes, strides, begin * strides[at]))
        begin += sizes[at]
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
    return tuple(_slice(input, at, slice(end - length, end)) for end, length in zip(ends, sizes, strict=True))


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
        _slice(input, at, slice(begin, end)) for begin, end in zip(places, [*places[1:], size], strict=True)
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


def block_diag(*tensors: Tensor) -> Tensor:
    """Matrices along the diagonal of one that is zero elsewhere; a vector is a row, and a tensor without dimensions one element.

    >>> import infinicore
    >>> infinicore.block_diag(infinicore.ones([1, 2]), infinicore.ones([1])).tolist()
    [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if not tensors or any(each.ndim > 2 for each in tensors):
        raise ValueError("block_diag(): one matrix or more was expected, each of at most two dimensions")
    if any(each.dtype is not tensors[0].dtype for each in tensors):
        raise TypeError("block_diag(): the tensors must have one type, and .to() converts")
    blocks = [each.view(*([1] * (2 - each.ndim)), *each.shape) for each in tensors]
    shape = [sum(each.size(d) for each in blocks) for d in (0, 1)]
    made = _core.empty(tensors[0]._place, tensors[0].dtype, shape).zero_()
    row = column = 0
    for each in blocks:
        rows, columns = each.shape
        made[row : row + rows, column : column + columns].copy_(each)
        row, column = row + rows, column + columns
    return made


def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The differences of neighbours along `dim`, `n` times over, with `prepend` before and `append` behind the elements.

    >>> import infinicore
    >>> infinicore.diff(infinicore.from_list([1, 4, 9], dtype=infinicore.int64)).tolist()
    [3, 5]
    """
    at = _views.dimension(dim, input.ndim, "diff")
    around = [each for each in (prepend, input, append) if each is not None]
    whole = input if len(around) == 1 else cat(around, at)
    shape = whole.shape
    shape[at] = max(0, shape[at] - n)
    return _blocks["diff"](whole, at, n, out=_made(whole, shape, out, "diff"))


def pad(
    input: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """More elements around `input`: `pad` has how many before and behind, for the last dimension, then for the one before it, and so on.

    `mode` says what they are: "constant" (`value`, or 0), "reflect", "replicate" or "circular". Negative numbers cut off.

    >>> import infinicore
    >>> infinicore.pad(infinicore.arange(3), [1, 2], "replicate").tolist()
    [0, 0, 1, 2, 2, 2]
    """
    numbers = list(pad)
    if mode not in _PAD_MODES:
        raise ValueError(f"pad(): mode is {mode!r}; one of {', '.join(_PAD_MODES)} was expected")
    if len(numbers) % 2 or len(numbers) > 2 * input.ndim:
        raise ValueError(
            f"pad(): {len(numbers)} numbers for a tensor of {input.ndim} dimensions; two for each of the last ones were expected"
        )
    if value is not None and mode != "constant":
        raise ValueError(f"pad(): a value with mode {mode!r}; it is for 'constant'")
    pairs = [numbers[i : i + 2] for i in range(0, len(numbers), 2)][::-1]
    shape = input.shape
    for d, pair in enumerate(pairs, input.ndim - len(pairs)):
        shape[d] += sum(pair)
    if min(shape, default=0) < 0:
        raise ValueError(f"pad(): {numbers} cuts more off than a tensor of shape {input.shape} has")
    flat = [number for pair in pairs for number in pair]
    listed = flat + [0] * (_MOST_PADS - len(flat))
    result = _made(input, shape, out, "pad")
    return _blocks["pad"](input, *listed, 4 * len(flat), _PAD_MODES.index(mode), value or 0, out=result)


def pixel_shuffle(input: Tensor, upscale_factor: int, *, out: Tensor | None = None) -> Tensor:
    """Channels become pixels: (..., c * r * r, h, w) becomes (..., c, h * r, w * r), r being `upscale_factor`.

    >>> import infinicore
    >>> infinicore.pixel_shuffle(infinicore.ones([8, 3, 5]), 2).shape
    [2, 6, 10]
    """
    if input.ndim < 3 or upscale_factor < 1 or input.size(-3) % upscale_factor**2:
        raise ValueError(
            f"pixel_shuffle(): input has shape {input.shape}, and upscale_factor is {upscale_factor}; a multiple of its square "
            "was expected in the third dimension from the last"
        )
    *rest, channels, height, width = input.shape
    shape = [*rest, channels // upscale_factor**2, height * upscale_factor, width * upscale_factor]
    return _blocks["pixel_shuffle"](input, upscale_factor, out=_made(input, shape, out, "pixel_shuffle"))


def pixel_unshuffle(input: Tensor, downscale_factor: int, *, out: Tensor | None = None) -> Tensor:
    """Pixels become channels: (..., c, h * r, w * r) becomes (..., c * r * r, h, w), r being `downscale_factor`."""
    r = downscale_factor
    if input.ndim < 3 or r < 1 or input.size(-2) % r or input.size(-1) % r:
        raise ValueError(
            f"pixel_unshuffle(): input has shape {input.shape}, and downscale_factor is {r}; multiples of it were expected in the "
            "last two dimensions"
        )
    *rest, channels, height, width = input.shape
    count = len(rest)
    parts = input.view(*rest, channels, height // r, r, width // r, r)
    order = [*range(count), count, count + 2, count + 4, count + 1, count + 3]
    made = parts.permute(order).clone().view(*rest, channels * r * r, height // r, width // r)
    return made if out is None else _made(input, made.shape, out, "pixel_unshuffle").copy_(made)


def unfold(
    input: Tensor,
    kernel_size: int | Sequence[int],
    dilation: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    stride: int | Sequence[int] = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """What a kernel sees of an image at each of its places, as columns: (batch, channels * elements of the kernel, places).

    `input` has the shape (batch, channels, height, width), or no batch. All others are numbers down and across, or one for both.

    >>> import infinicore
    >>> infinicore.unfold(infinicore.ones([1, 2, 4, 5]), [2, 3]).shape
    [1, 12, 9]
    """
    if input.ndim == 3:
        made = unfold(input.unsqueeze(0), kernel_size, dilation, padding, stride).squeeze(0)
        return made if out is None else _made(input, made.shape, out, "unfold").copy_(made)
    if input.ndim != 4:
        raise ValueError(f"unfold(): input has shape {input.shape}; three or four dimensions were expected")
    kernel, steps, around, apart = (_two(each) for each in (kernel_size, stride, padding, dilation))
    batch, channels, *image = input.shape
    spans = [image[i] + 2 * around[i] - apart[i] * (kernel[i] - 1) - 1 for i in (0, 1)]
    if min(spans) < 0 or min(*kernel, *steps, *apart) < 1:
        raise ValueError(
            f"unfold(): a kernel of {kernel}, {apart} apart, does not fit into an image of {image} with {around} around it, in "
            f"steps of {steps}"
        )
    places = (spans[0] // steps[0] + 1) * (spans[1] // steps[1] + 1)
    result = _made(input, [batch, channels * kernel[0] * kernel[1], places], out, "unfold")
    return _blocks["unfold"](input, *kernel, *steps, *around, *apart, out=result)


def _two(given: int | Sequence[int]) -> list[int]:
    numbers = [given, given] if isinstance(given, int) else list(given)
    if len(numbers) != 2:
        raise ValueError(f"unfold(): {numbers}; one number or two were expected")
    return numbers


def vander(x: Tensor, N: int | None = None, increasing: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The powers of each element as a row: `N` of them, or as many as there are elements, from the highest down or `increasing`.

    >>> import infinicore
    >>> infinicore.vander(infinicore.from_list([2, 3], dtype=infinicore.int64), 3).tolist()
    [[4, 2, 1], [9, 3, 1]]
    """
    if x.ndim != 1:
        raise ValueError(f"vander(): x has shape {x.shape}; one dimension was expected")
    return _blocks["vander"](x, x.size(0) if N is None else N, int(increasing), out=out)
