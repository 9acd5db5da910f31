"""Compiled code, and the kernels in it."""

from __future__ import annotations

import os
import threading

from . import _core
from .device import Device
from .launch import Kernel

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Mapping

    CodeOrPath = bytes | bytearray | memoryview | str | os.PathLike[str]

__all__ = ["ObjectCode"]

# Which device type runs a kind of code.
_DEVICE_TYPES = {"cubin": "nvidia", "ptx": "nvidia", "fatbin": "nvidia", "library": "cpu"}


def _contents(given: CodeOrPath) -> bytes:
    if isinstance(given, (bytes, bytearray, memoryview)):
        return bytes(given)
    with open(given, "rb") as file:
        return file.read()


class ObjectCode:
    """Code for a device, from `Program.compile()` or from elsewhere; `get_kernel()` takes kernels out of it.

    It is loaded when the first kernel is asked for, and stays loaded until `close()` or the end of the process, even when
    the object is gone: work that is enqueued or recorded in a graph may still need it.

    >>> import infinirt
    >>> code = infinirt.ObjectCode.from_ptx(b".version 8.0 ...")
    >>> code.code_type
    'ptx'
    """

    __slots__ = (
        "_code",
        "_code_type",
        "_kernels",
        "_library",
        "_lock",
        "_lowered",
        "compiler",
        "is_cached",
        "name",
    )

    def __init__(
        self,
        code: bytes,
        code_type: str,
        *,
        name: str = "",
        symbol_mapping: Mapping[str, str] | None = None,
        compiler: str = "",
        is_cached: bool = False,
    ) -> None:
        if code_type not in _DEVICE_TYPES:
            raise ValueError(f"code_type {code_type!r} is none of {', '.join(_DEVICE_TYPES)}")
        self._code = code
        self._code_type = code_type
        self._lowered = dict(symbol_mapping or {})
        self._kernels: dict[str, Kernel] = {}
        self._library = 0
        self._lock = threading.Lock()
        self.name = name
        self.compiler = compiler
        self.is_cached = is_cached

    @staticmethod
    def from_cubin(
        module: CodeOrPath, *, name: str = "", symbol_mapping: Mapping[str, str] | None = None
    ) -> ObjectCode:
        """From machine code of one GPU architecture, or the path of a file with it."""
        return ObjectCode(_contents(module), "cubin", name=name, symbol_mapping=symbol_mapping)

    @staticmethod
    def from_ptx(
        module: CodeOrPath, *, name: str = "", symbol_mapping: Mapping[str, str] | None = None
    ) -> ObjectCode:
        """From PTX, which the driver translates, or the path of a file with it."""
        return ObjectCode(_contents(module), "ptx", name=name, symbol_mapping=symbol_mapping)

    @staticmethod
    def from_fatbin(
        module: CodeOrPath, *, name: str = "", symbol_mapping: Mapping[str, str] | None = None
    ) -> ObjectCode:
        """From code for several GPU architectures, or the path of a file with it."""
        return ObjectCode(_contents(module), "fatbin", name=name, symbol_mapping=symbol_mapping)

    @staticmethod
    def from_library(
        module: CodeOrPath, *, name: str = "", symbol_mapping: Mapping[str, str] | None = None
    ) -> ObjectCode:
        """From a shared object with a table of CPU kernels (see `infinirt_ext.h`), or its path."""
        return ObjectCode(_contents(module), "library", name=name, symbol_mapping=symbol_mapping)

    @property
    def code(self) -> bytes:
        """The code itself."""
        return self._code

    @property
    def code_type(self) -> str:
        """ "cubin", "ptx", "fatbin", or "library" for the CPU."""
        return self._code_type

    @property
    def symbol_mapping(self) -> dict[str, str]:
        """The symbols of the name expressions that the code was compiled with."""
        return dict(self._lowered)

    def _device(self) -> Device:
        """The current device if it can run the code, else the first that can."""
        type = _DEVICE_TYPES[self._code_type]
        current = Device()
        return current if current.type == type else Device(type)

    def get_kernel(self, name: str) -> Kernel:
        """The kernel with that name: a symbol, or a name expression that the code was compiled with.

        A C++ function has a symbol of its plain name only when it is `extern "C"`.
        """
        with self._lock:
            if name in self._kernels:
                return self._kernels[name]
            device = self._device()
            if not self._library:
                self._library = _core.load_library(device, self._code, self._code_type == "ptx")
            handle = _core.library_kernel(device, self._library, self._lowered.get(name, name))
            parameters = _core.kernel_parameters(device, handle)
            kernel = Kernel._loaded(handle, name, device.type, parameters, self)
            self._kernels[name] = kernel
            return kernel

    def close(self) -> None:
        """Unloads the code. Its kernels cannot be launched afterwards; nothing that uses them may still be running."""
        with self._lock:
            library, self._library = self._library, 0
            for kernel in self._kernels.values():
                kernel.handle = 0
            self._kernels.clear()
            if library:
                _core.unload_library(self._device(), library)

    def __repr__(self) -> str:
        return f"<ObjectCode {self.name or 'unnamed'}: {len(self._code)} bytes of {self._code_type}>"
