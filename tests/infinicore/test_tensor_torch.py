"""Tensors that PyTorch and infinicore share."""

from __future__ import annotations

from typing import Any

import pytest
from tensor_support import keep_busy, new_place

import infinicore

pytestmark = pytest.mark.peer("torch")


@pytest.fixture
def torch() -> Any:
    return pytest.importorskip("torch")


def test_memory_of_pytorch_is_used_in_place_and_calls_on_it_are_complete(torch: Any) -> None:
    theirs = torch.arange(12, dtype=torch.float32).view(3, 4).T
    ours = infinicore.from_torch(theirs)
    assert ours.shape == list(theirs.shape)
    assert ours.stride() == list(theirs.stride())
    keep_busy(ours._place)
    ours += 1.0
    assert theirs[0, 0] == 1
    assert ours.tolist() == theirs.tolist()


def test_memory_of_ours_is_used_by_pytorch_in_place(torch: Any) -> None:
    ours = infinicore.arange(6, device="cpu").view(2, 3).T
    keep_busy(ours._place)
    ours += 1
    theirs = ours.torch()
    assert theirs.data_ptr() == ours.data_ptr()
    assert theirs.tolist() == ours.tolist() == [[1, 4], [2, 5], [3, 6]]
    del ours
    theirs += 1
    assert theirs.sum().item() == 27


@pytest.mark.parametrize(
    "name",
    [
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
        "complex64",
    ],
)
def test_types_are_the_same_on_both_sides(torch: Any, name: str) -> None:
    dtype = getattr(infinicore, name)
    assert infinicore.to_torch_dtype(dtype) is getattr(torch, name)
    theirs = torch.ones(3, dtype=getattr(torch, name))
    ours = infinicore.from_torch(theirs)
    assert ours.dtype is dtype
    assert infinicore.from_dlpack(theirs).dtype is dtype
    assert ours.clone().torch().tolist() == theirs.tolist()


def test_the_same_numbers_as_pytorch(torch: Any) -> None:
    theirs = torch.linspace(-4, 4, 101)
    ours = infinicore.from_torch(theirs).to(device=new_place())
    for name in ("silu", "gelu", "sigmoid", "tanh", "softplus", "hardswish", "selu", "relu6"):
        expected = getattr(torch.nn.functional, name)(theirs)
        made = getattr(infinicore.nn.functional, name)(ours)
        torch.testing.assert_close(made.torch(), expected, rtol=1e-5, atol=1e-6)
