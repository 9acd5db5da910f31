"""Functions of `nn.functional` on what lies in space: convolution, pooling, other sizes.

Inputs have a batch, channels, and one to three dimensions of space; the batch may be missing. What is given for each dimension of space
may be one number for all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import _core
from ..creation import empty
from ..dtype import int64
from ..tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d",
    "adaptive_max_pool3d", "affine_grid", "avg_pool1d", "avg_pool2d", "avg_pool3d", "conv1d", "conv2d", "conv3d", "interpolate",
    "max_pool1d", "max_pool2d", "max_pool3d", "upsample", "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

_Numbers = int | Sequence[int]
DIMS = "dhw"


def _list(function: str, name: str, value: Any, n: int, least: int) -> list[int]:
    """One number for each dimension of space."""
    numbers = [value] * n if isinstance(value, int) else list(value)
    if len(numbers) == 1:
        numbers *= n
    if len(numbers) != n:
        raise ValueError(f"{function}(): {name} must be a number, or {n} of them, not {value!r}")
    for number in numbers:
        if not isinstance(number, int) or number < least:
            raise ValueError(f"{function}(): {name} must be at least {least}, and whole, not {value!r}")
    return numbers


def _attributes(**lists: list[Any]) -> dict[str, Any]:
    """Lists, under the names that their numbers have as attributes."""
    found: dict[str, Any] = {}
    for name, numbers in lists.items():
        n = len(numbers)
        found["n"] = n
        default = 1 if name in ("strides", "dilations", "dilation", "kernel_size") else 0
        padded = [default] * (3 - n) + numbers
        found |= {f"{name}_{d}": number for d, number in zip(DIMS, padded, strict=True)}
    return found


def _batched(function: str, input: Tensor, n: int) -> tuple[Tensor, bool]:
    """With a batch, and whether there was one."""
    if input.ndim not in (n + 1, n + 2):
        raise ValueError(
            f"{function}(): input has shape {input.shape}; channels and {n} dimensions of space were expected, behind a batch or alone"
        )
    has_batch = input.ndim == n + 2
    return (input if has_batch else input.unsqueeze(0)), has_batch


def _result(
    function: str, like: Tensor, shape: list[int], has_batch: bool, out: Tensor | None, dtype: Any = None
) -> Tensor:
    """What a call writes to: `out`, or something new, with a batch."""
    if any(size < 0 for size in shape):
        raise ValueError(f"{function}(): the result would have shape {shape}")
    if out is None:
        return empty(shape, dtype=dtype or like.dtype, device=like.device)
    expected = shape if has_batch else shape[1:]
    if out.shape != expected:
        raise ValueError(f"{function}(): out has shape {out.shape}, not {expected}")
    return out if has_batch else out.unsqueeze(0)


def _given_back(made: Tensor, has_batch: bool, out: Tensor | None) -> Tensor:
    if out is not None:
        return out
    return made if has_batch else made.squeeze(0)


def _conv(
    function: str,
    n: int,
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: _Numbers,
    padding: _Numbers | str,
    dilation: _Numbers,
    groups: int,
    out: Tensor | None,
) -> Tensor:
    x, has_batch = _batched(function, input, n)
    if weight.ndim != n + 2:
        raise ValueError(f"{function}(): weight has shape {weight.shape}; {n + 2} dimensions were expected")
    if groups < 1 or x.size(1) != weight.size(1) * groups or weight.size(0) % groups != 0:
        raise ValueError(
            f"{function}(): input has shape {input.shape}, weight {weight.shape} and groups is {groups}; the second dimension of weight "
            "times groups must be the number of channels, and the first a multiple of groups"
        )
    kernel = weight.shape[2:]
    strides = _list(function, "stride", stride, n, 1)
    dilations = _list(function, "dilation", dilation, n, 1)
    if isinstance(padding, str):
        pads = _named_padding(function, padding, kernel, strides, dilations)
    else:
        pads = _list(function, "padding", padding, n, 0)
    sizes = []
    for size, k, s, p, d in zip(x.shape[2:], kernel, strides, pads, dilations, strict=True):
        if size + 2 * p < d * (k - 1) + 1:
            raise ValueError(
                f"{function}(): input has shape {input.shape}, which with its padding, {pads}, is smaller than the kernel, {kernel}"
            )
        sizes.append((size + 2 * p - d * (k - 1) - 1) // s + 1)
    shape = [x.size(0), weight.size(0), *sizes]
    y = _result(function, x, shape, has_batch, out)
    attributes = _attributes(pads=pads, strides=strides, dilations=dilations)
    _core.building_blocks["conv"](x, weight, bias, **attributes, out=y)
    return _given_back(y, has_batch, out)


def _named_padding(
    function: str, padding: str, kernel: Sequence[int], strides: list[int], dilations: list[int]
) -> list[int]:
    if padding == "valid":
        return [0] * len(strides)
    reach = [d * (k - 1) for k, d in zip(kernel, dilations, strict=True)]
    if padding == "same" and all(s == 1 for s in strides) and all(r % 2 == 0 for r in reach):
        return [r // 2 for r in reach]
    raise ValueError(
        f"{function}(): padding {padding!r}; it is 'valid', or 'same' with stride 1 and as much to add at both ends, or numbers"
    )


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Numbers | str = 0,
    dilation: _Numbers = 1,
    groups: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The convolution of `input` (batch, channels, width) with `weight` (channels of the result, channels of a group, width).

    >>> import infinicore
    >>> x, w = infinicore.ones([1, 1, 4]), infinicore.ones([1, 1, 3])
    >>> infinicore.nn.functional.conv1d(x, w, padding=1).tolist()
    [[[2.0, 3.0, 3.0, 2.0]]]
    """
    return _conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups, out)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Numbers | str = 0,
    dilation: _Numbers = 1,
    groups: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The convolution of `input` (batch, channels, height, width) with `weight` (channels of the result, channels of a group, height, width)."""
    return _conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups, out)


def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: _Numbers = 1,
    padding: _Numbers | str = 0,
    dilation: _Numbers = 1,
    groups: int = 1,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The convolution of `input` (batch, channels, depth, height, width) with `weight`, whose first dimensions are channels of the result and
    channels of a group."""
    return _conv("conv3d", 3, input, weight, bias, stride, padding, dilation, groups, out)


