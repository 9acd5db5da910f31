"""The CUDA C++ of chains without a GPU: the text compiles, and compiled for the host it computes what the operators do one by one."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from cuda_support import ChainStep, CudaText
from op_support import BY_NAME, NUMPY

import infinirt

pytestmark = pytest.mark.full


def number(value: float, dtype: str) -> ChainStep:
    return ChainStep(
        BY_NAME["Fill"], (), dtypes=(dtype, dtype), element=np.array(value, NUMPY[dtype]).tobytes()
    )


def steps_for(dtype: str) -> list[ChainStep]:
    """relu(a + b) * 0.5 to operand 2, and relu(a + b) > b to operand 3."""
    same = (dtype, dtype)
    return [
        number(0.5, dtype),
        ChainStep(BY_NAME["Add"], (0, 1), dtypes=same),
        ChainStep(BY_NAME["Relu"], (5,), dtypes=same),
        ChainStep(BY_NAME["Mul"], (6, 4), output=2, dtypes=same),
        ChainStep(BY_NAME["Greater"], (6, 1), output=3, dtypes=(dtype, "BOOL")),
    ]


def test_truth_is_taken_as_it_is(cuda: CudaText) -> None:
    """where(a > b, a, b): the condition is a result of another type."""
    for dtype in ("F32", "BF16", "I64"):
        a, b = (np.random.default_rng(seed).integers(-9, 9, (5, 64)).astype(NUMPY[dtype]) for seed in (1, 2))
        out = np.zeros(a.shape, NUMPY[dtype])
        steps = [
            ChainStep(BY_NAME["Greater"], (0, 1), dtypes=(dtype, "BOOL")),
            ChainStep(BY_NAME["Where"], (3, 0, 1), output=2, dtypes=(dtype, dtype)),
        ]
        for vectors in (False, True):
            out[...] = 0
            cuda.run_chain_on_host([dtype] * 3, [a, b, out], steps, vectors)
            assert np.array_equal(out, np.where(a > b, a, b))


def operands(dtype: str, layout: str) -> list[Any]:
    made = np.random.default_rng(7).normal(size=(3, 24, 40)).astype(NUMPY[dtype])
    a, b = made[0], made[1]
    if layout == "strided":
        a = np.ascontiguousarray(a.T).T
    elif layout == "repeated":
        b = b[:, :1]
    elif layout == "scalar":
        b = b[:1, :1]
    elif layout == "odd":
        a, b = a.reshape(-1)[:953], b.reshape(-1)[:953]
    return [a, b, np.zeros(a.shape, NUMPY[dtype]), np.zeros(a.shape, np.bool_)]


@pytest.mark.parametrize("layout", ["contiguous", "strided", "repeated", "scalar", "odd"])
@pytest.mark.parametrize("dtype", ["F32", "BF16", "F16", "F64"])
def test_a_chain_computes_what_its_operators_do(cuda: CudaText, dtype: str, layout: str) -> None:
    a, b, *_ = operands(dtype, layout)
    type_ = NUMPY[dtype]
    total = np.maximum((a.astype("float64") + b.astype("float64")).astype(type_), type_(0))
    widths = []
    for vectors in (False, True):
        arrays = operands(dtype, layout)
        widths.append(cuda.run_chain_on_host([dtype] * 3 + ["BOOL"], arrays, steps_for(dtype), vectors))
        if vectors and widths[-1] == 1:
            continue
        half = (total.astype("float64") * 0.5).astype(type_)
        assert arrays[2].tobytes() == half.tobytes()
        assert np.array_equal(arrays[3], total.astype("float64") > b.astype("float64"))
    assert widths[-1] == {"F32": 4, "F64": 2}.get(dtype, 8) or layout == "strided"


@pytest.mark.peer("nvidia-cuda-nvrtc")
@pytest.mark.parametrize("layout", ["contiguous", "strided", "repeated", "odd"])
def test_the_text_compiles(cuda: CudaText, layout: str) -> None:
    described = cuda.describe_chain(["BF16"] * 3 + ["BOOL"], operands("BF16", layout), steps_for("BF16"))
    options = infinirt.ProgramOptions(
        name="chain.cu",
        arch="sm_90",
        std=None,
        headers={**cuda.files, "variant.h": described.text},
        extra=cuda.options,
    )
    log = io.StringIO()
    program = infinirt.Program(cuda.chain_program, "c++", options)
    assert b"infiniopChain" in program.compile("cubin", logs=log).code
    assert log.getvalue() == ""


def test_an_operand_is_read_and_written(cuda: CudaText) -> None:
    x = np.arange(1000, dtype="float32")
    steps = [
        number(1, "F32"),
        ChainStep(BY_NAME["Add"], (0, 2), output=0),
        ChainStep(BY_NAME["Mul"], (0, 3), output=1),
    ]
    for vectors in (False, True):
        arrays = [x.copy(), np.zeros_like(x)]
        cuda.run_chain_on_host(["F32"] * 2, arrays, steps, vectors)
        assert np.array_equal(arrays[0], x + 1)
        assert np.array_equal(arrays[1], x * (x + 1))
