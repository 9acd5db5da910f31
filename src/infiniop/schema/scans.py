"""Of each element of a row what all up to it give together."""

from __future__ import annotations

from typing import Any

from .model import INDICES, REALS, Attribute, Operator, Tensor, Written

FLOATING = ("F16", "BF16", "F32", "F64")
DIM = Attribute(
    "dim", "int", "the dimension that rows lie along; negative ones count from the last", default=-1
)


def log_cum_sum_exp(np: Any, x: Any, dim: float, exclusive: float, reverse: float) -> Any:
    axis = int(dim) % x.ndim
    rows = np.flip(x, axis) if reverse else x
    if rows.shape[axis] and exclusive:
        before = np.take(rows, np.arange(rows.shape[axis] - 1), axis=axis)
        rows = np.concatenate([np.full_like(np.take(rows, [0], axis=axis), -np.inf), before], axis=axis)
    sums = np.logaddexp.accumulate(rows, axis=axis) if rows.size else rows
    return np.flip(sums, axis) if reverse else sums


def log_cum_sum_exp_trials(np: Any, random: Any) -> Any:
    extremes = np.array([[-np.inf, -np.inf, 0.0, -900.0, 3.0], [2.0, np.inf, 1.0, np.inf, 0.0]])
    yield {"x": random.normal(size=(5, 40)) * 3, "dim": 1, "exclusive": 0, "reverse": 0}
    yield {"x": random.normal(size=(3, 61, 20)) * 3, "dim": 1, "exclusive": 1, "reverse": 0}
    yield {"x": random.normal(size=(70,)), "dim": -1, "exclusive": 0, "reverse": 1}
    yield {"x": random.normal(size=(2, 5000)), "dim": -1, "exclusive": 1, "reverse": 1}
    yield {"x": extremes, "dim": 1, "exclusive": 0, "reverse": 0}
    yield {"x": np.zeros((0, 4)), "dim": 1, "exclusive": 0, "reverse": 0}


def scan_trials(np: Any, random: Any, spread: float) -> Any:
    """Factors near 1 keep products in the range of every type."""
    for shape, dim in (
        ((5, 40), 1),
        ((3, 61, 20), 1),
        ((9,), 0),
        ((2, 5000), -1),
        ((40, 3, 17), 0),
        ((0, 4), 1),
    ):
        values = random.normal(size=shape)
        yield {
            "input": values * 3 if spread == 0 else 1 + spread * np.round(np.clip(values, -2, 2)),
            "dim": dim,
        }


def extremes(np: Any, input: Any, dim: float, largest: bool) -> Any:
    """Of equal ones the later counts; from the first that is not a number on nothing but these do."""
    rows = np.moveaxis(input, int(dim), -1)
    values, indices = np.empty_like(rows), np.empty(rows.shape, np.int64)
    for place in np.ndindex(*rows.shape[:-1]):
        best, at = None, 0
        for i, x in enumerate(rows[place]):
            if best is None or x != x or (best == best and (x >= best if largest else x <= best)):
                best, at = x, i
            here = (*place, i)
            values[here], indices[here] = best, at
    return np.moveaxis(values, -1, int(dim)), np.moveaxis(indices, -1, int(dim))


def extremes_trials(np: Any, random: Any) -> Any:
    yield {"input": np.round(random.normal(size=(5, 40)) * 3), "dim": 1}
    for shape, dim in (
        ((3, 61, 20), 1),
        ((9,), 0),
        ((2, 1500), -1),
        ((40, 3, 17), 0),
        ((0, 4), 1),
        ((4, 0), 1),
    ):
        values = np.round(random.normal(size=shape) * 3)
        values.reshape(-1)[values.size // 2 :: 37] = np.nan
        values.reshape(-1)[values.size // 4 :: 29] = -np.inf
        values.reshape(-1)[5::31] = -0.0
        yield {"input": values, "dim": dim}


def cumulative_extreme(name: str, what: str, largest: bool) -> Operator:
    return Operator(
        name,
        f"The {what} of each element of a row and all before it, and where it is; of equal ones the last. What is not a number stays.",
        (
            Tensor("values", "out"),
            Tensor("indices", "out", dtypes=INDICES, made_as="I64"),
            Tensor("input"),
        ),
        REALS,
        lambda np, input, dim: extremes(np, input, dim, largest),
        kind="written",
        written=Written(
            {"values": "< n >", "indices": "< n >", "input": "< n >"}, extremes_trials, in_place=True
        ),
        attributes=(DIM,),
        wrapped=True,
        published=False,
        ulps=0,
    )


def scan(name: str, what: str, reference: Any, spread: float) -> Operator:
    return Operator(
        name,
        f"The {what} of each element of a row and all before it. Integers wrap around.",
        (Tensor("output", "out"), Tensor("input")),
        (*FLOATING, "I32", "I64"),
        lambda np, input, dim: reference(np)(input, axis=int(dim), dtype=input.dtype),
        kind="written",
        written=Written(
            {"output": "< n >", "input": "< n >"},
            lambda np, random: scan_trials(np, random, spread),
            in_place=True,
        ),
        attributes=(DIM,),
        wrapped=True,
        published=False,
        ulps=64,
    )


OPERATORS: tuple[Operator, ...] = (
    scan("Cumsum", "sum", lambda np: np.cumsum, 0),
    scan("Cumprod", "product", lambda np: np.cumprod, 2**-8),
    cumulative_extreme("Cummax", "largest", True),
    cumulative_extreme("Cummin", "smallest", False),
    Operator(
        "LogCumSumExp",
        "The logarithm of the sum of the exponentials of each element of a row and all before it.",
        (Tensor("y", "out"), Tensor("x")),
        FLOATING,
        log_cum_sum_exp,
        kind="written",
        written=Written({"y": "< n >", "x": "< n >"}, log_cum_sum_exp_trials, in_place=True),
        attributes=(
            Attribute("dim", "int", "the dimension that rows lie along; negative ones count from the last"),
            Attribute(
                "exclusive",
                "int",
                "whether an element itself is left out; the first result is then -infinity",
                default=0,
            ),
            Attribute("reverse", "int", "whether rows are taken from their last element on", default=0),
        ),
        python="logcumsumexp",
        ulps=32,
    ),
)
