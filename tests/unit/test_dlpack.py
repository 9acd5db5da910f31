"""DLPack in both directions."""

from __future__ import annotations

import ctypes
import gc
import textwrap
import threading
import weakref

import numpy as np
import pytest
from objects_support import PATIENCE, busy, run_python

import infinirt
from dlpack_support import CPU, Producer, Tensor, pointer_in, versioned_in
from infinirt import _core


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
    for asked, given in [((1, 0), (1, 0)), ((1, 3), (1, 3)), ((1, 9), (1, 3)), ((2, 0), (1, 3))]:
        capsule = buffer.__dlpack__(max_version=asked)
        versioned = versioned_in(capsule)
        assert (versioned.major, versioned.minor, versioned.flags) == (*given, 0)
        tensor = versioned.tensor
        assert (tensor.data, tensor.ndim, tensor.shape[0], tensor.strides[0]) == (buffer.ptr, 1, 24, 1)
        assert (tensor.code, tensor.bits, tensor.lanes, tensor.byte_offset) == (1, 8, 1, 0)
    assert "dltensor_versioned" not in repr(buffer.__dlpack__(max_version=(0, 8)))


def test_empty_memory_has_no_address(device: infinirt.Device) -> None:
    buffer = device.allocate(0)
    capsule = buffer.__dlpack__(max_version=(1, 3))
    tensor = versioned_in(capsule).tensor
    assert (tensor.data, tensor.ndim, tensor.shape[0]) == (None, 1, 0)
    again = infinirt.from_dlpack(buffer)
    assert (again.size, again.ptr, bytes(again)) == (0, 0, b"")


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


ISOLATED = """
import threading, infinirt
device = infinirt.Device("cpu")
own, other, consumer = (device.create_stream() for _ in range(3))
gate = threading.Event()


def pending():  # whether the consumer's stream has to wait, as it should
    waits = not consumer.query()
    gate.set()
    consumer.sync()
    gate.clear()
    return waits


"""


def isolated(code: str) -> list[str]:
    """Memory of an extension device has streams: they are handed over as those of a GPU are."""
    return run_python(
        ISOLATED + textwrap.dedent(code), INFINIRT_CPU_MEMORY="isolated", INFINIRT_DEVICE="cpu"
    ).split()


def test_a_consumers_stream_waits_for_every_stream_of_ours() -> None:
    said = isolated(
        """
        for used in (own, other):
            buffer = device.allocate(4, stream=own)
            device.sync()
            used.launch_host_func(gate.wait, 30)
            buffer.fill(1, stream=used)
            buffer.__dlpack__(stream=consumer.handle)
            print(pending())
        buffer = device.allocate(4, stream=own)
        device.sync()
        own.launch_host_func(gate.wait, 30)
        buffer.fill(1, stream=own)
        buffer.__dlpack__(stream=-1)
        buffer.__dlpack__(stream=own.handle)
        print(consumer.query())
        buffer.__dlpack__()  # None is the legacy stream
        print(device.default_stream.query())
        gate.set()
        """
    )
    assert said == ["True", "True", "True", "False"]


def test_a_consumers_stream_waits_for_closed_streams_and_graphs() -> None:
    said = isolated(
        """
        buffer = device.allocate(4, stream=own)
        device.sync()
        with device.create_stream() as closed:
            closed.launch_host_func(gate.wait, 30)
            buffer.fill(1, stream=closed)
        buffer.__dlpack__(stream=consumer.handle)
        print(pending())

        with infinirt.capture(other) as captured:
            buffer.fill(2, stream=other)
        graph = captured.graph.instantiate()
        other.launch_host_func(gate.wait, 30)
        graph.launch(other)
        threading.Timer(0.05, gate.set).start()
        buffer.__dlpack__(stream=consumer.handle)  # graphs are waited for by the host
        print(other.query())
        """
    )
    assert said == ["True", "True"]


