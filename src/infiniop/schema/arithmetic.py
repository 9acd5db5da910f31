"""Arithmetic of two and three tensors, and with a scalar."""

from __future__ import annotations

from .model import FLOATS, INTEGERS, NUMBERS, Attribute, Operator, Tensor
from .shapes import binary, unary

OPERATORS: tuple[Operator, ...] = (
    binary("Add", "a + b", lambda np, a, b: a + b, "`a + b`; integers wrap around.", dtypes=NUMBERS, ulps=1),
    binary("Sub", "a - b", lambda np, a, b: a - b, "`a - b`; integers wrap around.", dtypes=NUMBERS, ulps=1),
    binary("Mul", "a * b", lambda np, a, b: a * b, "`a * b`; integers wrap around.", dtypes=NUMBERS, ulps=1),
    binary(
        "FloorDivide",
        "floor_divide(a, b)",
        lambda np, a, b: np.floor_divide(a, b),
        "`a / b` rounded down. An integer divided by zero is 0.",
        header="floor_divide",
        dtypes=NUMBERS,
    ),
    binary(
        "Fmod",
        "fmod(a, b)",
        lambda np, a, b: np.fmod(a, b),
        "The remainder of `a / b` rounded towards zero; it has the sign of `a`. For integers and `b` zero it is 0.",
        dtypes=NUMBERS,
    ),
    binary(
        "Fmin",
        "fmin(a, b)",
        lambda np, a, b: np.fmin(a, b),
        "The smaller one; if one of them is not a number, the other.",
        dtypes=NUMBERS,
        ulps=0,
    ),
    binary(
        "Hypot",
        "hypot(a, b)",
        lambda np, a, b: np.hypot(a, b),
        "`sqrt(a * a + b * b)` without overflow on the way.",
        dtypes=FLOATS,
    ),
    binary(
        "LogAddExp",
        "log_add_exp(a, b)",
        lambda np, a, b: np.logaddexp(a, b),
        "`log(exp(a) + exp(b))` without overflow on the way.",
        dtypes=FLOATS,
        domain=(1, 4),  # of small ones the result may be near 0, where everything is many units
        ulps=16,
    ),
    binary(
        "LogAddExp2",
        "log_add_exp2(a, b)",
        lambda np, a, b: np.logaddexp2(a, b),
        "`log2(2^a + 2^b)` without overflow on the way.",
        dtypes=FLOATS,
        domain=(1, 4),
        ulps=16,
    ),
    Operator(
        "FloatPower",
        "`x` to the power of `exponent` or, where that is null, of `scalar_exponent`.",
        (Tensor("y", "out"), Tensor("x"), Tensor("exponent")),
        FLOATS,
        lambda np, x, exponent, scalar_exponent: np.power(x, exponent),
        "pow(x, exponent)",
        header="float_power",
        scalar_expression="pow(x, scalar_exponent)",
        attributes=(Attribute("scalar_exponent", "float", "the exponent, where there is no tensor of them"),),
        ulps=16,
    ),
    Operator(
        "Ldexp",
        "`x` times 2 to the power of `exp`.",
        (Tensor("y", "out"), Tensor("x"), Tensor("exp")),
        FLOATS,
        lambda np, x, exp: x * np.exp2(exp),
        "ldexp(x, exp)",
        extremes=False,
    ),
    Operator(
        "Lerp",
        "`start + weight * (end - start)`; where `weight` is null, `weight_scalar` takes its place.",
        (Tensor("output", "out"), Tensor("start"), Tensor("end"), Tensor("weight")),
        FLOATS,
        lambda np, start, end, weight, weight_scalar: np.where(
            np.abs(weight) < 0.5, start + weight * (end - start), end - (end - start) * (1 - weight)
        ),
        "lerp(start, end, weight)",
        scalar_expression="lerp(start, end, weight_scalar)",
        attributes=(Attribute("weight_scalar", "float", "the weight, where there is no tensor of them"),),
        domain=(0, 1),
        extremes=False,
        ulps=64,  # the terms may cancel
    ),
    binary(
        "Equal",
        "a == b",
        lambda np, a, b: a == b,
        "1 where `a` and `b` are equal, 0 elsewhere. The output is BOOL, I8 or U8.",
        dtypes=NUMBERS,
        dtype_rule="truth",
        ulps=0,
    ),
    binary(
        "BitwiseRightShift",
        "shift_right(a, b)",
        lambda np, a, b: np.where(
            (b < 0) | (b >= 8 * a.dtype.itemsize),
            np.where(a < 0, -1, 0).astype(a.dtype),
            np.right_shift(a, np.where((b < 0) | (b >= 8 * a.dtype.itemsize), 0, b).astype(a.dtype)),
        ),
        "`a >> b`, filled with the sign. Shifts by less than 0 or by all bits and more leave only the sign.",
        header="bitwise_right_shift",
        dtypes=INTEGERS,
        ulps=0,
    ),
    Operator(
        "Clip",
        "`x`, but not below `min_val` and not above `max_val`, which may be broadcast; what is not a number stays so.",
        (Tensor("y", "out"), Tensor("x"), Tensor("min_val"), Tensor("max_val")),
        NUMBERS,
        lambda np, x, min_val, max_val: np.minimum(np.maximum(x, min_val), max_val),
        "clip(x, min_val, max_val)",
        ulps=0,
    ),
    Operator(
        "Addcmul",
        "`input + value * tensor1 * tensor2`.",
        (Tensor("out", "out"), Tensor("input"), Tensor("tensor1"), Tensor("tensor2")),
        FLOATS,
        lambda np, input, tensor1, tensor2, value: input + value * tensor1 * tensor2,
        "input + value * tensor1 * tensor2",
        attributes=(Attribute("value", "float", "the factor of the product"),),
        domain=(0, 4),  # of different signs, the terms may cancel
        extremes=False,
    ),
    unary(
        "MulScalar",
        "x * alpha",
        lambda np, x, alpha: x * alpha,
        "`x * alpha`; for integers `alpha` loses its fraction first.",
        header="mul_scalar",
        dtypes=NUMBERS,
        attributes=(Attribute("alpha", "double", "the factor", at_compute=True),),
        ulps=2,
    ),
)
