"""as_buffer(): whatever shares its memory, as a Buffer."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import weakref

import numpy as np
import pytest
from objects_support import busy, run_python

import infinirt
from dlpack_support import Producer


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device("cpu")


class CudaArray:
    """Anything at all as an exporter of CUDA memory; what it says need not be true."""

    def __init__(self, **entries: object) -> None:
        self.memory = ctypes.create_string_buffer(64)
        self.__cuda_array_interface__ = {
            "shape": (4,),
            "typestr": "<f4",
            "data": (ctypes.addressof(self.memory), False),
            "version": 3,
            **entries,
        }


def test_a_buffer_is_one_already(device: infinirt.Device) -> None:
    own, other = device.create_stream(), device.create_stream()
    buffer = device.allocate(4, stream=own)
    assert infinirt.as_buffer(buffer) is buffer
    with busy(own):
        buffer.fill(1, stream=own)
        assert infinirt.as_buffer(buffer, stream=other) is buffer
        assert not other.query()
    other.sync()


@pytest.mark.parametrize(
    "source",
    [b"bytes", bytearray(b"bytes"), memoryview(b"bytes"), array.array("b", b"bytes"), mmap.mmap(-1, 5)],
    ids=lambda source: type(source).__name__,
)
def test_the_buffer_protocol(source: object) -> None:
    buffer = infinirt.as_buffer(source)
    view = memoryview(source)  # type: ignore[arg-type]
    assert (bytes(buffer), buffer.is_read_only) == (bytes(view), view.readonly)
    assert (buffer.device.type, buffer.stream, buffer.memory_resource) == ("cpu", None, None)
    if not view.readonly:
        buffer.copy_from(b"BYTES")
        infinirt.synchronize("cpu")
        assert bytes(view) == b"BYTES"
    del view, buffer


def test_the_source_is_held_fast_meanwhile() -> None:
    data = bytearray(b"abc")
    buffer = infinirt.as_buffer(data)
    with pytest.raises(BufferError):
        data.append(0)  # the memory would move
    buffer.close()
    data.append(0)

    class Held(bytearray):
        pass

    source = Held(b"abc")
    gone = weakref.ref(source)
    buffer = infinirt.as_buffer(source)
    del source
    gc.collect()
    assert bytes(buffer) == b"abc"
    del buffer
    gc.collect()
    assert gone() is None


def test_memory_that_is_not_contiguous() -> None:
    with pytest.raises(BufferError, match="contiguous"):
        infinirt.as_buffer(memoryview(b"abcdef")[::2])
    with pytest.raises(BufferError, match="contiguous"):
        infinirt.as_buffer(np.zeros((4, 4)).T)


def test_dlpack_comes_first() -> None:
    both = np.arange(4, dtype="int32")
    buffer = infinirt.as_buffer(both)
    assert (buffer.ptr, buffer.size) == (both.ctypes.data, 16)
    assert "dlpack" in repr(buffer.owner)

    class Both(Producer):
        __cuda_array_interface__ = "nonsense"

    memory = ctypes.create_string_buffer(b"dlpack", 6)
    assert bytes(infinirt.as_buffer(Both(memory, (6,)))) == b"dlpack"


@pytest.mark.peer("torch")
def test_torch_tensors() -> None:
    import torch

    tensor = torch.arange(4)
    assert infinirt.as_buffer(tensor).ptr == tensor.data_ptr()


def test_what_shares_nothing() -> None:
    for source in (7, "text", object(), None):
        with pytest.raises(TypeError, match="__dlpack__, __cuda_array_interface__ or the buffer protocol"):
            infinirt.as_buffer(source)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"data": 5}, "version 3"),
        ({"shape": 7}, "version 3"),
        ({"typestr": "<t4"}, "<t4"),
        ({"typestr": "|O8"}, "|O8"),
        ({"typestr": 4}, "no size"),
        ({"mask": object()}, "mask"),
        ({"strides": (8,)}, "contiguous"),
        ({"strides": (4, 4)}, "contiguous"),
        ({"shape": (2, 2), "strides": (4, 8)}, "contiguous"),
    ],
    ids=str,
)
def test_cuda_arrays_that_cannot_be_used(entries: dict[str, object], message: str) -> None:
    with pytest.raises(BufferError, match=message) as raised:
        infinirt.as_buffer(CudaArray(**entries))
    assert "CudaArray" in str(raised.value)


def test_cuda_arrays_without_a_description() -> None:
    source = CudaArray()
    source.__cuda_array_interface__ = 7  # type: ignore[assignment]
    with pytest.raises(BufferError, match="version 3"):
        infinirt.as_buffer(source)


def test_memory_of_the_host_is_no_cuda_memory() -> None:
    """With a GPU because nobody knows the address there, without one because there is nobody to ask."""
    with pytest.raises(BufferError, match=r"no GPU knows|there is no GPU to use it"):
        infinirt.as_buffer(CudaArray())
    memory = infinirt.Device("cpu").allocate(16)
    with pytest.raises(BufferError, match=r"there is no GPU to use it|memory of cpu:0"):
        infinirt.as_buffer(CudaArray(data=(memory.ptr, False)))


def test_no_gpu_is_said_with_its_reason() -> None:
    out = run_python(
        """
        import infinirt

        class Array:
            __cuda_array_interface__ = {"shape": (0,), "typestr": "|u1", "data": (0, False), "version": 3}

        try:
            infinirt.as_buffer(Array())
        except BufferError as error:
            print(error)
        """,
        INFINIRT_DEVICE="cpu",
        INFINIRT_VISIBLE_DEVICES="cpu:0",
    )
    assert "there is no GPU to use it: " in out
    assert "nvidia" in out
