"""Where memory comes from: pools, plain allocations, and what can be put around them.

A memory resource has two methods, `allocate(size, *, stream) -> Buffer` and `deallocate(ptr, size, *, stream)`.
Adaptors (`infinirt.adaptors`) are resources around another resource, to be combined at will:

>>> import infinirt
>>> device = infinirt.Device("cpu")
>>> resource = infinirt.TrackingResource(infinirt.LimitingResource(infinirt.MemoryPool(device), 1 << 20))
>>> buffer = resource.allocate(1000)
>>> resource.current_bytes
1000
"""

from __future__ import annotations

from . import _core
from ._arguments import expect, integer
from ._options import Options
from .buffer import Buffer
from .device import Device

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from ._protocols import IsStreamType
    from .stream import Stream

__all__ = [
    "DirectResource",
    "ManagedResource",
    "MemoryPool",
    "MemoryPoolAttributes",
    "MemoryPoolOptions",
    "MemoryResource",
    "PinnedResource",
]

_FOREVER = (1 << 64) - 1


_reached: dict[Device, bool] = {}


def _host_reaches(device: Device) -> bool:
    """Whether the host can use memory of the device in place. Found out once, by trying."""
    if device not in _reached:
        probe = _core.malloc(device, 1)
        try:
            _reached[device] = _core.wrap_buffer(probe, 1, device, None, None, None, False).is_host_accessible
        finally:
            _core.free(device, probe)
    return _reached[device]


class MemoryResource:
    """What memory resources have in common. Subclasses give `allocate`, `deallocate` and `device`."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def device(self) -> Device:
            """The device whose work can use the memory."""
            raise NotImplementedError

        def allocate(self, size: int, *, stream: Stream | IsStreamType | None = None) -> Buffer:
            """A Buffer of `size` bytes that `stream`, by default the device's default stream, may use at once."""
            raise NotImplementedError

        def deallocate(self, ptr: int, size: int, *, stream: Stream | IsStreamType | None = None) -> None:
            """Takes memory back by its address, after what `stream` has been given so far."""
            raise NotImplementedError

    @property
    def is_device_accessible(self) -> bool:
        """Whether work of the device can use the memory."""
        return True

    @property
    def is_host_accessible(self) -> bool:
        """Whether the host can read and write the memory in place."""
        return False

    @property
    def device_id(self) -> int:
        """The number of the device within its type."""
        return self.device.ordinal


class MemoryPoolOptions(Options):
    """How a pool is created.

    `release_threshold`: unused memory that the pool keeps, in bytes, when the device is synchronised with; everything by
    default. `max_size`: the most it may hold; 0: as much as the device has. Devices give memory to pools in large pieces and
    round `max_size` up to them: to 2 MiB on the CPU, 32 MiB on an NVIDIA H200. `LimitingResource` counts single bytes.

    >>> import infinirt
    >>> infinirt.MemoryPoolOptions(release_threshold=0)
    MemoryPoolOptions(release_threshold=0, max_size=0)
    """

    __slots__ = ("max_size", "release_threshold")
    release_threshold: int | None
    max_size: int

    def __init__(self, release_threshold: int | None = None, max_size: int = 0) -> None:
        self._set(
            release_threshold=None
            if release_threshold is None
            else integer(release_threshold, "release_threshold"),
            max_size=integer(max_size, "max_size"),
        )


def _attribute(number: int, meaning: str, settable: bool = True) -> property:
    def get(self: MemoryPoolAttributes) -> int:
        return _core.pool_attribute(self._pool.handle, number)

    def put(self: MemoryPoolAttributes, value: int) -> None:
        _core.pool_attribute(self._pool.handle, number, value)

    return property(get, put if settable else None, doc=meaning)


class MemoryPoolAttributes:
    """The settings and counters of a pool, read and written in place.

    >>> import infinirt
    >>> pool = infinirt.MemoryPool(infinirt.Device("cpu"))
    >>> buffer = pool.allocate(1024)
    >>> pool.attributes.used_mem_current >= 1024
    True
    """

    __slots__ = ("_pool",)

    def __init__(self, pool: MemoryPool) -> None:
        self._pool = pool

    reuse_follow_event_dependencies = _attribute(
        1, "Whether a stream that waited for another may reuse what that one freed."
    )
    reuse_allow_opportunistic = _attribute(
        2, "Whether memory is reused across streams once its free has been executed."
    )
    reuse_allow_internal_dependencies = _attribute(
        3, "Whether a stream may be made to wait in order to reuse memory."
    )
    release_threshold = _attribute(
        4, "Unused bytes that the pool keeps when the device is synchronised with."
    )
    reserved_mem_current = _attribute(5, "Bytes that the pool holds.", settable=False)
    reserved_mem_high = _attribute(6, "The most that it held; set it to 0 to start again.")
    used_mem_current = _attribute(7, "Bytes that are allocated from the pool.", settable=False)
    used_mem_high = _attribute(8, "The most that was allocated; set it to 0 to start again.")

    def __repr__(self) -> str:
        used, reserved = self.used_mem_current, self.reserved_mem_current
        return f"<MemoryPoolAttributes: {used} of {reserved} bytes used>"


