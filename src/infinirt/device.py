"""Devices: what there is, what it can do, and which one is current."""

from __future__ import annotations

import threading

from . import _core
from ._arguments import expect, integer
from ._device_attributes import FLAGS, NUMBERS
from ._other_names import with_other_names
from .event import Event, EventOptions
from .stream import Stream, StreamOptions

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from ._capture import GraphBuilder
    from ._protocols import IsStreamType
    from .memory import MemoryResource

__all__ = ["Device", "DeviceProperties", "DeviceTypeInfo", "device_types", "devices"]

_previous = threading.local()


_OTHER_PROPERTIES = {  # of PyTorch and of cudaDeviceProp
    "name": "it is device.name here",
    "total_memory": "device.memory_info() says how much there is",
    "totalGlobalMem": "device.memory_info() says how much there is",
    "multi_processor_count": "it is called multiprocessor_count here",
    "multiProcessorCount": "it is called multiprocessor_count here",
    "major": "it is called compute_capability_major here",
    "minor": "it is called compute_capability_minor here",
    "warpSize": "it is called warp_size here",
}


class DeviceProperties:
    """What a device can do: every attribute under the name that `cuda.core` gives it, asked for when it is read.

    >>> import infinirt
    >>> properties = infinirt.Device("cpu").properties
    >>> properties.max_threads_per_block > 0
    True
    >>> "warp_size" in dir(properties)
    True
    """

    __slots__ = ("_device",)

    def __init__(self, device: Device) -> None:
        self._device = device

    def __getattr__(self, name: str) -> int:
        if name in NUMBERS:
            return _core.device_attribute(self._device, NUMBERS[name], self._device.ordinal)
        if name in FLAGS:
            return bool(_core.device_attribute(self._device, FLAGS[name], self._device.ordinal))
        hint = _OTHER_PROPERTIES.get(name, "dir() lists what there is")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: {hint}", name=name)

    def __dir__(self) -> list[str]:
        return sorted([*NUMBERS, *FLAGS])

    def __repr__(self) -> str:
        return f"<DeviceProperties of {self._device.type}:{self._device.ordinal}; dir() lists them>"


