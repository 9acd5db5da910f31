"""Tensors between devices, NumPy and others: who waits for whom, and who keeps which memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import infinirt

from . import _core
from .dtype import to_numpy_dtype

if TYPE_CHECKING:
    import numpy

    from .tensor import Tensor

_DL_CPU, _DL_CUDA = 1, 2


def bytes_of(tensor: Tensor) -> infinirt.Buffer:
    """The memory of a contiguous tensor as a Buffer."""
    size = tensor.numel() * tensor.dtype.itemsize
    owner = tensor._owner
    if isinstance(owner, infinirt.Buffer) and size:
        begin = tensor.data_ptr() - owner.ptr
        return owner[begin : begin + size]
    return _unnoted_bytes_of(tensor)


def _unnoted_bytes_of(tensor: Tensor) -> infinirt.Buffer:
    """The same for work that others are ordered behind already: nobody notes it, so freeing the memory waits for no more than that."""
    size = tensor.numel() * tensor.dtype.itemsize
    device = tensor._place.stream.device
    return infinirt.Buffer.from_handle(tensor.data_ptr(), size, owner=tensor, device=device)


def copy_between(dst: Tensor, src: Tensor) -> None:
    """Copies from one place to another; the type is converted where the elements come from."""
    for tensor in (dst, src):
        if tensor._place.is_recording:
            raise RuntimeError(
                f"a copy from {src.device} to {dst.device} cannot be recorded; make it before the recording, or into an "
                "input before run()"
            )
    from ._views import broadcast

    shape, _ = broadcast(src.shape, src.stride(), dst.shape)
    if dst.numel() == 0:
        return
    ready = src.broadcast_to(shape).to(dst.dtype).contiguous()
    target = dst if dst.is_contiguous() else _core.empty(dst._place, dst.dtype, shape)
    here, there = src._place.stream, dst._place.stream
    cpu, other = (here, there) if here.device.type == "cpu" else (there, here)
    if {here.device.type, there.device.type} == {"cpu", "nvidia"}:
        # To NVIDIA's library the CPU device's memory is pageable: its copies return when they are done with it, unless it is page-locked
        # after all, or the GPU reaches all memory.
        cpu.sync()
        _unnoted_bytes_of(ready).copy_to(_unnoted_bytes_of(target), stream=other)
        other.sync()
    else:
        # The host's device copies in the order of its stream without anybody waiting.
        cpu.wait(other)
        _unnoted_bytes_of(ready).copy_to(_unnoted_bytes_of(target), stream=cpu)
        other.wait(cpu)  # neither reads what is not there, nor frees or writes over what is still read
    if target is not dst:
        dst.copy_(target)
    if dst._is_shared or src._is_shared:
        dst._place.sync()


def copy_from_host(place: _core.Place, array: numpy.ndarray[Any, Any], dtype: _core.dtype) -> Tensor:
    """A tensor with the elements of a contiguous array of that type."""
    import numpy

    # Not from a recording's reserve: these elements are there before the graph runs, and must stay.
    buffer = place.pool.allocate(array.nbytes, stream=place.stream)
    if array.nbytes:
        buffer.copy_from(array.reshape(-1).view(numpy.uint8), stream=place.stream)
    strides = [stride // dtype.itemsize for stride in array.strides]
    return _core.wrap(
        place, dtype, array.shape, strides, buffer.ptr if array.nbytes else 0, buffer, False, False
    )


class _Memory:
    """A tensor's memory as NumPy's array interface describes it; keeps the tensor."""

    def __init__(self, tensor: Tensor, address: int) -> None:
        item = tensor.dtype.itemsize
        self.tensor = tensor
        self.__array_interface__ = {
            "version": 3,
            "shape": tuple(tensor.shape),
            "strides": tuple(stride * item for stride in tensor.stride()),
            "typestr": f"|V{item}",
            "data": (address, False),
        }


def _host_reaches(tensor: Tensor) -> bool:
    if tensor._place.stream.device.type != "cpu":
        return False
    owner = tensor._owner
    return not isinstance(owner, infinirt.Buffer) or owner.is_host_accessible


def check_readable(tensor: Tensor, *, shares: bool = False) -> None:
    """RuntimeError for elements that exist only when a graph has run, or that only a recorded copy could get here. Who `shares` the memory
    may do so before the first run, and sees them afterwards."""
    if tensor._is_recorded:
        raise RuntimeError(
            "the tensor was made by this recording: it has elements when the recording has ended and the graph has run"
        )
    if tensor._waits_for_run and not shares:
        raise RuntimeError(
            "the tensor was made by a recording whose graph has not run: it has elements after graph.run()"
        )
    if tensor._place.is_recording and not _host_reaches(tensor) and not tensor.is_contiguous():
        raise RuntimeError(
            "a strided tensor cannot be read from the device while this thread records there: that would be recorded, too; "
            "read it before, or contiguous() it before"
        )


def as_numpy(tensor: Tensor, share: bool) -> numpy.ndarray[Any, Any]:
    """An array of the tensor's elements, whose work is done. With `share` in the same memory where the host reaches it."""
    import numpy

    dtype = to_numpy_dtype(tensor.dtype)
    check_readable(tensor, shares=share and _host_reaches(tensor))
    if tensor.numel() == 0:
        return numpy.empty(tensor.shape, dtype)
    if _host_reaches(tensor):
        tensor._place.sync()
        raw: numpy.ndarray[Any, Any] = numpy.asarray(_Memory(tensor, tensor.data_ptr())).view(dtype)
        if not share:
            return numpy.array(raw)
        tensor._share()
        return raw
    array = numpy.empty(tensor.shape, dtype)
    place = tensor._place
    bytes_of(tensor.contiguous()).copy_to(array.reshape(-1).view(numpy.uint8), stream=place.stream)
    place.sync()
    return array


def dlpack_device(tensor: Tensor) -> tuple[int, int]:
    """What the tensor's memory is to others."""
    owner = tensor._owner
    if isinstance(owner, infinirt.Buffer):
        return owner.__dlpack_device__()
    device = tensor._place.stream.device
    return (_DL_CPU, 0) if device.type == "cpu" else (_DL_CUDA, device.ordinal)


def to_dlpack(
    tensor: Tensor,
    stream: int | None,
    max_version: tuple[int, int] | None,
    dl_device: tuple[int, int] | None,
    copy: bool | None,
) -> object:
    """A DLPack capsule. Memory of the host is handed over when its work is done, other memory in the order of `stream`."""
    check_readable(tensor, shares=True)
    device = dlpack_device(tensor)
    if dl_device is not None and tuple(dl_device) != device:
        if tuple(dl_device) != (_DL_CPU, 0) or copy is False:
            raise BufferError(
                f"the tensor's memory is DLPack device {device}, not {tuple(dl_device)}; .to() it first"
            )
        tensor, device, copy = tensor.to(device="cpu"), (_DL_CPU, 0), None
    elif copy:
        tensor = tensor.clone()
    if device[0] == _DL_CPU:
        if stream is not None:
            raise BufferError("__dlpack__: stream must be None for memory of the CPU")
        tensor._place.sync()
        tensor._share()
    elif stream != -1:
        own = tensor._place.stream
        infinirt.Stream.from_handle(1 if stream is None else stream, own.device).wait(own)
    versioned = max_version is not None and max_version[0] >= 1
    return _core.export_dlpack(tensor, device[0], device[1], versioned)
