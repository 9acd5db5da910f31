"""Kernels on the CPU, from function addresses."""

from __future__ import annotations

import ctypes
import gc
import inspect
import sys
import time
import weakref

import numpy as np
import pytest
from objects_support import contents, needs_host_access

import infinirt


class Dim3(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]


class Block(ctypes.Structure):
    """infinirtXBlock of infinirt_ext.h."""

    _fields_ = [
        ("grid", Dim3),
        ("block", Dim3),
        ("index", Dim3),
        ("shared", ctypes.c_void_p),
        ("shared_bytes", ctypes.c_size_t),
    ]


KERNEL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Block), ctypes.POINTER(ctypes.c_void_p))


def argument(args: ctypes._Pointer[ctypes.c_void_p], index: int, kind: type) -> object:
    return ctypes.cast(args[index], ctypes.POINTER(kind))[0]


@KERNEL
def add_scaled(block: ctypes._Pointer[Block], args: ctypes._Pointer[ctypes.c_void_p]) -> int:
    """y[i] += a * x[i], one block per element."""
    index = block[0].index.x
    if index < argument(args, 3, ctypes.c_int64):
        x = ctypes.cast(argument(args, 0, ctypes.c_void_p), ctypes.POINTER(ctypes.c_double))
        y = ctypes.cast(argument(args, 1, ctypes.c_void_p), ctypes.POINTER(ctypes.c_double))
        y[index] += argument(args, 2, ctypes.c_double) * x[index]
    return 0


seen: list[object] = []


@KERNEL
def note_arguments(block: ctypes._Pointer[Block], args: ctypes._Pointer[ctypes.c_void_p]) -> int:
    kinds = [ctypes.c_int8, ctypes.c_uint16, ctypes.c_int32, ctypes.c_uint64, ctypes.c_float, ctypes.c_bool]
    seen.append([argument(args, index, kind) for index, kind in enumerate(kinds)])
    shape = block[0]
    seen.append((shape.grid.x, shape.grid.y, shape.grid.z, shape.block.x, shape.shared_bytes))
    return 0


@KERNEL
def fail(block: ctypes._Pointer[Block], args: ctypes._Pointer[ctypes.c_void_p]) -> int:
    return 1


def address(function: object) -> int:
    found = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
    assert found is not None
    return found


@pytest.fixture
def saxpy() -> infinirt.Kernel:
    kinds = ["pointer", ctypes.c_void_p, "float64", ctypes.c_int64]
    return infinirt.Kernel.from_address(address(add_scaled), kinds, "add_scaled", owner=add_scaled)


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device("cpu")


def test_launch(device: infinirt.Device, saxpy: infinirt.Kernel) -> None:
    stream = device.create_stream()
    x, y = np.arange(5.0), np.ones(5)
    x_buffer, y_buffer = device.allocate(40, stream=stream), device.allocate(40, stream=stream)
    x_buffer.copy_from(x, stream=stream)
    y_buffer.copy_from(y, stream=stream)
    infinirt.launch(stream, infinirt.LaunchConfig(grid=8), saxpy, x_buffer, y_buffer, 2.0, 5)
    np.testing.assert_array_equal(np.frombuffer(contents(y_buffer)), 2 * x + y)
    assert saxpy.param_count == 4
    assert "add_scaled" in repr(saxpy)


def test_every_parameter_type(device: infinirt.Device) -> None:
    kernel = infinirt.Kernel.from_address(
        address(note_arguments), ["int8", ctypes.c_ushort, "i", ctypes.c_ulong, "float32", "bool"]
    )
    seen.clear()
    config = infinirt.LaunchConfig(grid=(1, 1), block=4, shmem_size=64)
    infinirt.launch(device.default_stream, config, kernel, -5, 65535, -(1 << 31), (1 << 64) - 1, 1.5, True)
    device.sync()
    assert seen == [[-5, 65535, -(1 << 31), (1 << 64) - 1, 1.5, True], (1, 1, 1, 4, 64)]
    with pytest.raises(TypeError, match=r"argument 2: an integer was expected, not 10\.5, a float"):
        infinirt.launch(None, config, kernel, 1, 0, 10.5, 0, 0.0, False)
    with pytest.raises(TypeError, match="argument 4: a number was expected, not 'a', a str"):
        infinirt.launch(None, config, kernel, 1, 0, 0, 0, "a", False)
    with pytest.raises(OverflowError, match="argument 0"):
        infinirt.launch(None, config, kernel, 128, 0, 0, 0, 0.0, False)
    with pytest.raises(OverflowError, match="argument 3"):
        infinirt.launch(None, config, kernel, 0, 0, 0, -1, 0.0, False)
    with pytest.raises(TypeError, match="6 arguments, 1 was"):
        infinirt.launch(None, config, kernel, 0)


