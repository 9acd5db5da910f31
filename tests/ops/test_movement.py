"""Copies, conversions and constants, for every element type."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from op_support import BY_NAME, NUMPY, Array, check, run

from infiniop.schema import OPERATORS
from infiniop.schema.model import EVERYTHING, FLOATS, INTEGERS, REALS

pytestmark = pytest.mark.usefixtures("device")
COPIES = [operator for operator in OPERATORS if operator.kind == "copy"]
CONSTANTS = [operator for operator in OPERATORS if operator.kind == "constant"]


def some(dtype: str, shape: tuple[int, ...]) -> Array:
    """Elements of which no two neighbours are alike, made from bytes: not-a-numbers are copied like everything else."""
    size = np.dtype(NUMPY[dtype]).itemsize
    raw = np.random.default_rng(7).integers(0, 256, (*shape, size), dtype=np.uint8)
    if dtype == "BOOL":
        raw &= 1
    return raw.view(NUMPY[dtype])[..., 0]


def bytes_of(array: Array) -> bytes:
    return np.ascontiguousarray(array).tobytes()


@pytest.mark.parametrize("operator", COPIES, ids=lambda operator: operator.name)
@pytest.mark.parametrize("dtype", EVERYTHING)
def test_copies_are_exact(operator, dtype) -> None:
    source, target = (tensor.name for tensor in (operator.inputs[0], operator.output))
    whole = some(dtype, (6, 70, 40))
    for view in (whole, whole.T, whole[::-1, ::3, 5::-1], whole[0, 0, 0, ...], whole[:0], whole[2:3, :, 7:8]):
        out = np.zeros(view.shape, dtype=view.dtype)
        run(operator, {target: out, source: view}, {target: dtype, source: dtype})
        assert bytes_of(out) == bytes_of(view)
        # And into memory with gaps, in another order.
        spread = np.zeros([2 * size + 1 for size in view.shape[::-1]], dtype=view.dtype)
        inside = spread[(*(slice(1, None, 2) for _ in view.shape), ...)].T
        run(operator, {target: inside, source: view}, {target: dtype, source: dtype})
        assert bytes_of(inside) == bytes_of(view)
        inside[...] = np.zeros((), dtype=view.dtype)
        assert not any(bytes_of(spread)), "written beside the output"


@pytest.mark.parametrize("operator", COPIES, ids=lambda operator: operator.name)
def test_copies_repeat(operator) -> None:
    source, target = (tensor.name for tensor in (operator.inputs[0], operator.output))
    row = some("F16", (1, 50))
    out = np.zeros((3, 40, 50), dtype=np.float16)
    run(operator, {target: out, source: row}, {target: "F16", source: "F16"})
    assert bytes_of(out) == bytes_of(np.broadcast_to(row, out.shape))


@pytest.mark.parametrize("operator", CONSTANTS, ids=lambda operator: operator.name)
def test_constants(operator) -> None:
    for dtype in operator.dtypes:
        whole = some(dtype, (30, 100))
        before = whole.copy()
        run(operator, {"y": whole[3:9, ::7], "x": whole[3:9, ::7]}, {"y": dtype, "x": dtype})
        if dtype in REALS:
            expected = np.full(whole[3:9, ::7].shape, operator.reference(np)).astype(whole.dtype)
            assert bytes_of(whole[3:9, ::7]) == bytes_of(expected), dtype
        else:
            assert not any(bytes_of(whole[3:9, ::7])), dtype
        whole[3:9, ::7] = before[3:9, ::7]
        assert bytes_of(whole) == bytes_of(before), dtype


@pytest.mark.parametrize("dtype", EVERYTHING)
def test_fill(dtype: str) -> None:
    element = some(dtype, (3,))[2:]
    out = np.zeros((5, 2000), dtype=NUMPY[dtype])
    run(BY_NAME["Fill"], {"y": out}, {"y": dtype}, element=element)
    assert bytes_of(out) == bytes_of(np.broadcast_to(element, out.shape))


def converted(x: Array, source: str, target: str) -> Array:
    """The schema's words in NumPy."""
    if target == "BOOL":
        return x != 0
    if target in FLOATS:
        # The narrow types are reached through float.
        wide = x if target in ("F32", "F64") else x.astype(np.float32)
        return wide.astype(NUMPY[target])
    if source not in FLOATS:
        return x.astype(NUMPY[target])
    limits = np.iinfo(NUMPY[target])
    exact = [
        0 if np.isnan(v) else limits.max if v >= limits.max else limits.min if v <= limits.min else int(v)
        for v in x.astype(np.float64).tolist()
    ]
    return np.array(exact, dtype=NUMPY[target])


@pytest.mark.parametrize("source", REALS)
def test_casts(source: str) -> None:
    random = np.random.default_rng(3)
    if source in FLOATS:
        numbers = [
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            -1.9,
            127.9,
            300.0,
            70000.0,
            -3e9,
            1e19,
            -1e20,
            np.inf,
            -np.inf,
            np.nan,
        ]
        with np.errstate(all="ignore"):
            x = np.array([*numbers, *random.normal(0, 100, 2000)]).astype(NUMPY[source])
    elif source in INTEGERS:
        facts = np.iinfo(NUMPY[source])
        x = random.integers(facts.min, facts.max, 2000, dtype=NUMPY[source], endpoint=True)
        x[:2] = facts.min, facts.max
    else:
        x = random.integers(0, 2, 2000).astype(np.bool_)
    for target in REALS:
        out = np.zeros(x.shape, dtype=NUMPY[target])
        run(BY_NAME["Cast"], {"y": out, "x": x}, {"y": target, "x": source})
        with np.errstate(all="ignore"):
            expected = converted(x, source, target)
        if target in FLOATS:
            got, wanted = out.astype(np.float64), expected.astype(np.float64)
            same = (got == wanted) | (np.isnan(got) & np.isnan(wanted))
            assert same.all(), (source, target, x[~same][:5], out[~same][:5], expected[~same][:5])
        else:
            assert np.array_equal(out, expected), (
                source,
                target,
                x[out != expected][:5],
                out[out != expected][:5],
            )


@st.composite
def views(draw: st.DrawFn, shape: tuple[int, ...], repeated: bool) -> Array:
    """An array of the shape, somewhere in a larger one: sliced, reversed, permuted and, if that is wanted, repeated."""
    order = draw(st.permutations(range(len(shape))))
    index, sizes = [], []
    for d in order:
        if repeated and draw(st.integers(0, 5)) == 0:
            sizes.append(1)
            index.append(slice(None))
            continue
        step = draw(st.sampled_from([1, 1, 2, 3, -1, -2]))
        sizes.append(shape[d] * abs(step))
        index.append(slice(None, None, step))
    array = np.random.default_rng(len(sizes)).normal(size=sizes).astype(np.float32)[(*index, ...)]
    array = array.transpose(np.argsort(order)) if order else array
    return np.broadcast_to(array, shape) if repeated else array


@given(data=st.data(), shape=st.lists(st.integers(0, 6), max_size=6).map(tuple))
@settings(max_examples=80)
def test_any_strides(data: st.DataObject, shape: tuple[int, ...]) -> None:
    a, b = data.draw(views(shape, True)), data.draw(views(shape, True))
    out = data.draw(views(shape, False))
    run(BY_NAME["Add"], {"c": out, "a": a, "b": b}, dict.fromkeys("cab", "F32"))
    check(BY_NAME["Add"], out, a.astype(np.float64) + b, "F32", f"{a.strides} {b.strides} {out.strides}")
