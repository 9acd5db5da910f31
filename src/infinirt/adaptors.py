"""Memory resources around other resources: caching, limiting, tracking, failing."""

from __future__ import annotations

import threading

from . import _core
from .buffer import Buffer
from .device import Device
from .errors import InfiniRTError, OutOfMemoryError
from .memory import MemoryResource

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._protocols import IsStreamType
    from .event import Event
    from .stream import Stream

    AnyStream = Stream | IsStreamType | None

__all__ = [
    "CachingResource",
    "FailingResource",
    "LimitingResource",
    "ResourceAdaptor",
    "TrackingResource",
]

_OUT_OF_MEMORY = 2


class ResourceAdaptor(MemoryResource):
    """A resource around another one. Subclasses say what happens before and after by `_before` and `_after`.

    Failures undo what was counted: `_after` is called for every `_before` that did not raise, also when the allocation
    itself failed.
    """

    def __init__(self, upstream: MemoryResource) -> None:
        self.upstream = upstream
        self._inner: dict[int, Buffer] = {}
        # Reentrant: collecting garbage inside may free a buffer of this very resource.
        self._lock = threading.RLock()

    @property
    def device(self) -> Device:
        """The device of the resource beneath."""
        return self.upstream.device

    @property
    def is_host_accessible(self) -> bool:
        """As the resource beneath."""
        return self.upstream.is_host_accessible

    def _before(self, size: int) -> None:
        """Called before an allocation; raises to refuse it."""

    def _after(self, size: int, ptr: int) -> None:
        """Called when memory is back; `ptr` is 0 when there never was any."""

    def _arrived(self, size: int, ptr: int) -> None:
        """Called when an allocation succeeded."""

    def allocate(self, size: int, *, stream: AnyStream = None) -> Buffer:
        """A Buffer from the resource beneath, freed through this one."""
        order = _core.resolve_stream(stream, self.device)
        if size == 0:
            return self.upstream.allocate(0, stream=order)
        with self._lock:
            self._before(size)
        try:
            inner = self.upstream.allocate(size, stream=order)
        except BaseException:
            with self._lock:
                self._after(size, 0)
            raise
        with self._lock:
            self._inner[inner.ptr] = inner
            self._arrived(size, inner.ptr)
        return Buffer.from_handle(inner.ptr, size, self, stream=order, device=inner.device)

    def deallocate(self, ptr: int, size: int, *, stream: AnyStream = None) -> None:
        """Takes memory back, to the resource beneath."""
        with self._lock:
            inner = self._inner.pop(ptr, None)
            if inner is None:
                raise ValueError(
                    f"{ptr:#x} was not allocated from this {type(self).__name__}, or is free already"
                )
            self._after(size, ptr)
        inner.close(stream)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.upstream!r}>"


class LimitingResource(ResourceAdaptor):
    """Refuses, as out of memory, what would bring the bytes in use above a limit.

    >>> import infinirt
    >>> small = infinirt.LimitingResource(infinirt.MemoryPool(infinirt.Device("cpu")), 100)
    >>> try:
    ...     small.allocate(101)
    ... except infinirt.OutOfMemoryError:
    ...     small.used
    0
    """

    def __init__(self, upstream: MemoryResource, limit: int) -> None:
        super().__init__(upstream)
        self.limit = limit
        self.used = 0

    def _before(self, size: int) -> None:
        if self.used + size > self.limit:
            raise OutOfMemoryError(
                _OUT_OF_MEMORY,
                f"{size} bytes were asked for, {self.used} of the limit of {self.limit} bytes are in use; "
                "free buffers or raise the LimitingResource's limit",
            )
        self.used += size

    def _after(self, size: int, ptr: int) -> None:
        self.used -= size


class TrackingResource(ResourceAdaptor):
    """Counts what is in use, and with `traces=True` remembers where each allocation was made.

    >>> import infinirt
    >>> tracked = infinirt.TrackingResource(infinirt.MemoryPool(infinirt.Device("cpu")))
    >>> first, second = tracked.allocate(10), tracked.allocate(20)
    >>> first.close()
    >>> tracked.current_bytes, tracked.peak_bytes, tracked.total_count
    (20, 30, 2)
    """

    def __init__(self, upstream: MemoryResource, *, traces: bool = False) -> None:
        super().__init__(upstream)
        self.current_bytes = 0
        self.peak_bytes = 0
        self.total_count = 0
        self._traces = traces
        self._live: dict[int, tuple[int, str]] = {}

    @property
    def outstanding(self) -> dict[int, tuple[int, str]]:
        """What is in use: address → (size, where it was allocated; empty without `traces`)."""
        with self._lock:
            return dict(self._live)

    def _arrived(self, size: int, ptr: int) -> None:
        where = ""
        if self._traces:
            import traceback

            where = "".join(traceback.format_stack(limit=12)[:-2])
        self._live[ptr] = (size, where)
        self.current_bytes += size
        self.peak_bytes = max(self.peak_bytes, self.current_bytes)
        self.total_count += 1

    def _after(self, size: int, ptr: int) -> None:
        if ptr:
            del self._live[ptr]
            self.current_bytes -= size


