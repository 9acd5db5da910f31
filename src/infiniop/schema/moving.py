"""Elements that come to other places, and what is counted or computed on the way."""

from __future__ import annotations

from typing import Any

from .model import NUMBERS, REALS, Attribute, InList, Operator, Tensor, Written

FLOATING = ("F16", "BF16", "F32", "F64")
PAD_MODES = ("constant", "reflect", "replicate", "circular")
NUMPY_MODES = {1: "reflect", 2: "edge", 3: "wrap"}
PADS = "Pads{plan, tensor::y, tensor::x, attributes, pad_size}"
MOST_PADS = 16


def pad_trials(np: Any, random: Any) -> Any:
    def trial(shape: Any, pads: Any, mode: int, value: float = 0) -> Any:
        given = {f"pad_{i}": pads[i] if i < len(pads) else 0 for i in range(MOST_PADS)}
        return {
            "x": random.normal(size=shape) * 9, **given, "pad_size": 4 * len(pads), "mode": mode, "value": value,
        }  # fmt: skip

    yield trial((3, 9), (1, 2, 3, 4), 0, 7)
    for mode in (1, 2, 3):
        yield trial((4, 5, 70), (2, 3, 4, 1), mode)
    yield trial((6,), (0, 5), 1)
    yield trial((3, 4), (-1, 2, 3, -2), 0, 3)
    yield trial((2, 0, 3), (1, 0, 1, 1), 0, 5)
    yield trial((), (), 0)


def pad(np: Any, x: Any, pad_size: float, mode: float, value: float, **pads: float) -> Any:
    count = int(pad_size) // 4
    pairs = [(int(pads[f"pad_{i}"]), int(pads[f"pad_{i + 1}"])) for i in range(0, count, 2)]
    if x.ndim == 0:
        return x
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs
    grown = [(max(before, 0), max(after, 0)) for before, after in pairs]
    if mode == 0:
        made = np.pad(x, grown, constant_values=np.array(value).astype(x.dtype))
    else:
        made = np.pad(x, grown, mode=NUMPY_MODES[int(mode)])
    cut = [slice(max(-before, 0), made.shape[d] - max(-after, 0)) for d, (before, after) in enumerate(pairs)]
    return made[tuple(cut)]


def flipud_trials(np: Any, random: Any) -> Any:
    for shape in ((3, 9), (70,), (4, 5, 6), (0, 3), (1, 2, 3, 4)):
        yield {"input": random.normal(size=shape) * 9}


def triangle_trials(np: Any, random: Any) -> Any:
    for shape, diagonal in (((5, 7), 0), ((2, 9, 4), 2), ((3, 2, 6, 6), -1), ((4, 4), 9), ((0, 3), 0)):
        yield {"input": random.normal(size=shape) * 9, "diagonal": diagonal}


def diff_trials(np: Any, random: Any) -> Any:
    for shape, dim, n in (
        ((4, 9), -1, 1), ((7, 40), 0, 1), ((3, 6, 5), 1, 2), ((30,), 0, 3), ((2, 3), 1, 0), ((2, 3), 1, 5),
    ):  # fmt: skip
        yield {"x": random.normal(size=shape) * 4, "dim": dim, "n": n}


def diff(np: Any, x: Any, dim: float, n: float) -> Any:
    axis = int(dim) % x.ndim
    if n >= x.shape[axis]:
        return x[tuple(slice(0, 0) if d == axis else slice(None) for d in range(x.ndim))]
    return np.diff(x, int(n), axis)


def pixel_shuffle_trials(np: Any, random: Any) -> Any:
    for shape, factor in (((2, 8, 3, 5), 2), ((9, 4, 6), 3), ((1, 2, 4, 3, 2), 1), ((0, 4, 2, 2), 2)):
        yield {"x": random.normal(size=shape) * 9, "upscale_factor": factor}


