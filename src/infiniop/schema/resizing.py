"""Operators on what lies in space that give it another size, and grids of places."""

from __future__ import annotations

import math
from typing import Any

from .model import Attribute, InList, Operator
from .spatial import (
    DIMS,
    INPUT,
    NOT_EMPTY,
    OUTPUT,
    X,
    Y,
    count_attribute,
    in_lists,
    in_space,
    listed,
    pool,
    share,
    space,
)

MODES = ("nearest", "linear", "bilinear", "bicubic", "trilinear", "area", "nearest-exact")


def taps(np: Any, mode: str, size: int, out: int, scale: float, corners: bool) -> Any:
    """What one dimension is multiplied by: a row for each element of the result."""
    matrix = np.zeros((out, size))
    ratio = (
        (size - 1) / (out - 1)
        if corners and out > 1
        else 0
        if corners
        else 1 / scale
        if scale > 0
        else size / out
    )
    for o in range(out):
        if mode in ("nearest", "nearest-exact"):
            step = np.float32(1 / scale if scale > 0 else np.float32(size) / np.float32(out))
            place = np.float32(o + (0.5 if mode == "nearest-exact" else 0)) * step
            matrix[o, min(int(place), size - 1)] = 1
        elif mode == "area":
            places, count = share(np, {"out": [out]}, 0, o, size)
            matrix[o, places] = 1 / count
        elif mode == "bicubic":
            at = o * ratio if corners else (o + 0.5) * ratio - 0.5
            first = math.floor(at)
            for i, weight in enumerate(cubic(at - first)):
                matrix[o, min(max(first - 1 + i, 0), size - 1)] += weight
        else:
            at = o * ratio if corners else max((o + 0.5) * ratio - 0.5, 0)
            first = min(math.floor(at), size - 1)
            part = min(max(at - first, 0), 1)
            matrix[o, first] += 1 - part
            matrix[o, min(first + 1, size - 1)] += part
    return matrix


def cubic(t: float) -> list[float]:
    """Weights of the four neighbours, by the cubic convolution with factor -0.75."""
    a = -0.75

    def near(x: float) -> float:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: float) -> float:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def resampled(np: Any, x: Any, out: Any, mode: str, scales: Any, corners: float) -> Any:
    wide, out = space(np, x), in_space(out)
    for axis in range(3):
        matrix = taps(np, mode, wide.shape[2 + axis], out[axis], scales[axis], bool(corners))
        wide = np.moveaxis(np.tensordot(matrix, wide, axes=(1, 2 + axis)), 0, 2 + axis)
    return wide.reshape(*x.shape[:2], *out[5 - x.ndim :])


def interpolate(
    np: Any, x: Any, out: Any, mode: float, size: float, scale_factor: float, align_corners: float
) -> Any:
    scales = [0.0] * (5 - x.ndim) + [0.0 if size else scale_factor] * (x.ndim - 2)
    return resampled(np, x, out, MODES[int(mode)], scales, align_corners)


def resample(np: Any, x: Any, out: Any, mode: float, align_corners: float, n: float, **lists: float) -> Any:
    return resampled(np, x, out, MODES[int(mode)], [lists[f"scale_factor_{d}"] for d in DIMS], align_corners)


RESIZES = (
    ((2, 3, 5), (9,), "linear", 0), ((2, 3, 5, 7), (8, 13), "bilinear", 0), ((1, 2, 7, 5), (4, 9), "bicubic", 0),
    ((1, 2, 3, 4, 5), (5, 4, 9), "trilinear", 0), ((2, 3, 5, 7), (10, 3), "nearest", 0), ((1, 2, 6, 7), (4, 3), "area", 0),
    ((1, 2, 5, 7), (9, 14), "bilinear", 1), ((1, 1, 5, 7), (1, 20), "bicubic", 1), ((2, 2, 11), (30,), "nearest-exact", 0),
    ((1, 2, 3, 4, 5), (1, 9, 5), "trilinear", 1), ((0, 1, 4), (8,), "linear", 0), ((1, 2, 3, 4, 5), (7, 8, 10), "nearest", 0),
    ((1, 3, 40, 300), (81, 601), "bilinear", 0),
)  # fmt: skip


def interpolate_trials(np: Any, random: Any) -> Any:
    for shape, out, mode, corners in RESIZES:
        yield {
            "x": random.normal(size=shape),
            "out": out,
            "mode": MODES.index(mode),
            "size": 1,
            "scale_factor": 0,
            "align_corners": corners,
        }
    for mode in ("nearest", "bilinear", "bicubic", "area"):
        yield {
            "x": random.normal(size=(1, 2, 5, 7)), "out": (7, 10), "mode": MODES.index(mode), "size": 0, "scale_factor": 1.5,
            "align_corners": 0,
        }  # fmt: skip


