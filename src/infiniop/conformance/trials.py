"""Calls of every operator, and what has to come of them: the schema's reference, in NumPy, in float64.

Imported by the cases when they run: the list of cases needs no NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product

import numpy as np

from ..schema import Operator
from ..schema.model import FLOATS
from .operands import (
    NUMPY,
    Array,
    Operand,
    Shape,
    Trial,
    half_layouts,
    input_layouts,
    ordinary,
    output_layouts,
    raw,
    special,
    units,
    whole,
    wrong_elements,
)
from .written_trials import written_layouts, written_values

__all__ = ["LAYOUTS", "VALUES", "wrong_elements"]

# A few of every kind: on some devices each type of each operator is compiled when it is first asked for.
COMPUTED = ("F16", "BF16", "F32", "F64", "I32", "U8", "BOOL")
MOVED = ("BYTE", "BOOL", "F16", "F32", "I64", "C128")
CAST = ("BOOL", "F16", "F32", "I32", "U8")
NUMBER = 2.5  # for attributes without a default; exact in every floating-point type


def values_of(operator: Operator) -> dict[str, float]:
    return {a.name: NUMBER if a.default is None else a.default for a in operator.attributes}


def other_values_of(operator: Operator) -> dict[str, float]:
    """Attributes that have a default with something else: who does not look at them is found out. Nothing where there is none."""
    changed = {}
    for each in operator.attributes:
        if each.default is None:
            continue
        if each.choices:
            changed[each.name] = float((int(each.default) + 1) % len(each.choices))
        elif not np.isfinite(each.default):
            changed[each.name] = NUMBER
        else:
            # Twice as much: what is multiplied with it loses no bits that the default would not lose.
            changed[each.name] = 2 * each.default or (0.5 if each.ctype.endswith(("float", "double")) else 1)
    return {**values_of(operator), **changed} if changed else {}


def first_of(operator: Operator, wanted: tuple[str, ...]) -> list[str]:
    return [dtype for dtype in wanted if dtype in operator.dtypes] or [operator.dtypes[0]]


# ---- operators that are an expression


def reference(operator: Operator, inputs: list[Array], dtype: str, values: dict[str, float]) -> Array:
    if operator.halves:
        inputs = list(np.split(inputs[0], 2, axis=-1))
    with np.errstate(all="ignore"):
        if operator.typed_reference and dtype in FLOATS:
            return np.asarray(operator.reference(np, *inputs, **values)).astype(np.float64)
        if dtype in FLOATS:
            return operator.reference(np, *(np.asarray(a).astype(np.float64) for a in inputs), **values)
        return operator.reference(
            np, *inputs, **{name: nearest(value, dtype) for name, value in values.items()}
        )


def nearest(value: float, dtype: str) -> Array:
    """The nearest integer that there is, without a fraction."""
    limits = np.iinfo(NUMPY[dtype])
    return NUMPY[dtype](int(min(max(value, limits.min), limits.max)))


def input_types(operator: Operator, dtype: str) -> list[str]:
    """What holds truth is BOOL, whatever the others are."""
    return ["BOOL" if tensor.holds_truth else dtype for tensor in operator.inputs]


def ordinary_inputs(operator: Operator, dtype: str, shape: Shape) -> list[Operand]:
    return [ordinary(operator, kind, shape, i) for i, kind in enumerate(input_types(operator, dtype))]


def map_trial(
    operator: Operator,
    dtype: str,
    inputs: list[Operand],
    out: Operand,
    what: str,
    values: dict[str, float] | None = None,
) -> Trial:
    """`out` holds what a tensor that is read and written begins with."""
    result_type = "U8" if operator.dtype_rule == "truth" else dtype
    names = [tensor.name for tensor in operator.inputs]
    values = values or values_of(operator)
    if operator.output.role == "inout":
        place = names.index(operator.output.name)
        inputs = [*inputs[:place], out, *inputs[place + 1 :]]
    operands: dict[str, Operand | None] = {**dict(zip(names, inputs, strict=True)), operator.output.name: out}
    expected = reference(operator, [operand.view for operand in inputs], dtype, values)
    expected = np.broadcast_to(expected, out.view.shape)
    limit = None
    if result_type in FLOATS:
        limit = operator.tolerance(units(expected, dtype), dtype)
    else:
        expected = expected.astype(NUMPY[result_type])
    dtypes = dict(zip(names, input_types(operator, dtype), strict=True))
    dtypes[operator.output.name] = result_type
    return Trial(f"{dtype}, {what}", operands, dtypes, expected, limit, values)


def map_output(operator: Operator, dtype: str, shape: Shape) -> Operand:
    if operator.output.role == "inout":
        return ordinary(operator, dtype, shape, 9)
    return raw("U8" if operator.dtype_rule == "truth" else dtype, shape, 9)


def without_last(operator: Operator, dtype: str) -> Trial:
    """The last tensor is not given: an attribute takes its place."""
    given = [ordinary(operator, dtype, (3, 70), i) for i in range(len(operator.inputs) - 1)]
    stand_in = whole(np.full((), NUMBER).astype(NUMPY[dtype]))
    trial = map_trial(
        operator, dtype, [*given, stand_in], map_output(operator, dtype, (3, 70)), "no last tensor"
    )
    trial.operands[operator.inputs[-1].name] = None
    return trial


def map_values(operator: Operator) -> Iterator[Trial]:
    for dtype in first_of(operator, COMPUTED):
        shape = (3, 140) if operator.halves else (3, 70)
        inputs = ordinary_inputs(operator, dtype, shape)
        yield map_trial(operator, dtype, inputs, map_output(operator, dtype, (3, 70)), "contiguous")
        if other := other_values_of(operator):
            what = ", ".join(f"{name} = {value:g}" for name, value in other.items())
            out = map_output(operator, dtype, (3, 70))
            yield map_trial(operator, dtype, ordinary_inputs(operator, dtype, shape), out, what, other)
        if operator.scalar_expression:
            yield without_last(operator, dtype)
        types = [dtype, dtype] if operator.halves else input_types(operator, dtype)
        rows = list(product(*(special(kind, operator.extremes) for kind in types)))
        columns = [
            np.array(column).astype(NUMPY[kind])
            for kind, column in zip(types, zip(*rows, strict=True), strict=True)
        ]
        inputs = (
            [whole(np.concatenate(columns))] if operator.halves else [whole(column) for column in columns]
        )
        out = map_output(operator, dtype, (len(rows),))
        if operator.output.role == "inout":
            out = inputs[[tensor.role for tensor in operator.inputs].index("inout")]
        yield map_trial(operator, dtype, inputs, out, "special values")


def map_layouts(operator: Operator) -> Iterator[Trial]:
    count = len(operator.inputs)
    for dtype in first_of(operator, ("F32",)):

        def make(
            shape: Shape, seed: int, types: tuple[str, ...] = tuple(input_types(operator, dtype))
        ) -> Operand:
            return ordinary(operator, types[seed], shape, seed)

        def output(shape: Shape, dtype: str = dtype) -> Operand:
            return map_output(operator, dtype, shape)

        for what, shape, inputs in half_layouts(make) if operator.halves else input_layouts(make, count):
            yield map_trial(operator, dtype, inputs, output(shape), what)
        for what, out in output_layouts(output):
            shape = (6, 8) if operator.halves else (6, 4)
            yield map_trial(operator, dtype, [make(shape, i) for i in range(count)], out, what)


# ---- copies, constants, conversions


def moved(operator: Operator, dtype: str, source: Operand, out: Operand, what: str) -> Trial:
    names = operator.inputs[0].name, operator.output.name
    return Trial(
        f"{dtype}, {what}",
        dict(zip(names, (source, out), strict=True)),
        dict.fromkeys(names, dtype),
        np.broadcast_to(source.view, out.view.shape),
    )


def copy_values(operator: Operator) -> Iterator[Trial]:
    for dtype in first_of(operator, MOVED):
        yield moved(operator, dtype, raw(dtype, (6, 70), 1), raw(dtype, (6, 70), 9), "contiguous")


def copy_layouts(operator: Operator) -> Iterator[Trial]:
    for dtype in first_of(operator, ("F32",)):
        for what, shape, inputs in input_layouts(partial(raw, dtype), 1):
            yield moved(operator, dtype, inputs[0], raw(dtype, shape), what)
        for what, out in output_layouts(partial(raw, dtype)):
            yield moved(operator, dtype, raw(dtype, (6, 4), 1), out, what)


def made(operator: Operator, dtype: str, out: Operand, what: str) -> Trial:
    """Every element is the same: a constant, or the one given with the call."""
    element = raw(dtype, (1,), 3).view
    if operator.kind == "constant":
        element = np.array([operator.reference(np)]).astype(NUMPY[dtype])
    names = [tensor.name for tensor in operator.tensors]
    return Trial(
        f"{dtype}, {what}",
        dict.fromkeys(names, out),
        dict.fromkeys(names, dtype),
        np.broadcast_to(element[0], out.view.shape),
        element=element.tobytes(),
    )


def made_values(operator: Operator) -> Iterator[Trial]:
    for dtype in first_of(operator, MOVED):
        yield made(operator, dtype, raw(dtype, (5, 200), 9), "contiguous")


def made_layouts(operator: Operator) -> Iterator[Trial]:
    for dtype in first_of(operator, ("F32",)):
        for what, shape in (("no dimensions", ()), ("empty", (3, 0, 2)), ("one element", (1, 1))):
            yield made(operator, dtype, raw(dtype, shape), what)
        for what, out in output_layouts(partial(raw, dtype)):
            yield made(operator, dtype, out, what)


def converted(x: Array, source: str, target: str) -> Array:
    """The schema's words in NumPy."""
    with np.errstate(all="ignore"):
        if target == "BOOL":
            return x != 0
        if target in FLOATS:  # the narrow ones are reached through float
            return (x if target in ("F32", "F64") else x.astype(np.float32)).astype(NUMPY[target])
        if source not in FLOATS:
            return x.astype(NUMPY[target])
        limits = np.iinfo(NUMPY[target])
        exact = np.trunc(np.nan_to_num(x.astype(np.float64), nan=0.0, posinf=1e30, neginf=-1e30))
        inside = np.clip(exact, float(limits.min), float(limits.max))
        return inside.astype(np.int64).astype(NUMPY[target])


