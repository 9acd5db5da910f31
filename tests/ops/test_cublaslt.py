"""Products in cuBLASLt's terms, without a GPU: our declarations against NVIDIA's header, descriptions that the real library accepts, and
which operand goes where, computed by a stand-in after the library's manual."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from op_support import NUMPY

from installed import directory, output_of, program

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).parent


def folder_of(package: str) -> Path:
    """Of one of NVIDIA's wheels."""
    spec = importlib.util.find_spec(f"nvidia.{package}")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(next(iter(spec.submodule_search_locations)))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cublaslt")
    generated = folder / "generated"
    generator = ROOT / "src/infiniop/schema/generate.py"
    subprocess.run([sys.executable, "-B", str(generator), "--out", str(generated)], check=True)
    compiler, c_compiler = program("c++", "g++"), program("cc", "gcc")
    assert compiler is not None
    assert c_compiler is not None
    sources = [
        "nvidia/matmul.cpp",
        "nvidia/cublaslt.cpp",
        "nvidia/library_places.cpp",
        "product.cpp",
        "tensor.cpp",
        "object.cpp",
        "runtime.cpp",
    ]
    includes = [ROOT / "csrc", ROOT / "include", generated / "include", generated / "build"]
    output_of(
        compiler, "-std=c++20", "-O1", "-shared", "-fPIC", HERE / "cublaslt_text.cpp",
        *(ROOT / "csrc/op" / name for name in sources), *(f"-I{path}" for path in includes),
        f"-L{directory('--lib-dir')}", f"-Wl,-rpath,{directory('--lib-dir')}", "-linfinirt", "-o", folder / "text.so",
    )  # fmt: skip
    output_of(
        c_compiler,
        "-std=c11",
        "-O1",
        "-shared",
        "-fPIC",
        HERE / "cublaslt_by_loops.c",
        "-o",
        folder / "libcublasLt.so",
    )
    return folder


@pytest.mark.full
@pytest.mark.peer("nvidia-cublas", "nvidia-cuda-runtime", "nvidia-cuda-nvcc-cu12")
def test_declarations() -> None:
    compiler = program("c++", "g++")
    assert compiler is not None
    output_of(
        compiler, "-std=c++20", "-fsyntax-only", HERE / "cublaslt_declarations.cpp", f"-I{ROOT / 'csrc'}",
        f"-I{ROOT / 'include'}", f"-I{folder_of('cu13') / 'include'}",
        f"-I{folder_of('cuda_nvcc') / 'include'}",
    )  # fmt: skip


def described(c: np.ndarray, a: np.ndarray, b: np.ndarray) -> tuple[ctypes.Array, ctypes.Array]:
    """Sizes and strides as the library has them."""
    batch = c.shape[0]
    sizes = (ctypes.c_int64 * 4)(batch, c.shape[1], c.shape[2], a.shape[2])
    strides = []
    for array in (c, a, b):
        steps = [step // array.itemsize for step in array.strides]
        strides += [steps[1], steps[2], 0 if array.shape[0] == 1 and batch != 1 else steps[0]]
    return sizes, (ctypes.c_int64 * 9)(*strides)


def operands(dtype: str) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    def numbers(*shape: int) -> np.ndarray:
        return np.random.default_rng(shape[-1]).normal(size=shape).astype(NUMPY[dtype])

    cases = []
    for batch, m, n, k in ((1, 5, 7, 3), (4, 6, 2, 9), (1, 1, 8, 4), (3, 8, 1, 4), (2, 3, 3, 1)):
        for a in (
            numbers(batch, m, k),
            numbers(batch, k, m).transpose(0, 2, 1),
            numbers(1, m, k + 2)[:, :, :k],
        ):
            for b in (numbers(batch, k, n), numbers(batch, n, k).transpose(0, 2, 1), numbers(1, k, n)):
                cases.append((numbers(batch, m, n + 1)[:, :, :n], a, b))
    return cases


PROGRAM = """
import sys; sys.path[:0] = sys.argv[2:]
import ctypes, numpy as np
from op_support import DTYPE_NUMBERS
from test_cublaslt import *
library = ctypes.CDLL(sys.argv[1])
for dtype in ("F32", "F64"):
    for c, a, b in operands(dtype):
        for alpha, beta in ((1, 0), (-0.5, 2)):
            before = np.full_like(c, np.nan) if beta == 0 else np.ones_like(c)
            c[...] = before
            expected = alpha * (a.astype(np.float64) @ b) + (beta * before if beta else 0)
            sizes, strides = described(c, a, b)
            error = library.multiply(sizes, strides, DTYPE_NUMBERS[dtype], ctypes.c_double(alpha), ctypes.c_double(beta),
                *(ctypes.c_void_p(x.ctypes.data) for x in (c, a, b)))
            assert error == 0, (error, c.shape, a.strides, b.strides)
            assert np.allclose(c, expected, rtol=1e-4, atol=1e-5), (c.shape, a.strides, b.strides)
print("done")
"""


@pytest.mark.full
def test_every_operand_has_its_place(built: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(built / "text.so"), str(HERE), str(HERE.parent)],
        env={**os.environ, "INFINIOP_CUBLASLT_LIBRARY": str(built / "libcublasLt.so")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout == "done\n", done.stderr


DESCRIBE = """
import sys; sys.path[:0] = sys.argv[2:]
import ctypes
from op_support import DTYPE_NUMBERS
from test_cublaslt import *
from op_support import message
library = ctypes.CDLL(sys.argv[1])
for dtype in ("F32", "F64", "F16", "BF16"):
    for c, a, b in operands(dtype):
        error = library.describe(*described(c, a, b), DTYPE_NUMBERS[dtype])
        assert error == 0, (error, message())
maps = open("/proc/self/maps").read()
assert "libcublasLt.so.13" in maps and "libcuda.so" not in maps, maps
print("done")
"""


@pytest.mark.full
@pytest.mark.peer("nvidia-cublas")
def test_the_real_library_accepts_our_descriptions(built: Path) -> None:
    """It is found in the environment's packages, and asks for no driver before a handle is made."""
    done = subprocess.run(
        [sys.executable, "-c", DESCRIBE, str(built / "text.so"), str(HERE), str(HERE.parent)],
        env={name: value for name, value in os.environ.items() if name != "INFINIOP_CUBLASLT_LIBRARY"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.stdout == "done\n", done.stderr
