"""Buffers: ranges of memory that know who uses them and who frees them."""

from __future__ import annotations

from . import _core
from ._other_names import with_other_names
from .device import Device
from .stream import Stream

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from ._protocols import IsStreamType
    from .memory import MemoryResource

__all__ = ["Buffer"]

_UNREGISTERED, _HOST, _DEVICE, _MANAGED = range(4)  # infinirtMemoryType
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_EXTENSION, _DL_CUDA_MANAGED = 1, 2, 3, 12, 13


@with_other_names
class Buffer(_core.BufferBase):
    """Memory of a device: a number of bytes, used in stream order.

    Made by `Device.allocate()` or a memory resource. With the last reference the memory is freed in stream order, after
    everything that this API enqueued on it, on whichever stream; other use by address needs `record_stream()`.

    >>> import infinirt
    >>> device = infinirt.Device("cpu")
    >>> buffer = device.allocate(4)
    >>> buffer.copy_from(b"abcd")
    >>> bytes(buffer)
    b'abcd'
    >>> bytes(buffer[1:3])
    b'bc'
    """

    __slots__ = ()

    @staticmethod
    def from_handle(
        ptr: int,
        size: int,
        mr: MemoryResource | None = None,
        owner: object = None,
        *,
        stream: Stream | IsStreamType | None = None,
        device: Device | str | int | None = None,
        read_only: bool = False,
    ) -> Buffer:
        """A Buffer around memory that exists already.

        With `mr` the Buffer frees it, by `mr.deallocate(ptr, size, stream=...)`; otherwise somebody else does, and
        `owner`, if given, is kept alive meanwhile. Both at once make no sense. Plain host memory without either can be
        copied from and to, but not filled: an address that nobody answers for may be no memory at all.

        >>> import ctypes, infinirt
        >>> data = ctypes.create_string_buffer(b"hello")
        >>> bytes(infinirt.Buffer.from_handle(ctypes.addressof(data), 5, owner=data, device="cpu"))
        b'hello'
        """
        if mr is not None and owner is not None:
            raise ValueError("either a memory resource frees the memory or an owner does, not both")
        if mr is not None and not hasattr(mr, "deallocate"):
            raise TypeError(f"mr must be a memory resource, which has deallocate(), not {type(mr).__name__}")
        if device is None:
            device = _device_of(ptr, mr)
        order = None if stream is None and mr is None else _core.resolve_stream(stream, device)
        return _core.wrap_buffer(ptr, size, device, mr, order, owner, read_only)

    @property
    def is_device_accessible(self) -> bool:
        """Whether work of the device can use the memory; true of everything but plain host memory of other devices."""
        return self.device.type.startswith("cpu") or _core.pointer_attributes(self.ptr)[0] != _UNREGISTERED

    @property
    def is_managed(self) -> bool:
        """Whether the memory moves between host and device by itself."""
        return _core.pointer_attributes(self.ptr)[0] == _MANAGED

    @property
    def device_id(self) -> int:
        """The number of the device within its type."""
        return self.device.ordinal

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        """One dimension of bytes, for consumers of CUDA memory; other memory does not have it.

        The stream that it names waits for all pending work on the memory: the buffer's own, else the default stream.
        """
        if self.device.type != "nvidia" or not (self.size == 0 or self.is_device_accessible):
            raise AttributeError(
                f"memory of {self.device} is no CUDA memory; use DLPack or the buffer protocol"
            )
        return {
            "shape": (self.size,),
            "typestr": "|u1",
            "data": (self.ptr if self.size else 0, self.is_read_only),
            "version": 3,
            "strides": None,
            "stream": int(_core.order_after(None, self)) or 1,
        }

    def __array__(self, dtype: object = None, copy: bool | None = None) -> object:
        """What NumPy asks for where the host cannot reach the memory, to be told so; otherwise it reads in place, as bytes."""
        view = memoryview(self)  # raises, and says what to do instead
        import numpy

        array = numpy.asarray(view, dtype=dtype)  # type: ignore[call-overload]
        return array.copy() if copy and numpy.may_share_memory(array, view) else array

    def _dlpack_copy(self, device_type: int, device_id: int) -> Buffer:
        """A copy on the device that a DLPack consumer asked for; its work is done."""
        if device_type == _DL_EXTENSION and device_id == self.device.ordinal:
            target = self.device.allocate(self.size)
        else:
            target = Buffer._dlpack_allocate(device_type, device_id, self.size)
        stream = _core.order_after(None, self)
        _core.order_after(stream, target)  # it was allocated in the order of another stream
        self.copy_to(target, stream=stream)
        stream.sync()
        return target

    @staticmethod
    def _dlpack_allocate(device_type: int, device_id: int, size: int) -> Buffer:
        """Memory of a DLPack device, in the order of our default stream."""
        from .errors import InvalidDeviceError, NoDeviceError
        from .memory import ManagedResource, PinnedResource

        try:
            if device_type == _DL_CPU and device_id == 0:
                current = Device()
                cpu = current if current.type.startswith("cpu") else Device("cpu")
                buffer = cpu.allocate(size)
                return buffer if buffer.is_host_accessible else PinnedResource(cpu).allocate(size)
            if device_type in (_DL_CUDA, _DL_CUDA_HOST, _DL_CUDA_MANAGED):
                device = Device(f"nvidia:{device_id}")
                if device_type == _DL_CUDA:
                    return device.allocate(size)
                resource = PinnedResource if device_type == _DL_CUDA_HOST else ManagedResource
                return resource(device).allocate(size)
        except (InvalidDeviceError, NoDeviceError) as error:
            raise BufferError(
                f"there is no memory of DLPack device ({device_type}, {device_id}): {error}"
            ) from error
        raise BufferError(f"memory of DLPack device ({device_type}, {device_id}) cannot be allocated here")

    def __enter__(self) -> Buffer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        where = "closed" if self.is_closed else f"at {self.ptr:#x}"
        return f"<Buffer of {self.size} bytes {where} of {self.device}>"


_core.register_class("Buffer", Buffer)


def _device_of(ptr: int, mr: MemoryResource | None) -> Device:
    """The device that memory belongs to: its resource's, the one the runtime knows, or the current one."""
    device = getattr(mr, "device", None)
    if isinstance(device, Device):
        return device
    current = Device()
    kind, ordinal, _, _ = _core.pointer_attributes(ptr)
    return current if kind == _UNREGISTERED or ordinal < 0 else Device(f"{current.type}:{ordinal}")