def cast_trial(operator: Operator, source: str, target: str, x: Operand, out: Operand, what: str) -> Trial:
    names = operator.inputs[0].name, operator.output.name
    expected = np.broadcast_to(converted(x.view, source, target), out.view.shape)
    limit = None
    if target in FLOATS:
        expected, limit = expected.astype(np.float64), np.zeros(expected.shape)
    return Trial(
        f"{source} to {target}, {what}",
        dict(zip(names, (x, out), strict=True)),
        dict(zip(names, (source, target), strict=True)),
        expected,
        limit,
    )


def cast_values(operator: Operator) -> Iterator[Trial]:
    fractions = [0.5, -0.5, 1.5, 2.5, -1.9, 127.9, 300.0, 70000.0, -3e9, 1e19, -1e20]
    for source, target in product(first_of(operator, CAST), repeat=2):
        numbers = [0, 1] if source == "BOOL" else special(source, True)
        with np.errstate(all="ignore"):
            x = np.array([*numbers, *(fractions if source in FLOATS else [])]).astype(NUMPY[source])
        yield cast_trial(operator, source, target, whole(x), raw(target, x.shape, 9), "special values")


def cast_layouts(operator: Operator) -> Iterator[Trial]:
    def make(shape: Shape, seed: int) -> Operand:
        return ordinary(operator, "F32", shape, seed)

    for what, shape, inputs in input_layouts(make, 1):
        yield cast_trial(operator, "F32", "F16", inputs[0], raw("F16", shape), what)
    for what, out in output_layouts(partial(raw, "F16")):
        yield cast_trial(operator, "F32", "F16", make((6, 4), 1), out, what)


