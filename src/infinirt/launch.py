"""Kernels and how they are launched."""

from __future__ import annotations

import itertools

from . import _core
from ._arguments import expect, integer
from ._options import Options

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._protocols import IsStreamType
    from .stream import Stream

    Dimensions = int | tuple[int, ...]

__all__ = ["Kernel", "LaunchConfig", "launch"]

# Every name that a parameter type may be given by, and the character that stands for it in the `struct` module.
_CODES = {
    **{code: code for code in "P?bBhHiIqQfd"},
    "pointer": "P",
    "bool": "?",
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
    "float64": "d",
}
# ctypes classes carry such a character, too; where it depends on the platform, the size decides.
_BY_SIZE = {"l": {4: "i", 8: "q"}, "L": {4: "I", 8: "Q"}}

_numbers = itertools.count(1)


def _code(parameter: object) -> str:
    if isinstance(parameter, str) and parameter in _CODES:
        return _CODES[parameter]
    code = getattr(parameter, "_type_", None)  # ctypes
    if isinstance(code, str) and code in _BY_SIZE:
        import ctypes

        return _BY_SIZE[code][ctypes.sizeof(parameter)]  # type: ignore[arg-type]
    if isinstance(code, str) and code in _CODES:
        return code
    if isinstance(code, type):  # ctypes.POINTER(...)
        return "P"
    if parameter is int or parameter is float:
        return "q" if parameter is int else "d"
    raise ValueError(f"{parameter!r} is no parameter type; use a ctypes class or one of {', '.join(_CODES)}")


def _three(given: Dimensions, what: str) -> tuple[int, int, int]:
    values = tuple(given) if isinstance(given, (tuple, list)) else (given,)
    values = tuple(integer(value, what, least=-(1 << 63)) for value in values)
    if not 1 <= len(values) <= 3 or any(value < 1 for value in values):
        raise ValueError(f"{what} {given!r}: one to three numbers from 1 on were expected")
    x, y, z = (*values, 1, 1)[:3]
    return x, y, z


class LaunchConfig(Options):
    """How many blocks a kernel runs in, and how they are shaped.

    >>> import infinirt
    >>> infinirt.LaunchConfig(grid=(4, 2), block=32).grid
    (4, 2, 1)
    """

    __slots__ = ("block", "grid", "is_cooperative", "shmem_size")
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shmem_size: int
    is_cooperative: bool

    def __init__(
        self,
        grid: Dimensions,
        block: Dimensions = 1,
        shmem_size: int | None = None,
        is_cooperative: bool = False,
    ) -> None:
        self._set(
            grid=_three(grid, "grid"),
            block=_three(block, "block"),
            shmem_size=0 if shmem_size is None else integer(shmem_size, "shmem_size", most=(1 << 31) - 1),
            is_cooperative=is_cooperative,
        )

    def _shape(self) -> tuple[int, int, int, int, int, int, int, bool]:
        return (*self.grid, *self.block, self.shmem_size, self.is_cooperative)


class Kernel:
    """A function that a device runs in many blocks at once.

    On the CPU it is a C function, `infinirtError_t kernel(const infinirtXBlock *block, void **args)`, called once per block
    (see `infinirt_ext.h`); anything that has the address of one will do: a shared library, Numba's `cfunc`, ctypes.
    """

    __slots__ = ("_codes", "_keep", "handle", "name")

    def __init__(self, handle: int, param_types: Iterable[object], name: str, keep: object = None) -> None:
        self.handle = handle
        self.name = name
        self._codes = "".join(_code(parameter) for parameter in param_types).encode()
        self._keep = keep

    @staticmethod
    def from_address(
        address: int, param_types: Iterable[object], name: str | None = None, *, owner: object = None
    ) -> Kernel:
        """A CPU kernel from a function's address.

        `param_types` are ctypes classes or names as "pointer", "int32", "float64". `owner` (the library, the ctypes
        function) is kept alive with the kernel; it must outlive every launch.
        """
        kernel = Kernel(address, param_types, name or f"kernel_{next(_numbers)}", owner)
        _core.register_kernel(address, kernel.name, kernel._codes)
        return kernel

    @property
    def param_count(self) -> int:
        """How many arguments the kernel takes."""
        return len(self._codes)

    def __repr__(self) -> str:
        return f"<Kernel {self.name}({self._codes.decode()})>"


def launch(stream: Stream | IsStreamType | None, config: LaunchConfig, kernel: Kernel, *args: object) -> None:
    """Runs a kernel in stream order.

    Pointers are given as Buffers, which then live until the kernel is done, as addresses, or as objects with `data_ptr()`.
    """
    try:
        _core.launch_kernel(stream, kernel.handle, config._shape(), kernel._codes, args)
    except AttributeError:  # looked into only then: a launch is too short for checks that nearly always pass
        expect(config, LaunchConfig, "config")
        expect(kernel, Kernel, "kernel")
        raise
