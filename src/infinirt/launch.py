"""Kernels and how they are launched."""

from __future__ import annotations

import itertools

from . import _core
from ._arguments import integer
from ._options import Options

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Iterable

    from ._kernel_facts import KernelAttributes, KernelOccupancy
    from .device import Device

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


_MOST_IN_A_CLUSTER = 16


class LaunchConfig(Options, _core.ShapeBase):
    """How many blocks a kernel runs in, and how they are shaped.

    `cluster`: blocks per cluster, on devices that have clusters; `grid` then counts clusters. `shmem_size`: bytes of dynamic
    shared memory per block. `is_cooperative`: all blocks run at the same time and may wait for each other.

    >>> import infinirt
    >>> infinirt.LaunchConfig(grid=(4, 2), block=32).grid
    (4, 2, 1)
    """

    __slots__ = ("block", "cluster", "grid", "is_cooperative", "shmem_size")
    grid: tuple[int, int, int]
    cluster: tuple[int, int, int] | None
    block: tuple[int, int, int]
    shmem_size: int
    is_cooperative: bool

    def __init__(
        self,
        grid: Dimensions,
        cluster: Dimensions | None = None,
        block: Dimensions = 1,
        shmem_size: int | None = None,
        is_cooperative: bool = False,
    ) -> None:
        clusters = None if cluster is None else _three(cluster, "cluster")
        if clusters is not None and clusters[0] * clusters[1] * clusters[2] > _MOST_IN_A_CLUSTER:
            raise ValueError(
                f"cluster is {cluster}, and no device has more than {_MOST_IN_A_CLUSTER} blocks in one; the threads of a block are the third"
                f" parameter, best given by name: LaunchConfig(grid={grid}, block={cluster})"
            )
        self._set(
            grid=_three(grid, "grid"),
            cluster=clusters,
            block=_three(block, "block"),
            shmem_size=0 if shmem_size is None else integer(shmem_size, "shmem_size", most=(1 << 31) - 1),
            is_cooperative=is_cooperative,
        )
        self._set_shape(*self._shape())

    def _shape(self) -> tuple[int, int, int, int, int, int, int, bool, int, int, int]:
        per_cluster = self.cluster or (1, 1, 1)
        x, y, z = (count * size for count, size in zip(self.grid, per_cluster, strict=True))
        return (x, y, z, *self.block, self.shmem_size, self.is_cooperative, *(self.cluster or (0, 0, 0)))


class Kernel(_core.KernelBase):
    """A function that a device runs in many blocks at once.

    On a GPU it comes from `ObjectCode.get_kernel()`. On the CPU it is a C function, `infinirtError_t kernel(const
    infinirtXBlock *block, void **args)`, called once per block (see `infinirt_ext.h`); anything that has the address of one
    will do: a shared library, Numba's `cfunc`, ctypes.
    """

    __slots__ = ("_device_type", "_keep", "_parameters", "name")

    def __init__(self, handle: int, param_types: Iterable[object], name: str, keep: object = None) -> None:
        self.handle = handle
        self.name = name
        self._layout = "".join(_code(parameter) for parameter in param_types).encode()
        self._parameters: list[tuple[int, int]] | None = None
        self._device_type = "cpu"
        self._keep = keep

    @classmethod
    def _loaded(
        cls, handle: int, name: str, device_type: str, parameters: list[tuple[int, int]] | None, keep: object
    ) -> Kernel:
        """A kernel of loaded code; of its parameters offsets and sizes are known, or nothing."""
        kernel = cls(handle, (), name, keep)
        kernel._device_type = device_type
        kernel._parameters = parameters
        kernel._layout = None if parameters is None else tuple(size for _, size in parameters)
        return kernel

    @staticmethod
    def from_address(
        address: int, param_types: Iterable[object], name: str | None = None, *, owner: object = None
    ) -> Kernel:
        """A CPU kernel from a function's address.

        `param_types` are ctypes classes or names as "pointer", "int32", "float64". `owner` (the library, the ctypes
        function) is kept alive with the kernel; it must outlive every launch.
        """
        kernel = Kernel(address, param_types, name or f"kernel_{next(_numbers)}", owner)
        _core.register_kernel(address, kernel.name, kernel._layout)
        return kernel

    @property
    def param_count(self) -> int:
        """How many arguments the kernel takes; NotSupportedError where the device's runtime cannot tell."""
        if self._layout is None:
            from .errors import NotSupportedError

            raise NotSupportedError(801, f"the parameters of {self.name} are not known to this runtime")
        return len(self._layout)

    @property
    def num_arguments(self) -> int:
        """The same as `param_count`, under the name that cuda.core gives it."""
        return self.param_count

    @property
    def arguments_info(self) -> list[tuple[int, int]]:
        """Offset and size of each parameter, in bytes."""
        if self._parameters is None:
            self._parameters = _core.kernel_parameters(self._device(), self.handle)
        return list(self._parameters or ())

    @property
    def attributes(self) -> KernelAttributes:
        """Needs and limits on the current device: registers, shared memory, threads per block; `dir()` lists them."""
        from ._kernel_facts import KernelAttributes

        return KernelAttributes(self, self._device())

    @property
    def occupancy(self) -> KernelOccupancy:
        """How many blocks the current device holds at a time."""
        from ._kernel_facts import KernelOccupancy

        return KernelOccupancy(self, self._device())

    def _device(self) -> Device:
        """The current device if the kernel is for its type, else the first of that type."""
        from .device import Device

        current = Device()
        return current if current.type == self._device_type else Device(self._device_type)

    def __repr__(self) -> str:
        if isinstance(self._layout, bytes):
            return f"<Kernel {self.name}({self._layout.decode()})>"
        sizes = "?" if self._layout is None else ", ".join(f"{size} bytes" for size in self._layout)
        return f"<Kernel {self.name}({sizes})>"


launch = _core.launch