def test_memory_handed_to_the_legacy_stream_is_freed_after_it() -> None:
    said = isolated(
        """
        buffer = device.allocate(4, stream=own)
        address = buffer.ptr
        capsule = buffer.__dlpack__(stream=1)
        device.default_stream.launch_host_func(gate.wait, 30)  # the consumer's work
        del capsule, buffer  # freed on its own stream, after that
        print(own.query())
        gate.set()
        device.sync()
        """
    )
    assert said == ["False"]


def test_streams_that_mean_nothing() -> None:
    said = isolated(
        """
        buffer = device.allocate(4)
        for stream in (0, -2, "1"):
            try:
                buffer.__dlpack__(stream=stream)
            except (ValueError, TypeError) as error:
                print(type(error).__name__)
        """
    )
    assert said == ["ValueError", "ValueError", "TypeError"]


def test_importing_names_the_stream_that_will_use_the_memory() -> None:
    said = isolated(
        """
        buffer = device.allocate(4, stream=own)
        device.sync()
        own.launch_host_func(gate.wait, 30)
        buffer.fill(1, stream=own)
        same = infinirt.from_dlpack(buffer, stream=consumer)
        print(same.stream == consumer, same.ptr == buffer.ptr, pending())
        """
    )
    assert said == ["True", "True", "True"]


def test_copies(device: infinirt.Device) -> None:
    buffer = device.allocate(4)
    buffer.copy_from(b"abcd")
    capsule = buffer.__dlpack__(copy=True, max_version=(1, 0))
    versioned = versioned_in(capsule)
    assert versioned.flags == 2
    assert versioned.tensor.data != buffer.ptr
    assert ctypes.string_at(versioned.tensor.data, 4) == b"abcd"
    assert np.from_dlpack(buffer, copy=True).ctypes.data != buffer.ptr
    assert np.from_dlpack(buffer, copy=False).ctypes.data == buffer.ptr
    buffer.__dlpack__(dl_device=CPU, copy=False)
    with pytest.raises(BufferError, match="copy=False"):
        buffer.__dlpack__(dl_device=(2, 0), copy=False)
    for device_type, number in [(8, 0), (1, 1), (2, 4095)]:
        with pytest.raises(BufferError, match=rf"\({device_type}, {number}\)"):
            buffer.__dlpack__(dl_device=(device_type, number))


def test_a_copy_comes_after_work_on_every_stream(device: infinirt.Device) -> None:
    own, other = device.create_stream(), device.create_stream()
    buffer = device.allocate(4, stream=own)
    with busy(other) as gate:
        buffer.fill(7, stream=other)
        threading.Timer(0.05, gate.set).start()
        capsule = buffer.__dlpack__(copy=True, max_version=(1, 0))
    assert ctypes.string_at(versioned_in(capsule).tensor.data, 4) == b"\7" * 4


def test_a_copy_comes_after_what_its_memory_was_used_for_before(device: infinirt.Device) -> None:
    size = 1 << 20
    buffer = device.allocate(size, stream=device.create_stream())
    buffer.fill(2)
    old = device.allocate(size)  # in the order of the default stream, as the copy's memory
    address = old.ptr
    with busy(device.default_stream) as gate:
        old.fill(1)
        del old
        threading.Timer(0.05, gate.set).start()
        capsule = buffer.__dlpack__(copy=True, max_version=(1, 3))
    device.sync()
    data = versioned_in(capsule).tensor.data
    assert data == address, "the pool gave other memory, and the test shows nothing"
    assert ctypes.string_at(data, size) == b"\2" * size


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