def resample_trials(np: Any, random: Any) -> Any:
    for number, (shape, out, mode, corners) in enumerate(RESIZES):
        n = len(out)
        scales = tuple((o + 0.25) / s for o, s in zip(out, shape[2:], strict=True)) if number % 3 == 1 else 0
        lists = in_lists(n, scale_factor=scales)
        yield {
            "x": random.normal(size=shape),
            "out": out,
            "mode": MODES.index(mode),
            **lists,
            "align_corners": corners,
        }


def upsample_trials(np: Any, random: Any, mode: str) -> Any:
    for shape, out, each, corners in RESIZES:
        if each == mode:
            trial = {"input": random.normal(size=shape), "out": out}
            yield trial | ({"align_corners": corners} if mode == "bilinear" else {})


MODE = Attribute("mode", "const char*", "how elements are made: " + ", ".join(MODES), names=MODES)
KNOWN_MODE = ("mode >= 0", "mode must be one of " + ", ".join(MODES))
FLAT_CUBIC = ("mode != 3 || (d == 1 && od == 1)", "mode bicubic is for at most two dimensions of space")
CORNERS = "whether the outermost elements of both lie at the same place, or the outer edges of these"


# ---- grids


def affine_grid(np: Any, input: Any, out: Any, align_corners: float) -> Any:
    def places(size: int) -> Any:
        if align_corners:
            return np.linspace(-1, 1, size) if size > 1 else np.zeros(size)
        return (2 * np.arange(size) + 1) / size - 1

    axes = np.meshgrid(*(places(size) for size in out), indexing="ij")
    base = np.stack([*axes[::-1], np.ones(out)], axis=-1)
    return np.einsum("...l,bkl->b...k", base, input)


def affine_grid_trials(np: Any, random: Any) -> Any:
    for shape, out, corners in (
        ((2, 2, 3), (4, 5), 0), ((1, 3, 4), (3, 2, 6), 0), ((1, 2, 3), (7, 1), 1), ((2, 3, 4), (2, 5, 3), 1), ((0, 2, 3), (4, 4), 0),
        ((3, 2, 3), (33, 65), 1),
    ):  # fmt: skip
        yield {"input": random.normal(size=shape), "out": out, "align_corners": corners}


# ---- the operators

OPERATORS: tuple[Operator, ...] = (
    pool(
        "Interpolate",
        "As many elements as the output has, from their neighbours in `x`. `size` is not read, since the output has it; where it is null, "
        "`scale_factor` is one number of type `double`, how much larger the output is, and places are found by it.",
        (Y, X),
        interpolate,
        interpolate_trials,
        (
            NOT_EMPTY,
            KNOWN_MODE,
            FLAT_CUBIC,
            ("size != 0 || scale_factor > 0", "size or scale_factor must be given"),
        ),
        (
            MODE,
            Attribute("size", "void*", "whether the size was given", default=0),
            Attribute(
                "scale_factor",
                "double",
                "how much larger the output is",
                default=0,
                in_list=InList("scale_factor"),
            ),
            Attribute("align_corners", "int", CORNERS, default=0),
        ),
    ),
    pool(
        "Resample",
        "As many elements as the output has, from their neighbours in `x`, with a factor for each dimension.",
        (Y, X),
        resample,
        resample_trials,
        (NOT_EMPTY, KNOWN_MODE, FLAT_CUBIC),
        (
            MODE,
            *listed(
                "scale_factor",
                "how much larger the output is, to find places by; 0: what the shapes say",
                0,
                ctype="double",
            ),
            Attribute("align_corners", "int", CORNERS, default=0),
            count_attribute(),
        ),
        published=False,
    ),
    pool(
        "UpsampleNearest",
        "As many elements as the output has, each that of the nearest place in the input.",
        (OUTPUT, INPUT),
        lambda np, input, out: resampled(np, input, out, "nearest", [0, 0, 0], False),
        lambda np, random: upsample_trials(np, random, "nearest"),
        (NOT_EMPTY,),
        header="upsample_nearest",
        ulps=0,
    ),
    pool(
        "UpsampleBilinear",
        "As many elements as the output has, from the neighbours in each dimension by how near they are.",
        (OUTPUT, INPUT),
        lambda np, input, out, align_corners: resampled(np, input, out, "bilinear", [0, 0, 0], align_corners),
        lambda np, random: upsample_trials(np, random, "bilinear"),
        (NOT_EMPTY,),
        (Attribute("align_corners", "int", CORNERS, default=0),),
        header="upsample_bilinear",
    ),
    pool(
        "AffineGrid",
        "For each place of an image, or of a volume, where the affine map `input` takes it; places go from -1 to 1.",
        (OUTPUT, INPUT),
        affine_grid,
        affine_grid_trials,
        (
            (
                "(k == 2 && l == 3 && d == 1) || (k == 3 && l == 4)",
                "input must be (b, 2, 3) for images, or (b, 3, 4) for volumes, and the output's last dimension k",
            ),
        ),
        (Attribute("align_corners", "uint8_t", CORNERS, default=0),),
        places={"output": "b d? h w k", "input": "b k l"},
        header="affine_grid",
    ),
)
