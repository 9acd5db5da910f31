"""Operators on what lies in space, with one to three dimensions behind batch and channels: convolution and pooling."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from .model import Attribute, InList, Operator, Tensor, Written

FLOATING = ("F16", "BF16", "F32", "F64")
DIMS = "dhw"
"""Depth, height, width: where there are fewer, the first ones are missing."""

SMALL, LARGE = "b c od? oh? ow", "b c d? h? w"


def listed(
    name: str, doc: str, default: float, ctype: str = "size_t", length: str = "n", taken_as: str = "void*"
) -> tuple[Attribute, ...]:
    """A number for each dimension of space, which C takes as a list."""
    where = InList(name, taken_as, length)
    return tuple(Attribute(f"{name}_{d}", ctype, doc, default=default, in_list=where) for d in DIMS)


def count_attribute() -> Attribute:
    return Attribute("n", "size_t", "how many elements the lists have: for the last n dimensions")


def in_lists(n: int, **lists: Any) -> dict[str, Any]:
    """The attributes of lists of n elements, for a trial."""
    found: dict[str, Any] = {"n": n}
    for name, values in lists.items():
        default = 1 if name in ("strides", "dilations", "dilation", "kernel_size") else 0
        padded = [default] * (3 - n) + (list(values) if isinstance(values, tuple) else [values] * n)
        found.update({f"{name}_{d}": value for d, value in zip(DIMS, padded, strict=True)})
    return found


def in_space(out: Any) -> tuple[int, ...]:
    """A shape of space with all three dimensions; none of None."""
    return () if out is None else (1,) * (3 - len(out)) + tuple(out)


def space(np: Any, array: Any, leading: int = 2) -> Any:
    """With all three dimensions of space."""
    missing = leading + 3 - array.ndim
    return array.reshape(*array.shape[:leading], *([1] * missing), *array.shape[leading:])


# ---- convolution


def conv(np: Any, x: Any, w: Any, bias: Any, n: float, **lists: float) -> Any:
    pads, strides, dilations = (
        [int(lists[f"{name}_{d}"]) for d in DIMS] for name in ("pads", "strides", "dilations")
    )
    wide, weight = space(np, x), space(np, w)
    wide = np.pad(wide, ((0, 0), (0, 0), *((p, p) for p in pads)))
    batch, channels = wide.shape[:2]
    outputs, per_group, *kernel = weight.shape
    groups = channels // per_group
    out = [
        (size - step * (k - 1) - 1) // stride + 1
        for size, k, stride, step in zip(wide.shape[2:], kernel, strides, dilations, strict=True)
    ]
    result = np.zeros((batch, groups, outputs // groups, *out))
    wide = wide.reshape(batch, groups, per_group, *wide.shape[2:])
    weight = weight.reshape(groups, outputs // groups, per_group, *kernel)
    for tap in product(*(range(k) for k in kernel)):
        window = tuple(
            slice(t * step, t * step + (size - 1) * stride + 1, stride)
            for t, step, size, stride in zip(tap, dilations, out, strides, strict=True)
        )
        of_all = (slice(None),) * 3
        elements, weights = wide[of_all + window], weight[of_all + tap]
        result += np.einsum("bgidhw,goi->bgodhw", elements, weights)
    result = result.reshape(batch, outputs, *out)
    if bias is not None:
        result = result + bias[:, None, None, None]
    return result.reshape(batch, outputs, *out[3 - (x.ndim - 2) :])


def conv_trials(np: Any, random: Any) -> Any:
    def trial(
        x: tuple[int, ...],
        w: tuple[int, ...],
        pads: Any = 0,
        strides: Any = 1,
        dilations: Any = 1,
        bias: bool = True,
    ) -> dict[str, Any]:
        return {
            "x": random.normal(size=x),
            "w": random.normal(size=w),
            "bias": random.normal(size=w[0]) if bias else None,
            **in_lists(len(x) - 2, pads=pads, strides=strides, dilations=dilations),
        }

    yield trial((2, 3, 7, 9), (5, 3, 3, 2), (1, 0), (2, 1))
    yield trial((2, 6, 11), (4, 3, 3), 2, 1, 2, bias=False)
    yield trial((1, 4, 5, 6, 7), (6, 2, 2, 3, 3), (0, 1, 1), (1, 2, 1), (1, 1, 2))
    yield trial((2, 8, 9, 10), (16, 1, 3, 3), 1, (1, 2))
    yield trial((1, 5, 8, 8), (70, 5, 1, 1), bias=False)
    yield trial((1, 33, 20, 21), (40, 33, 3, 3), 1)
    yield trial((0, 3, 5, 5), (2, 3, 3, 3), 1)
    yield trial((1, 1, 1), (1, 1, 1))
    yield trial((1, 2, 300), (130, 2, 5), 2, 3)


def conv_rules() -> tuple[tuple[str, str], ...]:
    fits = " && ".join(
        f"{d} + 2 * pads_{d} >= dilations_{d} * (k{d} - 1) + 1 && "
        f"o{d} == ({d} + 2 * pads_{d} - dilations_{d} * (k{d} - 1) - 1) / strides_{d} + 1"
        for d in DIMS
    )
    return (
        ("n >= 1 && n <= 3", "n must be from 1 to 3"),
        (
            " && ".join(
                f"strides_{d} >= 1 && dilations_{d} >= 1 && k{d} >= 1 && pads_{d} >= 0" for d in DIMS
            ),
            "strides, dilations and the sizes of the kernel must be at least 1, and pads not negative",
        ),
        (
            "i >= 1 && c >= i && c % i == 0 && o % (c / i) == 0",
            "the channels of x, c, must be those of w, i, times a number of groups that divides o",
        ),
        (
            fits,
            "y must have (size + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1 elements in each dimension of space",
        ),
    )


# ---- pooling


def window(np: Any, lists: dict[str, Any], place: int, o: int, size: int) -> tuple[list[int], int]:
    """The places that a window has in one dimension, and how many it would have with those of the padding."""
    d = DIMS[place]
    kernel, padding = int(lists[f"kernel_size_{d}"]), int(lists[f"padding_{d}"])
    stride, step = int(lists[f"stride_{d}"]) or kernel, int(lists.get(f"dilation_{d}", 1))
    first = o * stride - padding
    places = [first + t * step for t in range(kernel)]
    return [p for p in places if 0 <= p < size], sum(1 for p in places if p < size + padding)


def share(np: Any, lists: dict[str, Any], place: int, o: int, size: int) -> tuple[list[int], int]:
    """The same where a given number of windows covers everything."""
    out = lists["out"][place]
    places = list(range(o * size // out, -(-(o + 1) * size // out)))
    return places, len(places)


def pooled(np: Any, x: Any, out: Any, windows: Any, lists: dict[str, Any], reduce: Any) -> Any:
    """`reduce` gets the elements of a window (batch, channels, elements), their numbers, and the counts of each dimension."""
    wide = space(np, x)
    results: list[Any] = []
    for at in product(*(range(size) for size in out)):
        found = [
            windows(np, lists, i, o, size) for i, (o, size) in enumerate(zip(at, wide.shape[2:], strict=True))
        ]
        places = [np.array(each, dtype=np.int64) for each, _ in found]
        numbers = (places[0][:, None, None] * wide.shape[3] + places[1][:, None]) * wide.shape[4] + places[2]
        elements = wide.reshape(*x.shape[:2], math.prod(wide.shape[2:]))[..., numbers.ravel()]
        results.append(reduce(elements, numbers.ravel(), math.prod(count for _, count in found)))
    shape = (*x.shape[:2], *out[5 - x.ndim :])
    several = len(results[0]) if results and isinstance(results[0], tuple) else 0
    if several:
        return tuple(np.stack([each[i] for each in results], axis=-1).reshape(shape) for i in range(several))
    return np.stack(results, axis=-1).reshape(shape) if results else np.zeros(shape)


def pooled_size(lists: dict[str, Any], d: str, size: int, ceil: bool = False) -> int:
    kernel, padding = int(lists[f"kernel_size_{d}"]), int(lists[f"padding_{d}"])
    stride, step = int(lists[f"stride_{d}"]) or kernel, int(lists.get(f"dilation_{d}", 1))
    left = size + 2 * padding - step * (kernel - 1) - 1
    out = -(-left // stride) + 1 if ceil else left // stride + 1
    return out - 1 if ceil and (out - 1) * stride >= size + padding else out


def pooled_sizes(np: Any, x: Any, lists: dict[str, Any]) -> list[int]:
    return [pooled_size(lists, d, size) for d, size in zip(DIMS, space(np, x).shape[2:], strict=True)]


def avg_pool(
    np: Any,
    x: Any,
    n: float = 3,
    count_include_pad: float = 1,
    divisor_override: float = 0,
    out: Any = None,
    **lists: Any,
) -> Any:
    def reduce(elements: Any, numbers: Any, count: int) -> Any:
        return elements.sum(-1) / (divisor_override or (count if count_include_pad else len(numbers)))

    return pooled(np, x, in_space(out) or pooled_sizes(np, x, lists), window, lists, reduce)


def avg_pool1d(np: Any, input: Any, kernel_size: float, stride: float, padding: float) -> Any:
    return avg_pool(np, input, **in_lists(1, kernel_size=kernel_size, stride=stride, padding=padding))


def largest(np: Any) -> Any:
    """The first of the largest elements; of those that are no numbers the last."""

    def reduce(elements: Any, numbers: Any, count: int) -> Any:
        reversed_nan = np.isnan(elements)[..., ::-1]
        last_nan = elements.shape[-1] - 1 - np.argmax(reversed_nan, axis=-1)
        first = np.argmax(np.where(np.isnan(elements), -np.inf, elements), axis=-1)
        place = np.where(reversed_nan.any(-1), last_nan, first)
        return np.take_along_axis(elements, place[..., None], -1)[..., 0], numbers[place]

    return reduce


def max_pool_indices(np: Any, x: Any, n: float, out: Any = None, **lists: Any) -> Any:
    result = pooled(np, x, in_space(out) or pooled_sizes(np, x, lists), window, lists, largest(np))
    return result if isinstance(result, tuple) else (result, result)


def max_pool(np: Any, x: Any, n: float, out: Any = None, **lists: Any) -> Any:
    return max_pool_indices(np, x, n, out, **lists)[0]


def adaptive_avg_pool(np: Any, x: Any, out: Any, **sizes: float) -> Any:
    sizes_of = in_space(out)
    return pooled(
        np, x, sizes_of, share, {"out": sizes_of}, lambda elements, numbers, count: elements.sum(-1) / count
    )


def adaptive_max_pool_indices(np: Any, x: Any, out: Any, **sizes: float) -> Any:
    sizes_of = in_space(out)
    return pooled(np, x, sizes_of, share, {"out": sizes_of}, largest(np))


def adaptive_max_pool(np: Any, x: Any, out: Any, **sizes: float) -> Any:
    return adaptive_max_pool_indices(np, x, out)[0]


def pool_trials(dilation: bool, **more: Any) -> Any:
    """Windows that overlap, that leave gaps, that are all of space, and padding."""

    def trials(np: Any, random: Any) -> Any:
        def trial(
            x: tuple[int, ...], kernel: Any, stride: Any = 0, padding: Any = 0, step: Any = 1
        ) -> dict[str, Any]:
            lists = {"kernel_size": kernel, "stride": stride, "padding": padding}
            lists |= {"dilation": step} if dilation else {}
            return {"x": random.normal(size=x), **in_lists(len(x) - 2, **lists), **more}

        yield trial((2, 3, 7, 9), (3, 2), (2, 1), (1, 0))
        yield trial((1, 2, 5, 6, 7), (2, 3, 3), (1, 2, 1), (1, 1, 1))
        yield trial((2, 4, 70), 5, 3, 2, 2)
        yield trial((1, 3, 12, 200), 2)
        yield trial((1, 2, 9, 9), 9)
        yield trial((1, 1, 3, 2500), (3, 2300), 100)
        yield trial((0, 2, 4, 4), 2)
        yield {**trial((1, 2, 8, 9), 3, 2, 1), "out": (5, 5)}  # one more window, which ends outside
        with_none = trial((1, 2, 4, 6), 3, 1, 1)
        with_none["x"][0, 0, 1:3, 1:3] = np.nan
        with_none["x"][0, 1] = -np.inf
        yield with_none

    return trials


def pool1d_trials(np: Any, random: Any) -> Any:
    for shape, kernel, stride, padding in (
        ((2, 3, 19), 4, 3, 1),
        ((1, 5, 40), 3, 1, 1),
        ((0, 1, 5), 5, 5, 0),
        ((1, 1, 7), 7, 1, 3),
    ):
        yield {
            "input": random.normal(size=shape),
            "kernel_size": kernel,
            "stride": stride,
            "padding": padding,
        }


def pool3d_trials(np: Any, random: Any) -> Any:
    for trial in pool_trials(False)(np, random):
        x = space(np, trial.pop("x"))
        if "out" in trial:
            trial["out"] = in_space(trial["out"])
        del trial["n"]
        yield {"x": x, **trial}


# What follows from shapes alone has trials whose output has a shape that only `out` says.
ADAPTIVE_SHAPES = (
    ((2, 3, 7, 9), (3, 4)), ((1, 2, 5, 6, 7), (2, 3, 7)), ((2, 4, 70), (9,)), ((1, 3, 12, 200), (1, 1)), ((1, 2, 4, 4), (6, 5)),
    ((0, 2, 5), (3,)),
)  # fmt: skip


def adaptive_trials(np: Any, random: Any, name: str, ndim: int = 0) -> Any:
    for shape, out in ADAPTIVE_SHAPES:
        if ndim in (0, len(out)):
            yield {name: random.normal(size=shape), "out": out}


def pool_rules(dilation: bool, count: bool) -> tuple[tuple[str, str], ...]:
    sizes = []
    for d in DIMS:
        stride = f"(stride_{d} ? stride_{d} : kernel_size_{d})"
        step = f"dilation_{d} * " if dilation else ""
        left = f"({d} + 2 * padding_{d} - {step}(kernel_size_{d} - 1) - 1)"
        sizes.append(
            f"o{d} >= 1 && (({left} >= 0 && o{d} == {left} / {stride} + 1) || ({left} > -{stride} && "
            f"o{d} == ({left} + {stride} - 1) / {stride} + 1 && (o{d} - 1) * {stride} < {d} + padding_{d}))"
        )
    ranges = [f"kernel_size_{d} >= 1 && padding_{d} >= 0 && padding_{d} <= kernel_size_{d} / 2" for d in DIMS]
    ranges += [f"dilation_{d} >= 1" for d in DIMS if dilation]
    return (
        *((("n >= 1 && n <= 3", "n must be from 1 to 3"),) if count else ()),
        (
            " && ".join(ranges),
            "kernel_size must be at least 1, and padding at most half of it"
            + (", and dilation at least 1" if dilation else ""),
        ),
        (
            " && ".join(sizes),
            "the result's size must be that of as many windows as there is room for, or of one more that begins inside",
        ),
    )


def pool1d_rules() -> tuple[tuple[str, str], ...]:
    return (
        (
            "kernel_size >= 1 && stride >= 1 && padding <= kernel_size / 2",
            "kernel_size and stride must be at least 1, and padding at most half of kernel_size",
        ),
        (
            "ow >= 1 && w + 2 * padding - kernel_size > -stride && (ow == (w + 2 * padding - kernel_size + stride) / stride || "
            "(ow == (w + 2 * padding - kernel_size + stride - 1) / stride + 1 && (ow - 1) * stride < w + padding))",
            "the result's size must be that of as many windows as there is room for, or of one more that begins inside",
        ),
    )


NOT_EMPTY = ("d >= 1 && h >= 1 && w >= 1", "there must be something in every dimension of space")


# ---- the operators

X, Y = Tensor("x"), Tensor("y", "out")
INPUT, OUTPUT = Tensor("input"), Tensor("output", "out")
INDICES = Tensor("indices", "out", dtypes=("I64",))
PLACES = {"x": LARGE, "y": SMALL, "input": LARGE, "output": SMALL, "indices": SMALL}


def pool(
    name: str,
    doc: str,
    tensors: tuple[Tensor, ...],
    reference: Any,
    trials: Any,
    rules: tuple[tuple[str, str], ...],
    attributes: tuple[Attribute, ...] = (),
    *,
    places: dict[str, str] | None = None,
    **more: Any,
) -> Operator:
    """One of those that make numbers of windows, or of neighbours."""
    shapes = {tensor.name: (places or PLACES)[tensor.name] for tensor in tensors}
    return Operator(
        name, doc, tensors, FLOATING, reference, kind="written", written=Written(shapes, trials, rules=rules), attributes=attributes,
        wrapped=True, **{"ulps": 64, **more},
    )  # fmt: skip


KERNEL = listed("kernel_size", "the size of the windows", 1)
STRIDE = listed("stride", "how far it is from a window to the next; 0: the size of the windows", 0)
PADDING = listed("padding", "how far windows reach over the edges, at both ends", 0)
DILATION = listed("dilation", "how far it is from an element of a window to the next", 1)
FLAT = {"input": "b c w", "output": "b c ow", "x": "b c w", "y": "b c ow"}
DEEP = {"x": "b c d h w", "y": "b c od oh ow"}
SAME_FOR_ALL = "Which neighbours count follows from the shapes alone: each result has its share of the elements, and shares may overlap."

OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Conv",
        "The convolution of `x` with `w`, as neural networks mean it, with `bias` for each channel of the result. Channels of `x` are in "
        "groups as large as the second dimension of `w`.",
        (Y, X, Tensor("w"), Tensor("bias", optional=True)),
        FLOATING,
        conv,
        kind="written",
        written=Written(
            {"y": "b o od? oh? ow", "x": LARGE, "w": "o i kd? kh? kw", "bias": "o"},
            conv_trials,
            rules=conv_rules(),
        ),
        attributes=(
            *listed("pads", "how many zeros stand before and behind the elements", 0),
            *listed("strides", "how far it is from an element's window to the next one's", 1),
            *listed("dilations", "how far it is from an element of a window to the next", 1),
            count_attribute(),
        ),
        wrapped=True,
        ulps=64,
    ),
    pool(
        "AvgPool",
        "The averages of windows.",
        (Y, X),
        avg_pool,
        pool_trials(False),
        pool_rules(False, True),
        (
            *KERNEL,
            *STRIDE,
            *PADDING,
            Attribute("count_include_pad", "bool", "whether zeros outside of the edges count", default=1),
            Attribute(
                "divisor_override",
                "int64_t",
                "what sums are divided by; 0: how many elements there are",
                default=0,
            ),
            count_attribute(),
        ),
        header="avg_pool",
        published=False,
    ),
    pool(
        "AvgPool1d",
        "The averages of windows in one dimension; what lies outside of the edges counts as zeros.",
        (OUTPUT, INPUT),
        avg_pool1d,
        pool1d_trials,
        pool1d_rules(),
        (
            Attribute("kernel_size", "size_t", "the size of the windows"),
            Attribute("stride", "size_t", "how far it is from a window to the next"),
            Attribute("padding", "size_t", "how far windows reach over the edges, at both ends"),
        ),
        places=FLAT,
        header="avg_pool1d",
    ),
    pool(
        "AvgPool3d",
        "The averages of windows in three dimensions; what lies outside of the edges counts as zeros. The lists are of three numbers of "
        "type `size_t`; without `stride` windows lie side by side.",
        (Y, X),
        avg_pool,
        pool3d_trials,
        pool_rules(False, False),
        (
            *listed("kernel_size", "the size of the windows", 1, length=""),
            *listed(
                "stride", "how far it is from a window to the next; 0: the size of the windows", 0, length=""
            ),
            *listed("padding", "how far windows reach over the edges, at both ends", 0, length=""),
        ),
        places=DEEP,
        header="avg_pool3d",
    ),
    pool(
        "MaxPool",
        "The largest elements of windows.",
        (Y, X),
        max_pool,
        pool_trials(True),
        pool_rules(True, True),
        (*KERNEL, *STRIDE, *PADDING, *DILATION, count_attribute()),
        header="max_pool",
        published=False,
        ulps=0,
    ),
    pool(
        "MaxPoolIndices",
        "The largest elements of windows, and their numbers among the elements of a channel.",
        (Y, INDICES, X),
        max_pool_indices,
        pool_trials(True),
        pool_rules(True, True),
        (*KERNEL, *STRIDE, *PADDING, *DILATION, count_attribute()),
        header="max_pool_indices",
        published=False,
        ulps=0,
    ),
    pool(
        "AdaptiveAvgPool",
        f"Averages of neighbours. {SAME_FOR_ALL}",
        (Y, X),
        adaptive_avg_pool,
        lambda np, random: adaptive_trials(np, random, "x"),
        (NOT_EMPTY,),
        header="adaptive_avg_pool",
        published=False,
    ),
    pool(
        "AdaptiveAvgPool1d",
        f"Averages of neighbours in one dimension. {SAME_FOR_ALL}",
        (OUTPUT, INPUT),
        lambda np, input, out: adaptive_avg_pool(np, input, out),
        lambda np, random: adaptive_trials(np, random, "input", 1),
        (("w >= 1", "there must be something in the last dimension"),),
        places=FLAT,
        header="adaptive_avg_pool1d",
    ),
    pool(
        "AdaptiveAvgPool3D",
        f"Averages of neighbours in three dimensions. {SAME_FOR_ALL}",
        (Y, X),
        adaptive_avg_pool,
        lambda np, random: (
            {**trial, **{f"output_size_{d}": size for d, size in zip(DIMS, trial["out"], strict=True)}}
            for trial in adaptive_trials(np, random, "x", 3)
        ),
        (
            NOT_EMPTY,
            (
                " && ".join(f"output_size_{d} == o{d}" for d in DIMS),
                "output_size must be the size of the output",
            ),
        ),
        listed("output_size", "the size of the output", 0, length="", taken_as="size_t*"),
        places=DEEP,
        header="adaptive_avg_pool3d",
        python="adaptive_avg_pool3d",
    ),
    pool(
        "AdaptiveMaxPool",
        f"The largest of neighbours. {SAME_FOR_ALL}",
        (Y, X),
        adaptive_max_pool,
        lambda np, random: adaptive_trials(np, random, "x"),
        (NOT_EMPTY,),
        header="adaptive_max_pool",
        published=False,
        ulps=0,
    ),
    pool(
        "AdaptiveMaxPool1d",
        f"The largest of neighbours in one dimension. {SAME_FOR_ALL}",
        (Y, X),
        adaptive_max_pool,
        lambda np, random: (
            {**trial, "output_size": trial["out"][0]} for trial in adaptive_trials(np, random, "x", 1)
        ),
        (
            ("w >= 1", "there must be something in the last dimension"),
            ("output_size == ow", "output_size must be the size of the output"),
        ),
        (Attribute("output_size", "size_t", "the size of the output"),),
        places=FLAT,
        header="adaptive_max_pool1d",
        ulps=0,
    ),
    pool(
        "AdaptiveMaxPoolIndices",
        f"The largest of neighbours, and their numbers among the elements of a channel. {SAME_FOR_ALL}",
        (Y, INDICES, X),
        adaptive_max_pool_indices,
        lambda np, random: adaptive_trials(np, random, "x"),
        (NOT_EMPTY,),
        header="adaptive_max_pool_indices",
        published=False,
        ulps=0,
    ),
)
