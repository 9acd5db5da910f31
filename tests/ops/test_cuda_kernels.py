"""The kernels for NVIDIA's GPUs, as far as they can be judged without one: their text compiles, and computes the right thing when
a host runs it thread by thread."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from cuda_support import CudaText, Described
from op_cases import input_types, layouts, ordinary, output, special, values_of
from op_support import BY_NAME, NUMPY, check, reference

import infinirt
from infiniop.schema import OPERATORS, Operator, Tensor
from infiniop.schema.model import EVERYTHING

pytestmark = pytest.mark.full
MAPS = [operator for operator in OPERATORS if operator.kind == "map"]
WITHOUT_GPU = [
    operator for operator in OPERATORS if operator.kind in ("map", "copy", "cast", "constant", "fill")
]


def compile_for(cuda: CudaText, described: Described, arch: str) -> bytes:
    """With the options that the library gives."""
    options = infinirt.ProgramOptions(
        name="kernel.cu",
        arch=arch,
        std=None,
        headers={**cuda.files, "variant.h": described.text},
        extra=cuda.options,
    )
    log = io.StringIO()
    code = infinirt.Program(cuda.program, "c++", options).compile("cubin", logs=log).code
    assert log.getvalue() == "", described.text
    return code


def types_of(operator: Operator, dtype: str) -> list[str]:
    inputs = [dtype, dtype] if operator.halves else input_types(operator, dtype)
    return [{"truth": "U8"}.get(operator.dtype_rule, dtype), *inputs]


def described(cuda: CudaText, operator: Operator, dtypes: list[str], layout: str) -> Described:
    """The three forms of a kernel: side by side, strided, and with 64-bit indices and a repeated operand."""
    sizes = [np.dtype(NUMPY[name]).itemsize for name in dtypes]
    if layout == "contiguous":
        return cuda.describe(operator, dtypes, [4096], [[size] for size in sizes])
    if layout == "strided":
        strides = [[size * 3, size * 1200, size * 120] for size in sizes]
        return cuda.describe(operator, dtypes, [4, 5, 6], strides)
    long = [[size * 4096, size] for size in sizes]
    return cuda.describe(operator, dtypes, [1 << 20, 4096], [*long[:-1], [0, sizes[-1]]])


@pytest.mark.peer("nvidia-cuda-nvrtc")
@pytest.mark.parametrize("operator", WITHOUT_GPU, ids=lambda operator: operator.name)
def test_every_kernel_compiles(operator: Operator, cuda: CudaText) -> None:
    """Two types of each; every layout and architecture for some operators. A GPU compiles what it runs in its own tests."""
    is_sample = WITHOUT_GPU.index(operator) % 8 == 0
    for number, dtype in enumerate(operator.dtypes):
        if number not in (1, len(operator.dtypes) - 1) and not is_sample:
            continue
        dtypes = types_of(operator, dtype)
        if operator.kind == "cast":
            dtypes[0] = operator.dtypes[(number * 5 + 3) % len(operator.dtypes)]
        first = described(cuda, operator, dtypes, "contiguous")
        names = [f"infiniop{operator.name}_elements"] + [f"infiniop{operator.name}"] * (first.width > 1)
        code = compile_for(cuda, first, "sm_90")
        assert all(name.encode() in code for name in names)
        if number % 4 == 1 and is_sample:
            compile_for(cuda, first, "sm_80")
            for layout in ("strided", "long"):
                compile_for(cuda, described(cuda, operator, dtypes, layout), "sm_90")


def test_vectors_are_taken_where_they_can_be(cuda: CudaText) -> None:
    add = BY_NAME["Add"]
    for dtype, width in (("F8", 16), ("BF16", 8), ("F32", 4), ("F64", 2)):
        size = np.dtype(NUMPY[dtype]).itemsize
        matrix = [64 * size, size]
        for shape, strides, expected in (
            ([64, 64], [matrix, matrix, matrix], width),
            ([64, 64], [matrix, matrix, [0, size]], width),
            ([64, 64], [matrix, matrix, [size, 0]], width),
            ([64, 64], [matrix, matrix, [0, 0]], width),
            ([7, 13], [[13 * size, size]] * 3, width),  # one row, with a tail
            ([7, 12], [[24 * size, size]] * 3, min(width, 4)),
            ([7, 13], [[14 * size, size]] * 3, 1),
            ([64, 64], [matrix, matrix, [size, 64 * size]], 1),
        ):
            assert cuda.describe(add, [dtype] * 3, shape, strides).width == expected, (dtype, shape, strides)


def run_layouts(cuda: CudaText, operator: Operator, dtype: str) -> None:
    for what, shape, inputs in layouts(lambda s, i: ordinary(operator, dtype, s, i), len(operator.inputs)):
        if 0 in shape:
            continue
        out = output(operator, dtype, shape)
        values = values_of(operator)
        expected = np.broadcast_to(reference(operator, inputs, dtype, **values), shape)
        cuda.run_on_host(operator, types_of(operator, dtype), [out, *inputs], list(values.values()))
        check(operator, out, expected, types_of(operator, dtype)[0], f"{operator.name} of {dtype}, {what}")


@pytest.mark.parametrize("dtype", ["BF16", "I32", "F8"])
def test_every_layout_on_the_host(dtype: str, cuda: CudaText) -> None:
    run_layouts(cuda, BY_NAME["Add"], dtype)


def across(operator: Operator, dtype: str) -> list[tuple[str, list[np.ndarray]]]:
    """Outputs and inputs of which some lie across: whole squares and parts, more dimensions, repeated and backward operands."""

    def make(shape: tuple[int, ...], i: int) -> np.ndarray:
        return ordinary(operator, dtype, shape, i)

    cases = []
    for what, shape, inputs in (
        ("a matrix", (70, 130), [make((130, 70), 0).T, make((70, 130), 1), make((130, 70), 2).T]),
        ("exact squares", (64, 128), [make((128, 64), 0).T, make((128, 64), 1).T, make((64, 128), 2)]),
        (
            "three dimensions",
            (3, 20, 33),
            [
                make((3, 33, 20), 0).transpose(0, 2, 1),
                make((20, 33, 3), 1).transpose(2, 0, 1),
                make((33,), 2),
            ],
        ),
        ("backwards", (40, 50), [make((50, 40), 0)[::-1].T, make((40, 50), 1)[::-1, ::-1], make((40, 1), 2)]),
    ):
        inputs = inputs[: len(operator.inputs)]
        cases.append((what, [output(operator, dtype, shape), *inputs]))
    return cases


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("Add", "BF16"), ("Add", "F64"), ("Addcmul", "F32"), ("Silu", "F16"), ("Equal", "I32")],
)
def test_inputs_across_the_output_on_the_host(name: str, dtype: str, cuda: CudaText) -> None:
    operator = BY_NAME[name]
    for what, (out, *inputs) in across(operator, dtype):
        values = values_of(operator)
        expected = np.broadcast_to(reference(operator, inputs, dtype, **values), out.shape)
        cuda.run_tiles_on_host(operator, types_of(operator, dtype), [out, *inputs], list(values.values()))
        check(operator, out, expected, types_of(operator, dtype)[0], f"{name} of {dtype}, {what}")


def test_every_type_is_copied_across_on_the_host(cuda: CudaText) -> None:
    for dtype in EVERYTHING:
        size = np.dtype(NUMPY[dtype]).itemsize
        bits = np.random.default_rng(1).integers(0, 2, (65, 33, size), dtype=np.uint8)
        raw = bits.view(NUMPY[dtype])[..., 0]
        out = np.zeros((33, 65), dtype=raw.dtype)
        cuda.run_tiles_on_host(BY_NAME["Rearrange"], [dtype] * 2, [out, raw.T])
        assert out.tobytes() == np.ascontiguousarray(raw.T).tobytes(), dtype


@pytest.mark.peer("nvidia-cuda-nvrtc")
def test_kernels_for_tiles_compile(cuda: CudaText) -> None:
    for name, dtypes in (("Add", ["BF16"] * 3), ("Rearrange", ["C128"] * 2), ("Addcmul", ["F64"] * 4)):
        sizes = [np.dtype(NUMPY[dtype]).itemsize for dtype in dtypes]
        strides = [[sizes[0] * 64, sizes[0]], *([size, size * 64] for size in sizes[1:])]
        code = compile_for(cuda, cuda.describe(BY_NAME[name], dtypes, [64, 64], strides), "sm_90")
        assert f"infiniop{name}_tiles".encode() in code


def test_three_inputs_on_the_host(cuda: CudaText) -> None:
    run_layouts(cuda, BY_NAME["Addcmul"], "F16")


@pytest.mark.parametrize("operator", MAPS, ids=lambda operator: operator.name)
def test_every_expression_on_the_host(operator: Operator, cuda: CudaText) -> None:
    # Operators take turns with a narrow type and the last one.
    for dtype in (operator.dtypes[1 if MAPS.index(operator) % 2 else -1],):
        kinds = types_of(operator, dtype)[1:]
        inputs = []
        for i, kind in enumerate(kinds):
            values = special(kind, False)
            cycled = np.resize(np.repeat(values, len(values) ** i), 997)
            inputs.append(np.concatenate([cycled, ordinary(operator, kind, (800,), i)]))
        out = output(operator, dtype, inputs[0].shape)
        numbers = values_of(operator)
        expected = reference(operator, inputs, dtype, **numbers)
        types = types_of(operator, dtype)
        cuda.run_on_host(operator, types, [out, *inputs], list(numbers.values()))
        check(operator, out, expected, types[0], f"{operator.name} of {dtype}")


def test_copies_and_fills_on_the_host(cuda: CudaText) -> None:
    copy, fill = BY_NAME["Rearrange"], BY_NAME["Fill"]
    for dtype in EVERYTHING:
        size = np.dtype(NUMPY[dtype]).itemsize
        raw = (
            np.random.default_rng(1)
            .integers(0, 2, (6, 10, 7, size), dtype=np.uint8)
            .view(NUMPY[dtype])[..., 0]
        )
        out = np.zeros((7, 10, 6), dtype=raw.dtype)
        cuda.run_on_host(copy, [dtype] * 2, [out, raw.T])
        assert out.tobytes() == np.ascontiguousarray(raw.T).tobytes()
        cuda.run_on_host(fill, [dtype], [out], element=raw[0, 0, 0].tobytes())
        assert out.tobytes() == raw[0, 0, 0].tobytes() * out.size


def test_long_tensors_count_in_64_bits(cuda: CudaText, tmp_path: Path) -> None:
    """Rows that lie 2 GiB apart, in a sparse file."""
    add, rows = BY_NAME["Add"], 3
    step = (1 << 31) + 64
    memory = np.memmap(tmp_path / "sparse", dtype=np.uint8, mode="w+", shape=(rows * step,))
    x = np.lib.stride_tricks.as_strided(memory.view(np.float32), (rows, 50), (step, 4))
    x[...] = np.arange(rows * 50).reshape(rows, 50)
    out = np.zeros((rows, 50), dtype=np.float32)
    assert "uint64_t" in cuda.describe_arrays(add, ["F32"] * 3, [out, x, x]).text
    cuda.run_on_host(add, ["F32"] * 3, [out, x, x])
    assert np.array_equal(out, x + x)


# A part of Gemm that no entry of the schema stands for.
SCALE = Operator(
    "Gemm_scale",
    "",
    (Tensor("c", "out"), Tensor("x")),
    BY_NAME["Gemm"].dtypes,
    lambda np, x: x,
    kind="scale",  # type: ignore[arg-type]
)


@pytest.mark.peer("nvidia-cuda-nvrtc")
@pytest.mark.parametrize("dtype", SCALE.dtypes)
def test_what_is_left_of_a_product_without_terms(dtype: str, cuda: CudaText) -> None:
    for layout in ("contiguous", "strided"):
        assert b"infiniopGemm_scale" in compile_for(
            cuda, described(cuda, SCALE, [dtype] * 2, layout), "sm_90"
        )
    x = np.arange(143).reshape(11, 13).astype(NUMPY[dtype])
    for view in (x.copy(), x.copy().T, x.copy()[::2, ::-3]):
        expected = view.astype(np.float64) * 0.5
        out = np.zeros_like(view)
        cuda.run_on_host(SCALE, [dtype] * 2, [out, view], [0.5])
        assert np.array_equal(out.astype(np.float64), expected.astype(view.dtype).astype(np.float64))
        view[...] = np.nan
        cuda.run_on_host(SCALE, [dtype] * 2, [out, view], [0.0])
        assert not out.any()
