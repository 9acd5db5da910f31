"""Every operator on rows against its reference: element types, lengths of rows, strides, dimensions, special values; and what is refused."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from op_support import (
    BAD_DTYPE,
    BAD_PARAM,
    BAD_SHAPE,
    BAD_STRIDES,
    NULL_POINTER,
    NUMPY,
    Array,
    compute,
    create,
    create_tensor,
    destroy,
    handle,
    library,
    message,
    ok,
    pointer,
    run,
)
from row_cases import (
    BY_ROWS,
    ROWS,
    Case,
    along,
    arguments,
    check_rows,
    expected_of,
    inputs_of,
    layouts,
    output_dtype,
)

from infiniop.schema import Operator

on_devices = pytest.mark.usefixtures("device")
every_operator = pytest.mark.parametrize("operator", ROWS, ids=lambda operator: operator.name)
FLOATS = ("F16", "BF16", "F32", "F64")
# On a GPU every variant is compiled anew, and what strides do does not depend on the steps: some operators stand for all.
WIDELY = ("AddRMSNorm", "CausalSoftmax", "LayerNorm", "Softmax", "Sum")


def widely(operator: Operator, device: str) -> bool:
    return device == "cpu" or operator.name in WIDELY


def apply(operator: Operator, dtype: str, case: Case) -> list[Array | None]:
    """Runs it, and compares every output that is there."""
    results = [np.asarray(result) for result in expected_of(operator, case)]
    kind = output_dtype(operator, dtype)
    outputs = case.outputs or [np.zeros(result.shape, NUMPY[kind]) for result in results]
    arrays = dict(zip((tensor.name for tensor in operator.outputs), outputs, strict=True))
    arrays |= dict(zip((tensor.name for tensor in operator.inputs), case.inputs, strict=True))
    inverse = {np.dtype(NUMPY[name]): name for name in (dtype, "F32")}
    dtypes = {
        name: kind if i < len(outputs) else inverse[array.dtype]
        for i, (name, array) in enumerate(arrays.items())
        if array is not None
    }
    run(operator, arrays, dtypes, **arguments(operator, case))
    for tensor, got, expected in zip(operator.outputs, outputs, results, strict=True):
        if got is not None:
            what = f"{tensor.name} of {operator.name}, {dtype}, {case.what}"
            check_rows(operator, got, expected, kind, case.dims, what)
    return outputs


@on_devices
@every_operator
def test_every_type_and_length(operator: Operator, device: str) -> None:
    for dtype in (
        operator.dtypes if device == "cpu" else set(operator.dtypes) & {*FLOATS, "BOOL", "I32", "U64"}
    ):
        for rows, length in (
            ((3, 1), (5, 7), (4, 1000), (2, 5000)) if widely(operator, device) else ((4, 1000),)
        ):
            apply(operator, dtype, Case(f"{rows} x {length}", inputs_of(operator, dtype, (rows, length))))


@on_devices
@every_operator
def test_long_rows(operator: Operator) -> None:
    """Longer than what a worker keeps."""
    for dtype in [kind for kind in ("BF16", "F32", "I32") if kind in operator.dtypes]:
        apply(operator, dtype, Case("2 x 70000", inputs_of(operator, dtype, (2, 70000))))


@on_devices
@every_operator
def test_every_layout(operator: Operator, device: str) -> None:
    if not widely(operator, device):
        pytest.skip(f"on a GPU only for {', '.join(WIDELY)}")
    kinds = ("F32",) if device != "cpu" else ("BF16", "F32", "F64", "I16", "U64", "BOOL")
    for dtype in [kind for kind in kinds if kind in operator.dtypes]:
        for case in layouts(operator, dtype):
            apply(operator, dtype, case)


@on_devices
@every_operator
def test_outputs_of_every_layout(operator: Operator, device: str) -> None:
    if not widely(operator, device):
        pytest.skip(f"on a GPU only for {', '.join(WIDELY)}")
    for dtype in ("F16", "F32"):
        case = Case("outputs with gaps", inputs_of(operator, dtype, (6, 21)))
        kind = NUMPY[output_dtype(operator, dtype)]
        wide = [np.zeros([2 * size + 3 for size in np.shape(e)], kind) for e in expected_of(operator, case)]
        gaps = [tuple(slice(-3, 0, -2) for _ in array.shape) for array in wide]
        case.outputs = [array[gap] for array, gap in zip(wide, gaps, strict=True)]
        apply(operator, dtype, case)
        for array, gap in zip(wide, gaps, strict=True):
            array[gap] = 0
            assert not array.any(), "written beside the output"
        turned = Case("outputs transposed", inputs_of(operator, dtype, (45, 21)))
        turned.outputs = [np.zeros(np.shape(e)[::-1], kind).T for e in expected_of(operator, turned)]
        apply(operator, dtype, turned)


@on_devices
@every_operator
def test_special_values(operator: Operator, device: str) -> None:
    numbers = [0.0, -0.0, 1.0, -1.0, 20.0, -20.0, 1e4, -1e4]
    rows = [
        numbers,
        [*numbers[:-1], np.nan],
        [*numbers[:-1], np.inf],
        [*numbers[:-1], -np.inf],
        [np.inf, -np.inf, *numbers[:-2]],
        [-np.inf] * 8,
        [np.inf] * 8,
        [np.nan] * 8,
        [0.0] * 8,
        [-0.0] * 8,
    ]
    # In what is computed several at a time, one by one, and last.
    long_rows = [np.resize(numbers[:-1], 100) for _ in range(4)]
    for row, place in zip(long_rows, (3, 40, 90, 99), strict=True):
        row[place] = np.nan
    for dtype in FLOATS if device == "cpu" else ("F32",):
        for what, values in (("special values", rows), ("special values in long rows", long_rows)):
            x = np.array(values).astype(NUMPY[dtype])
            inputs = inputs_of(operator, dtype, x.shape)
            given = [
                x if i == 0 else np.zeros_like(x) if tensor.place == "element" else inputs[i]
                for i, tensor in enumerate(operator.inputs)
            ]
            apply(operator, dtype, Case(what, given))


@every_operator
def test_nothing_to_do(operator: Operator) -> None:
    for shape in ((0, 5), (3, 0, 4)):
        apply(operator, "F32", Case("no rows", inputs_of(operator, "F32", shape)))
    assert operator.rows is not None
    if not operator.rows.needs_elements:
        apply(operator, "F32", Case("no elements", inputs_of(operator, "F32", (3, 0))))


@on_devices
@pytest.mark.parametrize("length", [1000, 70000])
@pytest.mark.parametrize("operator", [o for o in ROWS if o.output.place == "element"], ids=lambda o: o.name)
def test_outputs_may_be_inputs(operator: Operator, length: int) -> None:
    """Each output over another input: all of a tile is read before it is written."""
    elements = [i for i, tensor in enumerate(operator.inputs) if tensor.place == "element"]
    for dtype in ("BF16", "F32"):
        case = Case("in place", inputs_of(operator, dtype, (3, length)))
        results = [np.asarray(result) for result in expected_of(operator, case)]
        case.outputs, over = [], list(elements)
        for tensor, result in zip(operator.outputs, results, strict=True):
            place = case.inputs[over.pop(0)] if tensor.place == "element" and over else None
            case.outputs.append(np.zeros(result.shape, NUMPY[dtype]) if place is None else place)
        outputs = apply_in_place(operator, dtype, case, results)
        assert outputs[0] is case.inputs[0]


def apply_in_place(operator: Operator, dtype: str, case: Case, results: list[Array]) -> list[Any]:
    names = [tensor.name for tensor in (*operator.outputs, *operator.inputs)]
    arrays = dict(zip(names, [*case.outputs, *case.inputs], strict=True))
    run(operator, arrays, dict.fromkeys(names, dtype), **arguments(operator, case))
    for got, expected in zip(case.outputs, results, strict=True):
        check_rows(operator, got, expected, dtype, case.dims, f"{operator.name} of {dtype}, {case.what}")
    return case.outputs


@on_devices
def test_outputs_that_are_left_out() -> None:
    norm = BY_ROWS["LayerNorm"]
    for left_out in ((1,), (2,), (1, 2)):
        case = Case("left out", inputs_of(norm, "F32", (4, 50)))
        shapes = [np.shape(result) for result in expected_of(norm, case)]
        case.outputs = [None if i in left_out else np.zeros(s, np.float32) for i, s in enumerate(shapes)]
        apply(norm, "F32", case)


@on_devices
@pytest.mark.parametrize("dtype", ["F16", "BF16"])
def test_wide_weights_of_narrow_rows(dtype: str) -> None:
    for name in ("RMSNorm", "AddRMSNorm", "LayerNorm"):
        operator = BY_ROWS[name]
        narrow, wide = inputs_of(operator, dtype, (4, 130)), inputs_of(operator, "F32", (4, 130))
        places = [tensor.place for tensor in operator.inputs]
        inputs = [w if p == "column" else n for n, w, p in zip(narrow, wide, places, strict=True)]
        apply(operator, dtype, Case("weights of F32", inputs))


@on_devices
def test_causal_rows_of_every_form() -> None:
    """As many columns as rows, more, and fewer: then the first rows see nothing."""
    causal = BY_ROWS["CausalSoftmax"]
    for shape in ((9, 9), (2, 5, 30), (1, 40), (12, 4), (3, 2, 1500)):
        for dtype in FLOATS:
            apply(causal, dtype, Case(f"{shape}", inputs_of(causal, dtype, shape)))


@on_devices
def test_long_sums_stay_exact() -> None:
    """Of a million ones a float that is added to one at a time would lose none, of fractions most."""
    total = BY_ROWS["Sum"]
    for dtype, length in (("F32", 1 << 22), ("F16", 60000), ("BF16", 1 << 20)):
        x = np.full((1, length), 0.1).astype(NUMPY[dtype])
        apply(total, dtype, Case("many", [x]))


@on_devices
def test_integers_wrap_around_in_64_bits_and_keep_their_ends() -> None:
    for dtype in ("I8", "I32", "I64", "U8", "U32", "U64"):
        facts = np.iinfo(NUMPY[dtype])
        rows = [
            [facts.min] * 5,
            [facts.max] * 5,
            [facts.min, facts.max, 0, 1, 2],
            [facts.max, facts.max, 1, 1, 1],
        ]
        for name in ("Sum", "Prod", "Max", "Min", "All", "Any"):
            apply(BY_ROWS[name], dtype, Case("ends of the range", [np.array(rows, NUMPY[dtype])]))


def test_the_output_of_a_sum_of_integers_is_wide() -> None:
    total = BY_ROWS["Sum"]
    with handle() as owner:
        for given, wanted in (("I32", "I64"), ("BOOL", "I64"), ("U8", "I64"), ("F16", "F16")):
            for out in ("I32", "I64", "F32", "F16"):
                made = {"output": create_tensor(out, [2])[1], "input": create_tensor(given, [2, 3])[1]}
                status, descriptor = create(total, owner, made, dims=[1])
                assert status == (0 if out == wanted else BAD_DTYPE)
                if out != wanted:
                    assert f"output has type {out}" in message()
                else:
                    ok(destroy(total, descriptor))
                for tensor in made.values():
                    ok(library().infiniopDestroyTensorDescriptor(tensor))


@on_devices
def test_one_number_may_have_any_shape_of_one_element() -> None:
    """As InfiniCore's operators of linear algebra have it."""
    for name in ("Asum", "Nrm2", "BlasDot", "Dot"):
        operator = BY_ROWS[name]
        case = Case("one number", inputs_of(operator, "F32", (70,)))
        expected = expected_of(operator, case)[0]
        for shape in ((), (1,), (1, 1)):
            out = np.zeros(shape, np.float32)
            arrays = dict(zip((t.name for t in operator.inputs), case.inputs, strict=True))
            run(
                operator,
                {**arrays, operator.output.name: out},
                dict.fromkeys([*arrays, operator.output.name], "F32"),
            )
            check_rows(operator, out.reshape(()), expected, "F32", (0,), name)