# ---- products of matrices

# Of a result's size: the sums of k products are rounded at every step, and the result once more.
PRECISION = {"F64": 1e-13, "F32": 1e-5, "F16": 2e-3, "BF16": 1.6e-2}


def product_trial(
    operator: Operator, dtype: str, c: Operand, a: Operand, b: Operand, alpha: float, beta: float, what: str
) -> Trial:
    names = [tensor.name for tensor in operator.tensors]
    before, left, right = (operand.view.astype(np.float64) for operand in (c, a, b))
    with np.errstate(all="ignore"):
        expected = np.broadcast_to(operator.reference(np, before, left, right, alpha, beta), before.shape)
        size = abs(alpha) * (np.abs(left) @ np.abs(right)) + (abs(beta) * np.abs(before) if beta else 0)
    return Trial(
        f"{dtype}, {what}",
        dict(zip(names, (c, a, b), strict=True)),
        dict.fromkeys(names, dtype),
        expected,
        PRECISION[dtype] * np.maximum(np.broadcast_to(size, before.shape), 1e-3),
        dict(zip((a.name for a in operator.attributes), (alpha, beta), strict=True)),
    )


def matrix(operator: Operator, dtype: str, shape: Shape, seed: int) -> Operand:
    return whole(np.random.default_rng(seed).normal(size=shape).astype(NUMPY[dtype]))


