"""Every operator that is an expression, against its reference: element types, shapes, strides, broadcasting, special values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pytest
from op_support import NUMPY, Array, check, reference, run

from infiniop.schema import OPERATORS, Operator
from infiniop.schema.model import FLOATS

MAPS = [operator for operator in OPERATORS if operator.kind == "map"]
VALUES = {
    "value": 0.75, "alpha": 3.0, "min_val": -1.0, "max_val": 1.5, "beta": 1.25, "threshold": 20.0,
}  # fmt: skip


def values_of(operator: Operator) -> dict[str, float]:
    return {attribute.name: VALUES[attribute.name] for attribute in operator.attributes}


def ordinary(operator: Operator, dtype: str, shape: tuple[int, ...], seed: int) -> Array:
    random = np.random.default_rng(seed)
    if dtype in FLOATS:
        return random.uniform(*operator.domain, shape).astype(NUMPY[dtype])
    facts = np.iinfo(NUMPY[dtype])
    # Small ones and, sometimes, such as overflow.
    wide = random.integers(facts.min, facts.max, shape, dtype=NUMPY[dtype], endpoint=True)
    narrow = random.integers(max(facts.min, -9), 9, shape).astype(NUMPY[dtype])
    return np.where(random.random(shape) < 0.3, wide, narrow)


def special(dtype: str, extremes: bool) -> Array:
    if dtype not in FLOATS:
        facts = np.iinfo(NUMPY[dtype])
        signed = [facts.min, facts.min + 1, -3, -1] if facts.min < 0 else []
        return np.array([*signed, 0, 1, 2, 7, facts.max - 1, facts.max], dtype=NUMPY[dtype])
    import ml_dtypes

    facts = ml_dtypes.finfo(NUMPY[dtype])
    ends = [facts.max, facts.min, facts.smallest_subnormal, facts.smallest_normal] if extremes else []
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 20.0, -20.0, np.inf, -np.inf, np.nan, *map(float, ends)]
    return np.array(numbers).astype(NUMPY[dtype])


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


def apply(operator: Operator, dtype: str, inputs: list[Array], out: Array, what: str) -> None:
    names = [tensor.name for tensor in operator.inputs]
    result_type = "U8" if operator.dtype_rule == "truth" else dtype
    arrays = {operator.output.name: out, **dict(zip(names, inputs, strict=True))}
    dtypes = {operator.output.name: result_type, **dict.fromkeys(names, dtype)}
    expected = np.broadcast_to(reference(operator, inputs, dtype, **values_of(operator)), out.shape)
    run(operator, arrays, dtypes, **values_of(operator))
    check(operator, out, expected, result_type, f"{operator.name} of {dtype}, {what}")


def output(operator: Operator, dtype: str, shape: tuple[int, ...]) -> Array:
    return np.zeros(shape, dtype=np.uint8 if operator.dtype_rule == "truth" else NUMPY[dtype])


@pytest.mark.parametrize("operator", MAPS, ids=lambda operator: operator.name)
def test_every_type_and_layout(operator: Operator) -> None:
    for dtype in operator.dtypes:
        for what, shape, inputs in layouts(
            lambda s, i, dtype=dtype: ordinary(operator, dtype, s, i), len(operator.inputs)
        ):
            apply(operator, dtype, inputs, output(operator, dtype, shape), what)


@pytest.mark.parametrize("operator", MAPS, ids=lambda operator: operator.name)
def test_outputs_of_every_layout(operator: Operator) -> None:
    for dtype in (operator.dtypes[1], operator.dtypes[-1]):
        inputs = [ordinary(operator, dtype, (6, 4), i) for i in range(len(operator.inputs))]
        wide = output(operator, dtype, (12, 9))
        apply(operator, dtype, inputs, output(operator, dtype, (4, 6)).T, "transposed output")
        apply(operator, dtype, inputs, wide[10::-2, 1:8:2], "output with gaps, backwards")
        untouched = np.ones(wide.shape, dtype=bool)
        untouched[10::-2, 1:8:2] = False
        assert not wide[untouched].any(), "written beside the output"


@pytest.mark.parametrize("operator", MAPS, ids=lambda operator: operator.name)
def test_special_values(operator: Operator) -> None:
    for dtype in operator.dtypes:
        cases = list(product(special(dtype, operator.extremes), repeat=len(operator.inputs)))
        inputs = [np.array(column, dtype=NUMPY[dtype]) for column in zip(*cases, strict=True)]
        apply(operator, dtype, inputs, output(operator, dtype, inputs[0].shape), "special values")


@pytest.mark.parametrize(
    "operator", [o for o in MAPS if o.dtype_rule == "same"], ids=lambda operator: operator.name
)
def test_the_output_may_be_an_input(operator: Operator) -> None:
    for dtype in (operator.dtypes[1], "F32" if "F32" in operator.dtypes else operator.dtypes[-1]):
        inputs = [ordinary(operator, dtype, (40, 100), i) for i in range(len(operator.inputs))]
        expected = reference(operator, [a.copy() for a in inputs], dtype, **values_of(operator))
        names = [tensor.name for tensor in operator.inputs]
        arrays = {operator.output.name: inputs[0], **dict(zip(names, inputs, strict=True))}
        run(operator, arrays, dict.fromkeys(arrays, dtype), **values_of(operator))
        check(operator, inputs[0], expected, dtype, f"{operator.name} of {dtype}, in place")
