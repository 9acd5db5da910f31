"""The kernel for products with few rows, from its text: run on the host, and compiled by NVIDIA's compiler, without a GPU."""

from __future__ import annotations

import ctypes
import io
from pathlib import Path

import numpy as np
import pytest
from op_support import NUMPY

import infinirt
from installed import output_of, program

HERE = Path(__file__).parent
CSRC = HERE.parents[1] / "csrc"
TYPES = {"F32": "float", "F16": "Float16", "BF16": "BFloat16"}
every_type = pytest.mark.parametrize("dtype", TYPES)


def variant(dtype: str, rows: int) -> str:
    return (
        f"#pragma once\nnamespace infiniop {{\nusing X = {TYPES[dtype]};\nconstexpr int kRows = {rows};\n}}\n"
    )


@every_type
@pytest.mark.parametrize("rows", [1, 3])
def test_on_the_host(dtype: str, rows: int, tmp_path: Path) -> None:
    compiler = program("c++", "g++")
    assert compiler is not None
    (tmp_path / "variant.h").write_text(variant(dtype, rows))
    output_of(
        compiler, "-x", "c++", "-std=c++17", "-O1", "-w", "-fwrapv", "-ffp-contract=off", "-shared", "-fPIC", "-DFEW_ROWS",
        HERE / "cuda_on_host.cpp", f"-I{tmp_path}", f"-I{HERE}", f"-I{CSRC}", "-o", tmp_path / "run.so",
    )  # fmt: skip
    run = ctypes.CDLL(str(tmp_path / "run.so")).run_few_rows
    random = np.random.default_rng(2)
    width = 16 // np.dtype(NUMPY[dtype]).itemsize
    for columns, pieces, gap in ((21, 1, 0), (9, 33, 2), (8, 200, 1)):
        depth = pieces * width
        a, b = (
            random.normal(size=(2, count, depth + gap * width)).astype(NUMPY[dtype])
            for count in (rows, columns)
        )
        for alpha, beta in ((1.0, 0.0), (0.5, 2.0)):
            c = random.normal(size=(2, columns, rows)).astype(NUMPY[dtype])  # in columns
            before = np.full_like(c, np.nan) if beta == 0 else c.copy()
            c[...] = before
            steps = (ctypes.c_longlong * 7)(
                depth + gap * width, depth + gap * width, 1, rows, a[0].size, b[0].size, c[0].size
            )
            run(
                ctypes.c_void_p(c.ctypes.data), ctypes.c_void_p(a.ctypes.data), ctypes.c_void_p(b.ctypes.data), ctypes.c_longlong(2),
                ctypes.c_longlong(columns), ctypes.c_longlong(pieces), steps, ctypes.c_float(alpha), ctypes.c_float(beta),
            )  # fmt: skip
            wide = [each.astype(np.float64) for each in (a[..., :depth], b[..., :depth], before)]
            expected = alpha * (wide[1] @ np.swapaxes(wide[0], 1, 2))
            if beta != 0:
                expected += beta * wide[2]
            limit = {"F32": 1e-5, "F16": 1e-3, "BF16": 8e-3}[dtype] * (1 + np.abs(expected).max())
            assert np.abs(c.astype(np.float64) - expected).max() < limit


@pytest.mark.full
@pytest.mark.peer("nvidia-cuda-nvrtc")
@every_type
def test_it_compiles(dtype: str) -> None:
    names = ("op/narrow.h", "op/nvidia/elements.h")
    headers = {name: (CSRC / name).read_text(encoding="utf-8") for name in names}
    integers = "#pragma once\n" + "".join(
        f"typedef {text} {name};\n"
        for name, text in {
            "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short", "int32_t": "int",
            "uint32_t": "unsigned", "int64_t": "long long", "uint64_t": "unsigned long long",
        }.items()
    )  # fmt: skip
    for rows in range(1, 5):
        options = infinirt.ProgramOptions(
            name="few_rows.cu",
            arch="sm_90",
            std=None,
            headers={**headers, "cstdint": integers, "variant.h": variant(dtype, rows)},
            extra=["-std=c++17", "--fmad=false", "--device-as-default-execution-space"],
        )
        log = io.StringIO()
        text = (CSRC / "op/nvidia/few_rows.cu").read_text(encoding="utf-8")
        infinirt.Program(text, "c++", options).compile("cubin", logs=log)
        assert log.getvalue() == ""
