"""Where a Runtime's memory comes from: the runtime's caching allocator, page-locked host memory, stream-ordered pools.

An allocator has `allocate(size, stream=None) -> Memory`; memory goes back by itself, in stream order, with the last reference.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import infinirt

from .device import DeviceLike
from .device import device as Device  # allocators have an attribute of that name
from .memory import Memory

__all__ = ["DevicePinnedHostAllocator", "MemoryAllocator", "PinnableBlockAllocator", "StreamOrderedAllocator"]


class MemoryAllocator:
    """What allocators have in common."""

    _is_pinned = False

    def __init__(self, device: DeviceLike = None) -> None:
        self._device = Device(device)

    @property
    def device(self) -> Device:
        """The device whose work uses the memory."""
        return self._device

    def _take(self, size: int, stream: infinirt.Stream | None) -> infinirt.Buffer:
        raise NotImplementedError

    def allocate(self, size: int, stream: infinirt.Stream | None = None) -> Memory:
        """`size` bytes that `stream` (by default the device's default stream) may use at once."""
        return Memory(self._take(size, stream), self._device, self._is_pinned)

    def close(self) -> None:
        """Gives the allocator up. Memory in use stays valid, and goes back to the device when it is let go of."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._device}>"


class PinnableBlockAllocator(MemoryAllocator):
    """Device memory that is kept for reuse, with a mode in which what is allocated stays where it is: for recording graphs.

    Small blocks come from slabs with four sizes per power of two; large ones are cut from segments by best fit, split and joined again.
    What was freed on a stream is had again at once by that stream, and by another when its last use is over. When
    memory is short, the allocator waits for what was freed, gives back what it does not use, has the process's other caches of the
    device do the same, and tries again; `OutOfMemoryError` says who holds the memory and what to do.

    In *pin mode*, of one thread at a time each, allocations come from a reserve: freed blocks are reused within it only, and nobody
    else gets them before the reserve is closed. A graph keeps the reserve it was recorded with.

    >>> import infinicore
    >>> allocator = infinicore.PinnableBlockAllocator("cpu")
    >>> memory = allocator.allocate(1000)
    >>> memory.size(), allocator.statistics.live_blocks
    (1000, 1)
    """

    def __init__(self, device: DeviceLike = None, *, limit: int = 0) -> None:
        super().__init__(device)
        self._pool = infinirt.CachingPool(self._device.resolve(), max_size=limit)
        self._limit = limit
        self._pinning = threading.local()

    @property
    def pool(self) -> infinirt.CachingPool:
        """The pool underneath."""
        return self._pool

    @property
    def statistics(self) -> infinirt.CacheStatistics:
        """What is held now, high-water marks, and counts since the beginning."""
        return self._pool.statistics

    @property
    def limit(self) -> int:
        """The most bytes that may be held; 0: as many as there are. May be changed; what is held already is not taken away."""
        return self._limit

    @limit.setter
    def limit(self, bytes: int) -> None:
        self._pool.set_limit(bytes)
        self._limit = bytes

    def _take(self, size: int, stream: infinirt.Stream | None) -> infinirt.Buffer:
        reserve = getattr(self._pinning, "reserve", None)
        return (self._pool if reserve is None else reserve).allocate(size, stream=stream)

    def record_stream(self, memory: Memory, stream: infinirt.Stream) -> None:
        """The memory is also used by work of `stream` that this library does not know of; its free waits for that, too."""
        memory.record_stream(stream)

    def trim(self, keep: int = 0) -> None:
        """Gives memory that nothing uses back to the device while more than `keep` bytes are held. Pinned memory stays."""
        self._pool.trim(keep)

    def reset_peaks(self) -> None:
        """Starts the high-water marks of `statistics` again from what is there now."""
        self._pool.reset_peaks()

    @property
    def is_pinning(self) -> bool:
        """Whether allocations of the calling thread are in pin mode."""
        return getattr(self._pinning, "reserve", None) is not None

    def begin_pin(self) -> infinirt.CacheReserve:
        """Pin mode for the calling thread, until `end_pin()`. What is allocated stays set aside until the reserve is closed."""
        if self.is_pinning:
            raise RuntimeError("this thread's allocations are pinned already; end_pin() first")
        reserve = self._pool.reserve()
        self._pinning.reserve = reserve
        return reserve

    def end_pin(self) -> None:
        """Ends the calling thread's pin mode; its memory stays pinned."""
        self._pinning.reserve = None

    def set_pin_mode(self, pinned: bool) -> None:
        """Pin mode on or off for the calling thread. What was allocated in between is pinned until the allocator goes.

        Use `pin()` where the memory is to be had again earlier.
        """
        if pinned == self.is_pinning:
            return
        if pinned:
            self.__dict__.setdefault("_kept", []).append(self.begin_pin())
        else:
            self.end_pin()

    @contextmanager
    def pin(self) -> Iterator[infinirt.CacheReserve]:
        """Pin mode for a block; gives the reserve, to be closed when nothing uses its memory any more.

        >>> import infinicore
        >>> allocator = infinicore.PinnableBlockAllocator("cpu")
        >>> with allocator.pin() as reserve:
        ...     address = allocator.allocate(1000).data()
        >>> allocator.allocate(1000).data() == address
        False
        >>> reserve.close()
        """
        reserve = self.begin_pin()
        try:
            yield reserve
        except BaseException:
            self.end_pin()
            reserve.close()
            raise
        self.end_pin()

    def close(self) -> None:
        """Gives the allocator up. Memory in use stays valid, and goes back to the device when it is let go of."""
        self.__dict__.pop("_kept", None)
        self._pool.close()


class DevicePinnedHostAllocator(MemoryAllocator):
    """Page-locked memory of the host, which the device copies from and to without waiting; kept for reuse.

    May be let go of on any thread, whichever device is current there.

    >>> import infinicore
    >>> infinicore.DevicePinnedHostAllocator("cpu").allocate(64).is_pinned()
    True
    """

    _is_pinned = True

    def __init__(self, device: DeviceLike = None) -> None:
        super().__init__(device)
        self._pool = infinirt.PinnedPool(self._device.resolve())

    @property
    def statistics(self) -> infinirt.CacheStatistics:
        """What is held now, high-water marks, and counts since the beginning."""
        return self._pool.statistics

    def _take(self, size: int, stream: infinirt.Stream | None) -> infinirt.Buffer:
        return self._pool.allocate(size, stream=stream)

    def trim(self, keep: int = 0) -> None:
        """Gives memory that nothing uses back to the host while more than `keep` bytes are held."""
        self._pool.trim(keep)

    def close(self) -> None:
        """Gives the allocator up. Memory in use stays valid, and goes back when it is let go of."""
        self._pool.close()


class StreamOrderedAllocator(MemoryAllocator):
    """Device memory from the device's own stream-ordered pool (`infinirtMallocAsync`).

    >>> import infinicore
    >>> infinicore.StreamOrderedAllocator("cpu").allocate(64).size()
    64
    """

    def __init__(self, device: DeviceLike = None) -> None:
        super().__init__(device)
        self._pool = infinirt.MemoryPool(self._device.resolve())

    def _take(self, size: int, stream: infinirt.Stream | None) -> infinirt.Buffer:
        return self._pool.allocate(size, stream=stream)

    def trim(self, keep: int = 0) -> None:
        """Gives memory that nothing uses back to the device until at most `keep` bytes are held."""
        self._pool.trim(keep)

    def close(self) -> None:
        """Gives the allocator up. Memory in use stays valid."""
        self._pool.close()