@with_other_names
class Device(_core.DeviceBase):
    """A device, by name ("cpu:1", "nvidia"), by number within the current type, or the current one.

    There is one object per device: `Device("cpu:0") is Device("cpu")`. As a context manager it is current inside.

    >>> import infinirt
    >>> device = infinirt.Device("cpu:0")
    >>> with device:
    ...     infinirt.Device() is device
    True
    """

    __slots__ = ()

    @property
    def name(self) -> str:
        """The device's name as its maker gives it."""
        return _core.device_description(self)[0]

    @property
    def uuid(self) -> str:
        """The device's unique identifier, in the usual form of five groups of digits."""
        digits = _core.device_description(self)[1].hex()
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    @property
    def device_id(self) -> int:
        """The same as `ordinal`, under the name that cuda.core gives it."""
        return self.ordinal

    @property
    def pci_bus_id(self) -> str:
        """Where the device sits on the PCI bus."""
        return _core.pci_bus_id(self)

    @property
    def compute_capability(self) -> tuple[int, int]:
        """What the device's kernels can use: (major, minor)."""
        properties = self.properties
        return properties.compute_capability_major, properties.compute_capability_minor

    @property
    def properties(self) -> DeviceProperties:
        """What the device can do, one attribute each."""
        return DeviceProperties(self)

    def attributes(self, *names: str) -> dict[str, int]:
        """The attributes that are named, or all that the device knows.

        >>> import infinirt
        >>> infinirt.Device("cpu").attributes("unified_addressing")
        {'unified_addressing': True}
        """
        if names:
            return {name: getattr(self.properties, name) for name in names}
        known = {}
        for name in dir(self.properties):
            try:
                known[name] = getattr(self.properties, name)
            except ValueError:
                continue
        return known

    @property
    def stream_priority_range(self) -> tuple[int, int]:
        """The least and the most urgent priority of streams; a lower number is more urgent."""
        return _core.priority_range(self)

    def create_stream(
        self,
        obj: IsStreamType | StreamOptions | None = None,
        options: StreamOptions | None = None,
        *,
        nonblocking: bool | None = None,
        priority: int | None = None,
    ) -> Stream:
        """A new stream, or a Stream around the one that `obj` offers by `__cuda_stream__`.

        `options` may also come first. What is given by keyword counts more than they do.

        >>> import infinirt
        >>> infinirt.Device("cpu").create_stream(nonblocking=False).is_nonblocking
        False
        """
        if isinstance(obj, StreamOptions):
            if options is not None:
                raise TypeError("create_stream() was given options twice")
            obj, options = None, obj
        if obj is not None:
            if options is not None or nonblocking is not None or priority is not None:
                raise ValueError("obj is a stream already; options make sense for a new one only")
            if not hasattr(obj, "__cuda_stream__"):
                given = type(obj).__name__
                raise TypeError(f"obj must be StreamOptions or offer __cuda_stream__, which {given} does not")
            _, handle = obj.__cuda_stream__()
            return Stream.from_handle(handle, self, obj)
        base = options if options is not None else StreamOptions()
        expect(base, StreamOptions, "options")
        chosen = StreamOptions(
            base.nonblocking if nonblocking is None else nonblocking,
            base.priority if priority is None else priority,
        )
        return _core.create_stream(self, chosen._flags(), 0 if chosen.priority is None else chosen.priority)

    def create_event(
        self,
        options: EventOptions | None = None,
        *,
        timing_enabled: bool | None = None,
        blocking_sync: bool | None = None,
        ipc_enabled: bool | None = None,
    ) -> Event:
        """A new event for streams of this device. What is given by keyword counts more than `options`.

        >>> import infinirt
        >>> infinirt.Device("cpu").create_event(timing_enabled=True).is_timing_enabled
        True
        """
        base = options if options is not None else EventOptions()
        expect(base, EventOptions, "options")
        chosen = EventOptions(
            base.timing_enabled if timing_enabled is None else timing_enabled,
            base.blocking_sync if blocking_sync is None else blocking_sync,
            base.ipc_enabled if ipc_enabled is None else ipc_enabled,
        )
        return _core.create_event(self, chosen._flags())

    def create_graph_builder(self) -> GraphBuilder:
        """A builder with a stream of its own that captures work into a graph."""
        from ._capture import GraphBuilder

        return GraphBuilder(self.create_stream())

    @property
    def memory_resource(self) -> MemoryResource:
        """What `allocate()` allocates from: the device's memory pool, unless something else was put here.

        Set it to None to go back to the pool.
        """
        resource = self._resource
        if resource is None:
            from .memory import MemoryPool

            resource = self._resource = MemoryPool.current(self)
        return resource

    @memory_resource.setter
    def memory_resource(self, resource: MemoryResource | None) -> None:
        if resource is not None and not (hasattr(resource, "allocate") and hasattr(resource, "deallocate")):
            raise TypeError(
                f"a memory resource has allocate() and deallocate(); {type(resource).__name__} has not"
            )
        self._resource = resource

    def memory_info(self) -> tuple[int, int]:
        """(free, total) memory of the device in bytes."""
        return _core.memory_info(self)

    def set_memory_limit(self, limit: int) -> None:
        """Makes allocations beyond `limit` bytes fail as out of memory; 0 takes the limit away. For tests, on the CPU."""
        _core.set_memory_limit(self, integer(limit, "limit"))

    def can_access_peer(self, peer: Device | int) -> bool:
        """Whether work of this device can reach memory of `peer` directly."""
        other = Device(peer)
        return other.type == self.type and bool(_core.can_access_peer(self, self.ordinal, other.ordinal))

    def enable_peer_access(self, peer: Device | int) -> None:
        """Lets work of this device reach memory of `peer`."""
        _core.enable_peer_access(self, self._peer(peer).ordinal)

    def disable_peer_access(self, peer: Device | int) -> None:
        """Takes back what `enable_peer_access()` allowed."""
        _core.disable_peer_access(self, self._peer(peer).ordinal)

    def _peer(self, peer: Device | int) -> Device:
        other = Device(peer)
        if other.type != self.type:
            raise ValueError(
                f"{other} is no peer of {self}: only devices of one type reach each other's memory"
            )
        return other

    def reset(self) -> None:
        """Destroys all streams, events and memory (pools excepted) of the device, and clears its errors."""
        _core.device_reset(self)

    def __enter__(self) -> Device:
        stack = _previous.__dict__.setdefault("stack", [])
        stack.append(_core.current_device())
        self.set_current()
        return self

    def __exit__(self, *_: object) -> None:
        _previous.stack.pop().set_current()

    def __int__(self) -> int:
        return self.ordinal

    def __reduce__(self) -> tuple[type[Device], tuple[str]]:
        return Device, (str(self),)

    def __str__(self) -> str:
        return f"{self.type}:{self.ordinal}"

    def __repr__(self) -> str:
        return f"<Device {self.type}:{self.ordinal}>"


_core.register_class("Device", Device)


class DeviceTypeInfo:
    """A device type: where its backend comes from, how many devices it has, and why none if it has none."""

    __slots__ = ("count", "is_accelerator", "name", "origin", "problem")

    def __init__(self, name: str, origin: str, problem: str, count: int, is_accelerator: bool) -> None:
        self.name = name
        self.origin = origin
        self.problem = problem
        self.count = count
        self.is_accelerator = is_accelerator

    def __repr__(self) -> str:
        return f"<DeviceTypeInfo {self.name}: {self.count} device(s){', ' if self.problem else ''}{self.problem}>"


def device_types() -> tuple[DeviceTypeInfo, ...]:
    """Every device type that the runtime knows, also those without a usable device, plugins of installed packages included.

    >>> import infinirt
    >>> "cpu" in [info.name for info in infinirt.device_types()]
    True
    """
    from .plugin import load_entry_points

    load_entry_points()
    return tuple(DeviceTypeInfo(*row) for row in _core.device_types())


def devices(type: str | None = None) -> tuple[Device, ...]:
    """All devices, or those of one type, in the order of their numbers.

    >>> import infinirt
    >>> infinirt.devices("cpu")[0]
    <Device cpu:0>
    """
    types = device_types()
    if type is not None and type not in [info.name for info in types]:
        Device(type)  # raises, and says which types there are
    return tuple(
        Device(f"{info.name}:{ordinal}")
        for info in types
        if type in (None, info.name)
        for ordinal in range(info.count)
    )
