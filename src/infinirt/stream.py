"""Streams: queues of work that runs in order."""

from __future__ import annotations

from . import _core
from ._arguments import integer
from ._options import Options
from ._other_names import not_a_function, with_other_names

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from ._capture import GraphBuilder
    from ._native_stream import NativeStream
    from .device import Device

__all__ = ["LEGACY_DEFAULT_STREAM", "PER_THREAD_DEFAULT_STREAM", "Stream", "StreamOptions"]

_NON_BLOCKING = 1


class StreamOptions(Options):
    """How a stream is created.

    `nonblocking`: it runs beside the legacy default stream instead of in turns with it. `priority`: a lower number is
    more urgent; the range is `Device.stream_priority_range`, values outside are clamped.

    >>> import infinirt
    >>> infinirt.StreamOptions(priority=-1)
    StreamOptions(nonblocking=True, priority=-1)
    """

    __slots__ = ("nonblocking", "priority")
    nonblocking: bool
    priority: int | None

    def __init__(self, nonblocking: bool | None = True, priority: int | None = None) -> None:
        self._set(
            nonblocking=bool(nonblocking),
            priority=None if priority is None else integer(priority, "priority", -(1 << 31), (1 << 31) - 1),
        )

    def _flags(self) -> int:
        return _NON_BLOCKING if self.nonblocking else 0


@with_other_names
class Stream(_core.StreamBase):
    """A queue of work: what one stream is given runs in order, different streams run side by side.

    Made by `Device.create_stream()`; destroyed with the last reference, while work that it was given still runs.

    >>> import infinirt
    >>> device = infinirt.Device("cpu")
    >>> with device.create_stream() as stream:
    ...     buffer = device.allocate(16, stream=stream)
    ...     buffer.fill(7, stream=stream)
    ...     stream.sync()
    >>> bytes(buffer)[:3]
    b'\\x07\\x07\\x07'
    """

    __slots__ = ()

    @staticmethod
    def from_handle(handle: int, device: Device | str | int | None = None, owner: object = None) -> Stream:
        """A stream that somebody else created, by its handle; it is not destroyed.

        `owner`, if given, is kept alive as long as the Stream. Name the device when the handle belongs to another type
        than the current one.

        >>> import infinirt
        >>> mine = infinirt.Device("cpu").create_stream()
        >>> infinirt.Stream.from_handle(mine.handle, "cpu").query()
        True
        """
        return _core.wrap_stream(handle, device, owner)

    @property
    def is_nonblocking(self) -> bool:
        """Whether the stream runs beside the legacy default stream."""
        return bool(_core.stream_flags(self.device, self.handle) & _NON_BLOCKING)

    @property
    def priority(self) -> int:
        """The priority; a lower number is more urgent."""
        return _core.stream_priority(self.device, self.handle)

    @property
    def id(self) -> int:
        """A number that no other stream of the process has or will have, unlike the handle."""
        return _core.stream_id(self.device, self.handle)

    def native(self) -> NativeStream:
        """For a library of the vendor's: a context in which a stream of the device's own runtime stands in for this one.

        Its handle, an int, is what `with` gives. What is launched on it comes after all that this stream was given before,
        for which entering waits, and before all that it is given after the context. Inside the context this stream's own
        work is not ordered with it. Device types without streams of their own raise `NotSupportedError`; where streams are
        the vendor's anyway (nvidia), the handle is this stream's and nothing waits.
        """
        from ._native_stream import NativeStream

        return NativeStream(self)

    def create_graph_builder(self) -> GraphBuilder:
        """A builder that captures this stream's work into a graph."""
        from ._capture import GraphBuilder

        return GraphBuilder(self)

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        if self.is_closed:
            return "<Stream closed>"
        names = {1: "legacy default", 2: "per-thread default"}
        return (
            f"<Stream {names.get(self.handle, hex(self.handle))} of {self.device.type}:{self.device.ordinal}>"
        )


_core.register_class("Stream", Stream)

LEGACY_DEFAULT_STREAM: Stream = _core.wrap_stream(1, None, None)
"""The default stream of the current device: takes turns with all blocking streams."""

PER_THREAD_DEFAULT_STREAM: Stream = _core.wrap_stream(2, None, None)
"""The calling thread's own default stream on the current device."""

not_a_function(
    __name__,
    "there is no current stream here, give each call its stream=; a stream is made by device.create_stream()",
)
