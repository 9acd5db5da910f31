"""Normalisations of channels from Python: PyTorch's results where it is installed, statistics that are written, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import infinicore
from infinicore import Tensor
from infinicore.nn import functional


def tensor(*shape: int, seed: int = 1, dtype: Any = np.float32) -> Tensor:
    return infinicore.from_numpy(np.random.default_rng(seed).normal(1, 2, size=shape).astype(dtype))


def positive(*shape: int) -> Tensor:
    return infinicore.from_numpy(np.random.default_rng(5).uniform(0.5, 2, size=shape).astype(np.float32))


def in_torch(value: Any) -> Any:
    torch = pytest.importorskip("torch")
    return torch.from_numpy(value.numpy().copy()) if isinstance(value, Tensor) else value


def agrees(name: str, *arguments: Any, **options: Any) -> None:
    """The function gives what PyTorch's of that name does, and leaves the same in its arguments."""
    torch = pytest.importorskip("torch")
    given = [in_torch(each) for each in arguments]
    theirs = getattr(torch.nn.functional, name)(
        *given, **{key: in_torch(each) for key, each in options.items()}
    )
    ours = getattr(functional, name)(*arguments, **options)
    assert np.allclose(ours.numpy(), theirs.numpy(), atol=2e-5), name
    for mine, other in zip(arguments, given, strict=True):
        if isinstance(mine, Tensor):
            assert np.allclose(mine.numpy(), other.numpy(), atol=2e-5), name


@pytest.mark.peer("torch")
def test_norms() -> None:
    for shape in ((4, 6), (3, 6, 7), (2, 6, 5, 4), (2, 6, 3, 4, 5)):
        x, weight, bias = tensor(*shape), tensor(6, seed=2), tensor(6, seed=3)
        agrees("batch_norm", x, tensor(6, seed=4), positive(6), weight, bias)
        agrees("batch_norm", x, tensor(6, seed=4), positive(6), None, bias, True, 0.3)
        agrees("batch_norm", x, None, None, weight, training=True)
        agrees("group_norm", x, 3, weight, bias, 1e-3)
        agrees("group_norm", x, 1)
        if len(shape) > 2:
            agrees("instance_norm", x, None, None, weight, bias)
            agrees("instance_norm", x, tensor(6, seed=4), positive(6), weight, bias, False)
            agrees("instance_norm", x, tensor(6, seed=4), positive(6), weight, bias, True, 0.2)
            agrees("local_response_norm", x, 4)
            agrees("local_response_norm", x, 3, alpha=0.5, beta=0.6, k=2.0)


def test_numbers_of_channels_may_be_wider() -> None:
    x, weight = tensor(3, 4, 8), positive(4)
    narrow = x.to(dtype=infinicore.bfloat16)
    wide = functional.group_norm(narrow.to(dtype=infinicore.float32), 2, weight)
    made = functional.group_norm(narrow, 2, weight)
    assert made.dtype == infinicore.bfloat16
    assert np.allclose(made.to(dtype=infinicore.float32).numpy(), wide.numpy(), rtol=1e-2, atol=1e-2)


def test_in_place() -> None:
    x, mean, var = tensor(3, 4, 8), tensor(4, seed=2), positive(4)
    expected = functional.batch_norm(x, mean, var)
    assert functional.batch_norm(x, mean, var, out=x) is x
    assert np.array_equal(x.numpy(), expected.numpy())


def test_what_is_refused() -> None:
    x, one = tensor(2, 6, 4), tensor(6)
    with pytest.raises(ValueError, match="must be a multiple of num_groups: b is 2, c is 6"):
        functional.group_norm(x, 4)
    with pytest.raises(ValueError, match="weight has shape"):
        functional.group_norm(x, 2, tensor(5))
    with pytest.raises(ValueError, match="running_mean and running_var must be given"):
        functional.batch_norm(x, None, None)
    with pytest.raises(ValueError, match="needs more than one element in each channel"):
        functional.batch_norm(tensor(1, 6), one, one, training=True)
    with pytest.raises(ValueError, match="batch and channels were expected"):
        functional.batch_norm(one, one, one)
    with pytest.raises(ValueError, match="batch, channels and space were expected"):
        functional.instance_norm(tensor(2, 6))
    with pytest.raises(ValueError, match="out has shape"):
        functional.group_norm(x, 2, out=infinicore.empty([2, 6]))
    with pytest.raises(ValueError, match="size must be at least 1"):
        functional.local_response_norm(x, 0)
    with pytest.raises(TypeError, match="var has type int64"):
        functional.batch_norm(x, one, infinicore.from_numpy(np.ones(6, dtype=np.int64)))
