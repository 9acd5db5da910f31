"""Device types written in Python: for bringing up hardware, for simulators, for teaching."""

from __future__ import annotations

import threading

from . import _core
from ._arguments import expect, integer

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from typing import Any

__all__ = ["Backend"]

ENTRY_POINTS = "infinirt.backends"

_lock = threading.RLock()
_looked = False


class Backend:
    """A device type in Python. Four methods make a device with streams, events, graphs and pools; more make it faster.

    A block of memory is whatever object `allocate` returns: other methods get that object back, with an offset in bytes. They
    are called on threads of the runtime, and on several at a time: the work of two streams may reach the device together. What they
    raise becomes the error of the call or of the asynchronous work: `MemoryError` an `OutOfMemoryError`, `ValueError` an
    `InvalidValueError`, an `InfiniRTError` itself. They may not call this package, nor keep the views they are given.

    >>> import infinirt
    >>> class Shelf(infinirt.Backend):
    ...     type = "shelf"
    ...     def allocate(self, device, size):
    ...         return bytearray(size)
    ...     def release(self, device, block, size):
    ...         pass
    ...     def write(self, device, block, offset, data):
    ...         block[offset : offset + len(data)] = data
    ...     def read(self, device, block, offset, into):
    ...         into[:] = block[offset : offset + len(into)]
    >>> Shelf().register()
    'shelf'
    >>> device = infinirt.Device("shelf")
    >>> buffer = device.allocate(4)
    >>> buffer.fill(7)
    >>> bytes(buffer.copy_to(bytearray(4)))
    b'\\x07\\x07\\x07\\x07'
    """

    type: str = ""

    def device_count(self) -> int:
        """How many devices there are; asked once, when the type is registered."""
        return 1

    # ---- required

    def allocate(self, device: int, size: int) -> Any:
        """Memory of `size` bytes on a device, as an object of the backend's own."""
        raise NotImplementedError

    def release(self, device: int, block: Any, size: int) -> None:
        """The block is not used any more."""
        raise NotImplementedError

    def write(self, device: int, block: Any, offset: int, data: memoryview) -> None:
        """Bytes of the host into a block. Complete on return, and after what `copy` and `fill` began."""
        raise NotImplementedError

    def read(self, device: int, block: Any, offset: int, into: memoryview) -> None:
        """Bytes of a block into host memory. Complete on return, and after what `copy` and `fill` began."""
        raise NotImplementedError

    # ---- optional: without them the runtime uses the four above

    def copy(self, device: int, dst: Any, dst_offset: int, src: Any, src_offset: int, size: int) -> None:
        """Bytes within the device, perhaps within one block, where they may overlap. May return early if there is `synchronize`."""
        raise NotImplementedError

    def fill(self, device: int, block: Any, offset: int, value: int, size: int) -> None:
        """Sets bytes. May return early if there is `synchronize`."""
        raise NotImplementedError

    def synchronize(self, device: int) -> None:
        """Waits for everything that was begun on the device."""
        raise NotImplementedError

    # ---- facts

    def name(self, device: int) -> str:
        """The device's name, for people."""
        return self.type

    def total_memory(self, device: int) -> int:
        """Bytes of memory of the device; 0 when that is not known."""
        return 0

    def multiprocessor_count(self, device: int) -> int:
        """How many units work in parallel; 0 when that is not known."""
        return 0

    # ---- the runtime's side

    def register(self) -> str:
        """Makes the device type known to this process, for as long as it lives; returns its name."""
        own = type(self)
        missing = [name for name in _REQUIRED if getattr(own, name) is getattr(Backend, name)]
        if missing:
            raise TypeError(
                f"{own.__name__} lacks {', '.join(missing)}: a backend has to have {', '.join(_REQUIRED)}"
            )
        if not isinstance(own.type, str) or not own.type:
            raise TypeError(f"{own.__name__}.type must be the name of the device type")
        count = integer(self.device_count(), "device_count()", most=64)
        optional = [
            getattr(own, name) is not getattr(Backend, name) for name in ("copy", "fill", "synchronize")
        ]
        _core.register_backend(
            self, own.type, f"{own.__module__}.{own.__qualname__}, in Python", count, *optional
        )
        return own.type

    def _describe(self, device: int) -> tuple[str, int, int]:
        return self.name(device), self.total_memory(device), self.multiprocessor_count(device)


_REQUIRED = ("allocate", "release", "write", "read")


def load_entry_points() -> bool:
    """Registers what installed packages announce in the group `infinirt.backends`, once; whether that brought a device type.

    An entry point is a class made of `Backend`, or a function that returns an instance of one. One that fails is a warning.
    """
    global _looked
    with _lock:
        if _looked:
            return False
        _looked = True
        from importlib.metadata import entry_points

        brought = [_register(entry) for entry in entry_points(group=ENTRY_POINTS)]
        return any(brought)


def _register(entry: EntryPoint) -> bool:
    try:
        backend = entry.load()()
        expect(backend, Backend, f"what {entry.value} gives")
        backend.register()
    except Exception as error:
        import warnings

        warnings.warn(
            f"the backend {entry.name} = {entry.value} cannot be used: {error!r}",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True