def test_a_tensor_that_cannot_be_used_stays_the_producers() -> None:
    memory = ctypes.create_string_buffer(16)
    future = Producer(memory, (16,), version=(2, 0))
    with pytest.raises(BufferError, match=r"version 2\.0"):
        infinirt.from_dlpack(future)
    strided = Producer(memory, (4, 2), strides=(4, 1))
    with pytest.raises(BufferError, match="contiguous"):
        infinirt.from_dlpack(strided)
    elsewhere = Producer(memory, (16,))
    elsewhere.managed.tensor.device_type = 8
    elsewhere.__dlpack_device__ = lambda: CPU  # type: ignore[method-assign]
    with pytest.raises(BufferError, match=r"\(8, 0\)"):
        infinirt.from_dlpack(elsewhere)
    assert (future.deleted, strided.deleted, elsewhere.deleted) == (0, 0, 0)


def test_what_is_contiguous() -> None:
    memory = ctypes.create_string_buffer(64)
    address = ctypes.addressof(memory)
    for shape, strides, size in [
        ((2, 3), (3, 1), 6),
        ((2, 1, 3), (3, 77, 1), 6),  # a stride of one element is never taken
        ((0, 4), (1, 9), 0),
        ((), (), 1),
        ((5,), None, 5),
    ]:
        producer = Producer(memory, shape, strides=strides, byte_offset=8)
        buffer = infinirt.from_dlpack(producer)
        assert (buffer.size, buffer.ptr) == (size, address + 8), shape
        assert producer.deleted == 0
        del buffer
        assert producer.deleted == 1


def test_elements_smaller_than_a_byte() -> None:
    memory = ctypes.create_string_buffer(64)
    assert infinirt.from_dlpack(Producer(memory, (5,), bits=4)).size == 3
    assert infinirt.from_dlpack(Producer(memory, (5,), bits=4, flags=4)).size == 5  # padded
    assert infinirt.from_dlpack(Producer(memory, (5,), bits=16, lanes=4)).size == 40


def test_the_owner_lives_until_our_work_is_done(device: infinirt.Device) -> None:
    """Also when the Buffer is gone: the memory is somebody else's, and he would give it to the next."""
    stream = device.create_stream()
    memory = device.allocate(64)
    address = memory.ptr
    for close in (False, True):
        producer = Producer((ctypes.c_char * 64).from_address(address), (64,))
        buffer = infinirt.from_dlpack(producer)
        with busy(stream):
            buffer.fill(1, stream=stream)
            if close:
                buffer.close()
            del buffer
            gc.collect()
            device.create_event()  # calls look whether something can be let go of
            assert producer.deleted == 0
        stream.sync()
        device.create_event()
        assert producer.deleted == 1


def test_the_owner_goes_at_once_when_nothing_is_pending(device: infinirt.Device) -> None:
    stream = device.create_stream()
    memory = device.allocate(64)
    producer = Producer((ctypes.c_char * 64).from_address(memory.ptr), (64,))
    buffer = infinirt.from_dlpack(producer)
    buffer.fill(1, stream=stream)
    stream.sync()
    buffer.close()
    assert producer.deleted == 1


def test_the_owner_outlives_closed_streams_and_other_threads(device: infinirt.Device) -> None:
    memory = device.allocate(64)
    producer = Producer((ctypes.c_char * 64).from_address(memory.ptr), (64,))
    buffer = infinirt.from_dlpack(producer)
    gate = threading.Event()

    def use(buffer: infinirt.Buffer) -> None:
        infinirt.PER_THREAD_DEFAULT_STREAM.launch_host_func(gate.wait, PATIENCE)
        buffer.fill(2, stream=infinirt.PER_THREAD_DEFAULT_STREAM)

    with device, device.create_stream() as closed:
        closed.launch_host_func(gate.wait, PATIENCE)
        buffer.fill(1, stream=closed)
    thread = threading.Thread(target=use, args=(buffer,))
    thread.start()
    thread.join()
    del buffer
    device.create_event()
    assert producer.deleted == 0
    gate.set()
    device.sync()
    device.create_event()
    assert producer.deleted == 1


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
    assert _core.import_dlpack(capsule, None).size == 4
    with pytest.raises(BufferError, match="unused"):
        _core.import_dlpack(capsule, None)


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
