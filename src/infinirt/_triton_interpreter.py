"""Triton's kernels on the CPU device: interpreted, as host functions of a stream. Slow, and meant for tests."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from itertools import product
from typing import Any

from ._triton_bfloat16 import repair
from ._triton_launch import as_argument, grid_of, interpreting, note_failure
from .device import Device

# Functions in the form in which the interpreter runs them, by the functions themselves.
_interpreted: dict[Any, Any] = {}


def interpreted(kernel: Any) -> Callable[..., Any]:
    """A kernel's function, rewritten by Triton's interpreter; called while interpreting()."""
    function = kernel.fn
    found = _interpreted.get(function)
    if found is None:
        import triton.language
        from triton.runtime.interpreter import InterpretedFunction

        # A copy with globals of its own: the interpreter adds names to them, and wants the language to be among them under any.
        names = {**function.__globals__, "_triton_language": triton.language}
        copy = types.FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, function.__closure__
        )
        copy.__annotations__, copy.__kwdefaults__ = function.__annotations__, function.__kwdefaults__
        copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
        found = _interpreted[function] = InterpretedFunction(copy).rewrite()
    else:
        found.__globals__.update(function.__globals__)  # as they are now
    return found  # type: ignore[no-any-return]


class Interpreted:
    """A launch as a host function: everything is looked up and bound before it is enqueued, and nothing of the caller's is kept."""

    def __init__(
        self, kernel: Any, grid: Any, args: tuple[Any, ...], options: dict[str, Any], device: Device
    ) -> None:
        self.__name__ = kernel.fn.__name__
        self._kernel = kernel
        self._ordinal = device.ordinal
        signature = inspect.signature(kernel.fn)
        # The other options are the compiler's.
        named = {name: value for name, value in options.items() if name in signature.parameters}
        try:
            bound = signature.bind(*args, **named)
        except TypeError as error:
            raise TypeError(f"{self.__name__}: {error}") from None
        bound.apply_defaults()
        self._grid = grid_of(grid, bound.arguments, self.__name__)
        self._arguments = {name: as_argument(value) for name, value in bound.arguments.items()}

    @property
    def is_needed(self) -> bool:
        return 0 not in self._grid

    def __call__(self) -> None:
        try:
            self._interpret()
        except BaseException as error:
            note_failure(self._ordinal, self.__name__, error)
            raise

    def _interpret(self) -> None:
        import numpy
        import triton.language as language
        from triton.runtime import interpreter
        from triton.runtime.jit import _normalize_ty

        builder = interpreter.interpreter_builder
        with interpreting(), numpy.errstate(all="ignore"):  # a GPU does not warn of infinities, either
            function = interpreted(self._kernel)
            annotations = function.__annotations__
            # Both modules, for what kernels call: Triton's own standard library names the second.
            scope = interpreter._patch_lang(
                types.SimpleNamespace(__globals__={"language": language, "core": language.core})
            )
            try:
                # A loop's bound is an array of one element, which NumPy 2.4 does not take for a number any more.
                scope.set_attr(language.tensor, "__index__", lambda tensor: int(tensor.handle.data.item()))
                repair(builder, scope)
                given = {
                    name: value
                    if _normalize_ty(annotations.get(name, "")) == "constexpr"
                    else interpreter._implicit_cvt(value)
                    for name, value in self._arguments.items()
                }
                builder.set_grid_dim(*self._grid)
                for index in product(*map(range, self._grid)):
                    builder.set_grid_idx(*index)
                    function(**given)
            finally:
                scope.restore()
