"""Memory and streams of a GPU shared with others, in stream order. What blocks a stream is a gate, never a length of time.

Everything that is used behind a closed gate was used before it: memory is allocated and kernels are loaded outside."""

from __future__ import annotations

import ctypes
import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from gpu_support import cannot_run

import infinirt
from dlpack_support import (
    SET_ERROR,
    Exchange,
    Tensor,
    Versioned,
    delete,
    exchange_of,
    exported,
    imported,
    versioned_in,
)

pytestmark = pytest.mark.gpu

PATIENCE = 30  # seconds after which a gate opens by itself, so that a failing test ends
SIZE = 1 << 20
CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13


@pytest.fixture
def device() -> Iterator[infinirt.Device]:
    nvidia = infinirt.Device("nvidia")
    with nvidia:
        yield nvidia


@pytest.fixture
def streams(device: infinirt.Device) -> tuple[infinirt.Stream, infinirt.Stream, infinirt.Stream]:
    """Ours, another of ours, and the consumer's."""
    return device.create_stream(), device.create_stream(), device.create_stream()


@contextmanager
def gated(stream: infinirt.Stream) -> Iterator[threading.Event]:
    """The stream waits here until the event is set, at the end of the block at the latest."""
    gate = threading.Event()
    stream.launch_host_func(gate.wait, PATIENCE)
    try:
        yield gate
    finally:
        gate.set()


def filled(device: infinirt.Device, stream: infinirt.Stream, value: int = 0) -> infinirt.Buffer:
    buffer = device.allocate(SIZE, stream=stream)
    buffer.fill(value, stream=stream)
    device.sync()
    return buffer


def contents(buffer: infinirt.Buffer, stream: infinirt.Stream) -> set[int]:
    out = np.empty(buffer.size, "uint8")
    buffer.copy_to(out, stream=stream)
    stream.sync()
    return set(np.unique(out).tolist())


class Cuda:
    """An exporter of CUDA memory by description only, as arrays of Numba are."""

    def __init__(self, buffer: infinirt.Buffer, **entries: object) -> None:
        self.buffer = buffer
        self.__cuda_array_interface__ = {**buffer.__cuda_array_interface__, **entries}


