"""Elements that other elements, indices, name."""

from __future__ import annotations

from typing import Any

from .model import INDICES, REALS, Operator, Tensor, Written


def embedding_trials(np: Any, random: Any) -> Any:
    yield {"input": random.integers(0, 7, (3, 5)), "weight": random.normal(size=(7, 19)) * 4}
    yield {"input": random.integers(0, 40, ()), "weight": random.normal(size=(40, 256)) * 4}
    yield {"input": np.zeros((2, 0, 3), np.int64), "weight": random.normal(size=(4, 5))}
    yield {"input": random.integers(0, 300, (65,)), "weight": random.normal(size=(300, 1)) * 4}


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "Embedding",
        "The rows of `weight` that `input` names. A number that is no row's is an error of the stream.",
        (Tensor("output", "out"), Tensor("input", dtypes=INDICES), Tensor("weight")),
        REALS,
        lambda np, input, weight: weight[input],
        kind="written",
        written=Written({"output": "... d", "input": "...", "weight": "v d"}, embedding_trials),
        has_workspace=False,
        functional=True,
        ulps=0,
    ),
)
