"""Functions of one number."""

from __future__ import annotations

import math
from typing import Any

from .model import FLOATS, NUMBERS, Operator
from .shapes import unary


def _digamma(np: Any, x: Any) -> Any:
    """By the recurrence to 30 and beyond, and the asymptotic series there."""
    reflected = x < 0
    z = np.where(reflected, 1 - x, x)
    result = np.zeros_like(z)
    for _ in range(30):
        small = z < 30
        result = np.where(small, result - 1 / z, result)
        z = np.where(small, z + 1, z)
    square = z * z
    series = 1 / 12 - (1 / 120 - (1 / 252 - 1 / (240 * square)) / square) / square
    result = result + np.log(z) - 1 / (2 * z) - series / square
    fraction = x - np.floor(x + 0.5)
    pole = reflected & (fraction == 0)
    turned = result - math.pi / np.tan(math.pi * np.where(fraction == 0, 0.25, fraction))
    result = np.where(reflected, np.where(pole, np.nan, turned), result)
    return np.where(x == 0, -np.copysign(np.inf, x), np.where(np.isinf(x) & (x > 0), np.inf, result))


def _erfinv(np: Any, x: Any) -> Any:
    """Newton's method: on the logarithm of the tail, which is nearly a parabola, and where that has lost digits of `x`, on `x` itself."""
    magnitude = np.minimum(np.abs(np.nan_to_num(x)), 1 - 2**-53)
    logarithm = np.log(1 - magnitude)
    erf, erfc = (np.vectorize(function, otypes=[float]) for function in (math.erf, math.erfc))
    y = np.sqrt(-logarithm) * 0.9
    for _ in range(12):
        tail, slope = erfc(y), 2 / math.sqrt(math.pi) * np.exp(-y * y)
        step = np.where(
            magnitude < 0.5, (magnitude - erf(y)) / slope, (np.log(tail) - logarithm) * tail / slope
        )
        y = np.clip(y + step, 0, 6)
    inside = np.copysign(y, x)
    return np.where(np.abs(x) < 1, inside, np.where(np.abs(x) == 1, np.copysign(np.inf, x), np.nan))


def _lgamma(np: Any, x: Any) -> Any:
    def of_one(number: float) -> float:
        if math.isnan(number):
            return number
        # At poles it is infinite, as at both ends; Python has no number there.
        return (
            math.inf
            if math.isinf(number) or (number <= 0 and number == math.floor(number))
            else lgamma(number)
        )

    def lgamma(number: float) -> float:
        try:
            return math.lgamma(number)
        except OverflowError:
            return math.inf

    return np.vectorize(of_one, otypes=[float])(x)


