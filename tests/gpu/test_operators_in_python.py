"""Operators in Triton on a GPU: the order of the stream, threads, recorded graphs, and the CPU device beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.gpu, pytest.mark.peer("triton")]

PROGRAM = """
import sys, threading
sys.modules["torch"] = None
import numpy as np
import triton
import triton.language as tl
import infinicore
from infiniop.schema import Attribute, Tensor
from infinicore.languages import check


@triton.jit
def axpy_kernel(out, x, y, n, a, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, a * tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@infinicore.operator(
    tensors=(Tensor("out", "out"), Tensor("x"), Tensor("y")),
    attributes=(Attribute("a", "float", "The factor.", default=2.0),),
    dtypes=("F16", "F32"), reference=lambda np, x, y, a: a * x + y, domain=(0.5, 1.0), extremes=False, ulps=16,
)
def axpy(out, x, y, a):
    n = x.numel()
    axpy_kernel[(triton.cdiv(n, 1024),)](out, x, y, n, a, BLOCK=1024)


gpu = infinicore.device("cuda", 0)
# The kernel's first launch, and so its compilation, is recorded.
x, ones = infinicore.full([5000], 3.0, device=gpu), infinicore.ones([5000], device=gpu)
with infinicore.record(gpu) as recorded:
    y = axpy(x * 2.0, ones, 10.0)
    z = axpy(y, y, 1.0) + 1.0
graph = recorded.graph
assert graph.segment_count == 1, graph.explain()
for value in (1.0, 5.0):
    x.fill_(value)
    graph.run()
    assert z.to("cpu").tolist() == [(20 * value + 1) * 2 + 1] * 5000
x.fill_(3)

# On the tensors' stream: a host function in front of it holds it back.
gate = threading.Event()
x._place.stream.launch_host_func(gate.wait, 60)
x.fill_(4)
out = axpy(x, ones, a=5)
assert not x._place.stream.query()
gate.set()
assert out.to("cpu").tolist() == [21.0] * 5000

# A new thread; the thread's current device is the CPU, and stays it.
def work():
    infinicore.set_device("cpu")
    there.append(axpy(x, ones).to("cpu").tolist())
    assert infinicore.get_device().type == "cpu"

there = []
thread = threading.Thread(target=work)
thread.start()
thread.join()
assert there == [[9.0] * 5000], there

# Chosen by timing, while it is being recorded.
tuned_kernel = triton.autotune([triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"])(axpy_kernel)

@infinicore.operator(tensors=(Tensor("y", "out"), Tensor("x")), dtypes=("F32",), reference=lambda np, x: 2 * x)
def twice(y, x):
    n = x.numel()
    tuned_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](y, x, x, n, 1.0)

with infinicore.record(gpu) as recorded:
    y = twice(x)
y.fill_(0)
recorded.graph.run()
assert y.to("cpu").tolist() == twice(x).to("cpu").tolist() == [8.0] * 5000

# In turns with the CPU device; then against the reference.
for _ in range(3):
    on_host = axpy(infinicore.ones([100], device="cpu"), infinicore.ones([100], device="cpu"), 3.0)
    assert on_host.tolist() == [4.0] * 100
    assert axpy(x[:100], ones[:100], 3.0).to("cpu").tolist() == [13.0] * 100
print(check(axpy, gpu))
print(check(axpy, "cpu"))
assert sys.modules["torch"] is None
"""


def test_an_operator_on_a_gpu(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "INFINIRT_DEVICE": "nvidia", "TRITON_CACHE_DIR": str(tmp_path / "cache")},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-6000:]
    assert done.stdout.count("all as NumPy's") == 2
