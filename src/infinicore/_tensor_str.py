"""Tensors as text for people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tensor import Tensor

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]


@dataclass(frozen=True)
class _Options:
    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    sci_mode: bool | None = None,
) -> None:
    """How tensors are printed: digits after the point; the number of elements from which on only `edgeitems` at each end of a
    dimension are shown; characters in a line; whether numbers are printed as 1.0e+03 (None: where they need it).

    What is not given stays as it is.
    """
    global _options
    given: dict[str, Any] = {
        "precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth,
        "sci_mode": sci_mode,
    }  # fmt: skip
    for name, value in given.items():
        if value is not None and name != "sci_mode" and (not isinstance(value, int) or value < 0):
            raise ValueError(f"{name} must be an integer, 0 or more, not {value!r}")
    _options = replace(_options, **{name: value for name, value in given.items() if value is not None})


def get_printoptions() -> dict[str, Any]:
    """The options in force.

    >>> import infinicore
    >>> infinicore.get_printoptions()["precision"]
    4
    """
    return dict(vars(_options))


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """Options for a `with` block, as for `set_printoptions()`."""
    global _options
    before = _options
    try:
        set_printoptions(**options)
        yield
    finally:
        _options = before


def text_of(tensor: Tensor) -> str:
    """Values, shape, type and device. Waits for the tensor's stream."""
    facts = f"shape={tensor.shape}, dtype={tensor.dtype!r}, device={str(tensor.device)!r}"
    if tensor._place.is_closed:
        return f"tensor(<its device was closed>, {facts})"
    if tensor._is_recorded or tensor._waits_for_run:
        return f"tensor(<its values are there when the graph has run>, {facts})"
    if tensor.dtype.name in ("complex16", "complex32"):
        return f"tensor(<{tensor.numel()} elements>, {facts})"
    values = _values(tensor)
    joint = ",\n       " if "\n" in values else ", "
    return f"tensor({values}{joint}{facts})"


def _values(tensor: Tensor) -> str:
    import numpy

    array = tensor._host_copy()
    if tensor.dtype.is_floating_point:
        array = array.astype(numpy.float64 if tensor.dtype.itemsize == 8 else numpy.float32)
    finite = array[numpy.isfinite(array)] if tensor.dtype.is_floating_point else array.reshape(-1)[:0]
    exponents = _options.sci_mode
    if exponents is None and finite.size:
        largest, smallest = numpy.abs(finite).max(), numpy.abs(finite[finite != 0]).min(initial=numpy.inf)
        exponents = bool(largest >= 1e8 or smallest < 1e-4)
    formatter: Any = None
    if tensor.dtype.is_floating_point and exponents:
        formatter = {"float_kind": lambda value: f"{value:.{_options.precision}e}"}
    return numpy.array2string(
        array,
        precision=_options.precision,
        threshold=_options.threshold,
        edgeitems=_options.edgeitems,
        max_line_width=_options.linewidth,
        separator=", ",
        prefix="tensor(",
        suppress_small=not exponents,
        formatter=formatter,
    )
