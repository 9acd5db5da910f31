"""Runtime: memory and copies, what may be given, and what is said about what may not."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

import infinicore
import infinirt

KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def runtime() -> Iterator[infinicore.Runtime]:
    with infinicore.Runtime("cpu") as made:  # closed afterwards, and not the thread's any more
        yield made.activate()


def test_what_a_runtime_is_made_of(runtime: infinicore.Runtime) -> None:
    assert runtime.device == infinicore.device("cpu:0")
    assert isinstance(runtime.stream, infinirt.Stream)
    assert runtime.stream.device is infinirt.Device("cpu")
    assert not runtime.stream.is_nonblocking  # as in InfiniCore
    assert runtime.infiniop_handle != 0
    assert runtime.activate() is runtime
    assert infinicore.get_runtime() is runtime
    assert "cpu:0" in repr(runtime)


def test_memory_knows_itself_and_frees_itself(runtime: infinicore.Runtime) -> None:
    memory = runtime.allocate_memory(MIB)
    assert memory.size() == len(memory) == MIB
    assert memory.data() % 256 == 0
    assert memory.data() != 0
    assert memory.device() == infinicore.device("cpu")
    assert not memory.is_pinned()
    assert runtime.allocator.statistics.live_blocks == 1
    shared = memory
    del memory
    assert runtime.allocator.statistics.live_blocks == 1
    del shared
    gc.collect()
    assert runtime.allocator.statistics.live_blocks == 0
    assert runtime.allocator.statistics.reserved >= MIB
    runtime.sync_stream()
    runtime.trim_memory()
    assert runtime.allocator.statistics.reserved == 0


def test_no_bytes_are_memory_too(runtime: infinicore.Runtime) -> None:
    memory = runtime.allocate_memory(0)
    assert (memory.size(), memory.data()) == (0, 0)
    runtime.memcpy_h2d(memory, b"", 0)
    runtime.memcpy_d2h(bytearray(), memory, 0)


def test_pinned_memory_of_the_cpu_is_plain_with_a_warning(runtime: infinicore.Runtime) -> None:
    with pytest.warns(UserWarning, match="plain memory"):
        memory = runtime.allocate_pinned_host_memory(KIB)
    assert memory.size() == KIB
    assert not memory.is_pinned()


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize(
    "make",
    [
        lambda: np.arange(256, dtype=np.float32),
        lambda: np.arange(512).astype(np.int16).reshape(2, 256),
        lambda: np.arange(512).astype(ml_dtypes.bfloat16),
        lambda: bytes(range(256)) * 4,
        lambda: bytearray(b"ab" * 512),
        lambda: memoryview(b"abcd" * 256),
    ],
    ids=["float32", "int16", "bfloat16", "bytes", "bytearray", "memoryview"],
)
def test_there_and_back(runtime: infinicore.Runtime, make: object, wait: bool) -> None:
    data = make()  # type: ignore[operator]
    first, second = runtime.allocate_memory(KIB), runtime.allocate_memory(2 * KIB)
    runtime.memcpy_h2d(first, data, KIB, async_=not wait)
    runtime.memcpy_d2d(second.data() + KIB, first.data(), KIB, async_=not wait)
    back = np.empty(KIB, np.uint8)
    runtime.memcpy_d2h(back, second.data() + KIB, KIB)
    assert back.tobytes() == (data.tobytes() if isinstance(data, np.ndarray) else bytes(data))


def test_a_part_is_copied(runtime: infinicore.Runtime) -> None:
    memory = runtime.allocate_memory(16)
    runtime.set_device_memory(memory, 7, 16)
    runtime.memcpy_h2d(memory, b"abcdefgh", 3)
    out = bytearray(8)
    runtime.memcpy_d2h(out, memory, 5)
    assert bytes(out) == b"abc\7\7\0\0\0"
    runtime.set_device_memory_async(memory.data() + 1, 9, 2)
    runtime.memcpy_d2h(out, memory, 4)
    assert bytes(out[:4]) == b"a\x09\x09\7"


def test_host_addresses_are_taken(runtime: infinicore.Runtime) -> None:
    source, target = np.arange(16, dtype=np.int64), np.zeros(16, np.int64)
    memory = runtime.allocate_memory(128)
    runtime.memcpy_h2d(memory.data(), source.ctypes.data, 128)
    runtime.memcpy_d2h(target.ctypes.data, memory.data(), 128)
    assert (source == target).all()


def test_what_is_wrong_is_said(runtime: infinicore.Runtime) -> None:
    memory = runtime.allocate_memory(8)
    with pytest.raises(ValueError, match="9 bytes were asked for, but dst has 8"):
        runtime.memcpy_h2d(memory, bytes(16), 9)
    with pytest.raises(ValueError, match="4 bytes were asked for, but src has 3"):
        runtime.memcpy_h2d(memory, b"abc", 4)
    with pytest.raises(ValueError, match="dst is read-only"):
        runtime.memcpy_d2h(b"12345678", memory, 8)
    with pytest.raises(ValueError, match="src must be contiguous"):
        runtime.memcpy_h2d(memory, np.arange(16, dtype=np.uint8)[::2], 8)
    with pytest.raises(ValueError, match="dst is a null address"):
        runtime.memcpy_h2d(0, bytes(8), 8)
    with pytest.raises(TypeError, match="buffer protocol"):
        runtime.memcpy_h2d(memory, [1, 2, 3], 3)
    with pytest.raises(TypeError, match="not bool"):
        runtime.memcpy_h2d(memory, True, 1)
    with pytest.raises(ValueError, match="negative"):
        runtime.memcpy_h2d(memory, b"a", -1)
    with pytest.raises(TypeError, match="size must be an integer"):
        runtime.memcpy_h2d(memory, b"a", 1.0)  # type: ignore[arg-type]
    with pytest.raises((ValueError, infinirt.InfiniRTError)):
        runtime.allocate_memory(-1)


def test_memory_outlives_its_runtime() -> None:
    runtime = infinicore.Runtime("cpu")
    memory = runtime.allocate_memory(64)
    memory.buffer.fill(3)
    memory.buffer.device.sync()
    runtime.close()
    assert bytes(memory.buffer) == b"\3" * 64
    with pytest.raises(RuntimeError, match="was closed"):
        runtime.allocate_memory(1)
    with pytest.raises(RuntimeError, match="was closed"):
        runtime.activate()
    runtime.close()


def test_memory_is_let_go_of_on_any_thread_after_its_work(runtime: infinicore.Runtime) -> None:
    gate = threading.Event()
    memory = [runtime.allocate_memory(MIB)]
    address = memory[0].data()
    other = infinirt.Device("cpu").create_stream()
    other.launch_host_func(gate.wait, 30)
    memory[0].buffer.fill(1, stream=other)
    thread = threading.Thread(target=memory.clear)
    thread.start()
    thread.join()
    taken = [runtime.allocate_memory(MIB) for _ in range(4)]
    assert address not in [memory.data() for memory in taken]
    gate.set()
    other.sync()
    taken += [runtime.allocate_memory(MIB) for _ in range(64)]
    assert address in [memory.data() for memory in taken]


def test_allocators(runtime: infinicore.Runtime) -> None:
    pinned = infinicore.DevicePinnedHostAllocator("cpu")
    memory = pinned.allocate(100, runtime.stream)
    assert memory.is_pinned()
    assert pinned.statistics.live_blocks == 1
    runtime.memcpy_h2d(memory, b"x" * 100, 100)
    runtime.sync_stream()
    assert bytes(memory.buffer) == b"x" * 100
    ordered = infinicore.StreamOrderedAllocator("cpu")
    memory = ordered.allocate(100, runtime.stream)
    runtime.memcpy_h2d(memory, b"y" * 100, 100, async_=False)
    assert bytes(memory.buffer) == b"y" * 100
    del memory
    for allocator in (pinned, ordered):
        runtime.sync_device()
        allocator.trim()
        assert "cpu:0" in repr(allocator)
        allocator.close()