class MemoryPool(_core.PoolBase, MemoryResource):
    """A stream-ordered pool of device memory: allocating and freeing are steps of a stream, and cheap.

    >>> import infinirt
    >>> device = infinirt.Device("cpu")
    >>> stream = device.create_stream()
    >>> pool = infinirt.MemoryPool(device)
    >>> with pool.allocate(256, stream=stream) as buffer:
    ...     buffer.fill(0, stream=stream)
    """

    __slots__ = ()

    def __new__(
        cls, device: Device | str | int | None = None, options: MemoryPoolOptions | None = None
    ) -> MemoryPool:
        chosen = options if options is not None else MemoryPoolOptions()
        expect(chosen, MemoryPoolOptions, "options")
        place = Device(device)
        pool = super().__new__(cls, place, _core.create_pool(place, chosen.max_size), True)
        threshold = _FOREVER if chosen.release_threshold is None else chosen.release_threshold
        pool.attributes.release_threshold = threshold
        return pool

    @classmethod
    def current(cls, device: Device | str | int | None = None) -> MemoryPool:
        """The device's current pool, the one that `infinirtMallocAsync` uses.

        A release threshold of 0, which makes every synchronisation give everything back, is raised to keep all memory.
        """
        place = Device(device)
        pool: MemoryPool = _core.PoolBase.__new__(cls, place, _core.current_pool(place, place.ordinal), False)
        _core.keep_pool_memory(pool.handle)
        return pool

    @property
    def attributes(self) -> MemoryPoolAttributes:
        """Settings and counters."""
        return MemoryPoolAttributes(self)

    @property
    def is_host_accessible(self) -> bool:
        """Whether the host can read and write the memory in place; so on CPU devices, unless memory is isolated."""
        return _host_reaches(self.device)

    def trim(self, keep: int = 0) -> None:
        """Gives unused memory back to the device until at most `keep` bytes are held."""
        _core.pool_trim(self.handle, keep)

    def set_current(self) -> None:
        """Makes this the pool that `infinirtMallocAsync` uses on its device, and the device's memory resource."""
        _core.set_current_pool(self.device, self.device.ordinal, self.handle)
        self.device.memory_resource = self

    def close(self) -> None:
        """Gives the pool up; memory allocated from it lives on. A device that allocated from it goes back to its default pool.

        The default pool itself cannot be closed: trying to is an InvalidValueError. To close a pool that another object
        created (`current()` may give one) does nothing.

        >>> import infinirt
        >>> device = infinirt.Device("cpu")
        >>> pool = infinirt.MemoryPool(device)
        >>> pool.set_current()
        >>> pool.close()
        >>> device.allocate(8).size
        8
        """
        device = self.device
        super().close()
        if device._resource is self:
            device.memory_resource = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {'closed' if self.is_closed else hex(self.handle)} of {self.device}>"


_core.register_class("MemoryPool", MemoryPool)


class DirectResource(MemoryResource):
    """Device memory without a pool: every allocation asks the device, every free may wait for it.

    >>> import infinirt
    >>> infinirt.DirectResource(infinirt.Device("cpu")).allocate(64).size
    64
    """

    __slots__ = ("_device",)

    def __init__(self, device: Device | str | int | None = None) -> None:
        self._device = Device(device)

    @property
    def device(self) -> Device:
        """The device that the memory belongs to."""
        return self._device

    @property
    def is_host_accessible(self) -> bool:
        """Whether the host can read and write the memory in place; so on CPU devices, unless memory is isolated."""
        return _host_reaches(self._device)

    def _take(self, size: int) -> int:
        return _core.malloc(self._device, size)

    def _give_back(self, ptr: int) -> None:
        _core.free(self._device, ptr)

    def allocate(self, size: int, *, stream: Stream | IsStreamType | None = None) -> Buffer:
        """A Buffer of `size` bytes. The memory exists at once; `stream` is the one that is waited for when it is freed."""
        ptr = self._take(size) if size else 0
        return Buffer.from_handle(ptr, size, self, stream=stream, device=self._device)

    def deallocate(self, ptr: int, size: int, *, stream: Stream | IsStreamType | None = None) -> None:
        """Frees memory by its address, when the work of `stream` is done."""
        if stream is not None:
            _core.resolve_stream(stream, self._device).sync()
        self._give_back(ptr)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._device}>"


class PinnedResource(DirectResource):
    """Page-locked host memory, which devices copy from and to without waiting. `PinnedPool` keeps it for reuse.

    >>> import infinirt
    >>> infinirt.PinnedResource(infinirt.Device("cpu")).allocate(2).is_host_accessible
    True
    """

    __slots__ = ()

    @property
    def is_host_accessible(self) -> bool:
        """True: it is the host's memory."""
        return True

    def _take(self, size: int) -> int:
        return _core.malloc_host(self._device, size)

    def _give_back(self, ptr: int) -> None:
        _core.free_host(self._device, ptr)


class ManagedResource(DirectResource):
    """Memory that host and device both use, moved between them as needed.

    >>> import infinirt
    >>> infinirt.ManagedResource(infinirt.Device("cpu")).allocate(8).is_managed
    True
    """

    __slots__ = ()

    @property
    def is_host_accessible(self) -> bool:
        """True: the host uses it, too."""
        return True

    def _take(self, size: int) -> int:
        return _core.malloc_managed(self._device, size)
