"""The kernels of operators on rows for NVIDIA's GPUs, as far as they can be judged without one: their text compiles, and computes the right
thing when the threads of a block take turns on the host."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from cuda_support import CudaText, DescribedRows
from op_support import NUMPY
from row_cases import (
    BY_ROWS,
    ROWS,
    Case,
    arguments,
    check_rows,
    expected_of,
    inputs_of,
    layouts,
    output_dtype,
    values_of,
)

import infinirt
from infiniop.schema import Operator
from infiniop.schema.model import FLOATS

pytestmark = pytest.mark.full
every_operator = pytest.mark.parametrize("operator", ROWS, ids=lambda operator: operator.name)


def described(cuda: CudaText, operator: Operator, dtype: str, shape: tuple[int, ...]) -> DescribedRows:
    """Rows along the last dimension, everything contiguous."""
    shapes = {"element": shape, "column": shape[-1:], "row": shape[:-1]}
    tensors: dict[str, Any] = {}
    for tensor in operator.tensors:
        own = shapes[tensor.place]
        steps = [int(np.prod(own[d + 1 :])) for d in range(len(own))]
        kind = output_dtype(operator, dtype) if tensor.role == "out" else dtype
        tensors[tensor.name] = (kind, own, steps)
    return cuda.describe_rows(operator, tensors, **values_of(operator), dims=[len(shape) - 1])


def compile_for(cuda: CudaText, text: str, arch: str, target: str = "cubin") -> bytes:
    options = infinirt.ProgramOptions(
        name="rows.cu", arch=arch, std=None, headers={**cuda.files, "variant.h": text}, extra=cuda.options
    )
    log = io.StringIO()
    code = infinirt.Program(cuda.rows_program, "c++", options).compile(target, logs=log).code
    assert log.getvalue() == "", text
    return code


@pytest.mark.peer("nvidia-cuda-nvrtc")
@every_operator
def test_every_kernel_compiles(operator: Operator, cuda: CudaText) -> None:
    for number, dtype in enumerate(operator.dtypes):
        if number not in (1, len(operator.dtypes) - 1):
            continue
        # Rows of a warp, of a block, and such as no registers hold.
        for length in (64, 4096, 1 << 20) if number == 1 and dtype in FLOATS else (4096,):
            made = described(cuda, operator, dtype, (64, length))
            code = compile_for(cuda, made.text, "sm_90")
            assert f"infiniop{operator.name}_elements".encode() in code
            assert made.width > 1
        if number == 1:
            compile_for(cuda, described(cuda, operator, dtype, (64, 4096)).text, "sm_80")


@pytest.mark.peer("nvidia-cuda-nvrtc")
@pytest.mark.parametrize("name", ["Softmax", "AddRMSNorm", "LayerNorm", "CausalSoftmax"])
def test_rows_stay_in_registers(name: str, cuda: CudaText) -> None:
    """No array of a thread is put into memory, and 16 bytes are loaded at once, weights included."""
    for dtype in ("BF16", "F32"):
        for length in (512, 4096, 16384):
            made = described(cuda, BY_ROWS[name], dtype, (64, length))
            assert made.numbers[1] > 0
            ptx = compile_for(cuda, made.text, "sm_90", "ptx").decode(errors="replace")
            kernel = ptx.split(f".entry infiniop{name}(")[1].split(".entry")[0]
            assert "__local_depot" not in kernel
            assert "ld.global.v" in kernel
            if name != "CausalSoftmax":
                assert "ld.global.u16" not in kernel
                assert "ld.global.f32" not in kernel


def test_how_rows_are_shared_out(cuda: CudaText) -> None:
    softmax = BY_ROWS["Softmax"]
    for dtype, length, width, threads, items in (
        ("F32", 64, 4, 32, 1), ("F32", 512, 4, 32, 4), ("F32", 4096, 4, 256, 4), ("F32", 16384, 4, 512, 8),
        ("F32", 16388, 4, 512, 0), ("BF16", 4096, 8, 128, 4), ("BF16", 16384, 8, 512, 4), ("F16", 1002, 2, 32, 16),
        ("F64", 4096, 2, 512, 4), ("BF16", 1001, 1, 32, 32),
    ):  # fmt: skip
        made = described(cuda, softmax, dtype, (8, length))
        assert (made.width, *made.numbers[:2]) == (width, threads, items), (dtype, length)


def run_case(cuda: CudaText, operator: Operator, dtype: str, case: Case, vectors: bool) -> None:
    results = [np.asarray(result) for result in expected_of(operator, case)]
    kind = output_dtype(operator, dtype)
    outputs = [np.zeros(result.shape, NUMPY[kind]) for result in results]
    arrays = dict(zip((tensor.name for tensor in operator.outputs), outputs, strict=True))
    arrays |= dict(zip((tensor.name for tensor in operator.inputs), case.inputs, strict=True))
    names = {np.dtype(NUMPY[name]): name for name in ("F32", dtype)}
    dtypes = {
        name: kind if i < len(outputs) else names[array.dtype]
        for i, (name, array) in enumerate(arrays.items())
        if array is not None
    }
    made = cuda.run_rows_on_host(operator, arrays, dtypes, vectors, **arguments(operator, case))
    if vectors and made.width == 1:
        return
    for tensor, got, expected in zip(operator.outputs, outputs, results, strict=True):
        what = f"{tensor.name} of {operator.name}, {dtype}, {case.what}, vectors: {vectors}"
        check_rows(operator, got, expected, kind, case.dims, what)


@every_operator
def test_every_length_on_the_host(operator: Operator, cuda: CudaText) -> None:
    """A warp, a block, and more than registers hold; with tails of the last thread."""
    for dtype, shape in (("BF16", (5, 40)), ("F32", (2, 1004)), ("F16", (1, 20000)), ("F64", (3, 7))):
        for vectors in (False, True):
            run_case(cuda, operator, dtype, Case(f"{shape}", inputs_of(operator, dtype, shape)), vectors)


@every_operator
def test_every_layout_on_the_host(operator: Operator, cuda: CudaText) -> None:
    for case in layouts(operator, "F32"):
        run_case(cuda, operator, "F32", case, False)
        run_case(cuda, operator, "F32", case, True)


@pytest.mark.parametrize("name", ["Sum", "Prod", "Max", "Min", "All", "Any"])
def test_integers_on_the_host(name: str, cuda: CudaText) -> None:
    operator = BY_ROWS[name]
    for dtype in ("I8", "I64", "U64", "BOOL"):
        for shape in ((5, 48), (2, 20000)):
            for vectors in (False, True):
                run_case(cuda, operator, dtype, Case(f"{shape}", inputs_of(operator, dtype, shape)), vectors)


def test_wide_weights_on_the_host(cuda: CudaText) -> None:
    operator = BY_ROWS["LayerNorm"]
    narrow, wide = inputs_of(operator, "BF16", (3, 128)), inputs_of(operator, "F32", (3, 128))
    for vectors in (False, True):
        run_case(cuda, operator, "BF16", Case("weights of F32", [narrow[0], *wide[1:]]), vectors)


def test_special_values_on_the_host(cuda: CudaText) -> None:
    rows = [[0.0, -1.0, 20.0, x] * 8 for x in (1.0, np.nan, np.inf, -np.inf)] + [[-np.inf] * 32]
    for name in ("Softmax", "LogSoftmax", "Max", "Min", "Sum", "All", "Any"):
        operator = BY_ROWS[name]
        for vectors in (False, True):
            run_case(cuda, operator, "F32", Case("special values", [np.array(rows, np.float32)]), vectors)
