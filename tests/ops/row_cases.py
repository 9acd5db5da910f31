"""Inputs for the tests of operators on rows, and what has to come of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
from op_support import NUMPY, Array, units

from infiniop.schema import OPERATORS, Operator
from infiniop.schema.model import FLOATS

ROWS = [operator for operator in OPERATORS if operator.kind == "rows"]
BY_ROWS = {operator.name: operator for operator in ROWS}
# Exact in float: what C takes is what the reference gets.
VALUES = {"epsilon": 2.0**-10, "eps": 2.0**-10, "unbiased": 1.0, "p": 3}


def values_of(operator: Operator) -> dict[str, float]:
    return {attribute.name: VALUES[attribute.name] for attribute in operator.attributes}


@dataclass
class Case:
    """Inputs, and the dimensions that rows are made of. Row operators of last dimensions get them moved there."""

    what: str
    inputs: list[Array | None]
    dims: tuple[int, ...] = (-1,)
    keepdim: bool = False
    outputs: list[Array | None] = field(default_factory=list)
    """Where results go; made where there is none."""


def along(operator: Operator) -> str:
    assert operator.rows is not None
    return operator.rows.along


def ordinary(operator: Operator, dtype: str, shape: Sequence[int], seed: int = 0) -> Array:
    random = np.random.default_rng(seed)
    if dtype in FLOATS:
        return random.uniform(*operator.domain, tuple(shape)).astype(NUMPY[dtype])
    # Mostly ones and mostly zeros, by rows.
    few = random.random(tuple(shape)) < random.choice([0.001, 0.5, 0.999])
    if operator.dtype_rule == "truth" or dtype == "BOOL":
        return np.asarray(few).astype(NUMPY[dtype])
    # Any number, but none that would make a product 0.
    facts = np.iinfo(NUMPY[dtype])
    odd = random.integers(facts.min, facts.max, tuple(shape), dtype=NUMPY[dtype], endpoint=True) | NUMPY[
        dtype
    ](1)
    return np.asarray(odd)


def input_shape(operator: Operator, number: int, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(shape[-1:]) if operator.inputs[number].place == "column" else tuple(shape)


def inputs_of(operator: Operator, dtype: str, shape: Sequence[int], seed: int = 0) -> list[Array]:
    """Rows along the last dimension."""
    count = len(operator.inputs)
    return [ordinary(operator, dtype, input_shape(operator, i, shape), seed + i) for i in range(count)]


def wide(array: Array | None, default: float | None) -> Array:
    if array is None:
        return np.float64(default)
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def expected_of(operator: Operator, case: Case) -> list[Array]:
    """The reference, on rows that were brought to the last dimension, put back into the shapes that C has."""
    first = case.inputs[0]
    assert first is not None
    dims = [d % max(first.ndim, 1) for d in case.dims] if first.ndim else []
    others = [d for d in range(first.ndim) if d not in dims]
    moved = []
    for tensor, array in zip(operator.inputs, case.inputs, strict=True):
        if tensor.place == "column" or array is None:
            moved.append(wide(array, tensor.default))
        else:
            turned = array.transpose([*others, *dims])
            length = int(np.prod([array.shape[d] for d in dims], dtype=int))
            moved.append(wide(turned.reshape([array.shape[d] for d in others] + [length]), None))
    with np.errstate(all="ignore"):
        results = operator.reference(np, *moved, **values_of(operator))
    results = results if isinstance(results, tuple) else (results,)
    back = []
    for tensor, result in zip(operator.outputs, results, strict=True):
        if tensor.place == "element":
            split = result.reshape([first.shape[d] for d in [*others, *dims]])
            back.append(split.transpose(np.argsort([*others, *dims])) if first.ndim else split)
        elif case.keepdim:
            back.append(np.expand_dims(result, tuple(sorted(dims))))
        else:
            back.append(np.asarray(result))
    return back


def limit_of(operator: Operator, expected: Array, dtype: str, dims: Sequence[int]) -> Array:
    """Half a unit of the last place for the rounding, and the operator's units of what is the largest of a row: where terms cancel, that
    is what their roundings are units of."""
    computed = "F64" if dtype == "F64" else "F32"
    finite = np.where(np.isfinite(expected), np.abs(expected), 0)
    largest = finite
    if expected.ndim and operator.outputs[0].place == "element":
        largest = np.max(finite, axis=tuple(dims), keepdims=True, initial=0)
    more = operator.ulps * np.broadcast_to(units(largest, computed), expected.shape)
    return 0.5 * units(expected, dtype) + more


def check_rows(
    operator: Operator, got: Array, expected: Array, dtype: str, dims: Sequence[int], what: str
) -> None:
    if operator.dtype_rule == "truth":
        assert np.array_equal(got.astype(bool), expected.astype(bool)), (what, got, expected)
        return
    if dtype not in FLOATS:
        assert np.array_equal(got, expected.astype(NUMPY[dtype])), (what, got, expected)
        return
    result = got.astype(np.float64)
    with np.errstate(all="ignore"):
        rounded = expected.astype(NUMPY[dtype]).astype(np.float64)
        near = np.abs(result - expected) <= limit_of(operator, expected, dtype, dims)
        # Of the largest numbers a unit more or less decides whether they are finite.
        top = float(ml_dtypes.finfo(NUMPY[dtype]).max)
        same = (
            (result == rounded)
            | (np.isnan(result) & np.isnan(rounded))
            | ((np.abs(result) == top) & (np.sign(result) == np.sign(rounded)) & np.isinf(rounded))
        )
        fits = np.where(np.isfinite(rounded), near, same)
    wrong = ~fits
    assert not wrong.any(), (what, result[wrong][:5], expected[wrong][:5], np.argwhere(wrong)[:5].tolist())


def output_dtype(operator: Operator, dtype: str) -> str:
    return "U8" if operator.dtype_rule == "truth" else operator.result_type(dtype)


def arguments(operator: Operator, case: Case) -> dict[str, Any]:
    """What C takes beside the tensors."""
    first = case.inputs[0]
    assert first is not None
    given: dict[str, Any] = dict(values_of(operator))
    if along(operator) == "axis":
        given["axis"] = case.dims[0]
    elif along(operator) == "dims":
        given["dims"] = [d % max(first.ndim, 1) for d in case.dims]
        given["keepdim"] = case.keepdim
    return given


def layouts(operator: Operator, dtype: str) -> Iterator[Case]:
    """Ways in which tensors can lie in memory."""

    def make(*shape: int, seed: int = 0) -> list[Array]:
        return inputs_of(operator, dtype, shape, seed)

    def views(arrays: list[Array], view: Any) -> list[Array | None]:
        places = [tensor.place for tensor in operator.inputs]
        return [a if place == "column" else view(a) for a, place in zip(arrays, places, strict=True)]

    yield Case("transposed", views(make(5, 9), lambda a: ordinary(operator, dtype, (9, 5), 3).T))
    # Enough neighbours to be brought into the cache together.
    yield Case("transposed, many", views(make(45, 33), lambda a: ordinary(operator, dtype, (33, 45), 3).T))
    yield Case("rows backwards", views(make(6, 40), lambda a: np.concatenate([a, a])[::-2]))
    yield Case("columns backwards", views(make(6, 40), lambda a: a[:, ::-1]))
    yield Case("every other", views(make(6, 40), lambda a: np.repeat(a, 2, axis=1)[:, ::2]))
    yield Case("repeated rows", views(make(6, 40), lambda a: np.broadcast_to(a[:1], a.shape)))
    yield Case("three dimensions", views(make(4, 5, 33), lambda a: a.copy().transpose(1, 0, 2)))
    if any(tensor.place == "column" for tensor in operator.inputs):
        arrays = make(6, 40)
        yield Case("strided columns", [a if a.ndim > 1 else np.repeat(a, 3)[::3] for a in arrays])
        without = zip(operator.inputs, arrays, strict=True)
        yield Case("columns left out", [None if tensor.default is not None else a for tensor, a in without])
    if along(operator) != "last":
        yield Case("the first dimension", make(40, 6), (0,))
        yield Case("the middle one", make(4, 30, 7), (1,), True)
        yield Case("the middle one, many", make(3, 30, 40), (1,))
        yield Case("counted from the end", make(4, 30, 7), (-2,))
    if along(operator) == "dims":
        yield Case("two dimensions", make(4, 30, 7), (0, 2))
        yield Case("two, and they stay", make(4, 30, 7), (2, 1), True)
        yield Case("all", make(4, 30, 7), (0, 1, 2))
        yield Case("all, strided", views(make(4, 30, 7), lambda a: a[::2, ::-3, 1::2]), (0, 1, 2), True)
        yield Case("no dimensions", [ordinary(operator, dtype, ())], ())
