"""Operators that normalise rows: softmax and its kin, and norms with weights."""

from __future__ import annotations

from typing import Any

from .model import Attribute, Each, Operator, Reduce, Rows, Tensor

ROW_FLOATS = ("F16", "BF16", "F32", "F64")
_EXPONENTIALS = (Reduce("m", "max", "x"), Each("e", "exp_of_negative(x - m)"), Reduce("s", "sum", "e"))


def mean_of(np: Any, x: Any) -> Any:
    """Not-a-number of nothing, without a warning."""
    return np.sum(x, axis=-1, keepdims=True) / np.float64(x.shape[-1])


def _softmax(np: Any, x: Any) -> Any:
    exponentials = np.exp(x - np.max(x, axis=-1, keepdims=True, initial=-np.inf))
    return exponentials / np.sum(exponentials, axis=-1, keepdims=True)


def _log_softmax(np: Any, x: Any) -> Any:
    moved = x - np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    return moved - np.log(np.sum(np.exp(moved), axis=-1, keepdims=True))


def _causal_softmax(np: Any, x: Any) -> Any:
    rows, n = x.shape[-2:]
    seen = np.arange(n) <= np.arange(rows)[:, None] + (n - rows)
    largest = np.max(np.where(seen, x, -np.inf), axis=-1, keepdims=True, initial=-np.inf)
    exponentials = np.where(seen, np.exp(x - largest), 0)
    return np.where(seen, exponentials / np.sum(exponentials, axis=-1, keepdims=True), 0)


def _rms_norm(np: Any, x: Any, w: Any, epsilon: float) -> Any:
    return x / np.sqrt(mean_of(np, x * x) + epsilon) * w


def _layer_norm(np: Any, x: Any, weight: Any, bias: Any, eps: float) -> Any:
    centred = x - mean_of(np, x)
    deviation = np.sqrt(mean_of(np, centred * centred) + eps)
    return centred / deviation * weight + bias, centred / deviation, deviation[..., 0]


def _lp_norm(np: Any, x: Any, p: float, eps: float) -> Any:
    largest = np.max(np.abs(x), axis=-1, keepdims=True, initial=-np.inf)
    scaled = x / np.where(largest > eps, largest, eps)
    return scaled / (np.sum(np.abs(scaled) ** p, axis=-1, keepdims=True) ** (1 / p) + eps)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Softmax",
        "The exponentials of a row's elements, divided by their sum.",
        (Tensor("y", "out"), Tensor("x")),
        ROW_FLOATS,
        _softmax,
        kind="rows",
        rows=Rows(_EXPONENTIALS, (("y", "e * (1 / s)"),), along="axis", axis="axis"),
        ulps=16,
        functional=True,
    ),
    Operator(
        "LogSoftmax",
        "The logarithm of `Softmax`, computed without leaving the type's range.",
        (Tensor("output", "out"), Tensor("input")),
        ROW_FLOATS,
        _log_softmax,
        kind="rows",
        rows=Rows(
            (Reduce("m", "max", "input"), Reduce("s", "sum", "exp_of_negative(input - m)")),
            (("output", "input - m - log(s)"),),
            along="axis",
        ),
        header="log_softmax",
        ulps=16,
        functional=True,
    ),
    Operator(
        "CausalSoftmax",
        "`Softmax` of what row `i` of a matrix may see: all columns but the last `rows - 1 - i`. The others become 0.",
        (Tensor("y", "out"), Tensor("x")),
        ROW_FLOATS,
        _causal_softmax,
        kind="rows",
        rows=Rows(_EXPONENTIALS, (("y", "e * (1 / s)"),), reach="n - rows + row + 1"),
        header="causal_softmax",
        ulps=16,
        functional=True,
    ),
    Operator(
        "RMSNorm",
        "A row divided by the root of the mean of its squares, times the weights.",
        (Tensor("y", "out"), Tensor("x"), Tensor("w", place="column", default=1, python="weight")),
        ROW_FLOATS,
        _rms_norm,
        kind="rows",
        rows=Rows((Reduce("s", "sum", "x * x"),), (("y", "x * rsqrt(s / n + epsilon) * w"),)),
        attributes=(Attribute("epsilon", "float", "what the mean is raised by", default=1e-5, python="eps"),),
        header="rms_norm",
        extremes=False,
        ulps=8,
        python="rms_norm",
        shape_parameter="normalized_shape",
        functional=True,
    ),
    Operator(
        "AddRMSNorm",
        "`RMSNorm` of `a + b`, and the sum itself.",
        (
            Tensor("y", "out", python="out"),
            Tensor("residual_out", "out", python="residual"),
            Tensor("a", python="a"),
            Tensor("b", python="b"),
            Tensor("weight", place="column", default=1),
        ),
        ROW_FLOATS,
        lambda np, a, b, weight, epsilon: (_rms_norm(np, a + b, weight, epsilon), a + b),
        kind="rows",
        rows=Rows(
            (Each("r", "a + b"), Reduce("s", "sum", "r * r")),
            (("y", "r * rsqrt(s / n + epsilon) * weight"), ("residual_out", "r")),
        ),
        attributes=(Attribute("epsilon", "float", "what the mean is raised by", default=1e-5),),
        header="add_rms_norm",
        extremes=False,
        ulps=8,
        python="add_rms_norm",
        functional=True,
    ),
    Operator(
        "LayerNorm",
        "A row with its mean taken away, divided by its standard deviation, times the weights, plus the bias; and, where they are "
        "asked for, what there is before the weights, and the deviation.",
        (
            Tensor("output", "out"),
            Tensor("input_standardization", "out", optional=True),
            Tensor("input_std_deviation", "out", place="row", optional=True),
            Tensor("input"),
            Tensor("weight", place="column", default=1),
            Tensor("bias", place="column", default=0),
        ),
        ROW_FLOATS,
        _layer_norm,
        kind="rows",
        rows=Rows(
            (Reduce("s", "sum", "input"), Reduce("q", "sum", "(input - s / n) * (input - s / n)")),
            (
                ("output", "(input - s / n) * rsqrt(q / n + eps) * weight + bias"),
                ("input_standardization", "(input - s / n) * rsqrt(q / n + eps)"),
                ("input_std_deviation", "sqrt(q / n + eps)"),
            ),
        ),
        attributes=(Attribute("eps", "float", "what the variance is raised by", default=1e-5),),
        header="layer_norm",
        extremes=False,
        ulps=16,
        shape_parameter="normalized_shape",
        functional=True,
    ),
    Operator(
        "LPNorm",
        "A row divided by its norm, the root of degree `p` of the sum of its elements' powers. The largest element is divided by first, so that "
        "powers stay in the type's range.",
        (Tensor("output", "out"), Tensor("input")),
        ROW_FLOATS,
        _lp_norm,
        kind="rows",
        rows=Rows(
            (
                Reduce("m", "max", "fabs(input)"),
                Each("e", "input * (1 / (m > eps ? m : eps))"),
                Reduce("s", "sum", "pow(fabs(e), p)"),
            ),
            (("output", "e * (1 / (pow(s, 1 / p) + eps))"),),
            along="axis",
            axis="axis",
        ),
        attributes=(
            Attribute("p", "int", "the degree of the norm", default=2),
            Attribute("eps", "float", "what divisors are at least", default=1e-12),
        ),
        header="lp_norm",
        extremes=False,
        ulps=16,
        python="lp_norm",
    ),
)
