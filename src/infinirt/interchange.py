"""Memory of other libraries as Buffers, without copies: DLPack, CUDA arrays, the buffer protocol."""

from __future__ import annotations

from math import prod

from . import _core
from .buffer import Buffer
from .device import Device
from .errors import InfiniRTError

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would cost more than this package
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ._protocols import IsStreamType
    from .stream import Stream

__all__ = ["as_buffer", "from_dlpack"]


def as_buffer(source: object, *, stream: Stream | IsStreamType | None = None) -> Buffer:
    """A Buffer on the memory of any object that shares its memory, without a copy; of a Buffer, itself.

    The object has `__dlpack__`, `__cuda_array_interface__` or the buffer protocol, which are tried in this order, and is
    contiguous. It lives as long as the Buffer and the work on it. Work on `stream` (by default the device's default
    stream) may use the memory at once.

    >>> import infinirt
    >>> data = bytearray(b"abc")
    >>> buffer = infinirt.as_buffer(data)
    >>> buffer[0:1].copy_from(b"A")
    >>> infinirt.synchronize("cpu")
    >>> data
    bytearray(b'Abc')
    """
    if isinstance(source, Buffer):
        if stream is not None:
            _core.order_after(stream, source)
        return source
    if hasattr(source, "__dlpack__"):
        return from_dlpack(source, stream=stream)
    description = getattr(source, "__cuda_array_interface__", None)
    if description is not None:
        return _from_cuda_array(source, description, stream)
    try:
        return _core.import_host_memory(source)
    except TypeError:
        raise TypeError(
            "as_buffer() takes a Buffer or an object with __dlpack__, __cuda_array_interface__ or the buffer protocol, "
            f"not {type(source).__name__}"
        ) from None


def from_dlpack(source: object, *, stream: Stream | IsStreamType | None = None) -> Buffer:
    """A Buffer on the memory of any object with `__dlpack__`, without a copy.

    The object must be contiguous. Work on `stream` (by default the device's default stream) may use it at once. Where the
    object's class offers the C functions of DLPack 1.3, they are used, and no method of the object is called.

    >>> import numpy, infinirt
    >>> array = numpy.arange(4, dtype="int16")
    >>> infinirt.from_dlpack(array).size
    8
    """
    made = _core.from_exchange(source, stream)
    if made is not None:
        return made
    device_type, device_id = source.__dlpack_device__()  # type: ignore[attr-defined]
    consumer = _core.dlpack_stream(device_type, device_id, stream)
    return _core.import_dlpack(_capsule(source, consumer), stream)


def _capsule(source: object, consumer: int | None) -> object:
    produce = source.__dlpack__  # type: ignore[attr-defined]
    keywords: dict[str, object] = {} if consumer is None else {"stream": consumer}
    try:
        return produce(max_version=(1, 3), **keywords)
    except TypeError:  # producers from before DLPack 1.0 do not know max_version
        return produce(**keywords)


def _from_cuda_array(source: object, description: object, stream: Stream | IsStreamType | None) -> Buffer:
    """A Buffer on what `__cuda_array_interface__`, version 3 or older, describes."""
    where = f"__cuda_array_interface__ of {type(source).__name__}"
    try:
        pointer, read_only = description["data"]  # type: ignore[index]
        shape, typestr = tuple(description["shape"]), description["typestr"]  # type: ignore[index]
        strides, mask, producer = (description.get(key) for key in ("strides", "mask", "stream"))  # type: ignore[attr-defined]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BufferError(f"{where} is not as described by its version 3: {error!r}") from None
    item = _item_size(typestr)
    if item is None:
        raise BufferError(f"{where}: elements of type {typestr!r} have no size in bytes")
    if mask is not None:
        raise BufferError(f"{where} has a mask; apply it first")
    if not _is_compact(shape, strides, item):
        raise BufferError(f"{where}: the array is not contiguous; make a contiguous copy first")
    size = prod(shape) * item
    device = _cuda_device(where, pointer, size)
    order = _core.resolve_stream(stream, device)
    if producer is not None:
        if producer == 0:
            raise BufferError(
                f"{where}: stream 0 has no meaning; 1 is the legacy stream, 2 the per-thread one, None asks for no order"
            )
        if producer != order.handle:
            order.wait(_core.wrap_stream(producer, device, source))
    return _core.wrap_buffer(pointer, size, device, None, order, source, bool(read_only))


def _cuda_device(where: str, pointer: int, size: int) -> Device:
    """The GPU that reaches the memory. Nothing says so of a fake: the driver is asked."""
    try:
        device: Device | None = Device("nvidia")  # also loads what knows the addresses
    except InfiniRTError as error:
        raise BufferError(f"{where} offers CUDA memory, and there is no GPU to use it: {error}") from error
    if size:
        device = _core.pointer_device(pointer)
    if device is None or device.type != "nvidia":
        what = "memory that no GPU knows" if device is None else f"memory of {device}"
        raise BufferError(f"{where}: {pointer:#x} is {what}, not CUDA memory")
    return device


def _item_size(typestr: object) -> int | None:
    """The bytes of an element; a type string is a byte order, a kind and a number of bytes, of characters for kind U."""
    if not isinstance(typestr, str):
        return None
    kind, number = typestr[1:2], typestr[2:]
    if not number.isdecimal() or kind in "tO":
        return None
    return int(number) * (4 if kind == "U" else 1)


def _is_compact(shape: Sequence[int], strides: Sequence[int] | None, item: int) -> bool:
    if strides is None or 0 in shape:
        return True
    if len(strides) != len(shape):
        return False
    expected = item
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != expected:
            return False
        expected *= extent
    return True
