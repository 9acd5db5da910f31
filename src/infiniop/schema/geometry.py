"""Distances of vectors, and the determinant of matrices."""

from __future__ import annotations

from typing import Any

from .model import Attribute, Operator, Tensor, Written

FLOATING = ("F16", "BF16", "F32", "F64")
NORM_RULE = ("p >= 0", "p must be 0 or more")
NORM = "0: how many differences are not 0; infinite: the largest"


def norm(np: Any, off: Any, p: float, axis: Any) -> Any:
    off = np.abs(off)
    if p == 0:
        return np.sum(off != 0, axis=axis) + 0.0
    if np.isinf(p):
        return np.max(off, axis=axis, initial=0)
    return np.sum(off**p, axis=axis) ** (1 / p)


def cdist(np: Any, x1: Any, x2: Any, p: float) -> Any:
    return norm(np, x1[..., :, None, :] - x2[..., None, :, :], p, -1)


def cdist_trials(np: Any, random: Any) -> Any:
    for before, m, n, d, p in (
        ((), 5, 7, 9, 2),
        ((2, 3), 4, 3, 20, 1),
        ((), 40, 33, 130, 2),
        ((2,), 6, 5, 8, float("inf")),
        ((), 3, 4, 10, 0),
        ((), 9, 17, 6, 3.5),
        ((), 2, 3, 0, 2),
        ((), 0, 3, 4, 2),
    ):
        yield {
            "x1": np.round(random.normal(size=(*before, m, d)) * 8) / 8,
            "x2": np.round(random.normal(size=(*before, n, d)) * 8) / 8,
            "p": p,
        }


def dist(np: Any, x1: Any, x2: Any, p: float) -> Any:
    return norm(np, x1 - x2, p, None)


def dist_trials(np: Any, random: Any) -> Any:
    for shape, p in (
        ((5, 9), 2),
        ((3, 200, 90), 2),
        ((40,), 1),
        ((6, 7), float("inf")),
        ((300,), 0),
        ((4, 5, 2), 3),
        ((), 2),
        ((0, 3), 2),
    ):
        x = np.round(random.normal(size=shape) * 4) / 4
        yield {"x1": x, "x2": np.round(random.normal(size=shape) * 4) / 4, "p": p}


def logdet(np: Any, x: Any) -> Any:
    sign, logarithm = np.linalg.slogdet(x)
    return np.where(sign < 0, np.nan, np.where(sign == 0, -np.inf, logarithm))


def logdet_trials(np: Any, random: Any) -> Any:
    def positive(*shape: int) -> Any:
        x = random.normal(size=shape)
        return x @ np.swapaxes(x, -1, -2) + np.eye(shape[-1])

    yield {"x": positive(5, 5)}
    yield {"x": random.normal(size=(2, 3, 4, 4))}  # some are negative
    yield {"x": positive(70, 70)}
    yield {"x": np.array([[0.0, 2, 1], [1, 0, 0], [0, 0, -3]])}  # rows have to be exchanged
    yield {"x": np.array([[1.0, 2], [2, 4]])}
    yield {"x": np.array([[[4.0]], [[-4.0]], [[0.0]], [[np.inf]]])}
    yield {"x": np.zeros((3, 0, 0))}
    yield {"x": np.zeros((0, 2, 2))}


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Cdist",
        "The distance of each row of `x1` to each of `x2`: the `p`-norm of their difference.",
        (Tensor("y", "out"), Tensor("x1", python="x1"), Tensor("x2", python="x2")),
        FLOATING,
        cdist,
        kind="written",
        written=Written({"y": "... m n", "x1": "... m d", "x2": "... n d"}, cdist_trials, rules=(NORM_RULE,)),
        attributes=(Attribute("p", "double", NORM, default=2),),
        wrapped=True,
        ulps=16,
    ),
    Operator(
        "Dist",
        "The `p`-norm of the difference of two tensors.",
        (Tensor("y", "out"), Tensor("x1"), Tensor("x2")),
        FLOATING,
        dist,
        kind="written",
        written=Written(
            {"y": "*", "x1": "...", "x2": "..."},
            dist_trials,
            rules=(("has_one_element(plan, tensor::y)", "y must have one element"), NORM_RULE),
        ),
        attributes=(Attribute("p", "double", NORM, default=2),),
        wrapped=True,
        ulps=16,
    ),
    Operator(
        "Logdet",
        "The logarithm of the determinant of each matrix: not-a-number of a negative one, -infinity of 0. Computed in double.",
        (Tensor("y", "out"), Tensor("x")),
        ("F32", "F64"),
        logdet,
        kind="written",
        written=Written({"y": "...", "x": "... n n"}, logdet_trials),
        ulps=256,
    ),
)
