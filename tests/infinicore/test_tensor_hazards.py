"""Where a wrong element would be silent: outputs that overlap inputs, other devices, memory given away, reading too early."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_support import keep_busy

import infinicore
from infinirt.__main__ import part_path

Array = np.ndarray[Any, Any]


def in_place(tensor: Any, other: Any) -> None:
    tensor += other


CASES: dict[str, tuple[tuple[int, ...], Callable[[Any], object], Callable[[Array], Array]]] = {
    "one element of itself": ((100_000,), lambda x: in_place(x, x[5]), lambda x: x + x[5]),
    "its transposed": ((200, 200), lambda x: in_place(x, x.T), lambda x: x + x.T),
    "its first column": ((300, 200), lambda x: in_place(x, x[:, :1]), lambda x: x + x[:, :1]),
    "itself backwards": ((50_000,), lambda x: x.copy_(x[::-1]), lambda x: x[::-1].copy()),
    "copied transposed": ((100, 100), lambda x: x.copy_(x.T), lambda x: x.T.copy()),
    "shifted": (
        (100_000,),
        lambda x: infinicore.add(x[1:], x[:-1], out=x[1:]),
        lambda x: np.concatenate([x[:1], x[1:] + x[:-1]]),
    ),
    "a product into its factor": ((200, 200), lambda x: infinicore.matmul(x, x, out=x), lambda x: x @ x),
    "the same place": ((100_000,), lambda x: infinicore.add(x, x, out=x), lambda x: x + x),
}


@pytest.mark.parametrize("recorded", [False, True], ids=["called", "recorded"])
@pytest.mark.parametrize("case", CASES)
def test_outputs_may_overlap_inputs(case: str, recorded: bool) -> None:
    shape, change, expected = CASES[case]
    values = (np.arange(np.prod(shape)) % 17).astype("float32").reshape(shape)
    tensor = infinicore.from_numpy(values)
    if recorded:
        with infinicore.record("cpu") as recording:
            change(tensor)
        recording.graph.run()
    else:
        change(tensor)
    assert np.array_equal(tensor.numpy(), expected(values))


def test_blobs_of_one_array_may_overlap() -> None:
    values = np.arange(100_000, dtype="float32")
    first = infinicore.from_numpy(values, copy=False)
    second = infinicore.from_numpy(values[::-1], copy=False)
    expected = values[::-1].copy()
    first.copy_(second)
    assert np.array_equal(values, expected)


def run_with(code: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_tensors_compute_where_they_are() -> None:
    """Whichever device the thread has chosen, one of the same type included."""
    code = """
import threading, infinicore as ic
a, b = ic.full([3], 1.0, device="cpu:0"), ic.full([3], 2.0, device="cpu:1")
def check():
    assert (a + a).tolist() == [2.0] * 3 and (b + b).tolist() == [4.0] * 3
    assert b.clone().tolist() == [2.0] * 3 and b[::2].to("cpu:0").tolist() == [2.0] * 2
    assert (b.view(3, 1) @ b.view(1, 3)).tolist() == [[4.0] * 3] * 3
for device in ("cpu:0", "cpu:1"):
    ic.set_device(device)
    check()
with ic.record("cpu:1") as recorded:
    y = b + 1.0
ic.set_device("cpu:0")
recorded.graph.run()
assert y.tolist() == [3.0] * 3
thread = threading.Thread(target=check)
thread.start()
thread.join()
print("ok")
"""
    assert run_with(code, INFINIRT_CPU_DEVICES="2") == "ok\n"


def test_graphs_wait_for_memory_that_was_given_away_later() -> None:
    x = infinicore.zeros([1000], device="cpu")
    with infinicore.record("cpu") as recorded:
        y = x + 1.0
    outside, inside = x.numpy(), y.numpy()
    for value in range(3):
        outside[:] = value
        keep_busy(x._place)
        recorded.graph.run()
        outside[:] = -1  # the graph has read it
        assert inside[-1] == value + 1


def test_what_is_recorded_cannot_be_read_yet() -> None:
    x = infinicore.ones([2, 3], device="cpu")
    with infinicore.record("cpu") as recorded:
        y = x + 1.0
        for read in (y.numpy, y.tolist, y[0, 0].item, lambda: bool(y[0, 0] > 0), lambda: np.from_dlpack(y)):
            with pytest.raises(RuntimeError, match="when the recording has ended"):
                read()
        assert x.T.tolist() == [[1.0, 1.0]] * 3  # was there before
    recorded.graph.run()
    assert y.tolist() == [[2.0] * 3] * 2


def test_a_graph_with_host_functions_and_blocking_launches() -> None:
    code = """
import infinicore
runtime = infinicore.get_runtime("cpu").activate()
x = infinicore.zeros([4], device="cpu")
runtime.start_graph_recording()
runtime.add_graph_operator(lambda: runtime.stream.launch_host_func(lambda *a: None))
y = x + 1.0
graph = runtime.stop_graph_recording()
graph.run()
print(y.tolist())
"""
    assert run_with(code, INFINIRT_LAUNCH_BLOCKING="1", INFINIRT_DEVICE="cpu") == "[1.0, 1.0, 1.0, 1.0]\n"


def test_arguments_may_end_the_recording() -> None:
    class Ends:
        def __float__(self) -> float:
            infinicore.cancel_graph_recording()
            return 2.0

    infinicore.set_device("cpu")
    x = infinicore.ones([3])
    infinicore.start_graph_recording()
    result = infinicore.mul_scalar(x, Ends())  # type: ignore[arg-type]
    assert not infinicore.is_graph_recording()
    assert result.tolist() == [2.0] * 3


def test_more_products_than_a_grid_has_blocks() -> None:
    """Only the descriptor: there is no memory for that many."""
    library = ctypes.CDLL(str(part_path("--lib-dir") / "libinfiniop.so.1"))
    tensor, made = ctypes.c_void_p(), ctypes.c_void_p()
    shape = (ctypes.c_size_t * 3)((1 << 30) + 1, 1, 1)
    assert (
        library.infiniopCreateTensorDescriptor(ctypes.byref(tensor), ctypes.c_size_t(3), shape, None, 13) == 0
    )
    runtime = infinicore.get_runtime("cpu").activate()
    handle = ctypes.c_void_p(runtime.infiniop_handle)
    assert library.infiniopCreateGemmDescriptor(handle, ctypes.byref(made), tensor, tensor, tensor) == 0
    assert library.infiniopDestroyGemmDescriptor(made) == 0
    assert library.infiniopDestroyTensorDescriptor(tensor) == 0


def test_small_things() -> None:
    assert "2" in repr(infinicore.arange(3)[2])
    x = infinicore.full([2], 3.0, device="cpu")
    assert infinicore.float_power(x, 2).tolist() == [9.0, 9.0]
    assert infinicore.lerp(x, x + 2.0, 0.5).tolist() == [4.0, 4.0]
    x[:] = np.array([5.0, 6.0])
    assert x.tolist() == [5.0, 6.0]
    other = infinicore.ones([2], device=infinicore.Runtime("cpu").place)
    with pytest.raises(ValueError, match="another Runtime of cpu"):
        x + other
