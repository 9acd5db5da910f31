"""Inputs for the tests of element-wise operators: values, shapes, strides."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from op_support import NUMPY, Array

from infiniop.schema import Operator
from infiniop.schema.model import FLOATS

VALUES = {
    "value": 0.75, "alpha": 3.0, "min_val": -1.0, "max_val": 1.5, "beta": 1.25, "threshold": 20.0,
    "scalar_exponent": 2.5, "weight_scalar": 0.3, "lambd": 0.5, "negative_slope": 0.01,
    "nan_value": -0.5, "infinite_value": 96.0,
}  # fmt: skip


def values_of(operator: Operator) -> dict[str, float]:
    return {attribute.name: VALUES[attribute.name] for attribute in operator.attributes}


def ordinary(operator: Operator, dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    random = np.random.default_rng(seed)
    if dtype in FLOATS:
        return random.uniform(*operator.domain, shape).astype(NUMPY[dtype])
    if dtype == "BOOL":
        return np.asarray(random.random(shape) < 0.5)
    facts = np.iinfo(NUMPY[dtype])
    # Small ones and, sometimes, such as overflow.
    wide = random.integers(facts.min, facts.max, shape, dtype=NUMPY[dtype], endpoint=True)
    narrow = random.integers(max(facts.min, -9), 9, shape).astype(NUMPY[dtype])
    return np.where(random.random(shape) < 0.3, wide, narrow)


def special(dtype: str, extremes: bool) -> Array:
    if dtype == "BOOL":
        return np.array([False, True])
    if dtype not in FLOATS:
        facts = np.iinfo(NUMPY[dtype])
        signed = [facts.min, facts.min + 1, -3, -1] if facts.min < 0 else []
        return np.array([*signed, 0, 1, 2, 7, facts.max - 1, facts.max], dtype=NUMPY[dtype])
    import ml_dtypes

    facts = ml_dtypes.finfo(NUMPY[dtype])
    ends = [facts.max, facts.min, facts.smallest_subnormal, facts.smallest_normal] if extremes else []
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 20.0, -20.0, np.inf, -np.inf, np.nan, *map(float, ends)]
    return np.array(numbers).astype(NUMPY[dtype])


def input_types(operator: Operator, dtype: str) -> list[str]:
    """Of the inputs: what holds truth is BOOL whatever the others are, but for some U8 and I8."""
    other = {"F16": "U8", "I32": "I8"}.get(dtype, "BOOL")
    return [other if tensor.holds_truth else dtype for tensor in operator.inputs]


Make = Callable[[tuple[int, ...], int], Array]


def layouts(make: Make, count: int) -> Iterator[tuple[str, tuple[int, ...], list[Array]]]:
    """Shapes of the output, each with inputs in one of the ways in which they can lie in memory."""
    yield "no dimensions", (), [make((), i) for i in range(count)]
    yield "empty", (3, 0, 2), [make((3, 0, 2), i) for i in range(count)]
    yield "one element", (1, 1), [make((1, 1), i) for i in range(count)]
    yield "contiguous", (3, 700), [make((3, 700), i) for i in range(count)]
    yield "transposed", (5, 7), [make((7, 5), i).T for i in range(count)]
    yield "backwards", (4, 6), [make((8, 6), i)[::-2, ::-1] for i in range(count)]
    yield "columns", (9, 3), [make((9, 7), i)[:, 1::2] for i in range(count)]
    yield "mixed", (4, 3, 5), [make((5, 3, 4), i).T if i % 2 else make((4, 3, 5), i) for i in range(count)]
    yield "rows and columns", (300, 300), [make([(300, 1), (1, 300), (300,)][i % 3], i) for i in range(count)]
    yield "a scalar", (2, 1500), [make(() if i == count - 1 else (2, 1500), i) for i in range(count)]
    yield (
        "repeated",
        (3, 4),
        [np.broadcast_to(make((4,), i), (3, 4)) if i % 2 == 0 else make((3, 4), i) for i in range(count)],
    )


def output(operator: Operator, dtype: str, shape: tuple[int, ...]) -> Array:
    return np.zeros(shape, dtype=np.uint8 if operator.dtype_rule == "truth" else NUMPY[dtype])
