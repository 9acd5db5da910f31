"""The C exchange of DLPack 1.3: the table that Buffer offers, and tables of others."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from objects_support import busy, run_python

import infinirt
from dlpack_support import (
    CPU,
    SET_ERROR,
    Exchange,
    Producer,
    Tensor,
    Versioned,
    delete,
    exchange_of,
    exported,
    imported,
    new_capsule,
)
from installed import program

ROOT = Path(__file__).resolve().parents[2]
NO_ERROR = SET_ERROR()


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device("cpu")


@pytest.fixture
def table() -> Exchange:
    return exchange_of(infinirt.Buffer)


def prototype(shape: tuple[int, ...], *, bits: int = 32, device: tuple[int, int] = CPU) -> Tensor:
    sizes = (ctypes.c_int64 * len(shape))(*shape)
    return Tensor(None, *device, len(shape), 2, bits, 1, sizes, None, 0)


def test_the_table_is_on_the_class(table: Exchange) -> None:
    assert (table.major, table.minor, table.previous) == (1, 3, None)
    for name in ("allocate", "from_object", "to_object", "borrow", "work_stream"):
        assert getattr(table, name), name
    again = exchange_of(type("Subclass", (infinirt.Buffer,), {}))
    assert ctypes.addressof(again) == ctypes.addressof(table)


def test_exporting(table: Exchange, device: infinirt.Device) -> None:
    buffer = device.allocate(24)
    managed = exported(table, buffer)
    found = managed.contents
    assert (found.major, found.minor, found.flags) == (1, 3, 0)
    tensor = found.tensor
    assert (tensor.data, tensor.device_type, tensor.device_id) == (buffer.ptr, *CPU)
    assert (tensor.ndim, tensor.shape[0], tensor.strides[0], tensor.byte_offset) == (1, 24, 1, 0)
    assert (tensor.code, tensor.bits, tensor.lanes) == (1, 8, 1)
    with pytest.raises(BufferError, match="views"):
        buffer.close()
    delete(managed)
    buffer.close()
    with pytest.raises(infinirt.InvalidValueError, match="closed"):
        exported(table, buffer)
    with pytest.raises(TypeError, match="Buffer was expected, not int"):
        exported(table, 7)


def test_exporting_read_only_memory(table: Exchange) -> None:
    managed = exported(table, infinirt.as_buffer(b"constant"))
    assert managed.contents.flags == 1
    delete(managed)


def test_the_consumer_keeps_the_buffer_alive_and_deletes_on_any_thread(
    table: Exchange, device: infinirt.Device
) -> None:
    buffer = device.allocate(4)
    gone = weakref.ref(buffer)
    managed = exported(table, buffer)
    del buffer
    gc.collect()
    assert gone() is not None
    thread = threading.Thread(target=delete, args=(managed,))
    thread.start()
    thread.join()
    assert gone() is None


def test_exporting_waits_for_pending_work(table: Exchange, device: infinirt.Device) -> None:
    """The host reads at once: that nobody waits for a device does not mean that nobody waits."""
    stream = device.create_stream()
    for borrow in (False, True):
        buffer = device.allocate(4, stream=stream)
        buffer.fill(0, stream=stream)
        stream.sync()
        with busy(stream) as gate:
            buffer.fill(9, stream=stream)
            threading.Timer(0.05, gate.set).start()
            if borrow:
                tensor = Tensor()
                assert table.borrow(buffer, ctypes.byref(tensor)) == 0
                assert ctypes.string_at(tensor.data, 4) == b"\t" * 4
            else:
                managed = exported(table, buffer)
                assert ctypes.string_at(managed.contents.tensor.data, 4) == b"\t" * 4
                delete(managed)


def test_borrowing(table: Exchange, device: infinirt.Device) -> None:
    buffer = device.allocate(10)
    part, tensor = buffer[2:6], Tensor()
    assert table.borrow(part, ctypes.byref(tensor)) == 0
    assert (tensor.data, tensor.ndim, tensor.shape[0], tensor.strides[0]) == (buffer.ptr + 2, 1, 4, 1)
    del part
    buffer.close()  # nothing was taken


def test_importing(table: Exchange) -> None:
    memory = ctypes.create_string_buffer(b"0123456789abcdef", 16)
    producer = Producer(memory, (2, 4), bits=16, version=(1, 3), flags=1)
    buffer = imported(table, ctypes.pointer(producer.managed))
    assert isinstance(buffer, infinirt.Buffer)
    assert (bytes(buffer), buffer.is_read_only) == (memory.raw, True)
    assert producer.deleted == 0
    del buffer
    assert producer.deleted == 1


def test_importing_what_cannot_be_used_leaves_it_to_the_caller(table: Exchange) -> None:
    producer = Producer(ctypes.create_string_buffer(16), (4, 2), strides=(4, 1), version=(1, 3))
    with pytest.raises(BufferError, match="contiguous"):
        imported(table, ctypes.pointer(producer.managed))
    assert producer.deleted == 0


def test_round_trip(table: Exchange, device: infinirt.Device) -> None:
    buffer = device.allocate(5)
    buffer.copy_from(b"round")
    again = imported(table, exported(table, buffer))
    assert (bytes(again), again.ptr) == (b"round", buffer.ptr)
    del again
    buffer.close()


def test_allocating(table: Exchange, device: infinirt.Device) -> None:
    managed = ctypes.POINTER(Versioned)()
    asked = prototype((3, 4, 5))
    assert table.allocate(ctypes.byref(asked), ctypes.byref(managed), None, NO_ERROR) == 0
    tensor = managed.contents.tensor
    assert (tensor.device_type, tensor.device_id, tensor.code, tensor.bits) == (*CPU, 2, 32)
    assert (tensor.shape[:3], tensor.strides[:3]) == ([3, 4, 5], [20, 5, 1])
    ctypes.memset(tensor.data, 7, 240)
    buffer = imported(table, managed)
    assert bytes(buffer) == b"\7" * 240


def test_allocating_memory_that_the_host_writes_at_once(table: Exchange, device: infinirt.Device) -> None:
    """Memory comes in the stream's order: before that, earlier work may still write to it."""
    with device:
        stream = device.default_stream
        old = device.allocate(1 << 20, stream=stream)
        address = old.ptr
        with busy(stream) as gate:
            old.fill(1, stream=stream)
            del old
            threading.Timer(0.05, gate.set).start()
            managed = ctypes.POINTER(Versioned)()
            asked = prototype((1 << 18,))
            assert table.allocate(ctypes.byref(asked), ctypes.byref(managed), None, NO_ERROR) == 0
        data = managed.contents.tensor.data
        ctypes.memset(data, 2, 1 << 20)
        device.sync()
        assert ctypes.string_at(data, 1 << 20) == b"\2" * (1 << 20)
        assert data == address, "the pool gave other memory, and the test shows nothing"
        delete(managed)


