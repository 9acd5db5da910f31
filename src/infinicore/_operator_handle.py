"""The operator library's handle of a device, through its C functions."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

import infinirt
from infinirt import runtime as rt


@cache
def _library() -> ctypes.CDLL:
    return ctypes.CDLL(str(Path(infinirt.__file__).parent / "lib" / "libinfiniop.so.1"))


def _check(status: int, call: str) -> None:
    if status != 0:
        _, message = rt.infinirtXGetLastErrorMessage()
        raise RuntimeError(f"{call}: {message or 'status ' + str(status)}")


def create(device: infinirt.Device) -> int:
    """A handle for operators on the device."""
    made = ctypes.c_void_p()
    with device:
        _check(_library().infiniopCreateHandle(ctypes.byref(made)), "infiniopCreateHandle")
    return made.value or 0


def destroy(handle: int) -> None:
    """Ends the handle; descriptors made with it must be gone."""
    _check(_library().infiniopDestroyHandle(ctypes.c_void_p(handle)), "infiniopDestroyHandle")
