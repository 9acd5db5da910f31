"""Bits of integers, truth, and choices that are made by it."""

from __future__ import annotations

from typing import Any

from .model import INTEGERS, NUMBERS, REALS, WHOLE, Attribute, Operator, Tensor
from .shapes import binary, unary


def _is_too_far(a: Any, b: Any) -> Any:
    return (b < 0) | (b >= 8 * a.dtype.itemsize)


def _shift_right(np: Any, a: Any, b: Any) -> Any:
    too_far = _is_too_far(a, b)
    shifted = np.right_shift(a, np.where(too_far, 0, b).astype(a.dtype))
    return np.where(too_far, np.where(a < 0, -1, 0).astype(a.dtype), shifted)


def _shift_left(np: Any, a: Any, b: Any) -> Any:
    too_far = _is_too_far(a, b)
    return np.where(too_far, 0, np.left_shift(a, np.where(too_far, 0, b).astype(a.dtype)))


OPERATORS: tuple[Operator, ...] = (
    binary(
        "BitwiseAnd",
        "a & b",
        lambda np, a, b: a & b,
        "The bits that `a` and `b` both have; of BOOL, whether both are true.",
        header="bitwise_and",
        symbol="&",
        dtypes=WHOLE,
        published=False,
        ulps=0,
    ),
    binary(
        "BitwiseOr",
        "a | b",
        lambda np, a, b: a | b,
        "The bits that `a` or `b` has; of BOOL, whether one is true.",
        header="bitwise_or",
        symbol="|",
        dtypes=WHOLE,
        published=False,
        ulps=0,
    ),
    binary(
        "BitwiseXor",
        "a ^ b",
        lambda np, a, b: a ^ b,
        "The bits in which `a` and `b` differ; of BOOL, whether they do.",
        header="bitwise_xor",
        symbol="^",
        dtypes=WHOLE,
        published=False,
        ulps=0,
    ),
    unary(
        "BitwiseNot",
        "~x",
        lambda np, x: ~x,
        "The bits that `x` does not have. Of BOOL that is `LogicalNot`.",
        header="bitwise_not",
        symbol="~",
        dtypes=INTEGERS,
        published=False,
        ulps=0,
    ),
    binary(
        "BitwiseLeftShift",
        "shift_left(a, b)",
        _shift_left,
        "`a << b`. Shifts by less than 0 or by all bits and more leave 0.",
        header="bitwise_left_shift",
        symbol="<<",
        dtypes=INTEGERS,
        published=False,
        ulps=0,
    ),
    binary(
        "BitwiseRightShift",
        "shift_right(a, b)",
        _shift_right,
        "`a >> b`, filled with the sign. Shifts by less than 0 or by all bits and more leave only the sign.",
        header="bitwise_right_shift",
        symbol=">>",
        dtypes=INTEGERS,
        ulps=0,
    ),
    binary(
        "LogicalAnd",
        "a != 0 && b != 0",
        lambda np, a, b: np.logical_and(a, b),
        "1 where neither `a` nor `b` is 0, 0 elsewhere. The output is BOOL, I8 or U8.",
        header="logical_and",
        dtypes=REALS,
        dtype_rule="truth",
        published=False,
        ulps=0,
    ),
    binary(
        "LogicalOr",
        "a != 0 || b != 0",
        lambda np, a, b: np.logical_or(a, b),
        "1 where `a` or `b` is not 0, 0 elsewhere. The output is BOOL, I8 or U8.",
        header="logical_or",
        dtypes=REALS,
        dtype_rule="truth",
        published=False,
        ulps=0,
    ),
    binary(
        "LogicalXor",
        "(a != 0) != (b != 0)",
        lambda np, a, b: np.logical_xor(a, b),
        "1 where one of `a` and `b` is 0 and the other is not, 0 elsewhere. The output is BOOL, I8 or U8.",
        header="logical_xor",
        dtypes=REALS,
        dtype_rule="truth",
        published=False,
        ulps=0,
    ),
    unary(
        "LogicalNot",
        "x == 0",
        lambda np, x: np.logical_not(x),
        "1 where `x` is 0, 0 elsewhere. The output is BOOL, I8 or U8.",
        header="logical_not",
        symbol="~ bool",
        dtypes=REALS,
        dtype_rule="truth",
        published=False,
        ulps=0,
    ),
    unary(
        "IsNan",
        "x != x",
        lambda np, x: np.isnan(x),
        "1 where `x` is not a number, 0 elsewhere. The output is BOOL, I8 or U8.",
        python="isnan",
        dtypes=NUMBERS,
        dtype_rule="truth",
        published=False,
        ulps=0,
    ),
    unary(
        "IsInf",
        "(x == x) & (x - x != 0)",
        lambda np, x: np.isinf(x),
        "1 where `x` is infinite, 0 elsewhere. The output is BOOL, I8 or U8.",
        python="isinf",
        dtypes=NUMBERS,
        dtype_rule="truth",
        published=False,
        ulps=0,
    ),
    unary(
        "IsFinite",
        "x - x == 0",
        lambda np, x: np.isfinite(x),
        "1 where `x` is a number and not infinite, 0 elsewhere. The output is BOOL, I8 or U8.",
        python="isfinite",
        dtypes=NUMBERS,
        dtype_rule="truth",
        published=False,
        ulps=0,
    ),
    unary(
        "IsPosInf",
        "(x > 0) & (x - x != 0)",
        lambda np, x: x == np.inf,
        "1 where `x` is infinite and positive, 0 elsewhere. The output is BOOL, I8 or U8.",
        python="isposinf",
        dtypes=NUMBERS,
        dtype_rule="truth",
        published=False,
        ulps=0,
    ),
    unary(
        "IsNegInf",
        "(x < 0) & (x - x != 0)",
        lambda np, x: x == -np.inf,
        "1 where `x` is infinite and negative, 0 elsewhere. The output is BOOL, I8 or U8.",
        python="isneginf",
        dtypes=NUMBERS,
        dtype_rule="truth",
        published=False,
        ulps=0,
    ),
    Operator(
        "Where",
        "`a` where `condition` is not 0, `b` elsewhere. The condition is BOOL, U8 or I8.",
        (Tensor("c", "out"), Tensor("condition", holds_truth=True), Tensor("a"), Tensor("b")),
        REALS,
        lambda np, condition, a, b: np.where(condition, a, b),
        "condition != 0 ? a : b",
        published=False,
        ulps=0,
    ),
    Operator(
        "MaskedFill",
        "`value` where `mask` is not 0, `x` elsewhere. The mask is BOOL, U8 or I8. Of integers `value` is the nearest that there is.",
        (Tensor("y", "out"), Tensor("x"), Tensor("mask", holds_truth=True)),
        NUMBERS,
        lambda np, x, mask, value: np.where(mask, value, x),
        "mask != 0 ? value : x",
        header="masked_fill",
        attributes=(Attribute("value", "double", "what stands under the mask"),),
        published=False,
        ulps=1,
    ),
)