def test_allocating_fails_by_the_callers_function(table: Exchange) -> None:
    said: list[tuple[bytes, bytes]] = []
    report = SET_ERROR(lambda _, kind, message: said.append((kind, message)))
    managed = ctypes.POINTER(Versioned)()
    for shape, where, kind in [
        ((4,), (8, 0), b"BufferError"),
        ((1 << 60,), CPU, b"BufferError"),  # a number of bits that wraps to nothing
        ((-1,), CPU, b"BufferError"),
        ((1 << 50,), CPU, b"MemoryError"),
    ]:
        asked = prototype(shape, device=where)
        assert table.allocate(ctypes.byref(asked), ctypes.byref(managed), None, report) == -1
        assert said.pop()[0] == kind
        assert table.allocate(ctypes.byref(asked), ctypes.byref(managed), None, NO_ERROR) == -1
    assert not managed


def test_allocating_without_the_interpreters_lock(table: Exchange) -> None:
    """CFUNCTYPE gives the lock away, as callers from C++ do."""
    made: list[Any] = []

    def allocate() -> None:
        for _ in range(50):
            managed = ctypes.POINTER(Versioned)()
            asked = prototype((16,))
            assert table.allocate(ctypes.byref(asked), ctypes.byref(managed), None, NO_ERROR) == 0
            made.append(managed)

    threads = [threading.Thread(target=allocate) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({managed.contents.tensor.data for managed in made}) == 200
    for managed in made:
        delete(managed)


def test_the_work_stream_of_the_cpu_is_none(table: Exchange) -> None:
    stream = ctypes.c_void_p(7)
    assert table.work_stream(*CPU, ctypes.byref(stream)) == 0
    assert stream.value is None
    with pytest.raises(BufferError, match=r"\(8, 0\)"):
        table.work_stream(8, 0, ctypes.byref(stream))


def test_the_work_stream_comes_after_pending_work() -> None:
    """Memory of an extension device, which has streams as a GPU has."""
    out = run_python(
        f"""
        import ctypes, sys, threading
        sys.path.insert(0, {str(ROOT / "tests")!r})
        from dlpack_support import Versioned, delete, exchange_of
        import infinirt

        table = exchange_of(infinirt.Buffer)
        device = infinirt.Device("cpu")
        own = device.create_stream()
        buffer = device.allocate(4, stream=own)
        device.sync()
        gate = threading.Event()
        own.launch_host_func(gate.wait, 30)
        buffer.fill(1, stream=own)
        managed = ctypes.POINTER(Versioned)()
        table.from_object(buffer, ctypes.byref(managed))
        tensor = managed.contents.tensor
        print(tensor.device_type, tensor.device_id)
        handle = ctypes.c_void_p()
        table.work_stream(tensor.device_type, tensor.device_id, ctypes.byref(handle))
        stream = infinirt.Stream.from_handle(handle.value, "cpu")
        print(stream.query())
        gate.set()
        stream.sync()
        print(stream.query())
        delete(managed)
        """,
        INFINIRT_CPU_MEMORY="isolated",
        INFINIRT_DEVICE="cpu",
    )
    assert out.split() == ["12", "0", "False", "True"]


class Tabled:
    """A producer that can be reached by C functions only."""

    def __init__(self, producer: Producer) -> None:
        self.producer = producer

    def __dlpack__(self, **_: object) -> object:
        raise AssertionError("a method was called")

    __dlpack_device__ = __dlpack__


def with_table(major: int = 1, previous: Exchange | None = None) -> tuple[type[Tabled], Exchange]:
    """A class of its own, with a table like those that are written in C."""
    real = exchange_of(infinirt.Buffer)

    def from_object(source: Tabled, out: Any) -> int:
        out[0] = ctypes.pointer(source.producer.managed)
        return 0

    table = Exchange(major, 3, None, real.allocate, type(real.from_object)(from_object), real.to_object)
    table.work_stream = real.work_stream
    if previous is not None:
        table.previous = ctypes.addressof(previous)
    capsule = new_capsule(table, b"dlpack_exchange_api")
    return type("TabledHere", (Tabled,), {"__dlpack_c_exchange_api__": capsule}), table


def test_a_table_is_preferred_to_methods() -> None:
    memory = ctypes.create_string_buffer(b"by table", 8)
    kind, _table = with_table()
    producer = Producer(memory, (8,), version=(1, 3))
    buffer = infinirt.from_dlpack(kind(producer))
    assert (bytes(buffer), producer.streams) == (b"by table", [])
    del buffer
    assert producer.deleted == 1


def test_what_a_table_gives_is_given_back_when_it_cannot_be_used() -> None:
    kind, _table = with_table()
    memory = ctypes.create_string_buffer(16)
    for producer, message in [
        (Producer(memory, (4, 2), strides=(4, 1), version=(1, 3)), "contiguous"),
        (Producer(memory, (16,), version=(2, 0)), r"version 2\.0"),
        (Producer(memory, (16,), version=(1, 3), device=(8, 0)), r"\(8, 0\)"),
    ]:
        with pytest.raises(BufferError, match=message):
            infinirt.from_dlpack(kind(producer))
        assert producer.deleted == 1


def test_older_tables_stand_behind_newer_ones() -> None:
    _, old = with_table()
    kind, _new = with_table(major=2, previous=old)
    memory = ctypes.create_string_buffer(b"older", 5)
    assert bytes(infinirt.from_dlpack(kind(Producer(memory, (5,), version=(1, 3))))) == b"older"
    kind, _future = with_table(major=2)
    with pytest.raises(AssertionError, match="a method was called"):
        infinirt.from_dlpack(kind(Producer(memory, (5,))))


def test_a_table_that_is_none(device: infinirt.Device) -> None:
    class Odd(Producer):
        __dlpack_c_exchange_api__ = 12345

    memory = ctypes.create_string_buffer(b"odd", 3)
    assert bytes(infinirt.from_dlpack(Odd(memory, (3,)))) == b"odd"


@pytest.mark.peer("torch")
def test_torch_tensors_come_by_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def called(*_: object, **__: object) -> object:
        raise AssertionError("a method was called")

    tensor = torch.arange(6, dtype=torch.float32)
    monkeypatch.setattr(torch.Tensor, "__dlpack__", called)
    monkeypatch.setattr(torch.Tensor, "__dlpack_device__", called)
    buffer = infinirt.from_dlpack(tensor)
    assert (buffer.ptr, buffer.size) == (tensor.data_ptr(), 24)
    buffer.copy_from(np.ones(6, "float32"))
    infinirt.synchronize("cpu")
    assert tensor.tolist() == [1.0] * 6
    with pytest.raises(BufferError, match="contiguous"):
        infinirt.from_dlpack(torch.zeros(4, 4).T[1:])
    storage = tensor.untyped_storage()
    gone = weakref.ref(storage)
    del tensor, storage
    assert bytes(buffer[:4]) == np.float32(1).tobytes()
    assert gone() is not None or buffer.owner is not None


@pytest.mark.peer("torch")
def test_torch_makes_tensors_by_its_table_of_what_ours_gives(device: infinirt.Device) -> None:
    import torch

    ours, theirs = exchange_of(infinirt.Buffer), exchange_of(torch.Tensor)
    buffer = device.allocate(8)
    buffer.copy_from(b"exchange")
    tensor = imported(theirs, exported(ours, buffer))
    assert isinstance(tensor, torch.Tensor)
    assert (tensor.data_ptr(), bytes(tensor.tolist())) == (buffer.ptr, b"exchange")
    again = imported(ours, exported(theirs, tensor))
    assert (bytes(again), again.ptr) == (b"exchange", buffer.ptr)
    with pytest.raises(BufferError, match="views"):
        buffer.close()
    del tensor, again
    buffer.close()


@pytest.mark.peer("apache-tvm-ffi")
def test_tvm_functions_take_and_return_buffers(device: infinirt.Device) -> None:
    """tvm-ffi reads the table of an argument's class, and makes results by it, too."""
    import tvm_ffi

    buffer = device.allocate(5)
    buffer.copy_from(b"hello")
    echoed = tvm_ffi.get_global_func("testing.echo")(buffer)
    assert isinstance(echoed, infinirt.Buffer)
    assert (bytes(echoed), echoed.ptr) == (b"hello", buffer.ptr)
    tensor = tvm_ffi.from_dlpack(buffer)
    assert (tensor.shape, tensor.data_ptr()) == ((5,), buffer.ptr)
    with pytest.raises(BufferError, match="views"):
        buffer.close()
    del echoed, tensor
    buffer.close()


@pytest.mark.peer("torch")
def test_the_layout_is_that_of_the_published_header(tmp_path: Path) -> None:
    """PyTorch carries DLPack's own header; the compiler compares ours with it."""
    import torch

    header = Path(torch.__file__).parent / "include" / "ATen" / "dlpack.h"
    source = tmp_path / "layout.cpp"
    source.write_text(LAYOUT.replace("PUBLISHED", str(header)))
    compiler = os.environ.get("CXX") or program("c++", "g++")
    assert compiler is not None
    done = subprocess.run(
        [compiler, "-std=c++20", "-fsyntax-only", f"-I{ROOT / 'csrc'}", str(source)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


LAYOUT = """
#include "bindings/objects/dlpack_abi.h"
#include "PUBLISHED"
namespace ours = infinirt::objects::dlpack;
#define SAME(a, b) static_assert((a) == (b), #a " is not " #b)
#define SAME_FIELD(ours_type, ours_field, type, field) \\
  SAME(offsetof(ours::ours_type, ours_field), offsetof(type, field)); \\
  SAME(sizeof(ours::ours_type::ours_field), sizeof(type::field))
SAME(ours::kMajor, DLPACK_MAJOR_VERSION);
SAME(ours::kMinor, DLPACK_MINOR_VERSION);
SAME(ours::kReadOnly, DLPACK_FLAG_BITMASK_READ_ONLY);
SAME(ours::kIsCopied, DLPACK_FLAG_BITMASK_IS_COPIED);
SAME(ours::kIsPadded, DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED);
SAME(int(ours::kCpu), int(kDLCPU));
SAME(int(ours::kCuda), int(kDLCUDA));
SAME(int(ours::kCudaHost), int(kDLCUDAHost));
SAME(int(ours::kExtension), int(kDLExtDev));
SAME(int(ours::kCudaManaged), int(kDLCUDAManaged));
SAME(int(ours::kUnsigned), int(kDLUInt));
SAME(sizeof(ours::Tensor), sizeof(DLTensor));
SAME_FIELD(Tensor, data, DLTensor, data);
SAME_FIELD(Tensor, device, DLTensor, device);
SAME_FIELD(Tensor, ndim, DLTensor, ndim);
SAME_FIELD(Tensor, dtype, DLTensor, dtype);
SAME_FIELD(Tensor, shape, DLTensor, shape);
SAME_FIELD(Tensor, strides, DLTensor, strides);
SAME_FIELD(Tensor, byte_offset, DLTensor, byte_offset);
SAME(sizeof(ours::Managed), sizeof(DLManagedTensor));
SAME_FIELD(Managed, context, DLManagedTensor, manager_ctx);
SAME_FIELD(Managed, deleter, DLManagedTensor, deleter);
SAME(sizeof(ours::ManagedVersioned), sizeof(DLManagedTensorVersioned));
SAME_FIELD(ManagedVersioned, version, DLManagedTensorVersioned, version);
SAME_FIELD(ManagedVersioned, context, DLManagedTensorVersioned, manager_ctx);
SAME_FIELD(ManagedVersioned, deleter, DLManagedTensorVersioned, deleter);
SAME_FIELD(ManagedVersioned, flags, DLManagedTensorVersioned, flags);
SAME_FIELD(ManagedVersioned, tensor, DLManagedTensorVersioned, dl_tensor);
SAME(sizeof(ours::Exchange), sizeof(DLPackExchangeAPI));
SAME_FIELD(ExchangeHeader, version, DLPackExchangeAPIHeader, version);
SAME_FIELD(ExchangeHeader, previous, DLPackExchangeAPIHeader, prev_api);
SAME_FIELD(Exchange, header, DLPackExchangeAPI, header);
SAME_FIELD(Exchange, allocate, DLPackExchangeAPI, managed_tensor_allocator);
SAME_FIELD(Exchange, from_object, DLPackExchangeAPI, managed_tensor_from_py_object_no_sync);
SAME_FIELD(Exchange, to_object, DLPackExchangeAPI, managed_tensor_to_py_object_no_sync);
SAME_FIELD(Exchange, borrow_from_object, DLPackExchangeAPI, dltensor_from_py_object_no_sync);
SAME_FIELD(Exchange, current_work_stream, DLPackExchangeAPI, current_work_stream);
"""
