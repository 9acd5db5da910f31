"""Triton kernels on this runtime's streams and memory, with PyTorch made impossible to import."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.peer("triton")]

PROGRAM = """
import sys, threading
sys.modules["torch"] = None  # Triton itself imports it where it is installed; nothing here needs it
import numpy as np
import triton
import triton.language as tl
import infinirt
import infinirt.triton as on_infinirt


@triton.jit
def axpy(x, y, out, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, a * tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


device = infinirt.Device("nvidia:0")
stream = device.create_stream(nonblocking=True)
n = 100_003
x, y = np.random.rand(n).astype(np.float32), np.random.rand(n).astype(np.float32)
buffers = [device.allocate(4 * n, stream=stream) for _ in range(3)]
buffers[0].copy_from(x, stream=stream)
buffers[1].copy_from(y, stream=stream)


def run(scale):
    arguments = [on_infinirt.tensor(buffer, np.dtype("float32")) for buffer in buffers]
    axpy[(triton.cdiv(n, 1024),)](*arguments, scale, n, BLOCK=1024)


def result():
    back = np.empty(n, np.float32)
    buffers[2].copy_to(back, stream=stream)
    stream.sync()
    return back


with on_infinirt.stream(stream):
    run(2.0)
assert np.allclose(result(), 2 * x + y)

# On our stream, and not on the default one: a host function in front of it holds it back.
gate = threading.Event()
stream.launch_host_func(gate.wait, 60)
with on_infinirt.stream(stream):
    run(3.0)
device.default_stream.sync()
assert not stream.query()
gate.set()
assert np.allclose(result(), 3 * x + y)

# Captured and replayed.
with infinirt.capture(stream) as captured, on_infinirt.stream(stream):
    run(5.0)
graph = captured.graph.instantiate()
buffers[2].fill(0, stream=stream)
graph.launch(stream)
assert np.allclose(result(), 5 * x + y)

# In a thread that has not used the GPU before, and the same kernel on the CPU device in between, interpreted.
def elsewhere():
    with on_infinirt.stream(stream):
        run(7.0)


thread = threading.Thread(target=elsewhere)
thread.start()
thread.join()
assert np.allclose(result(), 7 * x + y)
host = infinirt.Device("cpu")
on_host = [host.allocate(4 * n) for _ in range(3)]
for buffer, array in zip(on_host, (x, y), strict=False):
    buffer.copy_from(array)
with on_infinirt.stream(host.default_stream):
    arguments = [on_infinirt.tensor(buffer, "float32") for buffer in on_host]
    axpy[(triton.cdiv(n, 16384),)](*arguments, 2.0, n, BLOCK=16384)
host.default_stream.sync()
assert np.allclose(np.frombuffer(on_host[2], dtype="float32"), 2 * x + y)
with on_infinirt.stream(stream):
    axpy[(triton.cdiv(n, 512),)](*(on_infinirt.tensor(b, "float32") for b in buffers), 9.0, n, BLOCK=512)
assert np.allclose(result(), 9 * x + y)

assert sys.modules["torch"] is None
print("done")
"""


def test_a_kernel_runs_on_our_stream_and_memory(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "INFINIRT_DEVICE": "nvidia", "TRITON_CACHE_DIR": str(tmp_path / "cache")},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert "done" in done.stdout
