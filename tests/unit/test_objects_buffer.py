"""Buffer: copies, fills, views, order of frees."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref

import numpy as np
import pytest
from objects_support import PATIENCE, TYPE, busy, contents

import infinirt


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device(TYPE)


@pytest.fixture
def stream(device: infinirt.Device) -> infinirt.Stream:
    return device.create_stream()


def test_allocate(device: infinirt.Device, stream: infinirt.Stream) -> None:
    buffer = device.allocate(100, stream=stream)
    assert (buffer.size, len(buffer), buffer.device, buffer.stream) == (100, 100, device, stream)
    assert buffer.ptr == buffer.handle != 0
    assert buffer.memory_resource is device.memory_resource
    assert device.allocate(5).stream == device.default_stream
    assert device.allocate(0).size == 0
    assert contents(device.allocate(0)) == b""


@pytest.mark.parametrize("size", [-1, 1 << 64, 1 << 70])
def test_impossible_sizes(device: infinirt.Device, size: int) -> None:
    with pytest.raises(ValueError):
        device.allocate(size)


def test_wrong_arguments(device: infinirt.Device) -> None:
    with pytest.raises(TypeError):
        device.allocate("8")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="size"):
        device.allocate()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional"):
        device.allocate(8, None)  # type: ignore[misc]
    with pytest.raises(infinirt.OutOfMemoryError):
        device.allocate(1 << 62)
    with pytest.raises(TypeError, match="allocate"):
        infinirt.Buffer()


def test_copies_between_buffers_and_arrays(device: infinirt.Device, stream: infinirt.Stream) -> None:
    source = np.arange(1000, dtype="float32")
    buffer = device.allocate(source.nbytes, stream=stream)
    buffer.copy_from(source, stream=stream)
    other = buffer.copy_to(stream=stream)
    assert other.size == buffer.size
    result = np.zeros_like(source)
    assert other.copy_to(result, stream=stream) is result
    stream.sync()
    np.testing.assert_array_equal(result, source)


def test_copies_need_equal_sizes(device: infinirt.Device) -> None:
    with pytest.raises(infinirt.InvalidValueError, match="4 bytes, the destination 8"):
        device.allocate(8).copy_from(b"1234")
    with pytest.raises(BufferError):
        device.allocate(4).copy_to(b"1234")
    with pytest.raises(ValueError, match="do not lie side by side"):
        device.allocate(4).copy_from(np.zeros(8, "uint8")[::2])


def test_read_only_arrays_are_no_destination(device: infinirt.Device) -> None:
    target = np.zeros(16, np.uint8)
    target.flags.writeable = False
    with pytest.raises(ValueError, match=r"dst, an object of 'numpy\.ndarray', is read-only"):
        device.allocate(16).copy_to(target)


@pytest.mark.parametrize("size", [1, 16, 1000, 100_000])
@pytest.mark.parametrize("pattern", [b"\x07", b"ab", b"abcd", b"12345678", b"zzzz"])
def test_fill(device: infinirt.Device, stream: infinirt.Stream, size: int, pattern: bytes) -> None:
    buffer = device.allocate(size * len(pattern), stream=stream)
    buffer.fill(pattern, stream=stream)
    stream.sync()
    assert contents(buffer) == pattern * size


def test_what_is_no_memory_is_refused_with_a_hint(device: infinirt.Device) -> None:
    with device.allocate(16) as buffer:
        with pytest.raises(TypeError, match=r"fill\(\) takes a byte.*not 'float'; numpy.float32"):
            buffer.fill(1.0)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"src must be a Buffer.*, not list; numpy.asarray"):
            buffer.copy_from([1, 2, 3])  # type: ignore[arg-type]


def test_fill_by_number_and_errors(device: infinirt.Device) -> None:
    buffer = device.allocate(6)
    buffer.fill(255)
    assert contents(buffer) == b"\xff" * 6
    buffer.fill(np.int16(513))
    assert np.frombuffer(contents(buffer), "int16").tolist() == [513] * 3
    for wrong in (256, -1, b"abcd", b""):
        with pytest.raises(infinirt.InvalidValueError):
            buffer.fill(wrong)
    with pytest.raises(TypeError):
        buffer.fill(1.5)


def test_slices_are_views(device: infinirt.Device) -> None:
    buffer = device.allocate(10)
    buffer.fill(0)
    part = buffer[2:5]
    assert (part.size, part.ptr, part.owner, part.memory_resource) == (
        3,
        buffer.ptr + 2,
        buffer,
        buffer.memory_resource,
    )
    part.copy_from(b"xyz")
    part[1:2].fill(ord("-"))
    assert contents(buffer) == b"\0\0x-z\0\0\0\0\0"
    assert buffer[8:100].size == 2
    with pytest.raises(ValueError, match="contiguous"):
        buffer[::2]
    with pytest.raises(TypeError, match="sliced"):
        buffer[0]  # type: ignore[index]
    gone = weakref.ref(buffer)
    del buffer
    assert gone() is not None
    del part
    gc.collect()
    assert gone() is None


def test_views_of_a_closed_buffer_are_closed(device: infinirt.Device) -> None:
    buffer = device.allocate(10)
    part = buffer[1:2]
    buffer.close()
    with pytest.raises(infinirt.InvalidValueError, match="closed"):
        part.fill(1)


def test_views_can_be_closed(device: infinirt.Device) -> None:
    buffer = device.allocate(10)
    view = buffer[1:3]
    view.close()
    assert view.is_closed
    assert view.memory_resource is buffer.memory_resource
    with pytest.raises(infinirt.InvalidValueError, match="closed"):
        view.fill(1)
    buffer.close()
    assert buffer.is_closed


def test_default_stream_of_operations_is_the_buffers_own(
    device: infinirt.Device, stream: infinirt.Stream
) -> None:
    buffer = device.allocate(4, stream=stream)
    with busy(stream):
        buffer.fill(1)
        event = stream.record()
        assert not event.is_done
    assert contents(buffer) == b"\1" * 4


def test_memory_is_freed_after_every_stream_that_used_it(device: infinirt.Device) -> None:
    """The freed block must not be handed out again while another stream still works on it."""
    pool = infinirt.MemoryPool(device)
    first, second = device.create_stream(), device.create_stream()
    buffer = pool.allocate(1 << 20, stream=first)
    source = infinirt.PinnedPool(device).allocate(1 << 20)
    source.fill(7)
    device.sync()
    gate = threading.Event()
    buffer.fill(5, stream=first)
    second.wait(first)
    second.launch_host_func(gate.wait, PATIENCE)
    buffer.copy_to(source, stream=second)
    address = buffer.ptr
    del buffer
    again = pool.allocate(1 << 20, stream=first)
    again.fill(6, stream=first)
    done = first.record()
    if again.ptr == address:
        assert not done.is_done  # the first stream waits for the second
    gate.set()
    device.sync()
    assert bytes(source[0:4]) == b"\5" * 4


def test_record_stream_delays_the_free(device: infinirt.Device) -> None:
    first, second = device.create_stream(), device.create_stream()
    buffer = device.allocate(1 << 16, stream=first)
    with busy(second):
        buffer.record_stream(second)
        del buffer
        marker = first.record()
        assert not marker.is_done  # the free made the first stream wait for the second
    marker.sync()


def test_close_on_another_stream(device: infinirt.Device) -> None:
    first, second = device.create_stream(), device.create_stream()
    buffer = device.allocate(1 << 16, stream=first)
    with busy(second):
        buffer.close(second)
        assert first.query()  # the free is the second stream's business
    second.sync()


def test_memory_of_a_closed_stream_is_freed(device: infinirt.Device) -> None:
    pool = infinirt.MemoryPool(device)
    stream = device.create_stream()
    buffer = pool.allocate(1 << 16, stream=stream)
    stream.close()
    del buffer
    device.sync()
    assert pool.attributes.used_mem_current == 0


def test_memory_of_a_closed_stream_is_freed_after_its_work(device: infinirt.Device) -> None:
    pool = infinirt.MemoryPool(device)
    target = infinirt.PinnedPool(device).allocate(1 << 16)
    other, stream = device.create_stream(), device.create_stream()
    buffer = pool.allocate(1 << 16, stream=stream)
    buffer.fill(3, stream=stream)
    gate = threading.Event()
    stream.launch_host_func(gate.wait, PATIENCE)
    buffer.copy_to(target, stream=stream)
    stream.close()
    del buffer
    again = pool.allocate(1 << 16, stream=other)
    again.fill(4, stream=other)
    gate.set()
    device.sync()
    assert bytes(target) == b"\3" * (1 << 16)


def test_memory_of_another_threads_default_stream(device: infinirt.Device) -> None:
    """A per-thread stream cannot be named by other threads; memory used there, freed here, is still freed in order."""
    pool = infinirt.MemoryPool(device)
    target = infinirt.PinnedPool(device).allocate(1 << 16)
    gate, enqueued, leave = threading.Event(), threading.Event(), threading.Event()
    made: list[infinirt.Buffer] = []

    def work() -> None:
        mine = infinirt.PER_THREAD_DEFAULT_STREAM
        with device:
            buffer = pool.allocate(1 << 16, stream=mine)
            buffer.fill(3, stream=mine)
            mine.launch_host_func(gate.wait, PATIENCE)
            buffer.copy_to(target, stream=mine)
            made.append(buffer)
            del buffer
        enqueued.set()
        leave.wait(PATIENCE)

    thread = threading.Thread(target=work)
    thread.start()
    assert enqueued.wait(PATIENCE)
    made.clear()  # the last reference, on this thread
    stream = device.create_stream()
    again = pool.allocate(1 << 16, stream=stream)
    again.fill(4, stream=stream)
    gate.set()
    leave.set()
    thread.join()
    device.sync()
    assert bytes(target) == b"\3" * (1 << 16)


def test_nothing_leaks(device: infinirt.Device, stream: infinirt.Stream) -> None:
    pool = infinirt.MemoryPool(device)
    for _ in range(1000):
        buffer = pool.allocate(4096, stream=stream)
        buffer.fill(0, stream=stream)
    del buffer
    stream.sync()
    assert pool.attributes.used_mem_current == 0
    assert pool.attributes.reserved_mem_high <= 1 << 26


def test_buffers_in_garbage_cycles_are_given_back(device: infinirt.Device) -> None:
    """The collector takes the resource apart together with the buffer; the memory goes back before."""
    device_pool = infinirt.MemoryPool(device)

    class Knot:
        pass

    knot = Knot()
    knot.self = knot  # type: ignore[attr-defined]
    knot.resource = infinirt.TrackingResource(infinirt.CachingResource(device_pool))  # type: ignore[attr-defined]
    knot.buffers = [knot.resource.allocate(100), device_pool.allocate(100)]  # type: ignore[attr-defined]
    del knot
    gc.collect()
    device.sync()
    gc.collect()
    device.sync()
    assert device_pool.attributes.used_mem_current == 0


def test_from_handle_keeps_its_owner(device: infinirt.Device) -> None:
    data = (ctypes.c_char * 8)(*b"abcdefgh")
    buffer = infinirt.Buffer.from_handle(ctypes.addressof(data), 8, owner=data, device=device)
    gone = weakref.ref(data)
    del data
    assert contents(buffer) == b"abcdefgh"
    assert buffer.memory_resource is None
    buffer.close()
    assert gone() is None


def test_from_handle_gives_back_to_its_resource(device: infinirt.Device, stream: infinirt.Stream) -> None:
    calls: list[tuple[int, int, infinirt.Stream]] = []

    class Resource(infinirt.MemoryResource):
        def deallocate(self, ptr: int, size: int, *, stream: infinirt.Stream) -> None:  # type: ignore[override]
            calls.append((ptr, size, stream))

    resource = Resource()
    buffer = infinirt.Buffer.from_handle(4096, 16, resource, stream=stream, device=device)
    del buffer
    assert calls == [(4096, 16, stream)]
    with pytest.raises(ValueError, match="not both"):
        infinirt.Buffer.from_handle(1, 1, resource, owner=calls)


def test_read_only_memory_is_not_written(device: infinirt.Device) -> None:
    data = ctypes.create_string_buffer(b"abc")
    buffer = infinirt.Buffer.from_handle(ctypes.addressof(data), 3, owner=data, device=device, read_only=True)
    assert buffer.is_read_only
    assert buffer[0:1].is_read_only
    with pytest.raises(infinirt.InvalidValueError, match="read-only"):
        buffer.fill(0)
    with pytest.raises(infinirt.InvalidValueError, match="read-only"):
        buffer.copy_from(b"xyz")
    assert memoryview(buffer).readonly
