"""Copies, conversions and constants: no arithmetic, and every element type that it makes sense for."""

from __future__ import annotations

from .model import EVERYTHING, REALS, Operator, Tensor

OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Rearrange",
        "Copies `src` to `dst`, whatever the strides of either.",
        (Tensor("dst", "out"), Tensor("src")),
        EVERYTHING,
        lambda np, src: src,
        kind="copy",
        has_workspace=False,
        ulps=0,
    ),
    Operator(
        "BroadcastTo",
        "Copies `x` to `y`, repeated where `x` has size 1 or no dimension.",
        (Tensor("y", "out"), Tensor("x")),
        EVERYTHING,
        lambda np, x: x,
        kind="copy",
        header="broadcast_to",
        ulps=0,
    ),
    Operator(
        "BlasCopy",
        "Copies `x` to `y`.",
        (Tensor("x"), Tensor("y", "out")),
        EVERYTHING,
        lambda np, x: x,
        kind="copy",
        header="blas_copy",
        ulps=0,
    ),
    Operator(
        "Ones",
        "Ones of any real type. `x` is not read, and may be null.",
        (Tensor("y", "out"), Tensor("x", "unused")),
        REALS,
        lambda np: 1,
        kind="constant",
        ulps=0,
    ),
    Operator(
        "Zeros",
        "Zeros of any type. `x` is not read, and may be null.",
        (Tensor("y", "out"), Tensor("x", "unused")),
        EVERYTHING,
        lambda np: 0,
        kind="constant",
        ulps=0,
    ),
    Operator(
        "Fill",
        "Every element of `y` becomes the one that `value`, an address of the host, points at; it is read during the call.",
        (Tensor("y", "out"),),
        EVERYTHING,
        lambda np, value: value,
        kind="fill",
        published=False,
        ulps=0,
    ),
    Operator(
        "Cast",
        "Converts to the type of `y`, rounding to the nearest. From floating point to integers the fraction is cut off, what is out of "
        "range becomes the nearest integer there is, and what is not a number 0. Integers keep their low bits. To BOOL: not equal to 0.",
        (Tensor("y", "out"), Tensor("x")),
        REALS,
        lambda np, x: x,
        kind="cast",
        dtype_rule="cast",
        published=False,
        ulps=0,
    ),
)
