"""A kernel for the CPU device: a C function, compiled here, called once per block."""

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import infinirt

SOURCE = """
#include "infinirt_ext.h"
infinirtError_t scale(const infinirtXBlock *block, void **args) {
  float *x = *(float **)args[0], factor = *(float *)args[1];
  long n = *(long *)args[2], first = (long)block->blockIdx.x * block->blockDim.x;
  for (long i = first; i < first + block->blockDim.x && i < n; ++i) x[i] *= factor;
  return infinirtSuccess;
}
"""


def compile_library(folder: str) -> ctypes.CDLL:
    source, library = Path(folder) / "scale.c", Path(folder) / "scale.so"
    source.write_text(SOURCE)
    include = subprocess.check_output([sys.executable, "-m", "infinirt", "--include-dir"], text=True).strip()
    subprocess.check_call(["cc", "-O2", "-shared", "-fPIC", f"-I{include}", str(source), "-o", str(library)])
    return ctypes.CDLL(str(library))


with tempfile.TemporaryDirectory() as folder:
    library = compile_library(folder)
    address = ctypes.cast(library.scale, ctypes.c_void_p).value
    scale = infinirt.Kernel.from_address(address, ["pointer", "float32", "int64"], "scale", owner=library)

    device = infinirt.Device("cpu")
    stream = device.create_stream()
    n, block = 1_000_000, 1024
    data = device.allocate(4 * n, stream=stream)
    data.copy_from(np.ones(n, dtype="float32"), stream=stream)
    config = infinirt.LaunchConfig(grid=-(-n // block), block=block)
    infinirt.launch(stream, config, scale, data, 2.5, n)

    result = np.frombuffer(data, dtype="float32")
    assert (result == 2.5).all()
    print(f"{scale!r} on {device.name}: {result[:4]} ...")
