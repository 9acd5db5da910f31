"""What the host sees of a Buffer's memory in place: by the buffer protocol, NumPy, DLPack and CUDA's array interface."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import numpy as np
import pytest
from objects_support import (
    PATIENCE,
    TYPE,
    contents,
    needs_cuda_memory,
    needs_host_access,
    needs_other_memory,
    needs_separate_memory,
    run_python,
)

import infinirt


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device(TYPE)


@pytest.fixture
def stream(device: infinirt.Device) -> infinirt.Stream:
    return device.create_stream()


@needs_host_access
def test_memory_that_is_shown_is_not_given_back(device: infinirt.Device) -> None:
    buffer = device.allocate(10)
    view = buffer[1:3]
    shown = memoryview(view)
    view.close()
    with pytest.raises(BufferError, match="views"):
        buffer.close()
    shown.release()
    buffer.close()


@needs_host_access
def test_numpy_shares_the_memory(device: infinirt.Device) -> None:
    buffer = device.allocate(16)
    array = np.asarray(buffer).view("int32")
    array[:] = [1, 2, 3, 4]
    assert np.frombuffer(buffer, "int32").tolist() == [1, 2, 3, 4]
    with pytest.raises(BufferError, match="views"):
        buffer.close()
    assert not buffer.is_closed
    del array
    gc.collect()
    buffer.close()
    assert buffer.is_closed
    buffer.close()
    with pytest.raises(infinirt.InvalidValueError, match="closed"):
        bytes(buffer)


@needs_host_access
def test_reading_waits_for_pending_work(device: infinirt.Device) -> None:
    """On every stream that our API used the memory on, closed ones included."""
    first, second = device.create_stream(), device.create_stream()
    buffer = device.allocate(8, stream=first)
    buffer.fill(0, stream=first)
    second.wait(first)
    gate = threading.Event()
    second.launch_host_func(gate.wait, PATIENCE)
    buffer.fill(9, stream=second)
    second.close()
    threading.Timer(0.05, gate.set).start()
    assert bytes(buffer) == b"\x09" * 8
    assert gate.is_set()


@needs_host_access
def test_reading_what_another_threads_default_stream_writes(device: infinirt.Device) -> None:
    buffer = device.allocate(8, stream=device.create_stream())
    gate, enqueued = threading.Event(), threading.Event()

    def work() -> None:
        with device:
            infinirt.PER_THREAD_DEFAULT_STREAM.launch_host_func(gate.wait, PATIENCE)
            buffer.fill(5, stream=infinirt.PER_THREAD_DEFAULT_STREAM)
            enqueued.set()
            gate.wait(PATIENCE)

    thread = threading.Thread(target=work)
    thread.start()
    assert enqueued.wait(PATIENCE)
    threading.Timer(0.05, gate.set).start()
    assert bytes(buffer) == b"\5" * 8
    thread.join()


@needs_host_access
def test_reading_waits_for_graphs(device: infinirt.Device, stream: infinirt.Stream) -> None:
    buffer = device.allocate(4, stream=stream)
    buffer.fill(0, stream=stream)
    stream.sync()
    with infinirt.capture(stream) as captured:
        buffer.fill(4, stream=stream)
    other = device.create_stream()
    gate = threading.Event()
    other.launch_host_func(gate.wait, PATIENCE)
    captured.graph.instantiate().launch(other)
    threading.Timer(0.05, gate.set).start()
    assert bytes(buffer) == b"\4" * 4


@needs_host_access
def test_reading_in_a_capture_is_refused(device: infinirt.Device, stream: infinirt.Stream) -> None:
    buffer = device.allocate(4, stream=stream)
    stream.sync()
    with infinirt.capture(stream), pytest.raises(BufferError, match="captured"):
        bytes(buffer)
    assert not stream.is_capturing  # and the capture was not broken


READERS: dict[str, Callable[[infinirt.Buffer], object]] = {
    "memoryview": memoryview,
    "bytes": bytes,
    "asarray": np.asarray,
    "frombuffer": lambda buffer: np.frombuffer(buffer, "uint8"),  # type: ignore[call-overload]
}


@needs_separate_memory
@pytest.mark.parametrize("reader", READERS)
def test_memory_that_the_host_does_not_reach_is_not_shown(device: infinirt.Device, reader: str) -> None:
    buffer = device.allocate(8)
    buffer.fill(4)
    assert not buffer.is_host_accessible
    with pytest.raises(BufferError, match="PinnedPool"):
        READERS[reader](buffer)
    assert contents(buffer) == b"\4" * 8
    buffer.close()  # nothing was left that looks at it


@needs_separate_memory
def test_memory_that_the_host_does_not_reach_is_copied_for_dlpack(device: infinirt.Device) -> None:
    buffer = device.allocate(4)
    buffer.copy_from(b"abcd")
    assert buffer.__dlpack_device__()[0] != 1  # not the CPU's
    assert np.from_dlpack(buffer, device="cpu").tobytes() == b"abcd"  # type: ignore[arg-type, call-arg]


@needs_separate_memory
def test_closed_memory_says_so_rather_than_where_it_was(device: infinirt.Device) -> None:
    buffer = device.allocate(8)
    buffer.close()
    with pytest.raises(infinirt.InvalidValueError, match="closed"):
        bytes(buffer)


@needs_separate_memory
def test_what_the_host_does_not_reach_is_refused_in_a_capture_too(
    device: infinirt.Device, stream: infinirt.Stream
) -> None:
    buffer = device.allocate(4, stream=stream)
    stream.sync()
    with infinirt.capture(stream) as captured:
        with pytest.raises(BufferError, match="PinnedPool"):
            bytes(buffer)
        buffer.fill(2, stream=stream)
    captured.graph.instantiate().launch(stream)
    assert contents(buffer) == b"\2" * 4


def test_isolated_memory_cannot_be_reached_by_the_host() -> None:
    out = run_python(
        """
        import infinirt
        device = infinirt.Device("cpu")
        buffer = device.allocate(4)
        buffer.copy_from(b"abcd")
        assert not buffer.is_host_accessible
        try:
            memoryview(buffer)
        except BufferError as error:
            print(error)
        out = bytearray(4)
        buffer.copy_to(out)
        device.sync()
        pinned = infinirt.PinnedPool(device).allocate(4)
        buffer.copy_to(pinned)
        device.sync()
        print(bytes(out), bytes(pinned))
        """,
        INFINIRT_CPU_MEMORY="isolated",
        INFINIRT_DEVICE="cpu",
    )
    assert "PinnedPool" in out
    assert "b'abcd') b'abcd'" in out or "b'abcd' b'abcd'" in out


@needs_cuda_memory
def test_cuda_array_interface_of_cuda_memory(device: infinirt.Device, stream: infinirt.Stream) -> None:
    buffer = device.allocate(12, stream=stream)
    assert buffer.__cuda_array_interface__ == {
        "shape": (12,),
        "typestr": "|u1",
        "data": (buffer.ptr, False),
        "version": 3,
        "strides": None,
        "stream": int(stream),
    }


@needs_other_memory
def test_other_memory_has_no_cuda_array_interface(device: infinirt.Device) -> None:
    assert not hasattr(device.allocate(1), "__cuda_array_interface__")