def pixel_shuffle(np: Any, x: Any, upscale_factor: float) -> Any:
    r = int(upscale_factor)
    *rest, c, h, w = x.shape
    before = len(rest)
    parts = x.reshape(*rest, c // (r * r), r, r, h, w)
    order = [*range(before), before, before + 3, before + 1, before + 4, before + 2]
    return parts.transpose(order).reshape(*rest, c // (r * r), h * r, w * r)


UNFOLD_ARRAYS = (
    ("kernel", "kernel_sizes"), ("stride", "strides"), ("padding", "paddings"), ("dilation", "dilations"),
)  # fmt: skip


def unfold_trials(np: Any, random: Any) -> Any:
    def trial(shape: Any, *pairs: Any) -> Any:
        given = {
            f"{name}_{way}": pair[number]
            for (name, _), pair in zip(UNFOLD_ARRAYS, pairs, strict=True)
            for number, way in enumerate(("height", "width"))
        }
        return {"input": random.normal(size=shape) * 9, **given}

    yield trial((2, 3, 6, 7), (2, 3), (1, 2), (0, 1), (1, 1))
    yield trial((1, 2, 9, 30), (3, 3), (2, 1), (2, 2), (2, 3))
    yield trial((1, 1, 5, 5), (1, 1), (1, 1), (0, 0), (1, 1))
    yield trial((0, 2, 5, 5), (2, 2), (1, 1), (0, 0), (1, 1))


def unfold(np: Any, input: Any, **given: float) -> Any:
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = (
        (int(given[f"{name}_height"]), int(given[f"{name}_width"])) for name, _ in UNFOLD_ARRAYS
    )
    b, c, h, w = input.shape
    grown = np.pad(input, ((0, 0), (0, 0), (ph, ph), (pw, pw)))
    rows, columns = (h + 2 * ph - dh * (kh - 1) - 1) // sh + 1, (w + 2 * pw - dw * (kw - 1) - 1) // sw + 1
    parts = [
        grown[:, :, i * dh : i * dh + (rows - 1) * sh + 1 : sh, j * dw : j * dw + (columns - 1) * sw + 1 : sw]
        for i in range(kh)
        for j in range(kw)
    ]
    return np.stack(parts, 2).reshape(b, c * kh * kw, rows * columns)


def vander_trials(np: Any, random: Any) -> Any:
    for rows, columns, increasing in ((5, 4, 0), (9, 3, 1), (70, 6, 0), (3, 1, 1), (3, 0, 0)):
        yield {"input": random.normal(size=rows) * 2, "N": columns, "increasing": increasing}


def vander(np: Any, input: Any, N: float, increasing: float) -> Any:
    powers = np.arange(int(N)) if increasing else np.arange(int(N))[::-1]
    result = np.ones((len(input), int(N)), input.dtype)
    for column, power in enumerate(powers):
        for _ in range(int(power)):
            result[:, column] = result[:, column] * input
    return result


def histc_trials(np: Any, random: Any) -> Any:
    # Numbers that all types have, away from the edges of bins.
    yield {"x": random.integers(-20, 20, (30, 5)) / 4, "bins": 7, "min_val": -4.1, "max_val": 4.3}
    yield {"x": random.integers(0, 64, 3000) / 4, "bins": 16, "min_val": 0, "max_val": 0}
    yield {"x": np.full((3, 4), 2.5), "bins": 3, "min_val": 0, "max_val": 0}
    yield {"x": np.zeros((0, 2)), "bins": 4, "min_val": 0, "max_val": 1}
    yield {"x": random.integers(0, 8, 500) * 1.0, "bins": 9000, "min_val": -1, "max_val": 9}


def histc(np: Any, x: Any, bins: float, min_val: float, max_val: float) -> Any:
    low, high = min_val, max_val
    if low == high and x.size:
        low, high = x.min(), x.max()
    if low == high:
        low, high = low - 1, high + 1
    inside = x[(x >= low) & (x <= high)]
    places = np.minimum(((inside - low) * (bins / (high - low))).astype(np.int64), int(bins) - 1)
    return np.bincount(places, minlength=int(bins)).astype(np.float64)


def triangle(name: str, doc: str) -> Operator:
    lower = name == "Tril"
    return Operator(
        name,
        doc,
        (Tensor("output", "out"), Tensor("input")),
        REALS,
        lambda np, input, diagonal: (np.tril if lower else np.triu)(input, int(diagonal)),
        kind="written",
        written=Written({"output": "... n m", "input": "... n m"}, triangle_trials, in_place=True),
        attributes=(
            Attribute("diagonal", "int", "how many columns to the right the diagonal lies", default=0),
        ),
        published=False,
        ulps=0,
    )


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Pad",
        "`x` with more elements around it. `pad` has two numbers, before and after, for each of the last dimensions, in their order, in "
        "`pad_size` bytes; negative ones cut off. `mode` is constant (`value`), reflect, replicate or circular.",
        (Tensor("y", "out"), Tensor("x")),
        REALS,
        pad,
        kind="written",
        written=Written(
            {"y": "*", "x": "*"},
            pad_trials,
            rules=(
                (
                    f"{PADS}.is_list()",
                    "pad must have two int for each of the last dimensions, and pad_size is their size in bytes",
                ),
                (f"{PADS}.fit()", "y must be larger than x by what pad says"),
                ("mode >= 0", "mode must be constant, reflect, replicate or circular"),
                (
                    f"mode != 1 || {PADS}.are_at_most(1)",
                    "reflect takes at most one element less than there are in a dimension",
                ),
                (
                    f"mode != 3 || {PADS}.are_at_most(0)",
                    "circular takes at most as many elements as there are in a dimension",
                ),
                (f"mode == 0 || {PADS}.have_a_source()", "a dimension without elements has none to repeat"),
            ),
        ),
        attributes=(
            *(
                Attribute(
                    f"pad_{i}",
                    "int",
                    "how many elements come before and after, int for each of the last dimensions",
                    in_list=InList("pad", bytes="pad_size"),
                )
                for i in range(MOST_PADS)
            ),
            Attribute("pad_size", "size_t", "the bytes of pad"),
            Attribute("mode", "const char*", "what the new elements are", names=PAD_MODES),
            Attribute("value", "double", "what they are in mode constant; of integers without its fraction"),
        ),
        wrapped=True,
        ulps=0,
    ),
    Operator(
        "Flipud",
        "`input` with its first dimension in reverse order.",
        (Tensor("output", "out"), Tensor("input")),
        REALS,
        lambda np, input: input[::-1],
        kind="written",
        written=Written({"output": "n ...", "input": "n ..."}, flipud_trials),
        ulps=0,
    ),
    triangle("Tril", "The elements of each matrix on the diagonal and below; 0 above."),
    triangle("Triu", "The elements of each matrix on the diagonal and above; 0 below."),
    Operator(
        "Diff",
        "The differences of neighbours along `dim`, `n` times over.",
        (Tensor("y", "out"), Tensor("x")),
        NUMBERS,
        diff,
        kind="written",
        written=Written(
            {"y": "< left >", "x": "< length >"},
            diff_trials,
            rules=(
                ("n >= 0 && n <= 32", "n must be from 0 to 32"),
                (
                    "left == (n < length ? length - n : 0)",
                    "y, of left, has n elements less than x, of length",
                ),
            ),
        ),
        attributes=(
            Attribute("dim", "int", "the dimension; negative ones count from the last"),
            Attribute("n", "int", "how often"),
        ),
        wrapped=True,
        ulps=32,
        narrow_ulps=4,
    ),
    Operator(
        "PixelShuffle",
        "Channels become pixels: each of `upscale_factor` times `upscale_factor` channels gives one of as many neighbours.",
        (Tensor("y", "out"), Tensor("x")),
        REALS,
        pixel_shuffle,
        kind="written",
        written=Written(
            {"y": "... c p q", "x": "... d h w"},
            pixel_shuffle_trials,
            rules=(
                ("upscale_factor >= 1", "upscale_factor must be 1 or more"),
                (
                    "d == c * upscale_factor * upscale_factor && p == h * upscale_factor && q == w * upscale_factor",
                    "y, of c channels, is upscale_factor times as high and wide as x, and x, of d, has its square times the channels",
                ),
            ),
        ),
        attributes=(Attribute("upscale_factor", "int", "how many times as high and wide the result is"),),
        header="pixel_shuffle",
        wrapped=True,
        ulps=0,
    ),
    Operator(
        "Unfold",
        "What a kernel of `kernel_sizes` sees of `input` at each of its places, as columns: channels and elements of the kernel, places. Around "
        "the input there are `paddings` zeros, places are `strides` apart and elements of the kernel `dilations`. Each is a list of "
        "two: down, across.",
        (Tensor("output", "out"), Tensor("input")),
        REALS,
        unfold,
        kind="written",
        written=Written(
            {"output": "b r l", "input": "b c h w"},
            unfold_trials,
            rules=(
                (
                    "kernel_height >= 1 && kernel_width >= 1 && stride_height >= 1 && stride_width >= 1 && padding_height >= 0 && "
                    "padding_width >= 0 && dilation_height >= 1 && dilation_width >= 1",
                    "kernel_sizes, strides and dilations must be 1 or more, and paddings 0 or more",
                ),
                (
                    "h + 2 * padding_height > dilation_height * (kernel_height - 1) && "
                    "w + 2 * padding_width > dilation_width * (kernel_width - 1)",
                    "the kernel must not be larger than input with its paddings",
                ),
                (
                    "r == c * kernel_height * kernel_width",
                    "output has r rows, one for each element of the kernel and channel",
                ),
                (
                    "l == ((h + 2 * padding_height - dilation_height * (kernel_height - 1) - 1) / stride_height + 1) * "
                    "((w + 2 * padding_width - dilation_width * (kernel_width - 1) - 1) / stride_width + 1)",
                    "output has l columns, one for each place of the kernel",
                ),
            ),
        ),
        attributes=tuple(
            Attribute(f"{name}_{way}", "int", "down, across", in_list=InList(array, "const int*"))
            for name, array in UNFOLD_ARRAYS
            for way in ("height", "width")
        ),
        wrapped=True,
        ulps=0,
    ),
    Operator(
        "Vander",
        "The powers of each element of `input` as a row: from `N - 1` down to 0, or upwards if `increasing`.",
        (Tensor("output", "out"), Tensor("input")),
        NUMBERS,
        vander,
        kind="written",
        written=Written(
            {"output": "n N", "input": "n"}, vander_trials, rules=(("N >= 0", "N must be 0 or more"),)
        ),
        attributes=(
            Attribute("N", "int", "how many powers"),
            Attribute("increasing", "int", "not 0: from 0 upwards"),
        ),
        wrapped=True,
        ulps=16,
    ),
    Operator(
        "Histc",
        "How many elements of `x` lie in each of `bins` parts of the range from `min_val` to `max_val`, or of their own range where both are the "
        "same. The last part has its end, too. What is outside, or not a number, counts nowhere.",
        (Tensor("y", "out"), Tensor("x")),
        FLOATING,
        histc,
        kind="written",
        written=Written(
            {"y": "bins", "x": "*"},
            histc_trials,
            rules=(
                ("bins >= 1", "bins must be 1 or more"),
                ("min_val <= max_val", "min_val must not be larger than max_val"),
            ),
        ),
        attributes=(
            Attribute("bins", "int64_t", "how many parts", default=100),
            Attribute("min_val", "double", "where the range begins", default=0, python="min"),
            Attribute("max_val", "double", "where it ends", default=0, python="max"),
        ),
        ulps=0,
    ),
)
