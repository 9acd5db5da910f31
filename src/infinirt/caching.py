"""Pools that keep memory for reuse without asking the device: the runtime's own caching allocator, on every device type."""

from __future__ import annotations

from . import _core
from ._options import Options
from .device import Device
from .memory import MemoryResource, _host_reaches

__all__ = ["CacheStatistics", "CachingPool", "PinnedPool"]


class CacheStatistics(Options):
    """What a caching pool holds and has done, at one moment.

    `reserved` bytes are held, `used` bytes are in blocks that are allocated (rounding included), `requested` bytes were
    asked for by those. `pending_blocks` were freed and wait for other streams. The counts are since the pool was created.
    """

    __slots__ = (
        "allocations",
        "frees",
        "largest_free_block",
        "live_blocks",
        "out_of_memory",
        "pending_blocks",
        "requested",
        "reserved",
        "reserved_peak",
        "segments",
        "segments_mapped",
        "segments_unmapped",
        "used",
        "used_peak",
    )
    reserved: int
    reserved_peak: int
    used: int
    used_peak: int
    requested: int
    segments: int
    live_blocks: int
    pending_blocks: int
    largest_free_block: int
    allocations: int
    frees: int
    segments_mapped: int
    segments_unmapped: int
    out_of_memory: int

    def __init__(self, *values: int) -> None:
        self._set(**dict(zip(type(self).__annotations__, values, strict=True)))


class CachingPool(_core.CacheBase, MemoryResource):
    """Device memory that is kept for reuse in stream order, without a call into the device's own library.

    As `MemoryPool` from the outside, and faster where the device's own pools are slow. What was freed on a stream is had
    again at once by that stream, by another one when its last use is over. `max_size` limits the bytes held; 0 does not.

    >>> import infinirt
    >>> pool = infinirt.CachingPool("cpu")
    >>> with pool.allocate(1000) as buffer:
    ...     address = buffer.ptr
    >>> pool.allocate(1000).ptr == address
    True
    """

    __slots__ = ()
    _MEMORY = 0

    def __new__(cls, device: Device | str | int | None = None, *, max_size: int = 0) -> CachingPool:
        place = Device(device)
        return super().__new__(cls, place, _core.create_cache(place, cls._MEMORY, max_size))

    @property
    def statistics(self) -> CacheStatistics:
        """What the pool holds now, and what it has done.

        >>> import infinirt
        >>> pool = infinirt.CachingPool("cpu")
        >>> buffer = pool.allocate(1000)
        >>> pool.statistics.requested, pool.statistics.live_blocks
        (1000, 1)
        """
        return CacheStatistics(*_core.cache_stats(self.handle))

    @property
    def is_host_accessible(self) -> bool:
        """Whether the host can read and write the memory in place; so on CPU devices, unless memory is isolated."""
        return _host_reaches(self.device)

    def trim(self, keep: int = 0) -> None:
        """Gives unused memory back to the device while more than `keep` bytes are held; what work still uses stays."""
        self._trim(keep)

    def reset_peaks(self) -> None:
        """Starts the high-water marks of `statistics` again from what is there now."""
        _core.cache_reset_peaks(self.handle)

    def set_current(self) -> None:
        """Makes this the memory resource of its device: what `device.allocate()` takes from."""
        self.device.memory_resource = self

    def close(self) -> None:
        """Gives the pool up. Its memory goes back to the device with the last Buffer of it.

        A device that allocated from it goes back to its default pool.
        """
        device = self.device
        super().close()
        if device._resource is self:
            device.memory_resource = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'closed' if self.is_closed else hex(self.handle)} of {self.device}>"


_core.register_class("CachingPool", CachingPool)


class PinnedPool(CachingPool):
    """A pool of page-locked host memory, for copies from and to a device that do not wait.

    >>> import infinirt
    >>> pinned = infinirt.PinnedPool(infinirt.Device("cpu")).allocate(4)
    >>> pinned.copy_from(b"abcd")
    >>> bytes(pinned)
    b'abcd'
    """

    __slots__ = ()
    _MEMORY = 1

    @property
    def is_host_accessible(self) -> bool:
        """True: it is the host's memory."""
        return True