class FailingResource(ResourceAdaptor):
    """Makes chosen allocations fail, to test what a program does then.

    `fails` is called with (number of the allocation, counted from 1, and size) and says whether it fails; a number means
    that allocation and no other.

    >>> import infinirt
    >>> failing = infinirt.FailingResource(infinirt.MemoryPool(infinirt.Device("cpu")), 2)
    >>> first = failing.allocate(1)
    >>> failing.allocate(1)
    Traceback (most recent call last):
    ...
    infinirt.errors.OutOfMemoryError: allocation 2, of 1 bytes, fails because FailingResource was told so (...)
    """

    def __init__(
        self,
        upstream: MemoryResource,
        fails: int | Callable[[int, int], bool],
        error: InfiniRTError | None = None,
    ) -> None:
        super().__init__(upstream)
        self._fails = fails
        self._error = error
        self.count = 0

    def _before(self, size: int) -> None:
        self.count += 1
        fails = self._fails(self.count, size) if callable(self._fails) else self.count == self._fails
        if fails:
            raise self._error or OutOfMemoryError(
                _OUT_OF_MEMORY,
                f"allocation {self.count}, of {size} bytes, fails because FailingResource was told so",
            )


class _Block:
    """Memory that waits for its next user, and the point after which anyone may have it."""

    __slots__ = ("buffer", "free_after", "stream")

    def __init__(self, buffer: Buffer, stream: Stream | None, free_after: Event | None) -> None:
        self.buffer = buffer
        self.stream = stream
        self.free_after = free_after


class CachingResource(MemoryResource):
    """Keeps freed memory of a slow resource for reuse, in stream order.

    A block goes to the stream that freed it at once, to another one when its last use is over. Sizes are rounded up by
    at most a quarter.

    >>> import infinirt
    >>> cache = infinirt.CachingResource(infinirt.PinnedResource(infinirt.Device("cpu")))
    >>> address = cache.allocate(1000).ptr
    >>> cache.allocate(1000).ptr == address
    True
    """

    def __init__(self, upstream: MemoryResource) -> None:
        self.upstream = upstream
        self._idle: dict[int, list[_Block]] = {}
        self._inner: dict[int, Buffer] = {}
        self._lock = threading.RLock()

    @property
    def device(self) -> Device:
        """The device of the resource beneath."""
        return self.upstream.device

    @property
    def is_host_accessible(self) -> bool:
        """As the resource beneath."""
        return self.upstream.is_host_accessible

    @property
    def idle_bytes(self) -> int:
        """Bytes that wait for reuse."""
        with self._lock:
            return sum(block.buffer.size for blocks in self._idle.values() for block in blocks)

    def allocate(self, size: int, *, stream: AnyStream = None) -> Buffer:
        """A Buffer of at least `size` bytes, from what was freed before if something fits."""
        order = _core.resolve_stream(stream, self.device)
        if size == 0:
            return self.upstream.allocate(0, stream=order)
        rounded = _size_class(size)
        inner = self._reuse(rounded, order)
        if inner is None:
            try:
                inner = self.upstream.allocate(rounded, stream=order)
            except OutOfMemoryError:
                self.trim()
                inner = self.upstream.allocate(rounded, stream=order)
        with self._lock:
            self._inner[inner.ptr] = inner
        return Buffer.from_handle(inner.ptr, size, self, stream=order, device=inner.device)

    def _reuse(self, rounded: int, order: Stream) -> Buffer | None:
        with self._lock:
            blocks = self._idle.get(rounded, [])
            for index in reversed(range(len(blocks))):
                block = blocks[index]
                if block.stream == order or block.free_after is None or block.free_after.is_done:
                    del blocks[index]
                    return block.buffer
        return None

    def deallocate(self, ptr: int, size: int, *, stream: AnyStream = None) -> None:
        """Keeps memory for reuse after what `stream` has been given so far."""
        order = None if stream is None else _core.resolve_stream(stream, self.device)
        free_after = None if order is None else order.record()
        with self._lock:
            inner = self._inner.pop(ptr, None)
            if inner is None:
                raise ValueError(
                    f"{ptr:#x} was not allocated from this {type(self).__name__}, or is free already"
                )
            self._idle.setdefault(inner.size, []).append(_Block(inner, order, free_after))

    def trim(self) -> None:
        """Gives all memory that waits for reuse back to the resource beneath."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for blocks in idle.values():
            for block in blocks:
                if block.free_after is not None:
                    block.free_after.sync()
                block.buffer.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.upstream!r}>"


def _size_class(size: int) -> int:
    """Four classes per power of two, from 256 bytes on: at most a quarter is wasted."""
    if size <= 256:
        return 256
    step = 1 << (size - 1).bit_length() - 3
    return -(-size // step) * step
