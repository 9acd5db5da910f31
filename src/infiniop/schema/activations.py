"""Activation functions of neural networks."""

from __future__ import annotations

import math

from .model import FLOATS, NUMBERS, Attribute, Operator, Tensor
from .shapes import binary, unary

_SELU_ALPHA, _SELU_SCALE = 1.6732632423543772, 1.0507009873554805

OPERATORS: tuple[Operator, ...] = (
    unary(
        "Relu",
        "relu(x)",
        lambda np, x: np.maximum(x, 0),
        "`x`, but not below 0.",
        dtypes=NUMBERS,
        ulps=0,
        functional=True,
        inplace=True,
    ),
    unary(
        "Relu6",
        "clip(x, 0, 6)",
        lambda np, x: np.minimum(np.maximum(x, 0), 6),
        "`x` between 0 and 6.",
        dtypes=FLOATS,
        ulps=0,
        functional=True,
        inplace=True,
    ),
    unary(
        "Sigmoid",
        "sigmoid(x)",
        lambda np, x: 1 / (1 + np.exp(-x)),
        "`1 / (1 + exp(-x))`.",
        dtypes=FLOATS,
        functional=True,
    ),
    unary(
        "Silu",
        "x * sigmoid(x)",
        lambda np, x: x / (1 + np.exp(-x)),
        "`x * sigmoid(x)`.",
        dtypes=FLOATS,
        ulps=8,
        functional=True,
        inplace=True,
    ),
    unary(
        "Gelu",
        "x * (erfc(-x * 0.7071067811865476) / 2)",
        lambda np, x: x * (np.vectorize(math.erfc, otypes=[float])(-x * math.sqrt(0.5)) / 2),
        "`x` times the normal distribution function of `x`.",
        dtypes=FLOATS,
        ulps=32,  # the argument of erfc is rounded, and its tail is steep
        functional=True,
    ),
    unary(
        "GeluTanh",
        "x * sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))",
        lambda np, x: x / (1 + np.exp(-1.5957691216057308 * (x + 0.044715 * x * x * x))),
        "Gelu, approximated with a hyperbolic tangent.",
        dtypes=FLOATS,
        ulps=32,
        functional=True,
    ),
    unary(
        "QuickGelu",
        "x * sigmoid(1.702 * x)",
        lambda np, x: x / (1 + np.exp(-1.702 * x)),
        "Gelu, approximated by `x * sigmoid(1.702 * x)`.",
        dtypes=FLOATS,
        ulps=32,  # the rounding of the argument grows with it
        functional=True,
    ),
    unary(
        "HardSwish",
        "x * (clip(x + 3, 0, 6) / 6)",
        lambda np, x: x * (np.minimum(np.maximum(x + 3, 0), 6) / 6),
        "`x * relu6(x + 3) / 6`.",
        dtypes=FLOATS,
        ulps=64,  # x + 3 may cancel
        python="hardswish",
        functional=True,
        inplace=True,
    ),
    unary(
        "HardTanh",
        "clip(x, min_val, max_val)",
        lambda np, x, min_val, max_val: np.minimum(np.maximum(x, min_val), max_val),
        "`x` between `min_val` and `max_val`.",
        dtypes=FLOATS,
        attributes=(
            Attribute("min_val", "float", "the smallest result", default=-1),
            Attribute("max_val", "float", "the largest result", default=1),
        ),
        ulps=1,
        python="hardtanh",
        functional=True,
        inplace=True,
    ),
    unary(
        "Selu",
        f"{_SELU_SCALE!r} * (x > 0 ? x : {_SELU_ALPHA!r} * expm1(x))",
        lambda np, x: _SELU_SCALE * np.where(x > 0, x, _SELU_ALPHA * np.expm1(np.minimum(x, 0))),
        "Scaled exponential linear unit.",
        dtypes=FLOATS,
        functional=True,
    ),
    unary(
        "Softplus",
        "x * beta > threshold ? x : log1p(exp(x * beta)) / beta",
        lambda np, x, beta, threshold: np.where(
            x * beta > threshold, x, np.log1p(np.exp(np.minimum(x * beta, threshold))) / beta
        ),
        "`log(1 + exp(beta * x)) / beta`, and `x` itself where `beta * x` is over the threshold.",
        dtypes=FLOATS,
        attributes=(
            Attribute("beta", "float", "how sharp the bend is", default=1),
            Attribute("threshold", "float", "where the function is a straight line", default=20),
        ),
        ulps=16,
        functional=True,
    ),
    unary(
        "Softsign",
        "x / (1 + fabs(x))",
        lambda np, x: x / (1 + np.abs(x)),
        "`x / (1 + abs(x))`.",
        dtypes=FLOATS,
        functional=True,
    ),
    unary(
        "Tanhshrink",
        "x - tanh(x)",
        lambda np, x: x - np.tanh(x),
        "`x - tanh(x)`.",
        dtypes=FLOATS,
        domain=(1, 4),  # near 0 the difference cancels, as the expression says
        ulps=32,
        functional=True,
    ),
    binary(
        "SwiGLU",
        "a * (b * sigmoid(b))",
        lambda np, a, b: a * b / (1 + np.exp(-b)),
        "`a * silu(b)`.",
        dtypes=FLOATS,
        extremes=False,
        ulps=8,
        python="swiglu",
        functional=True,
    ),
    Operator(
        "SiluAndMul",
        "`silu` of the first half of `input`'s last dimension, times the second half.",
        (Tensor("output", "out"), Tensor("input")),
        FLOATS,
        lambda np, gate, up: gate * up / (1 + np.exp(-gate)),
        "gate * sigmoid(gate) * up",
        header="silu_and_mul",
        halves=("gate", "up"),
        extremes=False,
        ulps=8,
        functional=True,
    ),
    Operator(
        "Prelu",
        "`x` where it is positive, `weight * x` elsewhere; the weight may be broadcast.",
        (Tensor("y", "out"), Tensor("x"), Tensor("weight")),
        FLOATS,
        lambda np, x, weight: np.where(x > 0, x, weight * x),
        "x > 0 ? x : weight * x",
        ulps=1,
        functional=True,
    ),
)