def product_values(operator: Operator) -> Iterator[Trial]:
    for dtype in first_of(operator, COMPUTED):

        def make(shape: Shape, seed: int, dtype: str = dtype) -> Operand:
            return matrix(operator, dtype, shape, seed)

        a, b = make((33, 21), 1), make((21, 17), 2)
        yield product_trial(operator, dtype, make((33, 17), 3), a, b, 0.75, -0.5, "contiguous")
        unread = whole(np.full((33, 17), np.nan).astype(NUMPY[dtype]))
        yield product_trial(operator, dtype, unread, a, b, 1.0, 0.0, "not-a-number with factor 0")


def product_layouts(operator: Operator) -> Iterator[Trial]:
    def make(shape: Shape, seed: int) -> Operand:
        return matrix(operator, "F32", shape, seed)

    def trial(c: Operand, a: Operand, b: Operand, what: str) -> Trial:
        return product_trial(operator, "F32", c, a, b, 0.75, -0.5, what)

    a, b, c = make((12, 9), 1), make((9, 14), 2), make((12, 14), 3)
    yield trial(c, make((9, 12), 1).turned, b, "a transposed")
    yield trial(make((14, 12), 3).turned, a, make((14, 9), 2).turned, "c and b transposed")
    yield trial(make((24, 28), 3)[::2, ::2], make((12, 18), 1)[:, ::2], b, "with gaps")
    yield trial(c, a, make((9, 14), 2)[::-1, ::-1], "b backwards")
    yield trial(make((3, 12, 14), 3), make((3, 12, 9), 1), make((3, 9, 14), 2), "several")
    yield trial(make((3, 12, 14), 3), make((1, 12, 9), 1), b, "one for all")
    yield trial(make((0, 14), 3), make((0, 9), 1), b, "empty")
    yield trial(make((12, 14), 3), make((12, 0), 1), make((0, 14), 2), "nothing to sum up")


# ---- rows as a whole

ROWS = ("F16", "BF16", "F32", "F64", "BOOL", "I32")
# What C takes as a float is that for the reference, too.
SINGLE = {"float": np.float32}


def row_values_of(operator: Operator) -> dict[str, float]:
    return {a.name: float(SINGLE.get(a.ctype, float)(a.default or 0)) for a in operator.attributes}


def row_input(operator: Operator, dtype: str, shape: Shape, seed: int) -> Operand:
    if dtype == "BOOL":
        return whole(np.random.default_rng(seed).random(shape) < 0.9)
    return ordinary(operator, dtype, shape, seed)


def row_inputs(operator: Operator, dtype: str, shape: Shape) -> list[Operand | None]:
    """Rows along the last dimension."""
    return [
        row_input(operator, dtype, shape[-1:] if tensor.place == "column" else shape, i)
        for i, tensor in enumerate(operator.inputs)
    ]


def row_limit(operator: Operator, expected: Array, dtype: str) -> Array | None:
    """Roundings are units of the largest number of a row, where terms cancel; the result is rounded once more."""
    if dtype not in FLOATS:
        return None
    finite = np.where(np.isfinite(expected), np.abs(expected), 0)
    if expected.ndim and operator.output.place == "element":
        finite = np.broadcast_to(np.max(finite, axis=-1, keepdims=True, initial=0), expected.shape)
    return 0.5 * units(expected, dtype) + operator.ulps * units(finite, "F64" if dtype == "F64" else "F32")