def test_many_arguments(device: infinirt.Device) -> None:
    """More than a launch has room for without an allocation: numbers, and buffers that it keeps."""
    received: list[object] = []

    @KERNEL
    def note_all(_: object, args: ctypes._Pointer[ctypes.c_void_p]) -> int:
        received.extend(argument(args, index, ctypes.c_int64) for index in range(60))
        for index in range(60, 80):
            received.append(argument(args, index, ctypes.POINTER(ctypes.c_int64))[0])  # type: ignore[index]
        return 0

    kernel = infinirt.Kernel.from_address(
        address(note_all), ["int64"] * 60 + ["pointer"] * 20, owner=note_all
    )
    stream = device.create_stream()
    buffers = [device.allocate(8, stream=stream) for _ in range(20)]
    for number, buffer in enumerate(buffers):
        buffer.fill(np.int64(1000 + number), stream=stream)
    infinirt.launch(stream, infinirt.LaunchConfig(grid=1), kernel, *range(-30, 30), *buffers)
    stream.sync()
    assert received == [*range(-30, 30), *range(1000, 1020)]


def test_parameters_of_a_launch(device: infinirt.Device, saxpy: infinirt.Kernel) -> None:
    config = infinirt.LaunchConfig(grid=1)
    stream = device.create_stream()
    with pytest.raises(TypeError, match="4 arguments, 0 were"):
        infinirt.launch(kernel=saxpy, config=config, stream=stream)
    with pytest.raises(TypeError, match="needs a stream, a config and a kernel"):
        infinirt.launch(stream, kernel=saxpy)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="twice"):
        infinirt.launch(stream, config, saxpy, 1, stream=stream)  # type: ignore[misc]
    with pytest.raises(TypeError, match="no parameter 'grid'"):
        infinirt.launch(stream, config, saxpy, grid=1)  # type: ignore[call-arg]
    assert list(inspect.signature(infinirt.launch).parameters) == ["stream", "config", "kernel", "args"]


def test_wrong_launches(device: infinirt.Device, saxpy: infinirt.Kernel) -> None:
    config = infinirt.LaunchConfig(grid=1)
    with pytest.raises(TypeError, match="data_ptr"):
        infinirt.launch(device.default_stream, config, saxpy, "x", None, 1.0, 0)
    for grid in (0, (1, -1), (), (1, 1, 1, 1)):
        with pytest.raises(ValueError, match="grid"):
            infinirt.LaunchConfig(grid=grid)
    for huge in ({"grid": 1 << 32}, {"grid": 1, "block": (1, 1 << 40)}, {"grid": 1 << 31, "cluster": 2}):
        with pytest.raises(ValueError, match="larger than 4294967295"):
            infinirt.LaunchConfig(**huge)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="complex"):
        infinirt.Kernel.from_address(1, ["complex"])
    with pytest.raises(infinirt.InvalidValueError):
        infinirt.launch(device.default_stream, config, infinirt.Kernel(12345, [], "none"))


