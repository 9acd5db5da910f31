"""What collectives take for memory: Buffers, tensors, and arrays of the host."""

from __future__ import annotations

from typing import Any, NamedTuple

import infinirt

__all__ = ["BYTE", "Operand", "dtype_number", "operand"]

BYTE = 1  # infiniDtype_t
_NUMBERS = {
    "byte": 1, "bool": 2, "int8": 3, "int16": 4, "int32": 5, "int64": 6, "uint8": 7, "uint16": 8, "uint32": 9, "uint64": 10,
    "float8": 11, "float8_e4m3fn": 11, "float16": 12, "float32": 13, "float64": 14, "complex16": 15, "complex32": 16,
    "complex64": 17, "complex128": 18, "bfloat16": 19,
}  # fmt: skip
_SIZES = (0, 1, 1, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 16, 2)  # by number


class Operand(NamedTuple):
    """A run of elements in memory."""

    pointer: int
    elements: int
    dtype: int
    buffer: infinirt.Buffer | None
    """What has to outlive the work; None for memory of the host."""
    stream: infinirt.Stream | None
    """Where work on it usually runs."""
    host: bool
    """Somebody else may look at the memory at any time, and knows no streams."""
    given: object
    """What was given: kept alive until the work is on its stream."""
    place: Any = None
    """Where infinicore's operators on it run, which may be recording."""


def dtype_number(dtype: Any) -> int:
    """InfiniCore's number of an element type: of a name, of a NumPy or PyTorch type, or of infinicore's.

    >>> from infiniccl._operands import dtype_number
    >>> dtype_number("float32"), dtype_number("bfloat16")
    (13, 19)
    """
    number = getattr(dtype, "number", None)
    if isinstance(number, int) and 0 < number < len(_SIZES):
        return number
    name = dtype if isinstance(dtype, str) else getattr(dtype, "name", None)
    if not isinstance(name, str):
        name = str(dtype).rpartition(".")[2].strip("'>")
    found = _NUMBERS.get(name)
    if found is None:
        raise TypeError(f"{dtype!r} is no element type of collectives; these are: {', '.join(_NUMBERS)}")
    return found


def operand(given: Any, dtype: Any, argument: str, *, reduces: bool = False) -> Operand:
    """The memory behind a Buffer, a tensor of infinicore's, an array of NumPy's or a CPU tensor of PyTorch's.

    A Buffer's elements are bytes where nothing is said: that will do for what only moves them.
    """
    if isinstance(given, infinirt.Buffer):
        if dtype is None and reduces:
            raise TypeError(
                f"{argument} is a Buffer, which does not say what its elements are, and they are to be added up or compared:"
                ' give dtype="float32", or what they are'
            )
        number = BYTE if dtype is None else dtype_number(dtype)
        count, rest = divmod(given.size, _SIZES[number])
        if rest:
            raise ValueError(
                f"{argument} has {given.size} bytes, which is no whole number of elements of {_SIZES[number]} bytes"
            )
        return Operand(given.ptr, count, number, given, None, False, given)
    if dtype is not None and dtype_number(dtype) != dtype_number(given.dtype):
        raise TypeError(f"dtype is {dtype}, but {argument} has elements of type {given.dtype}")
    place = getattr(given, "_place", None)
    if place is not None:
        _check_contiguous(given.is_contiguous(), argument)
        owner = given._owner
        buffer = owner if isinstance(owner, infinirt.Buffer) else None
        host = buffer is None or bool(given._is_shared)
        return Operand(
            given.data_ptr(), given.numel(), given.dtype.number, buffer, place.stream, host, given, place
        )
    interface = getattr(given, "__array_interface__", None)
    if interface is not None:
        _check_contiguous(interface.get("strides") is None, argument)
        if interface["data"][1]:
            raise ValueError(f"{argument} is read-only")
        return Operand(interface["data"][0], given.size, dtype_number(given.dtype), None, None, True, given)
    if hasattr(given, "data_ptr") and getattr(getattr(given, "device", None), "type", None) == "cpu":
        _check_contiguous(given.is_contiguous(), argument)
        return Operand(given.data_ptr(), given.numel(), dtype_number(given.dtype), None, None, True, given)
    raise TypeError(
        f"{argument} is a {type(given).__name__}; a Buffer, a tensor, or an array of the host's was expected"
    )


def _check_contiguous(contiguous: bool, argument: str) -> None:
    if not contiguous:
        raise ValueError(
            f"{argument} has gaps between its elements; give a contiguous copy (numpy.ascontiguousarray(), or .contiguous()), and assign "
            "what it holds afterwards"
        )
