"""Every operator that is an expression, against its reference: element types, shapes, strides, broadcasting, special values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from op_cases import input_types, layouts, ordinary, output, special, values_of
from op_support import NUMPY, Array, check, reference, run

from infiniop.schema import OPERATORS, Operator

pytestmark = pytest.mark.usefixtures("device")

MAPS = [operator for operator in OPERATORS if operator.kind == "map" and not operator.halves]


# On a GPU every variant is compiled anew, and what strides do does not depend on the expression: some operators stand for all.
WIDELY = ("Add", "Addcmul", "Equal", "Relu")


SAMPLED = ("F16", "F32", "F64", "I64", "U8")


def widely(operator: Operator, device: str) -> bool:
    return device == "cpu" or operator.name in WIDELY


def types_on(device: str, operator: Operator) -> list[str]:
    """That all of them compile is seen without a GPU."""
    return [name for name in operator.dtypes if widely(operator, device) or name in SAMPLED]


def apply(operator: Operator, dtype: str, inputs: list[Array], out: Array, what: str) -> None:
    names = [tensor.name for tensor in operator.inputs]
    if operator.output.role == "inout":
        place = names.index(operator.output.name)
        out[...] = inputs[place]
        inputs = [*inputs[:place], out.copy(), *inputs[place + 1 :]]
    result_type = "U8" if operator.dtype_rule == "truth" else dtype
    arrays = {operator.output.name: out, **dict(zip(names, inputs, strict=True))}
    dtypes = {
        operator.output.name: result_type,
        **dict(zip(names, input_types(operator, dtype), strict=True)),
    }
    expected = np.broadcast_to(reference(operator, inputs, dtype, **values_of(operator)), out.shape)
    run(operator, {**arrays, operator.output.name: out}, dtypes, **values_of(operator))
    check(operator, out, expected, result_type, f"{operator.name} of {dtype}, {what}")


@pytest.mark.parametrize("operator", MAPS, ids=lambda operator: operator.name)
def test_every_type_and_layout(operator: Operator, device: str) -> None:
    for dtype in types_on(device, operator):
        types = input_types(operator, dtype)
        for what, shape, inputs in layouts(
            lambda s, i, types=types: ordinary(operator, types[i], s, i), len(operator.inputs)
        ):
            if widely(operator, device) or what == "contiguous":
                apply(operator, dtype, inputs, output(operator, dtype, shape), what)


@pytest.mark.parametrize("operator", MAPS, ids=lambda operator: operator.name)
def test_outputs_of_every_layout(operator: Operator, device: str) -> None:
    if not widely(operator, device):
        pytest.skip(f"on a GPU only for {', '.join(WIDELY)}")
    for dtype in (operator.dtypes[1], operator.dtypes[-1]):
        inputs = [ordinary(operator, kind, (6, 4), i) for i, kind in enumerate(input_types(operator, dtype))]
        wide = output(operator, dtype, (12, 9))
        apply(operator, dtype, inputs, output(operator, dtype, (4, 6)).T, "transposed output")
        apply(operator, dtype, inputs, wide[10::-2, 1:8:2], "output with gaps, backwards")
        untouched = np.ones(wide.shape, dtype=bool)
        untouched[10::-2, 1:8:2] = False
        assert not wide[untouched].any(), "written beside the output"


@pytest.mark.parametrize("operator", MAPS, ids=lambda operator: operator.name)
def test_special_values(operator: Operator, device: str) -> None:
    for dtype in types_on(device, operator):
        types = input_types(operator, dtype)
        cases = list(product(*(special(kind, operator.extremes) for kind in types)))
        columns = zip(types, zip(*cases, strict=True), strict=True)
        inputs = [np.array(column, dtype=NUMPY[kind]) for kind, column in columns]
        apply(operator, dtype, inputs, output(operator, dtype, inputs[0].shape), "special values")


@pytest.mark.parametrize(
    "operator",
    [o for o in MAPS if o.dtype_rule == "same" and o.output.role == "out"],
    ids=lambda operator: operator.name,
)
def test_the_output_may_be_an_input(operator: Operator) -> None:
    for dtype in (operator.dtypes[1], "F32" if "F32" in operator.dtypes else operator.dtypes[-1]):
        types = input_types(operator, dtype)
        inputs = [ordinary(operator, kind, (40, 100), i) for i, kind in enumerate(types)]
        expected = reference(operator, [a.copy() for a in inputs], dtype, **values_of(operator))
        names = [tensor.name for tensor in operator.inputs]
        out = inputs[types.index(dtype)]
        arrays = {operator.output.name: out, **dict(zip(names, inputs, strict=True))}
        dtypes = {operator.output.name: dtype, **dict(zip(names, types, strict=True))}
        run(operator, arrays, dtypes, **values_of(operator))
        check(operator, out, expected, dtype, f"{operator.name} of {dtype}, in place")


@pytest.mark.parametrize("operator", [o for o in MAPS if o.bfloat_loop], ids=lambda operator: operator.name)
def test_bf16_straight_from_memory_has_the_bits_of_tiles(operator: Operator, device: str) -> None:
    """Every BF16 there is, whether or not it is a number, once where two neighbours are computed at a time and once where they lie apart."""
    if device != "cpu":
        pytest.skip("loops of the CPU")
    bits = np.append(np.arange(1 << 16, dtype=np.uint16), np.uint16(0x3F80))  # an odd number of them
    orders = [bits, np.random.default_rng(1).permutation(bits), bits[::-1]]
    inputs = [each.copy().view(NUMPY["BF16"]) for each in orders[: len(operator.inputs)]]
    results = []
    for step in (1, 3):
        # From the second element on: as a view may lie, which no pair does.
        arrays = {
            tensor.name: np.repeat(np.append(array[:1], array), step)[step::step]
            for tensor, array in zip(operator.inputs, inputs, strict=True)
        }
        out = arrays.setdefault(operator.output.name, output(operator, "BF16", (bits.size + 1,))[1:])
        run(operator, arrays, dict.fromkeys(arrays, "BF16"), **values_of(operator))
        results.append(out.copy())
    # Which of two that are no numbers comes through is the compiler's choice.
    direct, tiled = (np.where(np.isnan(result), 0x7FC0, result.view(np.uint16)) for result in results)
    assert np.array_equal(direct, tiled)
    expected = reference(operator, inputs, "BF16", **values_of(operator))
    check(operator, results[0], expected, "BF16", operator.name)


def test_gelu_of_large_and_of_small_numbers(device: str) -> None:
    gelu = next(operator for operator in MAPS if operator.name == "Gelu")
    x = np.concatenate([np.linspace(4, 60, 5003), [1e20, 3e38, np.inf]]).astype(np.float32)
    above, below = np.empty_like(x), np.empty_like(x[:-1])
    for array, out in ((x, above), (-x[:-1], below)):
        arrays = {gelu.output.name: out, gelu.inputs[0].name: array}
        run(gelu, arrays, dict.fromkeys(arrays, "F32"))
    assert np.array_equal(above[x >= 6], x[x >= 6])
    assert (below <= 0).all()
    assert (below[x[:-1] >= 6] > -1e-6).all()
    # Near 0 it is a half of the number: the tolerance of the others would let anything pass.
    x = np.concatenate([10.0 ** np.arange(-37, -4), -(10.0 ** np.arange(-37, -4))]).astype(np.float32)
    small = np.empty_like(x)
    arrays = {gelu.output.name: small, gelu.inputs[0].name: x}
    run(gelu, arrays, dict.fromkeys(arrays, "F32"))
    assert np.allclose(small, x / 2 + x.astype(np.float64) ** 2 * 0.3989423, rtol=1e-6, atol=0)
