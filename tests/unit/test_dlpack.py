"""DLPack in both directions."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref

import numpy as np
import pytest
from objects_support import PATIENCE, run_python

import infinirt
from infinirt import _core

CPU = (1, 0)


class Tensor(ctypes.Structure):
    """DLTensor, written down a second time so that the layout in the extension is checked."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


def pointer_in(capsule: object, name: bytes) -> int:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return int(get(capsule, name))


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device("cpu")


def test_numpy_reads_buffers_in_place(device: infinirt.Device) -> None:
    buffer = device.allocate(8)
    buffer.copy_from(b"abcdefgh")
    array = np.from_dlpack(buffer)
    assert array.dtype == np.uint8
    assert array.tobytes() == b"abcdefgh"
    assert array.ctypes.data == buffer.ptr
    buffer.fill(0)
    device.sync()
    assert array.tolist() == [0] * 8


def test_legacy_and_versioned_capsules(device: infinirt.Device) -> None:
    buffer = device.allocate(24)
    capsule = buffer.__dlpack__()
    legacy = Tensor.from_address(pointer_in(capsule, b"dltensor"))
    assert (legacy.device_type, legacy.device_id) == CPU
    capsule = buffer.__dlpack__(max_version=(1, 0))
    versioned = Versioned.from_address(pointer_in(capsule, b"dltensor_versioned"))
    assert (versioned.major, versioned.minor, versioned.flags) == (1, 0, 0)
    tensor = versioned.tensor
    assert (tensor.data, tensor.ndim, tensor.shape[0]) == (buffer.ptr, 1, 24)
    assert (tensor.code, tensor.bits, tensor.lanes, tensor.byte_offset) == (1, 8, 1, 0)
    assert not tensor.strides
    assert "dltensor_versioned" in repr(buffer.__dlpack__(max_version=(2, 3)))
    assert "dltensor_versioned" not in repr(buffer.__dlpack__(max_version=(0, 8)))


def test_unused_capsules_let_go(device: infinirt.Device) -> None:
    buffer = device.allocate(4)
    for version in (None, (1, 0)):
        capsule = buffer.__dlpack__(max_version=version)
        with pytest.raises(BufferError, match="views"):
            buffer.close()
        del capsule
    buffer.close()


def test_consumers_keep_the_buffer_alive(device: infinirt.Device) -> None:
    buffer = device.allocate(4)
    gone = weakref.ref(buffer)
    array = np.from_dlpack(buffer)
    del buffer
    gc.collect()
    assert gone() is not None
    del array
    gc.collect()
    assert gone() is None


def test_exporting_waits_for_pending_work(device: infinirt.Device) -> None:
    stream = device.create_stream()
    buffer = device.allocate(4, stream=stream)
    gate = threading.Event()
    stream.launch_host_func(gate.wait, PATIENCE)
    buffer.fill(1, stream=stream)
    threading.Timer(0.05, gate.set).start()
    assert np.from_dlpack(buffer).tolist() == [1] * 4


def test_streams_of_cpu_memory(device: infinirt.Device) -> None:
    buffer = device.allocate(4)
    for stream in (0, 1, 2, -1):
        with pytest.raises(BufferError, match="None"):
            buffer.__dlpack__(stream=stream)
    with pytest.raises(TypeError, match="keyword"):
        buffer.__dlpack__(None)  # type: ignore[misc]
    with pytest.raises(TypeError, match="max_version"):
        buffer.__dlpack__(max_version=1)  # type: ignore[arg-type]


def test_every_cpu_memory_is_the_one_cpu() -> None:
    out = run_python(
        """
        import numpy, infinirt
        for device in infinirt.devices("cpu"):
            print(device.allocate(4).__dlpack_device__(), infinirt.PinnedPool(device).allocate(4).__dlpack_device__())
        assert numpy.from_dlpack(infinirt.devices("cpu")[1].allocate(4)).shape == (4,)
        """,
        INFINIRT_CPU_DEVICES="2",
        INFINIRT_DEVICE="cpu",
    )
    assert out == "(1, 0) (1, 0)\n" * 2


def test_isolated_memory_is_an_extension_device_and_is_copied_on_request() -> None:
    out = run_python(
        """
        import infinirt
        buffer = infinirt.Device("cpu").allocate(4)
        buffer.copy_from(b"abcd")
        print(buffer.__dlpack_device__())
        import numpy
        print(numpy.from_dlpack(buffer, device="cpu").tobytes())
        """,
        INFINIRT_CPU_MEMORY="isolated",
        INFINIRT_DEVICE="cpu",
    )
    assert out.splitlines() == ["(12, 0)", "b'abcd'"]


