"""One number from each row: sums, means, extremes, truth."""

from __future__ import annotations

from typing import Any

from .model import Attribute, Operator, Reduce, Rows, Tensor
from .norms import ROW_FLOATS, mean_of

_UNBIASED = Attribute("unbiased", "bool", "whether one element less is counted", default=1)
_VARIANCE = (Reduce("s", "sum", "input"), Reduce("q", "sum", "(input - s / n) * (input - s / n)"))
_DIVIDED = "q / (n > unbiased ? n - unbiased : 0)"


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


OPERATORS: tuple[Operator, ...] = (
    reduction(
        "Sum", "sum", lambda np, x: np.sum(x, axis=-1), "The sum of a row.", domain=(0.1, 4), extremes=False
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
    reduction(
        "Max",
        "max",
        lambda np, x: np.max(x, axis=-1),
        "The largest element of a row.",
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
        needs_elements=True,
        ulps=0,
        python="amin",
        published=False,
    ),
    reduction(
        "Prod",
        "prod",
        lambda np, x: np.prod(x, axis=-1),
        "The product of a row.",
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
        dtypes=("BOOL", "U8", *ROW_FLOATS),
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
        dtypes=("BOOL", "U8", *ROW_FLOATS),
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
)
