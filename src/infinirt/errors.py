"""Exceptions: one class per kind of failure, each with the runtime's code and its whole message.

>>> import infinirt
>>> try:
...     infinirt.Device("cpu:99")
... except infinirt.InfiniRTError as error:
...     print(type(error).__name__, error.name)
InvalidDeviceError infinirtErrorInvalidDevice
"""

from __future__ import annotations

from . import _core

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from .runtime import infinirtError_t

__all__ = [
    "CaptureError",
    "CompileError",
    "GraphUpdateError",
    "InfiniRTError",
    "InvalidDeviceError",
    "InvalidHandleError",
    "InvalidValueError",
    "NoDeviceError",
    "NotPermittedError",
    "NotReadyError",
    "NotSupportedError",
    "OutOfMemoryError",
    "StickyError",
]


class InfiniRTError(RuntimeError):
    """A call of the runtime failed. `str(error)` says which call, what was wrong and what to do."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self._code = int(code)
        self.message = message

    @property
    def code(self) -> infinirtError_t:
        """The error code, a member of `infinirt.runtime.infinirtError_t`."""
        from .runtime import infinirtError_t

        return infinirtError_t(self._code)

    @property
    def name(self) -> str:
        """The code's name: "infinirtErrorInvalidValue", ..."""
        return _core.error_name(self._code)

    def __str__(self) -> str:
        return f"{self.message} ({self.name}, {self._code})"


class InvalidValueError(InfiniRTError, ValueError):
    """An argument is out of range, freed, or does not fit the others."""


class InvalidDeviceError(InvalidValueError):
    """There is no such device or device type."""


class InvalidHandleError(InfiniRTError):
    """A stream, event or other object was closed, or cannot be used in this way."""


class OutOfMemoryError(InfiniRTError, MemoryError):
    """The device, or a limit that was set, has no room for an allocation."""


class NotReadyError(InfiniRTError):
    """Work that the call asked about has not finished. Synchronise, then ask again."""


class NotSupportedError(InfiniRTError, NotImplementedError):
    """The device type cannot do this; `infinirt.support()` tells in advance."""


class NotPermittedError(InfiniRTError):
    """The call is not allowed here: host functions may not call the API."""


class NoDeviceError(InfiniRTError):
    """There is no usable device of the type; `infinirt.device_types()` says why."""


class CaptureError(InfiniRTError):
    """A stream capture is in the way of the call, or was broken by one; the message names it."""


class CompileError(InfiniRTError):
    """A program is wrong. `log` is everything that the compiler says about it; the message has the first lines."""

    def __init__(self, code: int, message: str, log: str = "") -> None:
        super().__init__(code, message)
        self.log = log


class GraphUpdateError(InfiniRTError):
    """An executable graph cannot take over another graph: their shapes differ."""


class StickyError(InfiniRTError):
    """The device failed while executing work; every later call on it fails, too."""


_BY_CODE: dict[int, type[InfiniRTError]] = {
    1: InvalidValueError,
    2: OutOfMemoryError,
    35: NoDeviceError,
    98: InvalidValueError,
    100: NoDeviceError,
    101: InvalidDeviceError,
    300: CompileError,
    400: InvalidHandleError,
    401: CaptureError,
    600: NotReadyError,
    800: NotPermittedError,
    801: NotSupportedError,
    910: GraphUpdateError,
    **dict.fromkeys(range(900, 909), CaptureError),
    **dict.fromkeys((700, 702, 710, *range(714, 720), 721), StickyError),
}


def error_from_code(code: int, message: str) -> InfiniRTError:
    """The exception that belongs to a code of `infinirtError_t`."""
    return _BY_CODE.get(code, InfiniRTError)(code, message)


_core.set_error_factory(error_from_code)
