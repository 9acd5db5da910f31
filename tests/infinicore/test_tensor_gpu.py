"""Tensors, operators and recorded graphs on an NVIDIA GPU."""

from __future__ import annotations

import numpy as np
import pytest
from tensor_support import numbers

import infinicore
from infinicore.nn import functional

pytestmark = [pytest.mark.gpu, pytest.mark.memcheck]


def test_copies_go_both_ways_with_any_strides_and_types() -> None:
    array = numbers([5, 7])
    here = infinicore.from_numpy(array)
    there = here[:, ::2].T.to(device="nvidia")
    assert there.tolist() == array[:, ::2].T.tolist()
    back = infinicore.zeros([5, 7], dtype=infinicore.float64, device="cpu")
    back.T[::2].copy_(there)
    assert back[:, ::2].tolist() == array[:, ::2].tolist()
    assert infinicore.from_numpy(array, device="nvidia").numpy().tolist() == array.tolist()
    assert "nvidia" in str(there._place.device.type_name)


def test_operators_give_the_cpu_s_results() -> None:
    array = np.linspace(-3, 3, 1000).astype("float32").reshape(10, 100)
    there = infinicore.from_numpy(array, device="nvidia")
    here = infinicore.from_numpy(array)
    for name in ("silu", "gelu", "tanh", "relu", "softplus"):
        function = getattr(functional, name)
        np.testing.assert_allclose(function(there).numpy(), function(here).numpy(), rtol=1e-5, atol=1e-6)
    assert (there * 2 + 1 > there[0]).tolist() == (array * 2 + 1 > array[0]).tolist()
    with pytest.raises(ValueError, match="bring them together"):
        _ = there + here


def test_a_recorded_graph_is_one_launch_and_bit_for_bit_the_calls() -> None:
    x = infinicore.zeros([1000], device="nvidia")

    def program(start: infinicore.Tensor) -> infinicore.Tensor:
        for _ in range(50):
            start = functional.silu(start + 0.5)
        return start

    with infinicore.record("nvidia") as recorded:
        y = program(x)
    assert recorded.graph.segment_count == 1
    for value in (1.0, -2.0):
        x.fill_(value)
        recorded.graph.run()
        assert y.tolist() == program(x).tolist()
    before = x._place.pool.statistics
    for _ in range(1000):
        recorded.graph.run()
    x._place.sync()
    assert x._place.pool.statistics.live_blocks == before.live_blocks


def test_memory_is_freed_in_stream_order() -> None:
    x = infinicore.ones([1 << 20], device="nvidia")
    for turn in range(200):
        y = x + float(turn)
        z = y * 2.0
        del y
        infinicore.full([1 << 20], -1.0, device="nvidia")
        assert z[-1].item() == 2.0 * (turn + 1)


@pytest.mark.peer("torch")
def test_pytorch_shares_the_gpu_s_memory() -> None:
    torch = pytest.importorskip("torch")
    ours = infinicore.arange(6, dtype=infinicore.float32, device="nvidia").view(2, 3)
    theirs = ours.torch()
    assert theirs.device.type == "cuda"
    assert theirs.data_ptr() == ours.data_ptr()
    assert theirs.tolist() == ours.tolist()
    other = torch.ones(3, device="cuda")
    torch.cuda.synchronize()
    assert (infinicore.from_torch(other) + 1.0).tolist() == [2.0] * 3