def exact(array: Array) -> Array:
    """In float64, and integers as they are."""
    return array if array.dtype.kind in "iub" else array.astype(np.float64)


def row_trial(
    operator: Operator,
    dtype: str,
    inputs: list[Operand | None],
    what: str,
    out: Callable[[Shape], Operand] | None = None,
    axis: int = -1,
) -> Trial:
    """Rows along one dimension of the first input."""
    values = row_values_of(operator)
    arrays = [
        np.float64(tensor.default or 0)
        if operand is None
        else exact(operand.view)
        if tensor.place == "column"
        else np.moveaxis(exact(operand.view), axis, -1)
        for tensor, operand in zip(operator.inputs, inputs, strict=True)
    ]
    with np.errstate(all="ignore"):
        results = operator.reference(np, *arrays, **values)
    result_type = "U8" if operator.dtype_rule == "truth" else operator.result_type(dtype)
    operands: dict[str, Operand | None] = {}
    compared = []
    for tensor, result in zip(
        operator.outputs, results if isinstance(results, tuple) else (results,), strict=True
    ):
        expected = np.asarray(result)
        limit = row_limit(operator, expected, result_type)
        if tensor.place == "element":
            expected = np.moveaxis(expected, -1, axis)
            limit = None if limit is None else np.moveaxis(limit, -1, axis)
        if result_type not in FLOATS:
            expected = expected.astype(NUMPY[result_type])
        operands[tensor.name] = (out or partial(raw, result_type, seed=9))(expected.shape)
        compared.append((tensor.name, (expected, limit)))
    operands |= dict(zip((tensor.name for tensor in operator.inputs), inputs, strict=True))
    first = inputs[0]
    assert first is not None
    dims = (axis,) if operator.rows and operator.rows.along == "axis" else (axis % max(first.view.ndim, 1),)
    return Trial(
        f"{dtype}, {what}",
        operands,
        dict.fromkeys((tensor.name for tensor in operator.inputs), dtype)
        | dict.fromkeys((tensor.name for tensor in operator.outputs), result_type),
        *compared[0][1],
        {**values, "dims": dims},
        further=dict(compared[1:]),
    )


def row_values(operator: Operator) -> Iterator[Trial]:
    for dtype in first_of(operator, ROWS):
        for shape in ((3, 1), (4, 7), (2, 5, 1030)):
            yield row_trial(operator, dtype, row_inputs(operator, dtype, shape), f"rows of {shape[-1]}")
        if dtype not in FLOATS:
            continue
        numbers = [0.0, 1.0, -2.0, 20.0]
        special_rows = [numbers, *([*numbers[:3], x] for x in (np.nan, np.inf, -np.inf)), [-np.inf] * 4]
        inputs = row_inputs(operator, dtype, (5, 4))
        inputs[0] = whole(np.array(special_rows).astype(NUMPY[dtype]))
        yield row_trial(operator, dtype, inputs, "special values")


def row_layouts(operator: Operator) -> Iterator[Trial]:
    assert operator.rows is not None
    dtype = "F32"

    def elements(shape: Shape, view: Callable[[Operand], Operand]) -> list[Operand | None]:
        made = row_inputs(operator, dtype, shape)
        places = [tensor.place for tensor in operator.inputs]
        return [
            operand if operand is None or place == "column" else view(operand)
            for operand, place in zip(made, places, strict=True)
        ]

    def with_gaps(shape: Shape) -> Operand:
        made = raw("U8" if operator.dtype_rule == "truth" else dtype, tuple(2 * s + 3 for s in shape), 9)
        return made[tuple(slice(-3, 0, -2) for _ in shape)]

    yield row_trial(operator, dtype, row_inputs(operator, dtype, (0, 5)), "no rows")
    yield row_trial(operator, dtype, elements((6, 9), lambda x: x[::-1, ::-1]), "backwards")
    yield row_trial(operator, dtype, elements((9, 9), lambda x: x.turned), "transposed")
    yield row_trial(operator, dtype, elements((1, 9), lambda x: x.repeated((4, 9))), "stride 0")
    yield row_trial(
        operator, dtype, row_inputs(operator, dtype, (6, 9)), "output with gaps, backwards", with_gaps
    )
    if operator.rows.along != "last":
        yield row_trial(operator, dtype, row_inputs(operator, dtype, (30, 7)), "the first dimension", axis=0)
        yield row_trial(operator, dtype, row_inputs(operator, dtype, (3, 30, 7)), "the middle one", axis=1)
    if any(tensor.default is not None for tensor in operator.inputs):
        inputs = row_inputs(operator, dtype, (4, 50))
        left = zip(operator.inputs, inputs, strict=True)
        given = [None if tensor.default is not None else operand for tensor, operand in left]
        yield row_trial(operator, dtype, given, "inputs left out")