def test_norms_stay_in_range() -> None:
    for dtype in ("F32", "F64"):
        top = np.finfo(NUMPY[dtype]).max
        tiny = np.finfo(NUMPY[dtype]).smallest_subnormal
        rows = np.array(
            [[top / 2, -top / 2, 0], [tiny * 3, tiny * 4, 0], [0, 0, 0], [1, np.inf, 2], [1, np.nan, np.inf]]
        )
        apply(BY_ROWS["Nrm2"], dtype, Case("ends of the range", [rows.astype(NUMPY[dtype])]))


@pytest.mark.parametrize("name", ["Softmax", "LayerNorm", "Sum"])
def test_how_rows_are_shared_out_changes_nothing(name: str) -> None:
    """A row gives the same bits alone as among others."""
    operator = BY_ROWS[name]
    inputs = inputs_of(operator, "F32", (70, 3000))
    whole = apply(operator, "F32", Case("whole", inputs))
    for row in (0, 33, 69):
        given = [
            a if t.place == "column" else a[row : row + 1]
            for a, t in zip(inputs, operator.inputs, strict=True)
        ]
        alone = apply(operator, "F32", Case("alone", given))
        for a, b in zip(whole, alone, strict=True):
            assert a is not None
            assert b is not None
            assert a[row].tobytes() == b[0].tobytes()


