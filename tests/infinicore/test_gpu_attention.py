"""Attention of many queries on an NVIDIA GPU: cuDNN's where it is installed, and our kernels where it is not or may not be used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import infinicore
from infinicore.nn import functional

pytestmark = pytest.mark.gpu

# Sequences, heads, heads of keys, queries, keys, elements of a head, causal; from 1024 x 1024 scores on the library computes.
SHAPES = [
    (1, 4, 4, 1024, 1024, 128, True),
    (2, 4, 2, 1100, 1100, 64, True),
    (1, 4, 2, 1024, 1500, 128, True),
    (1, 2, 2, 1300, 1024, 64, False),
    (1, 4, 1, 1030, 1041, 128, False),
]


def attend(dtype: infinicore.dtype, *shape: int, causal: bool, turned: bool = False) -> None:
    b, h, g, q, s, d = shape
    random = np.random.default_rng(5)
    arrays = [
        random.normal(size=size).astype("float32") for size in ((b, h, q, d), (b, g, s, d), (b, g, s, d))
    ]
    here = [infinicore.from_numpy(array).to(dtype) for array in arrays]
    there = [tensor.to(device="nvidia") for tensor in here]
    if turned:  # as (b, s, h, d), which models have
        there = [tensor.permute([0, 2, 1, 3]).contiguous().permute([0, 2, 1, 3]) for tensor in there]
    expected = (
        functional.flash_attention(*here, scale=d**-0.5, is_causal=causal).to(infinicore.float32).numpy()
    )
    made = functional.flash_attention(*there, scale=d**-0.5, is_causal=causal)
    np.testing.assert_allclose(made.to(infinicore.float32).numpy(), expected, rtol=0.02, atol=0.01)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_many_queries(shape: tuple[int, ...]) -> None:
    for dtype in (infinicore.bfloat16, infinicore.float16):
        attend(dtype, *shape[:-1], causal=bool(shape[-1]))


def test_heads_that_lie_between_one_another() -> None:
    attend(infinicore.bfloat16, 2, 4, 2, 1024, 1024, 128, causal=True, turned=True)


def test_a_recorded_graph_takes_it() -> None:
    x = infinicore.from_numpy(np.random.default_rng(1).normal(size=(1, 2, 1024, 64)).astype("float32"))
    q = x.to(infinicore.bfloat16).to(device="nvidia")
    out = infinicore.empty([1, 2, 1024, 64], dtype=infinicore.bfloat16, device="nvidia")
    with infinicore.record() as recorded:
        out.copy_(functional.flash_attention(q, q, q, scale=0.125, is_causal=True) * 2)
    once = functional.flash_attention(q, q, q, scale=0.125, is_causal=True) * 2
    for _ in range(2):
        recorded.graph.run()
        assert (out.to(infinicore.float32).numpy() == once.to(infinicore.float32).numpy()).all()


def test_without_the_library_our_kernels_compute() -> None:
    code = (
        "import infinicore, test_gpu_attention as t;"
        "t.attend(infinicore.bfloat16, 1, 4, 2, 1024, 1500, 128, causal=True)"
    )
    folder = str(Path(__file__).parent)
    environment = {
        **os.environ,
        "INFINIOP_CUDNN": "0",
        "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}",
    }
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