# ---- shapes by a rule of the operator's own


def shaped_trial(
    operator: Operator, dtype: str, inputs: list[Operand], what: str, values: dict[str, float] | None = None
) -> Trial:
    """Errors are in units of the largest number of a result: nothing is known of how it was summed up."""
    values = values or values_of(operator)
    results = reference(operator, [operand.view for operand in inputs], dtype, values)
    names = [tensor.name for tensor in operator.inputs]
    operands: dict[str, Operand | None] = dict(zip(names, inputs, strict=True))
    compared = []
    for tensor, result in zip(
        operator.outputs, results if isinstance(results, tuple) else (results,), strict=True
    ):
        expected, limit = np.asarray(result), None
        if dtype in FLOATS:
            size = np.max(np.abs(np.where(np.isfinite(expected), expected, 0)), initial=0)
            limit = 0.5 * units(expected, dtype) + operator.ulps * units(
                size, "F64" if dtype == "F64" else "F32"
            )
        else:
            expected = expected.astype(NUMPY[dtype])
        operands[tensor.name] = raw(dtype, expected.shape, 9)
        compared.append((tensor.name, (expected, limit)))
    return Trial(
        f"{dtype}, {what}",
        operands,
        dict.fromkeys(operands, dtype),
        *compared[0][1],
        values,
        further=dict(compared[1:]),
    )


def shaped_values(operator: Operator) -> Iterator[Trial]:
    for dtype in first_of(operator, COMPUTED):
        for example in operator.examples:
            inputs = [
                ordinary(operator, dtype, example[tensor.name], i) for i, tensor in enumerate(operator.inputs)
            ]
            yield shaped_trial(operator, dtype, inputs, str(dict(example)))
        if other := other_values_of(operator):
            what = ", ".join(f"{name} = {value:g}" for name, value in other.items())
            shapes = operator.examples[0]
            inputs = [
                ordinary(operator, dtype, shapes[tensor.name], i) for i, tensor in enumerate(operator.inputs)
            ]
            yield shaped_trial(operator, dtype, inputs, what, other)


def shaped_layouts(operator: Operator) -> Iterator[Trial]:
    for dtype in first_of(operator, ("F32",)):
        shapes = [operator.examples[0][tensor.name] for tensor in operator.inputs]
        turned = [ordinary(operator, dtype, shape[::-1], i).turned for i, shape in enumerate(shapes)]
        yield shaped_trial(operator, dtype, turned, "transposed")
        gaps = [
            ordinary(operator, dtype, tuple(2 * s + 1 for s in shape), i) for i, shape in enumerate(shapes)
        ]
        backwards = [operand[tuple(slice(-1, 0, -2) for _ in operand.view.shape)] for operand in gaps]
        yield shaped_trial(operator, dtype, backwards, "with gaps, backwards")


VALUES: dict[str, Callable[[Operator], Iterator[Trial]]] = {
    "map": map_values, "copy": copy_values, "cast": cast_values, "constant": made_values, "fill": made_values,
    "gemm": product_values, "rows": row_values, "written": written_values, "shaped": shaped_values,
}  # fmt: skip
LAYOUTS: dict[str, Callable[[Operator], Iterator[Trial]]] = {
    "map": map_layouts, "copy": copy_layouts, "cast": cast_layouts, "constant": made_layouts, "fill": made_layouts,
    "gemm": product_layouts, "rows": row_layouts, "written": written_layouts, "shaped": shaped_layouts,
}  # fmt: skip