def test_copies(device: infinirt.Device) -> None:
    buffer = device.allocate(4)
    buffer.copy_from(b"abcd")
    capsule = buffer.__dlpack__(copy=True, max_version=(1, 0))
    versioned = Versioned.from_address(pointer_in(capsule, b"dltensor_versioned"))
    assert versioned.flags == 2
    assert versioned.tensor.data != buffer.ptr
    assert ctypes.string_at(versioned.tensor.data, 4) == b"abcd"
    assert np.from_dlpack(buffer, copy=True).ctypes.data != buffer.ptr
    assert np.from_dlpack(buffer, copy=False).ctypes.data == buffer.ptr
    buffer.__dlpack__(dl_device=CPU, copy=False)
    with pytest.raises(BufferError, match="copy=False"):
        buffer.__dlpack__(dl_device=(2, 0), copy=False)
    with pytest.raises(BufferError, match=r"\(8, 0\)"):
        buffer.__dlpack__(dl_device=(8, 0))


@pytest.mark.parametrize("dtype", ["uint8", "float32", "complex128", "bool"])
def test_importing_numpy(dtype: str) -> None:
    array = np.zeros((3, 4), dtype)
    buffer = infinirt.from_dlpack(array)
    assert (buffer.ptr, buffer.size, buffer.device.type) == (array.ctypes.data, array.nbytes, "cpu")
    buffer.fill(1)
    infinirt.synchronize("cpu")
    assert array.tobytes() == b"\1" * array.nbytes
    assert buffer.memory_resource is None


def test_imported_memory_lives_with_the_buffer() -> None:
    array = np.arange(1000, dtype="uint8")
    gone = weakref.ref(array)
    buffer = infinirt.from_dlpack(array)
    del array
    gc.collect()
    assert bytes(buffer)[:5] == b"\0\1\2\3\4"
    part = buffer[1:3]
    del buffer
    assert bytes(part) == b"\1\2"
    del part
    gc.collect()
    assert gone() is None


def test_importing_what_cannot_be_used() -> None:
    with pytest.raises(BufferError, match="contiguous"):
        infinirt.from_dlpack(np.zeros((4, 4))[:, ::2])
    with pytest.raises(AttributeError):
        infinirt.from_dlpack(b"bytes")

    class Elsewhere:
        def __dlpack_device__(self) -> tuple[int, int]:
            return (8, 0)

    with pytest.raises(BufferError, match=r"\(8, 0\)"):
        infinirt.from_dlpack(Elsewhere())


def test_read_only_arrays_stay_read_only() -> None:
    array = np.arange(4, dtype="uint8")
    array.flags.writeable = False
    buffer = infinirt.from_dlpack(array)
    assert buffer.is_read_only
    with pytest.raises(infinirt.InvalidValueError, match="read-only"):
        buffer.fill(1)
    with pytest.raises(BufferError, match="max_version"):
        buffer.__dlpack__()
    assert not np.from_dlpack(buffer).flags.writeable


def test_producers_from_before_version_one(device: infinirt.Device) -> None:
    buffer = device.allocate(3)
    buffer.copy_from(b"old")

    class Old:
        def __dlpack_device__(self) -> tuple[int, int]:
            return CPU

        def __dlpack__(self, stream: int | None = None) -> object:
            return buffer.__dlpack__()

    assert bytes(infinirt.from_dlpack(Old())) == b"old"


def test_a_capsule_is_used_once(device: infinirt.Device) -> None:
    capsule = device.allocate(4).__dlpack__()
    assert _core.import_dlpack(capsule)[1] == 4
    with pytest.raises(BufferError, match="unused"):
        _core.import_dlpack(capsule)


def test_round_trip_between_buffers(device: infinirt.Device) -> None:
    buffer = device.allocate(100)
    same = infinirt.from_dlpack(buffer)
    assert (same.ptr, same.size) == (buffer.ptr, 100)
    with pytest.raises(BufferError, match="views"):
        buffer.close()
    same.close()
    buffer.close()


@pytest.mark.peer("torch")
def test_torch_shares_the_memory(device: infinirt.Device) -> None:
    import torch

    buffer = device.allocate(16)
    buffer.fill(2)
    tensor = torch.from_dlpack(buffer)
    assert tensor.data_ptr() == buffer.ptr
    assert tensor.tolist() == [2] * 16
    floats = torch.arange(6, dtype=torch.float32)
    assert infinirt.from_dlpack(floats).ptr == floats.data_ptr()
