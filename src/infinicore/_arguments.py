"""What is wrong with a call whose arguments are not what the function's signature says. Looked into only when a call has failed."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

from . import _core
from .dtype import wrong_dtype


def _is_number(value: Any, *methods: str) -> bool:
    if isinstance(value, _core.TensorBase):
        return value.numel() == 1
    return any(hasattr(value, method) for method in methods)


def _is_list(value: Any, fits: Callable[[Any], bool]) -> bool:
    if isinstance(value, list | tuple):
        return all(fits(each) for each in value)
    return isinstance(value, Iterable) and not isinstance(value, str)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, _core.TensorBase)


def _is_integer(value: Any) -> bool:
    return _is_number(value, "__index__")


def _is_real(value: Any) -> bool:
    return _is_number(value, "__float__", "__index__")


# What annotations say: how that is called, and whether a value is it. All others are not looked at.
_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "Tensor": ("a Tensor", _is_tensor),
    "int": ("an integer", _is_integer),
    "float": ("a number", _is_real),
    "bool": ("True or False", lambda value: value is not None and _is_number(value, "__bool__")),
    "str": ("a string", lambda value: isinstance(value, str)),
    "None": ("None", lambda value: value is None),
    "_core.dtype": ("an infinicore.dtype", lambda value: isinstance(value, _core.dtype)),
    "Pair": (
        "a pair of Tensors",
        lambda value: isinstance(value, list | tuple) and len(value) == 2 and _is_list(value, _is_tensor),
    ),
    "Sequence[int]": ("a list of integers", lambda value: _is_list(value, _is_integer)),
    "Sequence[float]": ("a list of numbers", lambda value: _is_list(value, _is_real)),
    "Sequence[Tensor]": ("a list of Tensors", lambda value: _is_list(value, _is_tensor)),
}
_ALIASES = {
    "_Dtype": "_core.dtype | None",
    "_Numbers": "int | Sequence[int]",
    "_Sizes": "Sequence[int]",
}


def _given(value: Any) -> str:
    """The value as messages call it."""
    if isinstance(value, _core.TensorBase):
        return f"a Tensor of shape {value.shape}"
    kind = type(value).__name__
    if isinstance(value, list | tuple) and value:
        inside = sorted({type(each).__name__ for each in value})
        return f"a {kind} of {' and '.join(inside)}"
    return kind


def wrong_argument(function: Callable[..., Any], arguments: dict[str, Any]) -> TypeError | None:
    """The error for the first argument that is not what the function's annotations say; None where there is no such argument."""
    for name, parameter in inspect.signature(function).parameters.items():
        said = str(parameter.annotation)
        kinds = " | ".join(_ALIASES.get(kind, kind) for kind in said.split(" | ")).split(" | ")
        if name not in arguments or kinds == ["None"] or any(kind not in _KINDS for kind in kinds):
            continue
        is_several = parameter.kind is inspect.Parameter.VAR_POSITIONAL
        for value in arguments[name] if is_several else [arguments[name]]:
            if any(_KINDS[kind][1](value) for kind in kinds):
                continue
            if "_core.dtype" in kinds:
                return wrong_dtype(value, function.__name__)
            words = [_KINDS[kind][0] for kind in kinds]
            expected = ", ".join(words[:-1]) + " or " + words[-1] if len(words) > 1 else words[0]
            return TypeError(f"{function.__name__}(): {name} must be {expected}, not {_given(value)}")
    return None


def as_said_of(function: str, error: Exception, **names: str) -> Exception:
    """An operator's error as one of the function that was called, with that function's `names` for the operator's parameters."""
    if type(error) not in (TypeError, ValueError):
        return error
    words = re.sub(r"^\w+\(\): ", "", str(error))
    for theirs, ours in names.items():
        # A name stands first, or behind such a word; "but other tensors of the call" are no parameter.
        words = re.sub(rf"(^|\b(?:and|as|but|of|to|with) ){theirs}\b(?! tensors)", rf"\g<1>{ours}", words)
    return type(error)(f"{function}(): {words}")


def _wrong_of(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError | None:
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:  # too many or too few of them, which the interpreter has said
        return None
    return wrong_argument(function, bound.arguments)


_made: dict[Callable[..., Any], Callable[..., Any]] = {}


def explained(function: Callable[..., Any], module: str) -> Callable[..., Any]:
    """The function, as `module` offers it: where it fails, an argument that is not what its annotations say is named."""
    if function in _made:
        return _made[function]

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except (AttributeError, TypeError, ValueError):
            wrong = _wrong_of(function, args, kwargs)
            if wrong is None:
                raise
            raise wrong from None

    call.__module__ = module
    _made[function] = call
    return call