class ByMethods:
    """An object whose class offers no table of C functions: only its methods are left."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor
        self.__dlpack__ = tensor.__dlpack__
        self.__dlpack_device__ = tensor.__dlpack_device__


# ---- DLPack, without anybody else ------------------------------------------------------------------------------------


def test_devices(device: infinirt.Device) -> None:
    number = device.ordinal
    for resource, expected in [
        (infinirt.DirectResource, (CUDA, number)),
        (infinirt.PinnedResource, (CUDA_HOST, 0)),
        (infinirt.ManagedResource, (CUDA_MANAGED, number)),
    ]:
        buffer = resource(device).allocate(SIZE)
        assert buffer.__dlpack_device__() == expected
        assert buffer[10:20].__dlpack_device__() == expected
        tensor = versioned_in(capsule := buffer.__dlpack__(max_version=(1, 3))).tensor
        assert (tensor.device_type, tensor.device_id, tensor.data) == (*expected, buffer.ptr)
        del capsule
    assert device.allocate(SIZE).__dlpack_device__() == (CUDA, number)
    assert device.allocate(0).__dlpack_device__() == (CUDA, number)
    with infinirt.Device("cpu"):  # whichever type is current
        assert device.allocate(SIZE).__dlpack_device__() == (CUDA, number)


@pytest.mark.parametrize("resource", [infinirt.PinnedResource, infinirt.ManagedResource])
def test_memory_that_the_host_reads(device: infinirt.Device, resource: Any) -> None:
    buffer = resource(device).allocate(SIZE)
    stream = device.create_stream()
    buffer.fill(0, stream=stream)
    device.sync()
    with gated(stream) as gate:
        buffer.fill(5, stream=stream)
        threading.Timer(0.05, gate.set).start()
        array = np.from_dlpack(buffer)  # waits
    assert (array.ctypes.data, set(array.tolist())) == (buffer.ptr, {5})
    capsule = buffer.__dlpack__(dl_device=(CPU, 0), copy=False, max_version=(1, 3))
    tensor = versioned_in(capsule).tensor
    assert (tensor.device_type, tensor.device_id, tensor.data) == (CPU, 0, buffer.ptr)


def test_managed_memory_is_also_the_gpus(device: infinirt.Device) -> None:
    buffer = infinirt.ManagedResource(device).allocate(SIZE)
    where = (CUDA, device.ordinal)
    capsule = buffer.__dlpack__(dl_device=where, copy=False, max_version=(1, 3))
    tensor = versioned_in(capsule).tensor
    assert (tensor.device_type, tensor.device_id, tensor.data) == (*where, buffer.ptr)


def test_copies_to_another_device(device: infinirt.Device) -> None:
    stream = device.create_stream()
    buffer = filled(device, stream, 3)
    capsule = buffer.__dlpack__(dl_device=(CPU, 0), max_version=(1, 3))
    found = versioned_in(capsule)
    assert (found.flags, found.tensor.device_type) == (2, CPU)
    assert ctypes.string_at(found.tensor.data, SIZE) == b"\3" * SIZE
    host = infinirt.Device("cpu").allocate(SIZE)
    host.fill(4)
    capsule = host.__dlpack__(dl_device=(CUDA, device.ordinal), max_version=(1, 3))
    again = infinirt._core.import_dlpack(capsule, stream)
    assert (again.device, contents(again, stream)) == (device, {4})
    with pytest.raises(BufferError, match="copy=False"):
        buffer.__dlpack__(dl_device=(CPU, 0), copy=False)


Streams = tuple[infinirt.Stream, infinirt.Stream, infinirt.Stream]


def test_a_consumers_stream_waits_for_ours(device: infinirt.Device, streams: Streams) -> None:
    own, other, consumer = streams
    for used in (own, other):
        buffer, seen = filled(device, own), filled(device, consumer)
        with gated(used):
            buffer.fill(1, stream=used)
            capsule = buffer.__dlpack__(stream=consumer.handle, max_version=(1, 3))
            infinirt._core.import_dlpack(capsule, consumer).copy_to(seen, stream=consumer)
            assert not consumer.query()
        assert contents(seen, consumer) == {1}


def test_a_consumers_stream_waits_for_a_closed_one(device: infinirt.Device, streams: Streams) -> None:
    own, _, consumer = streams
    buffer, seen = filled(device, own), filled(device, consumer)
    closed = device.create_stream()
    buffer.fill(0, stream=closed)
    closed.sync()
    with gated(closed):
        buffer.fill(1, stream=closed)
        closed.close()
        same = infinirt.from_dlpack(buffer, stream=consumer)
        same.copy_to(seen, stream=consumer)
        assert not consumer.query()
    assert contents(seen, consumer) == {1}


def test_no_order_and_the_legacy_stream(device: infinirt.Device, streams: Streams) -> None:
    own, _, consumer = streams
    buffer = filled(device, own)
    with gated(own):
        buffer.fill(1, stream=own)
        buffer.__dlpack__(stream=-1)
        buffer.__dlpack__(stream=own.handle)
        assert consumer.query()
        assert infinirt.LEGACY_DEFAULT_STREAM.query()
        buffer.__dlpack__()
        assert not infinirt.LEGACY_DEFAULT_STREAM.query()
    device.sync()
    for stream in (0, -2):
        with pytest.raises(ValueError, match="legacy"):
            buffer.__dlpack__(stream=stream)


# ---- the table of C functions ----------------------------------------------------------------------------------------


@pytest.fixture
def table() -> Exchange:
    return exchange_of(infinirt.Buffer)


def work_stream(table: Exchange, device: infinirt.Device) -> infinirt.Stream:
    handle = ctypes.c_void_p()
    assert table.work_stream(CUDA, device.ordinal, ctypes.byref(handle)) == 0
    return infinirt.Stream.from_handle(handle.value or 0, device)


def test_the_table_exports_in_order(table: Exchange, device: infinirt.Device, streams: Streams) -> None:
    own = streams[0]
    buffer = filled(device, own)
    current = work_stream(table, device)
    assert current == device.default_stream
    with gated(own):
        buffer.fill(1, stream=own)
        managed = exported(table, buffer)  # the host does not wait
        tensor = managed.contents.tensor
        assert (tensor.data, tensor.device_type, tensor.device_id) == (buffer.ptr, CUDA, device.ordinal)
        assert not current.query()
    device.sync()
    borrowed = Tensor()
    assert table.borrow(buffer, ctypes.byref(borrowed)) == 0
    assert (borrowed.data, borrowed.device_type, borrowed.shape[0]) == (buffer.ptr, CUDA, SIZE)
    delete(managed)
    buffer.close()


def test_the_table_allocates(table: Exchange, device: infinirt.Device, streams: Streams) -> None:
    for kind in (CUDA, CUDA_HOST, CUDA_MANAGED):
        shape = (ctypes.c_int64 * 2)(16, 64)
        asked = Tensor(None, kind, device.ordinal, 2, 2, 32, 1, shape, None, 0)
        managed = ctypes.POINTER(Versioned)()
        assert table.allocate(ctypes.byref(asked), ctypes.byref(managed), None, SET_ERROR()) == 0
        tensor = managed.contents.tensor
        assert (tensor.device_type, tensor.shape[:2], tensor.strides[:2]) == (kind, [16, 64], [64, 1])
        buffer = imported(table, managed)
        assert (buffer.size, buffer.device) == (16 * 64 * 4, device)
        assert buffer.__dlpack_device__()[0] == kind
        buffer.fill(6, stream=streams[0])
        assert contents(buffer, streams[0]) == {6}


# ---- __cuda_array_interface__, without anybody else -------------------------------------------------------------------


def test_what_a_buffer_says(device: infinirt.Device, streams: Streams) -> None:
    own, other, consumer = streams
    buffer = filled(device, own)
    said = buffer[16:48].__cuda_array_interface__
    assert said == {
        "shape": (32,),
        "typestr": "|u1",
        "data": (buffer.ptr + 16, False),
        "version": 3,
        "strides": None,
        "stream": own.handle,
    }
    assert device.allocate(0).__cuda_array_interface__["data"] == (0, False)
    assert device.allocate(1).__cuda_array_interface__["stream"] == 1
    constant = infinirt.Buffer.from_handle(buffer.ptr, 4, owner=buffer, read_only=True, device=device)
    assert constant.__cuda_array_interface__["data"] == (buffer.ptr, True)
    for resource in (infinirt.PinnedResource, infinirt.ManagedResource):
        assert resource(device).allocate(4).__cuda_array_interface__["shape"] == (4,)
    host = infinirt.Buffer.from_handle(
        ctypes.addressof(data := ctypes.create_string_buffer(8)), 8, owner=data, device=device
    )
    assert not hasattr(host, "__cuda_array_interface__")
    with gated(other):  # the stream that is named comes after all others
        buffer.fill(1, stream=other)
        assert buffer.__cuda_array_interface__["stream"] == own.handle
        assert not own.query()
    device.sync()
    own.close()
    assert buffer.__cuda_array_interface__["stream"] == 1
    assert consumer.query()


@pytest.mark.parametrize("entries", [{}, {"strides": (1,)}, {"shape": (4, SIZE // 4), "typestr": "|V1"}])
def test_arrays_of_others(device: infinirt.Device, streams: Streams, entries: dict[str, object]) -> None:
    own, _, consumer = streams
    memory, seen = filled(device, own), filled(device, consumer)
    with gated(own):
        memory.fill(8, stream=own)
        source = Cuda(memory, **entries)
        buffer = infinirt.as_buffer(source, stream=consumer)
        assert (buffer.ptr, buffer.size, buffer.device) == (memory.ptr, SIZE, device)
        buffer.copy_to(seen, stream=consumer)
        assert not consumer.query()
    assert contents(seen, consumer) == {8}
    gone = weakref.ref(source)
    del source
    gc.collect()
    assert gone() is not None
    del buffer
    gc.collect()
    assert gone() is None


def test_arrays_of_others_that_are_empty_or_constant(device: infinirt.Device) -> None:
    memory = device.allocate(SIZE)
    assert infinirt.as_buffer(Cuda(memory, shape=(0, 3), strides=(5, 5), data=(0, False))).size == 0
    constant = infinirt.as_buffer(Cuda(memory, data=(memory.ptr, True)))
    with pytest.raises(infinirt.InvalidValueError, match="read-only"):
        constant.fill(1)
    with pytest.raises(BufferError, match="stream 0"):
        infinirt.as_buffer(Cuda(memory, stream=0))
    pinned = infinirt.PinnedResource(device).allocate(16)
    assert infinirt.as_buffer(Cuda(pinned, stream=None)).is_host_accessible
    with infinirt.Device("cpu"):
        assert infinirt.as_buffer(Cuda(memory)).device == device


# ---- PyTorch ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def torch(device: infinirt.Device, pytestconfig: pytest.Config) -> Any:
    import torch

    if not torch.cuda.is_available():
        cannot_run(pytestconfig, "this PyTorch has no CUDA")
    torch.cuda.set_device(device.ordinal)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):  # kernels that are used behind gates
        warm = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
        warm.fill_(1).add_(1)
        warm.copy_(warm.clone())
    torch.cuda.synchronize()
    return torch


torch_cuda = pytest.mark.peer("torch")


@torch_cuda
def test_torch_waits_for_our_work(torch: Any, device: infinirt.Device, streams: Streams) -> None:
    own = streams[0]
    for consumer in (torch.cuda.Stream(), torch.cuda.default_stream()):
        buffer = filled(device, own)
        seen = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
        torch.cuda.synchronize()
        with gated(own):
            buffer.fill(1, stream=own)
            with torch.cuda.stream(consumer):
                tensor = torch.from_dlpack(buffer)
                seen.copy_(tensor)
            assert not consumer.query()
        consumer.synchronize()
        assert (tensor.data_ptr(), tensor.device.type) == (buffer.ptr, "cuda")
        assert bool((seen == 1).all())


@torch_cuda
@pytest.mark.parametrize("given", [lambda tensor: tensor, ByMethods], ids=["table", "methods"])
def test_we_wait_for_torchs_work(
    torch: Any, device: infinirt.Device, streams: Streams, given: Callable[[Any], Any]
) -> None:
    consumer = streams[2]
    for side in (torch.cuda.Stream(), torch.cuda.default_stream()):
        tensor = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
        seen = filled(device, consumer)
        torch.cuda.synchronize()
        with gated(infinirt.Stream.from_handle(side.cuda_stream, device)), torch.cuda.stream(side):
            tensor.fill_(5)
            buffer = infinirt.from_dlpack(given(tensor), stream=consumer)
            buffer.copy_to(seen, stream=consumer)
            assert not consumer.query()
        assert (buffer.ptr, buffer.size, buffer.device) == (tensor.data_ptr(), SIZE, device)
        assert contents(seen, consumer) == {5}


@torch_cuda
def test_torch_works_on_our_stream(torch: Any, device: infinirt.Device, streams: Streams) -> None:
    own = streams[0]
    buffer = filled(device, own)
    external = torch.cuda.ExternalStream(own.handle, device=device.ordinal)
    with torch.cuda.stream(external):
        tensor = torch.from_dlpack(buffer)
        tensor.add_(1)
        torch.cuda.synchronize()
        with gated(own):
            buffer.fill(2, stream=own)
            tensor.add_(1)
            buffer[: SIZE // 2].fill(9, stream=own)
            assert not external.query()
    assert contents(buffer[SIZE // 2 :], own) == {3}
    assert contents(buffer[: SIZE // 2], own) == {9}


@torch_cuda
def test_we_work_on_torchs_stream(torch: Any, device: infinirt.Device, streams: Streams) -> None:
    side = torch.cuda.Stream()
    stream = infinirt.Stream.from_handle(side.cuda_stream, device, owner=side)
    assert stream.device == device
    with torch.cuda.stream(side):
        tensor = torch.zeros(SIZE, dtype=torch.uint8, device="cuda")
        buffer = infinirt.from_dlpack(tensor, stream=stream)
        torch.cuda.synchronize()
        with gated(stream):
            buffer.fill(3, stream=stream)
            tensor.add_(1)
            assert not side.query()
    side.synchronize()
    assert bool((tensor == 4).all())
    if hasattr(side, "__cuda_stream__"):
        buffer.fill(6, stream=side)
        side.synchronize()
        assert bool((tensor == 6).all())


@torch_cuda
def test_torchs_memory_lives_until_our_work_is_done(
    torch: Any, device: infinirt.Device, streams: Streams
) -> None:
    consumer = streams[2]
    before = torch.cuda.memory_allocated()
    tensor = torch.zeros(8 * SIZE, dtype=torch.uint8, device="cuda")
    held = torch.cuda.memory_allocated()
    assert held >= before + 8 * SIZE
    buffer = infinirt.from_dlpack(tensor, stream=consumer)
    buffer.fill(0, stream=consumer)
    device.sync()
    with gated(consumer):
        buffer.fill(1, stream=consumer)
        del buffer, tensor
        gc.collect()
        consumer.query()
        assert torch.cuda.memory_allocated() == held
    consumer.sync()
    consumer.query()  # calls look whether something can be let go of
    assert torch.cuda.memory_allocated() == before


@torch_cuda
def test_our_memory_lives_with_torchs_tensor(torch: Any, device: infinirt.Device) -> None:
    stream = device.create_stream()
    pool = infinirt.MemoryPool(device)
    buffer = pool.allocate(SIZE, stream=stream)
    buffer.fill(7, stream=stream)
    tensor = torch.from_dlpack(buffer)
    with pytest.raises(BufferError, match="views"):
        buffer.close()
    gone = weakref.ref(buffer)
    del buffer
    gc.collect()
    assert bool((tensor == 7).all())
    assert pool.attributes.used_mem_current >= SIZE
    del tensor
    gc.collect()
    assert gone() is None
    device.sync()
    assert pool.attributes.used_mem_current == 0


@torch_cuda
def test_tables_of_torch_and_ours(torch: Any, table: Exchange, device: infinirt.Device) -> None:
    theirs = exchange_of(torch.Tensor)
    buffer = filled(device, device.create_stream(), 4)
    tensor = imported(theirs, exported(table, buffer))
    assert (tensor.data_ptr(), tensor.device.type) == (buffer.ptr, "cuda")
    assert bool((tensor == 4).all())
    again = imported(table, exported(theirs, tensor))
    assert (again.ptr, again.size, again.device) == (buffer.ptr, SIZE, device)
    handle = ctypes.c_void_p()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        assert theirs.work_stream(CUDA, device.ordinal, ctypes.byref(handle)) == 0
    assert handle.value == side.cuda_stream
    del tensor, again
    gc.collect()
    buffer.close()


@torch_cuda
def test_torch_reads_our_cuda_array(torch: Any, device: infinirt.Device) -> None:
    stream = device.create_stream()
    buffer = filled(device, stream, 2)
    tensor = torch.as_tensor(Cuda(buffer), device="cuda")
    assert tensor.data_ptr() == buffer.ptr
    assert bool((tensor == 2).all())


# ---- CuPy ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cupy(device: infinirt.Device) -> Any:
    import cupy

    cupy.cuda.Device(device.ordinal).use()
    warm = cupy.zeros(SIZE, "uint8")
    warm.fill(1)
    warm += warm.copy()
    cupy.cuda.Device().synchronize()
    return cupy


cupy_cuda = pytest.mark.peer("cupy")


@cupy_cuda
@pytest.mark.parametrize("take", ["asarray", "from_dlpack"])
def test_cupy_reads_our_memory(cupy: Any, device: infinirt.Device, streams: Streams, take: str) -> None:
    own = streams[0]
    buffer = filled(device, own)
    side = cupy.cuda.Stream(non_blocking=True)
    with gated(own) as gate, side:
        buffer.fill(3, stream=own)
        threading.Timer(0.05, gate.set).start()  # by description, the host waits for our stream
        array = getattr(cupy, take)(buffer)
        copied = array.copy()
    side.synchronize()
    assert array.data.ptr == buffer.ptr
    assert bool((copied == 3).all())
    gone = weakref.ref(buffer)
    del buffer
    gc.collect()
    assert gone() is not None
    del array
    gc.collect()
    assert gone() is None


@cupy_cuda
def test_cupy_reads_our_managed_memory(cupy: Any, device: infinirt.Device) -> None:
    buffer = infinirt.ManagedResource(device).allocate(SIZE)
    buffer.fill(5)
    array = cupy.from_dlpack(buffer)
    assert array.data.ptr == buffer.ptr
    assert bool((array == 5).all())


@cupy_cuda
@pytest.mark.parametrize("how", ["dlpack", "description"])
def test_we_read_cupys_memory(cupy: Any, device: infinirt.Device, streams: Streams, how: str) -> None:
    consumer = streams[2]
    array = cupy.zeros(SIZE, "uint8")
    seen = filled(device, consumer)
    side = cupy.cuda.Stream(non_blocking=True)
    with gated(infinirt.Stream.from_handle(side.ptr, device)), side:
        array.fill(6)
        if how == "dlpack":
            buffer = infinirt.from_dlpack(array, stream=consumer)
        else:
            source = type("Described", (), {"__cuda_array_interface__": array.__cuda_array_interface__})()
            buffer = infinirt.as_buffer(source, stream=consumer)
        buffer.copy_to(seen, stream=consumer)
        assert not consumer.query()
    assert buffer.ptr == array.data.ptr
    assert contents(seen, consumer) == {6}


@cupy_cuda
def test_streams_of_cupy_and_ours(cupy: Any, device: infinirt.Device, streams: Streams) -> None:
    side = cupy.cuda.Stream(non_blocking=True)
    array = cupy.zeros(SIZE, "uint8")
    buffer = infinirt.from_dlpack(array)
    cupy.cuda.Device().synchronize()
    stream = infinirt.Stream.from_handle(side.ptr, device, owner=side)
    with gated(stream), side:
        buffer.fill(1, stream=stream)
        array += array
        assert not side.done
    side.synchronize()
    assert bool((array == 2).all())
    if hasattr(side, "__cuda_stream__"):
        buffer.fill(3, stream=side)
        side.synchronize()
        assert bool((array == 3).all())
    own = streams[0]
    with cupy.cuda.ExternalStream(own.handle), gated(own):
        buffer.fill(4, stream=own)
        array += array
        assert not own.query()
    own.sync()
    assert bool((array == 8).all())