def _pooled_sizes(
    function: str,
    sizes: Sequence[int],
    kernel: list[int],
    strides: list[int],
    pads: list[int],
    dilations: list[int],
    ceil: bool,
) -> list[int]:
    found = []
    for size, k, s, p, d in zip(sizes, kernel, strides, pads, dilations, strict=True):
        if p > k // 2:
            raise ValueError(f"{function}(): padding {pads} is more than half of kernel_size, {kernel}")
        left = size + 2 * p - d * (k - 1) - 1
        out = -(-left // s) + 1 if ceil else left // s + 1
        if ceil and (out - 1) * s >= size + p:
            out -= 1
        if out < 1:
            raise ValueError(
                f"{function}(): no window of size {kernel} fits into {list(sizes)} with padding {pads}"
            )
        found.append(out)
    return found


def _avg_pool(
    function: str,
    n: int,
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None,
    padding: _Numbers,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
    out: Tensor | None,
) -> Tensor:
    x, has_batch = _batched(function, input, n)
    kernel = _list(function, "kernel_size", kernel_size, n, 1)
    strides = kernel if stride is None else _list(function, "stride", stride, n, 1)
    pads = _list(function, "padding", padding, n, 0)
    if divisor_override is not None and divisor_override < 1:
        raise ValueError(f"{function}(): divisor_override must be at least 1, not {divisor_override}")
    sizes = _pooled_sizes(function, x.shape[2:], kernel, strides, pads, [1] * n, ceil_mode)
    y = _result(function, x, [*x.shape[:2], *sizes], has_batch, out)
    attributes = _attributes(kernel_size=kernel, stride=strides, padding=pads)
    _core.building_blocks["avg_pool"](
        x, **attributes, count_include_pad=count_include_pad, divisor_override=divisor_override or 0, out=y
    )
    return _given_back(y, has_batch, out)


def avg_pool1d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The averages of windows; they lie side by side unless `stride` says otherwise. `count_include_pad`: zeros outside of the edges count.

    >>> import infinicore
    >>> infinicore.nn.functional.avg_pool1d(infinicore.from_list([[1.0, 3.0, 5.0, 7.0]], dtype=infinicore.float32), 2).tolist()
    [[2.0, 6.0]]
    """
    return _avg_pool(
        "avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, out
    )


def avg_pool2d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The averages of windows of height and width; `divisor_override` is what their sums are divided by instead of their size."""
    return _avg_pool(
        "avg_pool2d",
        2,
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
        out,
    )


def avg_pool3d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The averages of windows of depth, height and width."""
    return _avg_pool(
        "avg_pool3d",
        3,
        input,
        kernel_size,
        stride,
        padding,
        ceil_mode,
        count_include_pad,
        divisor_override,
        out,
    )


def _max_pool(
    function: str,
    n: int,
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None,
    padding: _Numbers,
    dilation: _Numbers,
    ceil_mode: bool,
    return_indices: bool,
    out: Tensor | None,
) -> Any:
    x, has_batch = _batched(function, input, n)
    kernel = _list(function, "kernel_size", kernel_size, n, 1)
    strides = kernel if stride is None else _list(function, "stride", stride, n, 1)
    pads = _list(function, "padding", padding, n, 0)
    dilations = _list(function, "dilation", dilation, n, 1)
    sizes = _pooled_sizes(function, x.shape[2:], kernel, strides, pads, dilations, ceil_mode)
    attributes = _attributes(kernel_size=kernel, stride=strides, padding=pads, dilation=dilations)
    return _largest(function, "max_pool", x, sizes, attributes, has_batch, return_indices, out)


def _largest(
    function: str,
    operator: str,
    x: Tensor,
    sizes: list[int],
    attributes: dict[str, Any],
    has_batch: bool,
    return_indices: bool,
    out: Tensor | None,
) -> Any:
    shape = [*x.shape[:2], *sizes]
    y = _result(function, x, shape, has_batch, out)
    if not return_indices:
        _core.building_blocks[operator](x, **attributes, out=y)
        return _given_back(y, has_batch, out)
    indices = _result(function, x, shape, has_batch, None, int64)
    _core.building_blocks[f"{operator}_indices"](x, **attributes, out=(y, indices))
    return _given_back(y, has_batch, out), _given_back(indices, has_batch, None)


def max_pool1d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Tensor | None = None,
) -> Any:
    """The largest elements of windows, and with `return_indices` where they are.

    >>> import infinicore
    >>> infinicore.nn.functional.max_pool1d(infinicore.from_list([[1.0, 3.0, 2.0, 0.0]], dtype=infinicore.float32), 2).tolist()
    [[3.0, 2.0]]
    """
    return _max_pool(
        "max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, out
    )


def max_pool2d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Tensor | None = None,
) -> Any:
    """The largest elements of windows of height and width, and with `return_indices` their numbers among the elements of a channel."""
    return _max_pool(
        "max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, out
    )


def max_pool3d(
    input: Tensor,
    kernel_size: _Numbers,
    stride: _Numbers | None = None,
    padding: _Numbers = 0,
    dilation: _Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    out: Tensor | None = None,
) -> Any:
    """The largest elements of windows of depth, height and width, and with `return_indices` their numbers among the elements of a channel."""
    return _max_pool(
        "max_pool3d", 3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices, out
    )


def _adaptive_sizes(function: str, n: int, output_size: Any, x: Tensor) -> list[int]:
    """`None` is the size that there is."""
    wanted = [output_size] * n if output_size is None or isinstance(output_size, int) else list(output_size)
    if len(wanted) == n:
        wanted = [size if each is None else each for each, size in zip(wanted, x.shape[2:], strict=True)]
    return _list(function, "output_size", wanted, n, 0)


def _adaptive_avg(function: str, n: int, input: Tensor, output_size: Any, out: Tensor | None) -> Tensor:
    x, has_batch = _batched(function, input, n)
    y = _result(function, x, [*x.shape[:2], *_adaptive_sizes(function, n, output_size, x)], has_batch, out)
    _core.building_blocks["adaptive_avg_pool"](x, out=y)
    return _given_back(y, has_batch, out)


def _adaptive_max(
    function: str, n: int, input: Tensor, output_size: Any, return_indices: bool, out: Tensor | None
) -> Any:
    x, has_batch = _batched(function, input, n)
    sizes = _adaptive_sizes(function, n, output_size, x)
    return _largest(function, "adaptive_max_pool", x, sizes, {}, has_batch, return_indices, out)


def adaptive_avg_pool1d(input: Tensor, output_size: _Numbers, *, out: Tensor | None = None) -> Tensor:
    """As many averages as `output_size` says, each of its share of the elements.

    >>> import infinicore
    >>> infinicore.nn.functional.adaptive_avg_pool1d(infinicore.from_list([[1.0, 3.0, 5.0]], dtype=infinicore.float32), 1).tolist()
    [[3.0]]
    """
    return _adaptive_avg("adaptive_avg_pool1d", 1, input, output_size, out)


def adaptive_avg_pool2d(input: Tensor, output_size: Any, *, out: Tensor | None = None) -> Tensor:
    """As many averages as `output_size` says, height and width; None is what the input has."""
    return _adaptive_avg("adaptive_avg_pool2d", 2, input, output_size, out)


def adaptive_avg_pool3d(input: Tensor, output_size: Any, *, out: Tensor | None = None) -> Tensor:
    """As many averages as `output_size` says, depth, height and width; None is what the input has."""
    return _adaptive_avg("adaptive_avg_pool3d", 3, input, output_size, out)


def adaptive_max_pool1d(
    input: Tensor, output_size: _Numbers, return_indices: bool = False, *, out: Tensor | None = None
) -> Any:
    """The largest elements of as many shares as `output_size` says, and with `return_indices` where they are."""
    return _adaptive_max("adaptive_max_pool1d", 1, input, output_size, return_indices, out)


def adaptive_max_pool2d(
    input: Tensor, output_size: Any, return_indices: bool = False, *, out: Tensor | None = None
) -> Any:
    """The largest elements of as many shares as `output_size` says, height and width; None is what the input has."""
    return _adaptive_max("adaptive_max_pool2d", 2, input, output_size, return_indices, out)


def adaptive_max_pool3d(
    input: Tensor, output_size: Any, return_indices: bool = False, *, out: Tensor | None = None
) -> Any:
    """The largest elements of as many shares as `output_size` says, depth, height and width; None is what the input has."""
    return _adaptive_max("adaptive_max_pool3d", 3, input, output_size, return_indices, out)


MODES = ("nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact")
DIMENSIONS_OF_MODE = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def interpolate(
    input: Tensor,
    size: _Numbers | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`input` with another size, or one that is `scale_factor` times as large: nearest, linear, bilinear, bicubic, trilinear, area,
    nearest-exact.

    `align_corners` of the linear ones and bicubic: the outermost elements lie at the same place, instead of the edges around them.
    `recompute_scale_factor`: elements are where the sizes say, which are whole, and not where `scale_factor` does.

    >>> import infinicore
    >>> infinicore.nn.functional.interpolate(infinicore.from_list([[[1.0, 3.0]]], dtype=infinicore.float32), 4).tolist()
    [[[1.0, 1.0, 3.0, 3.0]]]
    """
    function, n = "interpolate", input.ndim - 2
    if n not in (1, 2, 3):
        raise ValueError(
            f"interpolate(): input has shape {input.shape}; batch, channels and one to three dimensions of space were expected"
        )
    if mode not in MODES:
        raise ValueError(f"interpolate(): mode is {mode!r}, and must be one of {', '.join(MODES)}")
    if DIMENSIONS_OF_MODE.get(mode, n) != n:
        raise ValueError(
            f"interpolate(): mode {mode} is for {DIMENSIONS_OF_MODE[mode]} dimensions of space, but input has shape {input.shape}"
        )
    if align_corners is not None and mode not in DIMENSIONS_OF_MODE:
        raise ValueError(f"interpolate(): mode {mode} has no align_corners")
    if antialias:
        raise ValueError("interpolate(): there is no antialias")
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate(): either size or scale_factor must be given, and not both")
    scales = [0.0] * n
    if size is not None:
        sizes = _list(function, "size", size, n, 1)
    else:
        factors = [scale_factor] * n if isinstance(scale_factor, int | float) else list(scale_factor or ())
        if len(factors) != n or any(factor <= 0 for factor in factors):
            raise ValueError(
                f"interpolate(): scale_factor must be positive, one number or {n}, not {scale_factor!r}"
            )
        sizes = [math.floor(s * f) for s, f in zip(input.shape[2:], factors, strict=True)]
        if min(sizes) < 1:
            raise ValueError(
                f"interpolate(): input has shape {input.shape}, and nothing is left of it with scale_factor {scale_factor!r}"
            )
        scales = scales if recompute_scale_factor or mode == "area" else [float(f) for f in factors]
    y = _result(function, input, [*input.shape[:2], *sizes], True, out)
    _core.building_blocks["resample"](
        input,
        MODES.index(mode),
        **_attributes(scale_factor=scales),
        align_corners=int(bool(align_corners)),
        out=y,
    )
    return y


def upsample(
    input: Tensor,
    size: _Numbers | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`interpolate` under its earlier name."""
    return interpolate(input, size, scale_factor, mode, align_corners, out=out)


def upsample_nearest(
    input: Tensor,
    size: _Numbers | None = None,
    scale_factor: float | Sequence[float] | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`interpolate` of mode nearest."""
    return interpolate(input, size, scale_factor, "nearest", out=out)


def upsample_bilinear(
    input: Tensor,
    size: _Numbers | None = None,
    scale_factor: float | Sequence[float] | None = None,
    align_corners: bool = True,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`interpolate` of mode bilinear, where the outermost elements lie at the same place unless said otherwise."""
    return interpolate(input, size, scale_factor, "bilinear", align_corners, out=out)


def affine_grid(
    theta: Tensor, size: Sequence[int], align_corners: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """For each place of an output of shape `size`, where the affine map `theta` takes it: (batch, 2, 3) for images, (batch, 3, 4) for volumes.

    Places go from -1 to 1, x before y before z.
    """
    axes = len(size) - 2
    if axes not in (2, 3) or theta.shape != [size[0], axes, axes + 1]:
        raise ValueError(
            f"affine_grid(): theta has shape {theta.shape} and size is {list(size)}; (n, 2, 3) goes with (n, c, h, w), and (n, 3, 4) "
            "with (n, c, d, h, w)"
        )
    y = _result("affine_grid", theta, [size[0], *size[2:], axes], True, out)
    _core.building_blocks["affine_grid"](theta, int(align_corners), out=y)
    return y
