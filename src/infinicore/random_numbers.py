"""Tensors of random numbers: drawn on the host, so that a seed gives the same ones on every device."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from . import _core
from ._places import place_for
from ._views import sizes
from .creation import from_numpy
from .dtype import float32, int64
from .tensor import Tensor

__all__ = ["manual_seed", "rand", "randint", "randn"]

_Dtype = _core.dtype | None


class _Numbers:
    """NumPy's generator, for all threads; made when it is first wanted, from the system's entropy."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.generator: Any = None

    def seed(self, seed: int | None) -> None:
        import numpy

        self.generator = numpy.random.Generator(numpy.random.Philox(seed))

    def draw(self, name: str, *arguments: Any, **named: Any) -> Any:
        with self.lock:
            if self.generator is None:
                self.seed(None)
            return getattr(self.generator, name)(*arguments, **named)


_numbers = _Numbers()


def manual_seed(seed: int) -> None:
    """Lets the random numbers begin anew: the same seed gives the same ones, on every device.

    >>> import infinicore
    >>> infinicore.manual_seed(1)
    >>> first = infinicore.rand(2).tolist()
    >>> infinicore.manual_seed(1)
    >>> infinicore.rand(2).tolist() == first
    True
    """
    if not isinstance(seed, int) or seed < 0:
        raise ValueError(f"manual_seed(): seed must be an integer that is not negative, not {seed!r}")
    with _numbers.lock:
        _numbers.seed(seed)


def rand(size: Sequence[int] | int, *more: int, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """Random numbers from 0 up to but not including 1, all alike; float32. Sizes are one sequence, or one by one.

    >>> import infinicore
    >>> infinicore.rand(2, 3).shape
    [2, 3]
    """
    return _floats("rand", "random", sizes([size, *more], "rand", "size"), dtype, device)


def randn(size: Sequence[int] | int, *more: int, dtype: _Dtype = None, device: Any = None) -> Tensor:
    """Random numbers of the normal distribution around 0 with variance 1; float32.

    >>> import infinicore
    >>> infinicore.randn([4], dtype=infinicore.bfloat16).dtype
    infinicore.bfloat16
    """
    return _floats("randn", "standard_normal", sizes([size, *more], "randn", "size"), dtype, device)


def _floats(function: str, draw: str, size: list[int], dtype: _Dtype, device: Any) -> Tensor:
    wanted = float32 if dtype is None else dtype
    if not wanted.is_floating_point:
        raise TypeError(
            f"{function}(): dtype must be a type of floating point, not {wanted}; randint() draws integers"
        )
    drawn = _numbers.draw(draw, size, dtype="float64" if wanted.itemsize == 8 else "float32")
    return from_numpy(drawn, dtype=wanted, device=device or place_for())


def randint(
    low: int,
    high: int | Sequence[int] | None = None,
    size: Sequence[int] | int | None = None,
    *,
    dtype: _Dtype = None,
    device: Any = None,
) -> Tensor:
    """Random integers from `low` up to but not including `high`, all alike; int64. With `high` alone, `randint(high, size=...)`, from 0.

    >>> import infinicore
    >>> infinicore.randint(3, 4, [2]).tolist()
    [3, 3]
    """
    if high is not None and not isinstance(high, int):  # randint(high, size)
        high, size = None, high
    if size is None:
        raise TypeError("randint(): size is missing, as in infinicore.randint(0, 10, [2, 3])")
    first, last = (0, low) if high is None else (low, high)
    if first >= last:
        raise ValueError(f"randint(): from {first} up to but not including {last} there is no integer")
    drawn = _numbers.draw("integers", first, last, sizes([size], "randint", "size"))
    return from_numpy(drawn, dtype=int64 if dtype is None else dtype, device=device or place_for())
