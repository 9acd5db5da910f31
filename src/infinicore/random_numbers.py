"""Tensors of random numbers: drawn on the host, so that a seed gives the same ones on every device."""

from __future__ import annotations

import operator
import threading
from collections.abc import Sequence
from typing import Any, SupportsIndex

from . import _core
from ._places import place_for
from ._views import sizes
from .creation import from_numpy
from .dtype import float32, int64, to_numpy_dtype
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


def manual_seed(seed: SupportsIndex) -> None:
    """Lets the random numbers begin anew: the same seed gives the same ones, on every device.

    >>> import infinicore
    >>> infinicore.manual_seed(1)
    >>> first = infinicore.rand(2).tolist()
    >>> infinicore.manual_seed(1)
    >>> infinicore.rand(2).tolist() == first
    True
    """
    number = _integer("manual_seed", "seed", seed)
    if number < 0:
        raise ValueError(f"manual_seed(): seed is {number}; it must not be negative")
    with _numbers.lock:
        _numbers.seed(number)


def _integer(function: str, name: str, value: SupportsIndex) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{function}(): {name} must be an integer, not {type(value).__name__}") from None


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
    _check(function, size)
    drawn = _numbers.draw(draw, size, dtype="float64" if wanted.itemsize == 8 else "float32")
    if draw == "random" and wanted.itemsize < 4:  # rounded, some would be 1
        import ml_dtypes

        steps = 2.0 ** (ml_dtypes.finfo(to_numpy_dtype(wanted)).nmant + 1)
        drawn = (drawn * steps).astype("int64") / steps
    return from_numpy(drawn, dtype=wanted, device=device or place_for())


def _check(function: str, size: list[int]) -> None:
    for i, extent in enumerate(size):
        if extent < 0:
            raise ValueError(f"{function}(): size[{i}] is {extent}; a size is 0 or more")


def randint(
    low: SupportsIndex,
    high: SupportsIndex | Sequence[int] | None = None,
    size: Sequence[int] | int | None = None,
    *,
    dtype: _Dtype = None,
    device: Any = None,
) -> Tensor:
    """Random integers from `low` up to but not including `high`, all alike; int64. With one limit, `randint(high, size)`, from 0.

    >>> import infinicore
    >>> infinicore.randint(3, 4, [2]).tolist()
    [3, 3]
    """
    if isinstance(high, Sequence):
        if size is not None:
            raise TypeError(f"randint(): high must be an integer, not {type(high).__name__}")
        high, size = None, high
    if size is None:
        raise TypeError("randint(): size is missing, as in infinicore.randint(0, 10, [2, 3])")
    one = _integer("randint", "low", low)
    first, last = (0, one) if high is None else (one, _integer("randint", "high", high))
    if first >= last:
        raise ValueError(f"randint(): from {first} up to but not including {last} there is no integer")
    wanted = int64 if dtype is None else dtype
    _check_range(wanted, first, last - 1)
    shape = sizes([size], "randint", "size")
    _check("randint", shape)
    drawn = _numbers.draw("integers", first, last, shape)
    return from_numpy(drawn, dtype=wanted, device=device or place_for())


def _check_range(dtype: _core.dtype, least: int, most: int) -> None:
    import numpy

    kind = numpy.dtype(to_numpy_dtype(dtype))
    if kind.kind in "iu" and not numpy.iinfo(kind).min <= least <= most <= numpy.iinfo(kind).max:
        raise ValueError(f"randint(): {dtype} does not hold all integers from {least} to {most}")