def test_kernels_in_graphs_keep_their_arguments(device: infinirt.Device, saxpy: infinirt.Kernel) -> None:
    stream = device.create_stream()
    y = device.allocate(8, stream=stream)
    x = device.allocate(8, stream=stream)
    x.copy_from(np.array([3.0]), stream=stream)
    y.copy_from(np.array([1.0]), stream=stream)
    stream.sync()
    config = infinirt.LaunchConfig(grid=1)
    gone = weakref.ref(x)
    graph = infinirt.Graph("cpu")
    first = graph.add_kernel(config, saxpy, x, y, 1.0, 1)
    graph.add_kernel(config, saxpy, x, y, 10.0, 1, dependencies=[first])
    with infinirt.capture(stream) as captured:
        infinirt.launch(stream, config, saxpy, x, y, 100.0, 1)
    built, recorded = graph.instantiate(), captured.graph.instantiate()
    del x, graph, captured, first
    gc.collect()
    assert gone() is not None
    built.launch(stream)
    recorded.launch(stream)
    stream.sync()
    assert np.frombuffer(contents(y))[0] == 1 + 3 * 111
    del built, recorded
    gc.collect()
    stream.sync()
    assert gone() is None


def test_arguments_by_data_ptr_live_until_the_kernel_is_done(
    device: infinirt.Device, saxpy: infinirt.Kernel
) -> None:
    class Tensor:
        def __init__(self, value: float) -> None:
            self.array = np.array([value])

        def data_ptr(self) -> int:
            return int(self.array.ctypes.data)

    y = device.allocate(8)
    y.copy_from(np.array([0.5]))
    infinirt.launch(device.default_stream, infinirt.LaunchConfig(grid=1), saxpy, Tensor(2.0), y, 1.0, 1)
    assert np.frombuffer(contents(y))[0] == 2.5


def test_a_failing_kernel_is_reported_at_the_next_synchronisation(device: infinirt.Device) -> None:
    stream = device.create_stream()
    kernel = infinirt.Kernel.from_address(address(fail), [], "fail", owner=fail)
    infinirt.launch(stream, infinirt.LaunchConfig(grid=1), kernel)
    with pytest.raises(infinirt.InvalidValueError, match=r"^infinirtStreamSynchronize: "):
        stream.sync()
    stream.sync()


@pytest.mark.parametrize("by", ["Stream", "Event"])
def test_a_failure_that_lies_back_is_reported_by_the_call_that_was_made(
    device: infinirt.Device, by: str
) -> None:
    stream = device.create_stream()
    kernel = infinirt.Kernel.from_address(address(fail), [], "fail", owner=fail)
    infinirt.launch(stream, infinirt.LaunchConfig(grid=1), kernel)
    event = stream.record()
    time.sleep(0.1)  # so that there is nothing left to wait for
    with pytest.raises(infinirt.InvalidValueError, match=rf"^infinirt{by}Synchronize: "):
        (stream if by == "Stream" else event).sync()
    stream.sync()


@needs_host_access
def test_looking_at_memory_reports_a_failure(device: infinirt.Device) -> None:
    stream = device.create_stream()
    buffer = device.allocate(4, stream=stream)
    kernel = infinirt.Kernel.from_address(address(fail), [], "fail", owner=fail)
    infinirt.launch(stream, infinirt.LaunchConfig(grid=1), kernel)
    time.sleep(0.05)  # mostly the stream is done by then, which is the case that lost the failure
    with pytest.raises(infinirt.InfiniRTError, match="failed"):
        bytes(buffer)
    assert bytes(buffer[:0]) == b""


@pytest.mark.parametrize("pause", [0, 0.05], ids=["pending", "done"])
def test_letting_go_of_an_owner_does_not_swallow_a_failure(
    device: infinirt.Device, monkeypatch: pytest.MonkeyPatch, pause: float
) -> None:
    told: list[BaseException | None] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda said: told.append(said.exc_value))
    stream = device.create_stream()
    memory = device.allocate(4)
    buffer = infinirt.Buffer.from_handle(memory.ptr, 4, owner=memory, stream=stream, device=device)
    buffer.fill(0, stream=stream)
    kernel = infinirt.Kernel.from_address(address(fail), [], "fail", owner=fail)
    infinirt.launch(stream, infinirt.LaunchConfig(grid=1), kernel)
    time.sleep(pause)
    del buffer
    try:
        stream.sync()
    except infinirt.InfiniRTError as error:
        told.append(error)
    assert len(told) == 1
    assert "failed" in str(told[0])
