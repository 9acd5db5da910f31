"""Buffers: ranges of memory that know who uses them and who frees them."""

from __future__ import annotations

from . import _core
from .device import Device
from .stream import Stream

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from ._protocols import IsStreamType
    from .memory import MemoryResource

__all__ = ["Buffer", "from_dlpack"]

_UNREGISTERED, _HOST, _DEVICE, _MANAGED = range(4)  # infinirtMemoryType
_DL_CPU, _DL_CUDA, _DL_CUDA_HOST, _DL_EXTENSION, _DL_CUDA_MANAGED = 1, 2, 3, 12, 13


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
        """One dimension of bytes, for consumers of CUDA memory; other devices' buffers do not have it."""
        if self.device.type != "nvidia":
            raise AttributeError(
                f"memory of {self.device} is no CUDA memory; use DLPack or the buffer protocol"
            )
        stream = self.stream
        return {
            "shape": (self.size,),
            "typestr": "|u1",
            "data": (self.ptr, self.is_read_only),
            "version": 3,
            "strides": None,
            "stream": None if stream is None or stream.is_closed else int(stream),
        }

    def __array__(self, dtype: object = None, copy: bool | None = None) -> object:
        """What NumPy asks for where the host cannot reach the memory, to be told so; otherwise it reads in place, as bytes."""
        view = memoryview(self)  # raises, and says what to do instead
        import numpy

        array = numpy.asarray(view, dtype=dtype)  # type: ignore[call-overload]
        return array.copy() if copy and numpy.may_share_memory(array, view) else array

    def _dlpack_copy(self, device_type: int, device_id: int) -> Buffer:
        """A copy on the device that a DLPack consumer asked for; its work is done."""
        if device_type == _DL_CPU and device_id == 0:
            if self.is_host_accessible:
                target = self.device.allocate(self.size)
            else:
                from .memory import PinnedResource

                target = PinnedResource(self.device).allocate(self.size)
        elif device_type == _DL_CUDA:
            target = Device(f"nvidia:{device_id}").allocate(self.size)
        else:
            raise BufferError(
                f"__dlpack__: there is no way from {self.device} to DLPack device ({device_type}, {device_id})"
            )
        stream = _core.resolve_stream(
            self.stream if self.stream and not self.stream.is_closed else None, self.device
        )
        self.copy_to(target, stream=stream)
        stream.sync()
        return target

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


def from_dlpack(source: object, *, stream: Stream | IsStreamType | None = None) -> Buffer:
    """A Buffer on the memory of any object with `__dlpack__`, without a copy.

    The object must be contiguous. Work on `stream` (by default the device's default stream) may use it at once.

    >>> import numpy, infinirt
    >>> array = numpy.arange(4, dtype="int16")
    >>> infinirt.from_dlpack(array).size
    8
    """
    device_type, device_id = source.__dlpack_device__()  # type: ignore[attr-defined]
    device, consumer = _dlpack_target(device_type, device_id, stream)
    capsule = _dlpack_capsule(source, consumer)
    ptr, size, _, _, read_only, owner = _core.import_dlpack(capsule)
    order = None if consumer is None else _core.resolve_stream(stream, device)
    return _core.wrap_buffer(ptr, size, device, None, order, owner, read_only)


def _dlpack_target(
    device_type: int, device_id: int, stream: Stream | IsStreamType | None
) -> tuple[Device, int | None]:
    """The device of ours, and what the producer is told about the stream that will use the memory."""
    if device_type in (_DL_CPU, _DL_CUDA_HOST):
        current = Device()
        return (current if current.type.startswith("cpu") else Device("cpu")), None
    if device_type in (_DL_CUDA, _DL_CUDA_MANAGED):
        device = Device(f"nvidia:{device_id}")
        return device, int(_core.resolve_stream(stream, device))
    if device_type == _DL_EXTENSION:
        current = Device()
        device = Device(f"{current.type}:{device_id}")
        return device, int(_core.resolve_stream(stream, device))
    raise BufferError(
        f"memory of DLPack device ({device_type}, {device_id}) cannot be used by any device type here"
    )


def _dlpack_capsule(source: object, consumer: int | None) -> object:
    produce = source.__dlpack__  # type: ignore[attr-defined]
    keywords: dict[str, object] = {} if consumer is None else {"stream": consumer}
    try:
        return produce(max_version=(1, 0), **keywords)
    except TypeError:  # producers from before DLPack 1.0 do not know max_version
        return produce(**keywords)