# ---- what is refused

Shapes = dict[str, tuple[str, tuple[int, ...], tuple[int, ...] | None] | None]


def right(operator: Operator) -> Shapes:
    shapes = {"element": (4, 6), "column": (6,), "row": (4,)}
    kind = output_dtype(operator, "F32")
    return {
        tensor.name: (kind if tensor.role == "out" else "F32", shapes[tensor.place], None)
        for tensor in operator.tensors
    }


def attempt(operator: Operator, shapes: Shapes, **values: Any) -> int:
    with handle() as owner:
        made = {
            name: pointer(None) if given is None else create_tensor(*given)[1]
            for name, given in shapes.items()
        }
        defaults = {a.name: 2 for a in operator.attributes}
        if along(operator) == "dims":
            defaults["dims"] = [1]  # type: ignore[assignment]
        status, descriptor = create(operator, owner, made, **{**defaults, **values})
        if status == 0:
            ok(destroy(operator, descriptor))
        for tensor in made.values():
            if tensor:
                ok(library().infiniopDestroyTensorDescriptor(tensor))
    return status


@every_operator
def test_wrong_shapes_types_and_strides(operator: Operator) -> None:
    shapes = right(operator)
    ok(attempt(operator, shapes))
    first = operator.inputs[0].name
    for tensor in operator.tensors:
        dtype, shape, _ = shapes[tensor.name] or ("", (), None)
        assert (
            attempt(operator, {**shapes, tensor.name: (dtype, tuple(s + 1 for s in shape), None)})
            == BAD_SHAPE
        )
        assert "must have" in message()
        assert attempt(operator, {**shapes, tensor.name: ("C64", shape, None)}) == BAD_DTYPE
        may_be_null = tensor.optional or tensor.default is not None
        status = attempt(operator, {**shapes, tensor.name: None})
        assert status == (0 if may_be_null else NULL_POINTER)
        if tensor.role == "out":
            steps = (0,) * len(shape)
            assert attempt(operator, {**shapes, tensor.name: (dtype, shape, steps)}) == BAD_STRIDES
            assert f"{tensor.name} has stride 0" in message()
        elif tensor.name != first:
            assert attempt(operator, {**shapes, tensor.name: ("F64", shape, None)}) == BAD_DTYPE
            assert f"{tensor.name} has type F64, {first} has F32" in message()


