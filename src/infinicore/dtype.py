"""The types of elements, under InfiniCore's names, and what NumPy and PyTorch call them.

>>> import infinicore
>>> infinicore.float32.itemsize, infinicore.half
(4, infinicore.float16)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._core import dtype

if TYPE_CHECKING:
    import numpy

__all__ = ["dtype", "from_numpy_dtype", "from_torch_dtype", "to_numpy_dtype", "to_torch_dtype"]

_BY_NAME = {each.name: each for each in _core.dtypes}

byte = _BY_NAME["byte"]
float32 = float = _BY_NAME["float32"]
float64 = double = _BY_NAME["float64"]
float16 = half = _BY_NAME["float16"]
bfloat16 = _BY_NAME["bfloat16"]
float8 = _BY_NAME["float8"]
complex16 = _BY_NAME["complex16"]
complex32 = chalf = _BY_NAME["complex32"]
complex64 = cfloat = _BY_NAME["complex64"]
complex128 = cdouble = _BY_NAME["complex128"]
uint8 = _BY_NAME["uint8"]
uint16 = _BY_NAME["uint16"]
uint32 = _BY_NAME["uint32"]
uint64 = _BY_NAME["uint64"]
int8 = _BY_NAME["int8"]
int16 = short = _BY_NAME["int16"]
int32 = int = _BY_NAME["int32"]
int64 = long = _BY_NAME["int64"]
bool = _BY_NAME["bool"]

NAMES = (
    "byte", "float32", "float", "float64", "double", "float16", "half", "bfloat16", "float8", "complex16", "complex32",
    "chalf", "complex64", "cfloat", "complex128", "cdouble", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "short",
    "int32", "int", "int64", "long", "bool",
)  # fmt: skip

# Types that NumPy has only with ml_dtypes; and what other names of NumPy's and PyTorch's are here.
_ML_DTYPES = {"bfloat16": "bfloat16", "float8": "float8_e4m3fn"}
_OTHER_NAMES = {"float8_e4m3fn": "float8", "byte": "uint8"}
_NOT_IN_NUMPY = ("complex16", "complex32")


def meant_by(given: Any) -> dtype | None:
    """Which type of ours somebody means by a name, or by a type of NumPy's or PyTorch's; None where that is none of them."""
    name = (
        given if isinstance(given, str) else getattr(given, "name", None) or getattr(given, "__name__", None)
    )
    name = str(given).removeprefix("torch.") if name is None else str(name)
    return _BY_NAME.get(_OTHER_NAMES.get(name, name)) or (globals()[name] if name in NAMES else None)


def wrong_dtype(given: Any, function: str) -> TypeError:
    """The error for something else that was given for the parameter `dtype` of a function."""
    meant = meant_by(given)
    hint = "such as infinicore.float32; infinicore.from_numpy_dtype() gives that of a NumPy type"
    if meant is not None:
        hint = f"{meant!r} is one"
    return TypeError(f"{function}(): dtype is {given!r}; an infinicore.dtype was expected: {hint}")


def checked(given: Any, function: str) -> dtype:
    """What was given for the parameter `dtype` of a function, if it is a type of elements."""
    if not isinstance(given, dtype):
        raise wrong_dtype(given, function)
    return given


def to_numpy_dtype(of: dtype) -> numpy.dtype[Any]:
    """NumPy's type; bfloat16 and float8 are those of ml_dtypes.

    >>> import infinicore
    >>> infinicore.to_numpy_dtype(infinicore.int16)
    dtype('int16')
    """
    import numpy

    try:
        name = of.name
    except AttributeError:
        raise wrong_dtype(of, "to_numpy_dtype") from None
    if name in _NOT_IN_NUMPY:
        raise TypeError(f"NumPy has no type for {of!r}, and there is no conversion from it")
    if name in _ML_DTYPES:
        import ml_dtypes

        narrow: numpy.dtype[Any] = numpy.dtype(getattr(ml_dtypes, _ML_DTYPES[name]))
        return narrow
    return numpy.dtype(_OTHER_NAMES.get(name, name))


def from_numpy_dtype(given: Any) -> dtype:
    """The type that NumPy's, or what NumPy takes for one, is here.

    >>> import infinicore
    >>> infinicore.from_numpy_dtype("float64")
    infinicore.float64
    """
    import numpy

    try:
        wanted = numpy.dtype(given)
    except TypeError:
        raise TypeError(
            f"from_numpy_dtype(): {given!r} is no type of NumPy's; one such as numpy.float32 was expected"
        ) from None
    found = _BY_NAME.get(_OTHER_NAMES.get(wanted.name, wanted.name))
    if found is None or not wanted.isnative:
        raise TypeError(f"there is no element type for NumPy's {wanted!r}; convert the array first")
    return found


def to_torch_dtype(of: dtype) -> Any:
    """PyTorch's type; needs PyTorch."""
    import torch

    of = checked(of, "to_torch_dtype")
    name = _ML_DTYPES.get(of.name, _OTHER_NAMES.get(of.name, of.name))
    found = getattr(torch, name, None)
    if found is None:
        raise TypeError(f"PyTorch has no type for {of!r}")
    return found


def from_torch_dtype(given: Any) -> dtype:
    """The type that PyTorch's is here."""
    name = str(given).removeprefix("torch.")
    found = _BY_NAME.get(_OTHER_NAMES.get(name, name))
    if found is None:
        raise TypeError(f"there is no element type for PyTorch's {given}")
    return found
