"""Lets one program use `infinirt.runtime` or `cuda.bindings.runtime`: names are given without their prefix.

`INFINIRT_FLAT_MODULE` chooses: `infinirt` (the default) or `cuda`.
"""

from __future__ import annotations

import ctypes
import importlib
import os
from typing import Any

CHOICE = os.environ.get("INFINIRT_FLAT_MODULE", "infinirt")


class Flat:
    """The module under test. `rt.Malloc` is `infinirtMalloc` or `cudaMalloc`; `used` collects the functions taken."""

    def __init__(self, choice: str) -> None:
        name, self.prefix = {
            "infinirt": ("infinirt.runtime", "infinirt"),
            "cuda": ("cuda.bindings.runtime", "cuda"),
        }[choice]
        self.module: Any = importlib.import_module(name)
        self.is_infinirt = choice == "infinirt"
        self.used: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.module, self.prefix + name)
        if callable(found) and not isinstance(found, type):
            self.used.add(name)
        return found

    def member(self, enum: str, name: str) -> Any:
        """`rt.member("MemcpyKind", "MemcpyDeviceToHost")`."""
        return getattr(getattr(self, enum), self.prefix + name)

    def make(self, name: str) -> Any:
        """`rt.make("Extent")` is `make_infinirtExtent` or `make_cudaExtent`."""
        self.used.add(f"make_{name}")
        return getattr(self.module, f"make_{self.prefix}{name}")

    def copy_kind(self, name: str) -> Any:
        return self.member("MemcpyKind", f"Memcpy{name}")

    def uint64(self, value: int) -> Any:
        """The 64-bit value that attribute setters take."""
        if self.is_infinirt:
            return self.module.cuuint64_t(value)
        return importlib.import_module("cuda.bindings.driver").cuuint64_t(value)


rt = Flat(CHOICE)


def ok(result: tuple[Any, ...]) -> Any:
    """The outputs of a call that must have succeeded: None, the one, or a tuple of them."""
    error, *outputs = result
    assert error == rt.member("Error_t", "Success"), f"{error!r}: {message()}"
    assert error == 0
    if not outputs:
        return None
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def fails(result: tuple[Any, ...], *names: str) -> None:
    """The call must have failed with one of these errors, and without outputs."""
    error, *outputs = result
    assert error in [rt.member("Error_t", name) for name in names], f"{error!r} instead of {names}"
    assert all(output is None for output in outputs)
    if error != rt.member("Error_t", "ErrorNotReady"):
        # Every failure is the thread's last error; taking it away lets the next check begin clean.
        assert rt.GetLastError() == (error,)


def message() -> str:
    return str(rt.module.infinirtXGetLastErrorMessage()[1]) if rt.is_infinirt else ""


def host(size: int, fill: int = 0) -> Any:
    """Plain host memory."""
    return ctypes.create_string_buffer(bytes([fill]) * size, size)


def upload(pointer: int, data: bytes) -> None:
    ok(rt.Memcpy(pointer, data, len(data), rt.copy_kind("HostToDevice")))


def download(pointer: int, size: int) -> bytes:
    buffer = bytearray(size)
    ok(rt.Memcpy(buffer, pointer, size, rt.copy_kind("DeviceToHost")))
    return bytes(buffer)


HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class HostFunction:
    """A C function that counts its calls and remembers the arguments, made by ctypes."""

    def __init__(self) -> None:
        self.arguments: list[int | None] = []
        self._function = HOST_FUNCTION(self.arguments.append)
        self.address = ctypes.cast(self._function, ctypes.c_void_p).value