OPERATORS: tuple[Operator, ...] = (
    unary(
        "Digamma",
        "digamma(x)",
        _digamma,
        "The logarithmic derivative of the gamma function.",
        dtypes=FLOATS,
        domain=(2, 20),  # it is 0 near 1.46, where everything is many units
        ulps=64,  # of doubles: larger terms cancel
    ),
    unary(
        "Erfinv",
        "erfinv(x)",
        _erfinv,
        "The inverse of the error function.",
        dtypes=FLOATS,
        domain=(-1, 1),
        ulps=8,
    ),
    unary("Acos", "acos(x)", lambda np, x: np.arccos(x), "Arc cosine.", dtypes=FLOATS, domain=(-1, 1)),
    unary("Asin", "asin(x)", lambda np, x: np.arcsin(x), "Arc sine.", dtypes=FLOATS, domain=(-1, 1)),
    unary("Asinh", "asinh(x)", lambda np, x: np.arcsinh(x), "Inverse hyperbolic sine.", dtypes=FLOATS),
    unary(
        "Atanh",
        "atanh(x)",
        lambda np, x: np.arctanh(x),
        "Inverse hyperbolic tangent.",
        dtypes=FLOATS,
        domain=(-1, 1),
    ),
    unary("Sinh", "sinh(x)", lambda np, x: np.sinh(x), "Hyperbolic sine.", dtypes=FLOATS),
    unary(
        "Tan",
        "tan(x)",
        lambda np, x: np.tan(x),
        "Tangent.",
        dtypes=FLOATS,
        domain=(-1.4, 1.4),
    ),
    unary("Tanh", "tanh(x)", lambda np, x: np.tanh(x), "Hyperbolic tangent.", dtypes=FLOATS, functional=True),
    unary(
        "Erf",
        "erf(x)",
        lambda np, x: np.vectorize(math.erf, otypes=[float])(x),
        "Error function.",
        dtypes=FLOATS,
    ),
    unary(
        "Erfc",
        "erfc(x)",
        lambda np, x: np.vectorize(math.erfc, otypes=[float])(x),
        "One minus the error function.",
        dtypes=FLOATS,
        ulps=8,
    ),
    unary("Sin", "sin(x)", lambda np, x: np.sin(x), "Sine.", dtypes=FLOATS, published=False),
    unary("Cos", "cos(x)", lambda np, x: np.cos(x), "Cosine.", dtypes=FLOATS, published=False),
    unary("Atan", "atan(x)", lambda np, x: np.arctan(x), "Arc tangent.", dtypes=FLOATS, published=False),
    unary("Cosh", "cosh(x)", lambda np, x: np.cosh(x), "Hyperbolic cosine.", dtypes=FLOATS, published=False),
    unary(
        "Acosh",
        "acosh(x)",
        lambda np, x: np.arccosh(x),
        "Inverse hyperbolic cosine.",
        dtypes=FLOATS,
        domain=(1, 20),
        published=False,
    ),
    unary(
        "Exp", "exp(x)", lambda np, x: np.exp(x), "`e` to the power of `x`.", dtypes=FLOATS, published=False
    ),
    unary(
        "Exp2", "exp2(x)", lambda np, x: np.exp2(x), "2 to the power of `x`.", dtypes=FLOATS, published=False
    ),
    unary("Expm1", "expm1(x)", lambda np, x: np.expm1(x), "`exp(x) - 1`.", dtypes=FLOATS, published=False),
    unary(
        "Log",
        "log(x)",
        lambda np, x: np.log(x),
        "Natural logarithm.",
        dtypes=FLOATS,
        domain=(0, 100),
        published=False,
    ),
    unary(
        "Log2",
        "log2(x)",
        lambda np, x: np.log2(x),
        "Logarithm to base 2.",
        dtypes=FLOATS,
        domain=(0, 100),
        published=False,
    ),
    unary(
        "Sqrt",
        "sqrt(x)",
        lambda np, x: np.sqrt(x),
        "Square root.",
        dtypes=FLOATS,
        domain=(0, 100),
        published=False,
        ulps=1,
    ),
    unary(
        "Rsqrt",
        "rsqrt(x)",
        lambda np, x: 1 / np.sqrt(x),
        "`1 / sqrt(x)`.",
        dtypes=FLOATS,
        domain=(0, 100),
        published=False,
        ulps=2,
    ),
    unary("Square", "x * x", lambda np, x: x * x, "`x * x`.", dtypes=NUMBERS, published=False, ulps=1),
    unary(
        "Lgamma",
        "lgamma(x)",
        _lgamma,
        "The logarithm of the gamma function's size.",
        dtypes=FLOATS,
        domain=(3, 20),  # it is 0 at 1 and 2, and in between near the poles, where everything is many units
        published=False,
        ulps=16,  # of doubles: Python's own, which stands for the truth here, is off by as much
    ),
    unary(
        "DegToRad",
        "x * 0.017453292519943295",
        lambda np, x: x * (math.pi / 180),
        "An angle in degrees, in radians.",
        dtypes=FLOATS,
        python="deg2rad",
        header="deg2rad",
        published=False,
        ulps=2,
    ),
    unary(
        "RadToDeg",
        "x * 57.29577951308232",
        lambda np, x: x * (180 / math.pi),
        "An angle in radians, in degrees.",
        dtypes=FLOATS,
        python="rad2deg",
        header="rad2deg",
        published=False,
        ulps=2,
    ),
    unary(
        "Log10",
        "log10(x)",
        lambda np, x: np.log10(x),
        "Logarithm to base 10.",
        dtypes=FLOATS,
        domain=(0, 100),
    ),
    unary("Log1p", "log1p(x)", lambda np, x: np.log1p(x), "`log(1 + x)`.", dtypes=FLOATS, domain=(-1, 4)),
    unary("Reciprocal", "1 / x", lambda np, x: 1 / x, "`1 / x`.", dtypes=FLOATS, ulps=1),
)
