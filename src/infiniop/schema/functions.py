"""Functions of one number."""

from __future__ import annotations

import math

from .model import FLOATS, Operator
from .shapes import unary

OPERATORS: tuple[Operator, ...] = (
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
    unary("Floor", "floor(x)", lambda np, x: np.floor(x), "Rounded down.", dtypes=FLOATS, ulps=0),
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
