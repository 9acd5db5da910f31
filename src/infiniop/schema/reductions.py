"""One number from each row: sums, means, extremes, truth."""

from __future__ import annotations

from typing import Any

from .model import WHOLE, Attribute, Operator, Reduce, Rows, Tensor
from .norms import ROW_FLOATS, mean_of

_UNBIASED = Attribute("unbiased", "bool", "whether one element less is counted", default=1)
_VARIANCE = (Reduce("s", "sum", "input"), Reduce("q", "sum", "(input - s / n) * (input - s / n)"))
_DIVIDED = "q / (n > unbiased ? n - unbiased : 0)"


# The largest element, where that is finite: what is subtracted from infinite ones must not be.
_FINITE = "(m - m == 0 ? m : 0)"


def reduction(name: str, how: Any, reference: Any, doc: str, **more: Any) -> Operator:
    """`output` from the rows of `input`."""
    return Operator(
        name,
        doc,
        (Tensor("output", "out", place="row"), Tensor("input")),
        more.pop("dtypes", ROW_FLOATS),
        reference,
        kind="rows",
        rows=Rows(
            (Reduce("r", how, more.pop("term", "input")),),
            (("output", more.pop("result", "r")),),
            along="dims",
            needs_elements=more.pop("needs_elements", False),
        ),
        **more,
    )


def _variance(np: Any, x: Any, unbiased: float) -> Any:
    n = x.shape[-1]
    centred = x - mean_of(np, x)
    return np.sum(centred * centred, axis=-1) / np.float64(max(n - unbiased, 0))


def _log_sum_exp(np: Any, x: Any) -> Any:
    largest = np.max(x, axis=-1, keepdims=True, initial=-np.inf)
    finite = np.where(np.isfinite(largest), largest, 0)
    return finite[..., 0] + np.log(np.sum(np.exp(x - finite), axis=-1))


def _norm(np: Any, x: Any) -> Any:
    """Of the largest numbers without leaving the range, and infinite where one of them is."""
    largest = np.max(np.abs(x), axis=-1, initial=0)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1)
    norm = scale * np.sqrt(np.sum((x / scale[..., None]) ** 2, axis=-1))
    return np.where(largest == np.inf, np.inf, norm)


