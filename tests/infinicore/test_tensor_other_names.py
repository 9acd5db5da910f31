"""Attributes that tensors have elsewhere and not here: the error says what to write, and nothing else changes."""

from __future__ import annotations

import inspect
import re

import pytest

import infinicore
from infinicore import _core
from infinicore._elsewhere import FUNCTIONS, OTHER_NAMES


@pytest.fixture(scope="module")
def tensor() -> infinicore.Tensor:
    return infinicore.ones([2, 3])


@pytest.mark.parametrize("name", OTHER_NAMES)
def test_the_error_says_what_to_write(name: str, tensor: infinicore.Tensor) -> None:
    advice = OTHER_NAMES[name]
    with pytest.raises(AttributeError) as caught:
        getattr(tensor, name)
    assert str(caught.value) == f"'Tensor' object has no attribute '{name}': {advice}"
    assert caught.value.name == name
    assert not hasattr(tensor, name)
    assert not hasattr(infinicore.Tensor, name)
    assert name not in dir(tensor)
    assert not hasattr(_core.TensorBase, name)  # nothing that exists is hidden
    named = re.findall(r"infinicore\.(\w+)", advice)
    assert all(hasattr(infinicore, other) for other in named)
    own = re.match(r"it is (?:called )?(\w+)(?:\.(\w+))?", advice)
    if own and own[1] not in ("infinicore", "a"):
        value = getattr(tensor, own[1])
        assert own[2] is None or hasattr(value, own[2])


def test_advice_that_can_be_followed(tensor: infinicore.Tensor) -> None:
    assert all(callable(getattr(infinicore, name)) for name in FUNCTIONS)
    assert tensor.reshape(-1).shape == [6]
    assert tensor.numel() * tensor.dtype.itemsize == 24
    assert (tensor.device.type, tensor.device.index) == ("cpu", 0)
    assert tensor.to("cpu") is tensor
    assert infinicore.sqrt(infinicore.var(tensor)).item() == 0
    other = tensor.clone()
    infinicore.add(other, tensor, out=other)
    assert other.tolist() == [[2.0] * 3] * 2


def test_what_there_is_stays_as_it_is(tensor: infinicore.Tensor) -> None:
    assert type(infinicore.Tensor) is type
    assert infinicore.Tensor.__getattribute__ is object.__getattribute__
    assert not hasattr(infinicore.Tensor, "__getattr__")
    real = {name for kind in infinicore.Tensor.__mro__ for name in vars(kind)} - OTHER_NAMES.keys()
    assert set(dir(tensor)) == real
    assert not {name for name, _ in inspect.getmembers(tensor)} & OTHER_NAMES.keys()
    with pytest.raises(AttributeError, match=r"^'Tensor' object has no attribute 'nonsense'$"):
        tensor.nonsense  # type: ignore[attr-defined]  # noqa: B018
