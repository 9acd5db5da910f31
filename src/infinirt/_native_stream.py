"""What `Stream.native()` returns."""

from __future__ import annotations

from . import _core

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from .stream import Stream


class NativeStream:
    """A context manager whose value is the handle of a stream of the device's own runtime."""

    __slots__ = ("_handle", "_stream")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._handle: int | None = None

    def __enter__(self) -> int:
        if self._handle is not None:
            raise RuntimeError("this context has been entered already; call Stream.native() for another")
        self._handle = _core.begin_native(self._stream.device, self._stream.handle)
        return self._handle

    def __exit__(self, *_: object) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            _core.end_native(self._stream.device, self._stream.handle, handle)