def test_wrong_dimensions() -> None:
    softmax, total, largest = (BY_ROWS[name] for name in ("Softmax", "Sum", "Max"))
    for axis in (2, -3, 2**31 - 1):
        assert attempt(softmax, right(softmax), axis=axis) == BAD_PARAM
        assert f"axis is {axis}, but x has 2 dimensions" in message()
    assert attempt(softmax, dict.fromkeys(("y", "x"), ("F32", (), None))) == BAD_SHAPE
    assert "x has shape (); at least one dimension was expected" in message()
    causal = BY_ROWS["CausalSoftmax"]
    assert attempt(causal, dict.fromkeys(("y", "x"), ("F32", (4,), None))) == BAD_SHAPE
    assert "a matrix or more was expected" in message()
    assert attempt(total, right(total), dims=[2]) == BAD_PARAM
    assert "dim[0] is 2, but input has 2 dimensions" in message()
    assert attempt(total, right(total), dims=[1, 1]) == BAD_PARAM
    assert "dim has 1 twice" in message()
    assert attempt(total, right(total), dims=[1], keepdim=True) == BAD_SHAPE
    assert "output has shape (4); with input of shape (4, 6) it must have (4, 1)" in message()
    empty: Shapes = {"output": ("F32", (4,), None), "input": ("F32", (4, 0), None)}
    ok(attempt(total, empty))
    assert attempt(largest, empty) == BAD_SHAPE
    assert "its rows have no elements" in message()


def test_null_lists_and_addresses() -> None:
    total = BY_ROWS["Sum"]
    with handle() as owner:
        made = {name: create_tensor(*given)[1] for name, given in right(total).items() if given}
        function = library().infiniopCreateSumDescriptor
        result = ctypes.c_void_p()
        status = function(
            owner,
            ctypes.byref(result),
            made["output"],
            made["input"],
            None,
            ctypes.c_size_t(1),
            ctypes.c_bool(False),
        )
        assert status == NULL_POINTER
        assert "dim is null, but dim_size is 1" in message()
        status, descriptor = create(total, owner, made, dims=[1])
        ok(status)
        assert compute(total, descriptor, {"output": None, "input": 64}, dims=[1]) == NULL_POINTER
        assert "output is null" in message()
        ok(destroy(total, descriptor))
        for tensor in made.values():
            ok(library().infiniopDestroyTensorDescriptor(tensor))
