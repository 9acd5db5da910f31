"""Calls of written operators: the schema brings arrays, and what has to come of them is its reference's, in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from ..schema import Operator, Tensor
from ..schema.model import FLOATS
from .operands import NUMPY, Array, Operand, Shape, Trial, raw, units, whole

TYPES = ("F16", "BF16", "F32", "F64", "I32", "U8")
Place = Callable[[Array], Operand]
# What C takes as a float is that for the reference, too.
SINGLE = {"float": np.float32}


def cases(operator: Operator, seed: int = 7) -> list[dict[str, Any]]:
    """Arrays and attributes, by name."""
    assert operator.written is not None
    with np.errstate(all="ignore"):
        return list(operator.written.trials(np, np.random.default_rng(seed)))


def attributes_of(operator: Operator, case: dict[str, Any]) -> dict[str, float]:
    return {
        a.name: float(SINGLE.get(a.plain_type, float)(case.get(a.name, a.default or 0)))
        for a in operator.attributes
    }


def further_of(operator: Operator, case: dict[str, Any]) -> dict[str, Any]:
    """What only the reference is told: shapes of outputs that do not follow from inputs and attributes."""
    known = {*(each.name for each in operator.tensors), *(each.name for each in operator.attributes)}
    return {name: value for name, value in case.items() if name not in known}


def dtype_of(tensor: Tensor, dtype: str, turn: int) -> str:
    """Tensors with types of their own take turns through them."""
    return tensor.dtypes[turn % len(tensor.dtypes)] if tensor.dtypes else dtype


def limit_of(operator: Operator, expected: Array, dtype: str) -> Array | None:
    """Roundings are units of the largest number of all, where terms cancel; the result is rounded once more."""
    if dtype not in FLOATS:
        return None
    size = np.max(np.abs(np.where(np.isfinite(expected), expected, 0)), initial=0)
    computed = "F64" if dtype == "F64" else "F32"
    everywhere = np.full(expected.shape, size)
    return (
        0.5 * units(expected, dtype)
        + operator.ulps * units(everywhere, computed)
        + operator.narrow_ulps * (units(everywhere, dtype) if computed != dtype else 0)
    )


def trial_of(
    operator: Operator, dtype: str, case: dict[str, Any], what: str, turn: int = 0, place: Place = whole
) -> Trial:
    """One call; `place` says how its tensors lie in memory."""
    values = attributes_of(operator, case)
    dtypes = {tensor.name: dtype_of(tensor, dtype, turn) for tensor in operator.tensors}
    operands: dict[str, Operand | None] = {}
    given: dict[str, Array] = {}
    for tensor in operator.tensors:
        if tensor.role == "out" or case.get(tensor.name) is None:
            operands[tensor.name] = None
            given[tensor.name] = case.get(tensor.name, True) is not None if tensor.role == "out" else None
            continue
        with np.errstate(all="ignore"):
            array = np.asarray(case[tensor.name]).astype(NUMPY[dtypes[tensor.name]])
        operands[tensor.name] = place(array) if tensor.described else whole(array)
        given[tensor.name] = array.astype(np.float64) if dtypes[tensor.name] in FLOATS else array
    for tensor in operator.outputs:
        if tensor.role == "out" and not tensor.optional:
            del given[tensor.name]
            # What a trial brings for an output tells the reference its shape, where no input does.
            if tensor.name in case:
                given[tensor.name] = np.asarray(case[tensor.name])
    with np.errstate(all="ignore"):
        results = operator.reference(np, **given, **values, **further_of(operator, case))
    compared = []
    for tensor, result in zip(
        operator.outputs, results if isinstance(results, tuple) else (results,), strict=True
    ):
        if result is None:
            continue
        expected = np.asarray(result)
        limit = limit_of(operator, expected, dtypes[tensor.name])
        if limit is None:
            expected = expected.astype(NUMPY[dtypes[tensor.name]])
        if tensor.role == "out":
            filler = raw(dtypes[tensor.name], expected.shape, 9).view
            operands[tensor.name] = place(filler) if tensor.described else whole(filler)
        compared.append((tensor.name, (expected, limit)))
    return Trial(
        f"{dtype}, {what}",
        operands,
        dtypes,
        *compared[0][1],
        values,
        further=dict(compared[1:]),
    )


def written_values(operator: Operator) -> Iterator[Trial]:
    turns = count()
    for dtype in [each for each in TYPES if each in operator.dtypes] or [operator.dtypes[0]]:
        for number, case in enumerate(cases(operator)):
            yield trial_of(operator, dtype, case, f"trial {number}", next(turns))


def with_gaps(array: Array) -> Operand:
    """Every dimension backwards, with gaps between its elements."""
    if array.ndim == 0:
        return whole(array)
    root = raw_like(array, tuple(2 * size + 3 for size in array.shape))
    view = Operand(root, root[tuple(slice(-3, -3 - 2 * size, -2) for size in array.shape)])
    view.view[...] = array
    return view


def turned(array: Array) -> Operand:
    """The first dimension is the one that lies side by side."""
    root = array.T.copy(order="C")
    return Operand(root, root.T)


def raw_like(array: Array, shape: Shape) -> Array:
    bytes_ = np.random.default_rng(3).integers(0, 2, (*shape, array.itemsize), dtype=np.uint8)
    return bytes_.view(array.dtype).reshape(shape)


def written_layouts(operator: Operator) -> Iterator[Trial]:
    dtype = "F32" if "F32" in operator.dtypes else operator.dtypes[0]
    for number, case in enumerate(cases(operator)[:2]):
        yield trial_of(operator, dtype, case, f"trial {number}, with gaps, backwards", number, with_gaps)
        yield trial_of(operator, dtype, case, f"trial {number}, transposed", number, turned)