OPERATORS: tuple[Operator, ...] = (
    reduction(
        "Sum",
        "sum",
        lambda np, x: np.sum(x, axis=-1),
        "The sum of a row; of integers and BOOL it is I64, and wraps around.",
        dtypes=(*WHOLE, *ROW_FLOATS),
        dtype_rule="wide",
        domain=(0.1, 4),
        extremes=False,
    ),
    reduction(
        "Mean",
        "sum",
        lambda np, x: mean_of(np, x)[..., 0],
        "The mean of a row.",
        result="r / n",
        domain=(0.1, 4),
        extremes=False,
        published=False,
    ),
    Operator(
        "LogSumExp",
        "The logarithm of the sum of a row's exponentials, computed without leaving the type's range.",
        (Tensor("output", "out", place="row"), Tensor("input")),
        ROW_FLOATS,
        _log_sum_exp,
        kind="rows",
        rows=Rows(
            (Reduce("m", "max", "input"), Reduce("s", "sum", f"exp(input - {_FINITE})")),
            (("output", f"{_FINITE} + log(s)"),),
            along="dims",
        ),
        header="logsumexp",
        python="logsumexp",
        domain=(1, 4),  # of small ones the result may be near 0, where everything is many units
        ulps=8,
        published=False,
    ),
    reduction(
        "Max",
        "max",
        lambda np, x: np.max(x, axis=-1),
        "The largest element of a row.",
        dtypes=(*WHOLE, *ROW_FLOATS),
        needs_elements=True,
        ulps=0,
        python="amax",
        published=False,
    ),
    reduction(
        "Min",
        "min",
        lambda np, x: np.min(x, axis=-1),
        "The smallest element of a row.",
        dtypes=(*WHOLE, *ROW_FLOATS),
        needs_elements=True,
        ulps=0,
        python="amin",
        published=False,
    ),
    reduction(
        "Prod",
        "prod",
        lambda np, x: np.prod(x, axis=-1),
        "The product of a row; of integers and BOOL it is I64, and wraps around.",
        dtypes=(*WHOLE, *ROW_FLOATS),
        dtype_rule="wide",
        domain=(0.97, 1.03),
        extremes=False,
        ulps=512,  # every factor's rounding stays in the product
        published=False,
    ),
    reduction(
        "All",
        "min",
        lambda np, x: np.all(x, axis=-1),
        "Whether no element of a row is 0.",
        term="input != 0 ? 1 : 0",
        result="r != 0",
        dtypes=(*WHOLE, *ROW_FLOATS),
        dtype_rule="truth",
        ulps=0,
    ),
    reduction(
        "Any",
        "max",
        lambda np, x: np.any(x, axis=-1),
        "Whether an element of a row is not 0.",
        term="input != 0 ? 1 : 0",
        result="r > 0",
        dtypes=(*WHOLE, *ROW_FLOATS),
        dtype_rule="truth",
        ulps=0,
        published=False,
    ),
    Operator(
        "Var",
        "The variance of a row.",
        (Tensor("var_output", "out", place="row"), Tensor("input")),
        ROW_FLOATS,
        lambda np, x, unbiased: _variance(np, x, unbiased),
        kind="rows",
        rows=Rows(_VARIANCE, (("var_output", _DIVIDED),), along="dims"),
        attributes=(_UNBIASED,),
        extremes=False,
        ulps=16,
    ),
    Operator(
        "VarMean",
        "The variance of a row, and its mean.",
        (
            Tensor("var_output", "out", place="row"),
            Tensor("mean_output", "out", place="row", python="mean"),
            Tensor("input"),
        ),
        ROW_FLOATS,
        lambda np, x, unbiased: (_variance(np, x, unbiased), mean_of(np, x)[..., 0]),
        kind="rows",
        rows=Rows(_VARIANCE, (("var_output", _DIVIDED), ("mean_output", "s / n")), along="dims"),
        attributes=(_UNBIASED,),
        header="var_mean",
        domain=(0.1, 4),
        extremes=False,
        ulps=16,
    ),
    Operator(
        "Asum",
        "The sum of a row's sizes without their signs. The result of one row may have any shape of one element.",
        (Tensor("x", python="x"), Tensor("result", "out", place="row")),
        ROW_FLOATS,
        lambda np, x: np.sum(np.abs(x), axis=-1),
        kind="rows",
        rows=Rows((Reduce("s", "sum", "fabs(x)"),), (("result", "s"),)),
        extremes=False,
        ulps=4,
    ),
    Operator(
        "Nrm2",
        "The root of the sum of a row's squares; the largest element is divided by first, so that squares stay in the type's range. The "
        "result of one row may have any shape of one element.",
        (Tensor("x", python="x"), Tensor("result", "out", place="row")),
        ROW_FLOATS,
        _norm,
        kind="rows",
        rows=Rows(
            (Reduce("m", "max", "fabs(x)"), Reduce("s", "sum", "(x / m) * (x / m)")),
            (("result", "m > 0 && m - m == 0 ? m * sqrt(s) : (n > 0 ? m : 0)"),),
        ),
        ulps=4,
    ),
    Operator(
        "BlasDot",
        "The sum of the products of two rows' elements. The result of one row may have any shape of one element.",
        (Tensor("x", python="x"), Tensor("y", python="y"), Tensor("result", "out", place="row")),
        ROW_FLOATS,
        lambda np, x, y: np.sum(x * y, axis=-1),
        kind="rows",
        rows=Rows((Reduce("s", "sum", "x * y"),), (("result", "s"),)),
        header="blas_dot",
        domain=(0.1, 4),  # of different signs, the terms may cancel
        extremes=False,
        ulps=4,
    ),
    Operator(
        "Dot",
        "The sum of the products of two rows' elements. The result of one row may have any shape of one element.",
        (
            Tensor("y", "out", place="row"),
            Tensor("a", python="input"),
            Tensor("b", python="tensor"),
        ),
        ROW_FLOATS,
        lambda np, a, b: np.sum(a * b, axis=-1),
        kind="rows",
        rows=Rows((Reduce("s", "sum", "a * b"),), (("y", "s"),)),
        domain=(0.1, 4),  # of different signs, the terms may cancel
        extremes=False,
        ulps=4,
    ),
)
