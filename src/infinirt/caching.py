"""Pools that keep memory for reuse without asking the device: the runtime's own caching allocator, on every device type."""

from __future__ import annotations

import contextlib

from . import _core
from ._options import Options
from .device import Device
from .memory import MemoryResource, _host_reaches

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Callable

    from ._protocols import IsStreamType
    from .buffer import Buffer
    from .stream import Stream

__all__ = ["CacheBlock", "CacheReserve", "CacheStatistics", "CacheTrace", "CachingPool", "PinnedPool"]

_KINDS = ("allocate", "free", "use")
_STATES = ("free", "used", "pending")
_NO_STREAM = (1 << 64) - 1
memory_of_caches: dict[
    int, int
] = {}  # by their handles: 1 is page-locked memory; the sanitizer asks, for addresses do not say it
_observers: dict[
    int, Callable[[Buffer], object]
] = {}  # by the identity of the pool, which says itself whether it is observed


def _tell_observer(buffer: Buffer) -> None:
    pool = buffer.memory_resource
    observer = _observers.get(id(pool))
    if observer is not None:
        observer(buffer)


_core.set_allocation_observer(_tell_observer)


class CacheBlock(Options):
    """A block of a caching pool at one moment.

    It lies in the `segment_size` bytes at `segment`, as the device gave them. `state`: "used", "free", or "pending" (freed, and
    waiting for other streams). `requested`: what was asked for, of a used one. `is_reserved`: it is set aside for a graph.
    `stream`: the handle of the stream whose it is; None: it is free for any.
    """

    __slots__ = (
        "address",
        "is_reserved",
        "requested",
        "segment",
        "segment_size",
        "size",
        "state",
        "stream",
    )
    segment: int
    segment_size: int
    address: int
    size: int
    requested: int
    state: str
    is_reserved: bool
    stream: int | None

    def __init__(
        self,
        segment: int,
        segment_size: int,
        address: int,
        size: int,
        requested: int,
        state: int,
        is_reserved: int,
        stream: int,
    ) -> None:
        self._set(
            segment=segment,
            segment_size=segment_size,
            address=address,
            size=size,
            requested=requested,
            state=_STATES[state],
            is_reserved=bool(is_reserved),
            stream=None if stream == _NO_STREAM else stream,
        )


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
        handle = _core.create_cache(place, cls._MEMORY, max_size)
        memory_of_caches[handle] = cls._MEMORY
        return super().__new__(cls, place, handle)

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

    def blocks(self) -> list[CacheBlock]:
        """Every block that the pool has now, used or not, segment by segment. For looking at: it stops the pool meanwhile.

        >>> import infinirt
        >>> pool = infinirt.CachingPool("cpu")
        >>> buffer = pool.allocate(100_000)
        >>> [(block.requested, block.state) for block in pool.blocks() if block.address == buffer.ptr]
        [(100000, 'used')]
        """
        return [CacheBlock(*row) for row in _core.cache_blocks(self.handle)]

    def set_limit(self, max_size: int) -> None:
        """Changes the most bytes that the pool may hold; 0: no limit. What it holds already is not taken away."""
        _core.cache_set_limit(self.handle, max_size)

    def begin_trace(self, max_events: int = 1_000_000) -> None:
        """Records what the pool is asked for from here on, by whomever; `max_events` at most.

        >>> import infinirt
        >>> pool = infinirt.CachingPool("cpu")
        >>> pool.begin_trace()
        >>> pool.allocate(1000).close()
        >>> [(kind, size) for kind, _, size, _, _ in pool.end_trace().events]
        [('allocate', 1000), ('free', 0)]
        """
        _core.cache_trace_begin(self.handle, max_events)

    def end_trace(self) -> CacheTrace:
        """Ends recording, and gives what was recorded and not read yet."""
        _core.cache_trace_end(self.handle)
        return self._read_trace()

    def _read_trace(self) -> CacheTrace:
        rows, lost = _core.cache_trace_read(self.handle)
        return CacheTrace([(_KINDS[row[0]], *row[1:]) for row in rows], lost)

    def observe(self, observer: Callable[[Buffer], object] | None) -> None:
        """Has `observer` called with each Buffer that is allocated, on the thread that allocates; None: nobody any more.

        For tools that want to know who asks for memory. An exception in it is reported and changes nothing.
        """
        if observer is None:
            self._set_observed(False)
            _observers.pop(id(self), None)
        else:
            _observers[id(self)] = observer
            self._set_observed(True)

    def reserve(self) -> CacheReserve:
        """Memory of the pool that is set aside until it is closed: for a graph, whose addresses must stay its own."""
        return CacheReserve(self)

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


class CacheReserve(MemoryResource):
    """Memory of a caching pool that is set aside: what is freed of it is had again through this object only.

    For graphs, which go on using addresses after the Buffers are gone. Made by `CachingPool.reserve()`.

    >>> import infinirt
    >>> pool = infinirt.CachingPool("cpu")
    >>> reserve = pool.reserve()
    >>> address = reserve.allocate(1000).ptr
    >>> pool.allocate(1000).ptr == address, reserve.allocate(1000).ptr == address
    (False, True)
    >>> reserve.close()
    """

    __slots__ = ("_id", "_pool")

    def __init__(self, pool: CachingPool) -> None:
        self._id = 0
        self._pool = pool
        self._id = pool._create_reserve()

    @property
    def pool(self) -> CachingPool:
        """The pool that the memory is of."""
        return self._pool

    @property
    def device(self) -> Device:
        """The device whose work can use the memory."""
        return self._pool.device

    @property
    def is_closed(self) -> bool:
        """Whether the memory is everybody's again."""
        return self._id == 0

    def allocate(self, size: int, *, stream: Stream | IsStreamType | None = None) -> Buffer:
        """A Buffer of `size` bytes, also while `stream` captures. No work that came before uses the memory."""
        number = self._id
        if number == 0:
            raise ValueError("the reserve was closed; make another one by pool.reserve()")
        return self._pool._allocate_reserved(size, stream, number)

    def deallocate(self, ptr: int, size: int, *, stream: Stream | IsStreamType | None = None) -> None:
        """Frees memory by its address, in stream order. Buffers do this themselves."""
        self._pool.deallocate(ptr, size, stream=stream)

    def close(self, stream: Stream | IsStreamType | None = None) -> None:
        """Gives the memory to everybody, after what `stream` has been given so far: the last launch of the graph, say.

        Buffers in use stay valid. A second time does nothing.
        """
        number, self._id = self._id, 0
        if number:
            self._pool._destroy_reserve(number, stream)

    def __del__(self) -> None:
        # A destructor cannot fail: the pool keeps the memory then, until it goes itself.
        with contextlib.suppress(Exception):
            self.close()

    def __repr__(self) -> str:
        return f"<CacheReserve{' closed' if self.is_closed else ''} of {self._pool!r}>"


class CacheTrace(Options):
    """What a caching pool was asked for while it was recorded, in order: see `CachingPool.end_trace()`.

    `events`: (kind, address, size, stream, time) each, with kind "allocate", "free" or "use" (on another stream), size in bytes
    of an allocation, the handle of the stream, and nanoseconds of the monotonic clock. `lost`: later events without room.
    """

    __slots__ = ("events", "lost")
    events: list[tuple[str, int, int, int, int]]
    lost: int

    def __init__(self, events: list[tuple[str, int, int, int, int]], lost: int) -> None:
        self._set(events=events, lost=lost)


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
