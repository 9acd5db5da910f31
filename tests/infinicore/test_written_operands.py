"""Operators that write one of their operands, and the one that reads its input in two halves."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from tensor_support import keep_busy, new_place

import infinicore
from infinicore.nn import functional

F32 = infinicore.float32


def silu(x: Any) -> Any:
    return x / (1 + np.exp(-x))


def test_axpy_and_scal_write_in_place_and_return_it() -> None:
    x = infinicore.from_list([1.0, 2.0, 3.0], dtype=F32)
    y = infinicore.ones([2, 3])
    before = y.data_ptr()
    assert infinicore.axpy(infinicore.full([2, 1], 2.0), x, y) is y
    assert y.data_ptr() == before
    assert y.tolist() == [[3, 5, 7]] * 2
    assert infinicore.axpy(alpha=0.5, y=y, x=x) is y
    assert y.tolist() == [[3.5, 6, 8.5]] * 2
    assert infinicore.scal(y, 2) is y
    assert infinicore.scal(x=y[:, 1:], alpha=x[:2]).tolist() == [[12, 34]] * 2
    assert y.tolist() == [[7, 12, 34]] * 2


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "float8"])
def test_every_type(dtype: str) -> None:
    kind = getattr(infinicore, dtype)
    x = infinicore.full([5], 2.0, dtype=kind)
    infinicore.axpy(0.5, x, infinicore.scal(x, 2.0))
    assert x.to(F32).tolist() == [6.0] * 5
    halves = infinicore.zeros([3, 8], dtype=kind)
    assert functional.silu_and_mul(halves).shape == [3, 4]


def test_memory_with_strides_keeps_what_lies_between() -> None:
    whole = infinicore.ones([6, 8])
    infinicore.scal(whole[::-2, 1::3], 5.0)
    expected = np.ones((6, 8), dtype="float32")
    expected[::-2, 1::3] *= 5
    assert np.array_equal(whole.numpy(), expected)


def test_memory_of_numpy_is_written_when_the_call_returns() -> None:
    values = np.arange(1000, dtype="float32")
    tensor = infinicore.from_numpy(values, copy=False)
    keep_busy(tensor._place)
    infinicore.scal(tensor, 3.0)
    assert values[-1] == 2997
    backwards = infinicore.from_numpy(values[::-1], copy=False)
    infinicore.axpy(1.0, backwards, tensor)
    assert (values == 2997).all()


def test_a_recorded_call_writes_at_each_run() -> None:
    x, y = infinicore.ones([100]), infinicore.zeros([100])
    with infinicore.record() as recorded:
        infinicore.axpy(2.0, x, y)
        infinicore.scal(y, 3.0)
    assert y[0].item() == 0
    for expected in (6.0, 24.0, 78.0):
        recorded.graph.run()
        assert y.tolist() == [expected] * 100


def test_a_recorded_call_on_overlapping_memory_reads_first() -> None:
    y = infinicore.arange(4, dtype=F32)
    with infinicore.record() as recorded:
        infinicore.axpy(1.0, y[::-1], y)
    recorded.graph.run()
    recorded.graph.run()
    assert y.tolist() == [6.0] * 4


def test_halves() -> None:
    array = np.random.default_rng(5).normal(size=(4, 3, 14)).astype("float32")
    x = infinicore.from_numpy(array)
    expected = silu(array[..., :7].astype("f8")) * array[..., 7:]
    for function in (infinicore.silu_and_mul, functional.silu_and_mul):
        made = function(x)
        assert made.is_contiguous()
        np.testing.assert_allclose(made.numpy(), expected, rtol=2e-5)
    # Strides of either, and memory that both share.
    turned = infinicore.from_numpy(np.ascontiguousarray(array.T)).permute([2, 1, 0])
    out = infinicore.zeros([7, 3, 4]).permute([2, 1, 0])
    assert functional.silu_and_mul(turned, out=out) is out
    np.testing.assert_allclose(out.numpy(), expected, rtol=2e-5)
    functional.silu_and_mul(x, out=x[..., 3:10])
    np.testing.assert_allclose(x.numpy()[..., 3:10], expected, rtol=2e-5)
    assert functional.silu_and_mul(infinicore.zeros([0, 6])).shape == [0, 3]
    with infinicore.record() as recorded:
        y = functional.silu_and_mul(turned)
    recorded.graph.run()
    np.testing.assert_allclose(y.numpy(), expected, rtol=2e-5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda x: infinicore.axpy(1.0, x, 2.0), TypeError, "y is written, and must be a Tensor, not float"),
        (lambda x: infinicore.scal(2.0, x), TypeError, "x is written, and must be a Tensor, not float"),
        (lambda x: infinicore.scal(x), TypeError, "needs the argument 'alpha'"),
        (lambda x: infinicore.scal(), TypeError, "needs the argument 'x'"),
        (lambda x: infinicore.scal(x, 2.0, out=x), TypeError, "no parameter 'out'"),
        (lambda x: infinicore.scal(x, "2"), TypeError, "alpha must be a Tensor or a number, not str"),
        (
            lambda x: infinicore.axpy(1.0, infinicore.ones([2]), x),
            ValueError,
            r"x has shape \[2\], which cannot be repeated",
        ),
        (lambda x: infinicore.axpy(1.0, x, x[0]), ValueError, r"repeated to y of shape \[\]"),
        (lambda x: infinicore.scal(x[:1].broadcast_to([3]), 2.0), ValueError, "x has one element for all 3"),
        (
            lambda x: infinicore.scal(x, infinicore.ones([3], device=new_place())),
            ValueError,
            "another Runtime",
        ),
        (lambda x: infinicore.axpy(1, x.to(infinicore.int32), x), TypeError, "must be the same"),
        (lambda x: functional.silu_and_mul(x), ValueError, "last dimension of input has size 3.*two halves"),
        (lambda x: functional.silu_and_mul(x[0]), ValueError, "input has no dimensions"),
        (lambda x: functional.silu_and_mul(x[:2], out=x), ValueError, "must be twice that of output"),
        (lambda x: functional.silu_and_mul(1.0), TypeError, "input must be a Tensor"),
    ],
)
def test_a_wrong_call_says_what_is_wrong_and_writes_nothing(call: Any, error: type, words: str) -> None:
    x = infinicore.ones([3])
    with pytest.raises(error, match=words):
        call(x)
    assert x.tolist() == [1, 1, 1]


def test_a_wrong_call_leaves_a_recording_as_it_was() -> None:
    x = infinicore.ones([3])
    with infinicore.record() as recorded:
        infinicore.scal(x, 2.0)
        with pytest.raises(ValueError, match="x has shape"):
            infinicore.axpy(3.0, infinicore.ones([2]), x)
    recorded.graph.run()
    assert x.tolist() == [2, 2, 2]


def test_on_another_device_of_the_type() -> None:
    code = """
import infinicore as ic
from infinicore.nn import functional
y = ic.full([4], 1.0, device="cpu:1")
ic.set_device("cpu:0")
ic.scal(ic.axpy(2.0, y[::-1], y), 2.0)
assert y.tolist() == [6.0] * 4 and str(y.device) == "cpu:1"
assert functional.silu_and_mul(y).device == y.device
try:
    ic.axpy(1.0, ic.ones([4], device="cpu:0"), y)
except ValueError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "INFINIRT_CPU_DEVICES": "2"},
    )
    assert done.returncode == 0, done.stderr
    assert "axpy(): y is on cpu:1, but other tensors of the call are on cpu:0" in done.stdout
