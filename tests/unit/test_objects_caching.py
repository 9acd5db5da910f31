"""Caching pools: the runtime's own allocator as a memory resource, on every device type."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from pathlib import Path

import pytest
from objects_support import PATIENCE, TYPE, contents, run_python

import infinirt
from infinirt import torch as infinirt_torch

MIB = 1 << 20


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device(TYPE)


@pytest.fixture(params=[infinirt.CachingPool, infinirt.PinnedPool])
def pool(request: pytest.FixtureRequest, device: infinirt.Device) -> infinirt.CachingPool:
    made = request.param(device)
    assert isinstance(made, infinirt.CachingPool)
    return made


def test_statistics_follow_what_happens(pool: infinirt.CachingPool) -> None:
    assert pool.statistics == infinirt.CacheStatistics(*[0] * 14)
    buffers = [pool.allocate(size) for size in (1, 1000, 3 * MIB)]
    now = pool.statistics
    assert (now.live_blocks, now.allocations, now.frees) == (3, 3, 0)
    assert now.requested == 1001 + 3 * MIB
    assert now.requested <= now.used <= now.reserved == now.reserved_peak
    del buffers
    gc.collect()
    later = pool.statistics
    assert (later.live_blocks, later.used, later.frees) == (0, 0, 3)
    assert later.used_peak == now.used
    pool.reset_peaks()
    assert pool.statistics.used_peak == 0
    pool.device.sync()
    pool.trim()
    assert (pool.statistics.reserved, pool.statistics.segments) == (0, 0)


def test_a_block_goes_to_others_when_its_work_is_done(
    device: infinirt.Device, pool: infinirt.CachingPool
) -> None:
    first, second = device.create_stream(), device.create_stream()
    buffer = pool.allocate(MIB, stream=first)
    address = buffer.ptr
    gate = threading.Event()
    first.launch_host_func(gate.wait, PATIENCE)
    buffer.close()
    with pool.allocate(MIB, stream=first) as same:
        assert same.ptr == address
    other = pool.allocate(MIB, stream=second)
    assert other.ptr != address
    gate.set()
    device.sync()
    held = [pool.allocate(MIB, stream=second) for _ in range(64)]
    assert address in {buffer.ptr for buffer in held}


def test_other_streams_are_waited_for_without_stopping_the_own_one(
    device: infinirt.Device, pool: infinirt.CachingPool
) -> None:
    own, user = device.create_stream(), device.create_stream()
    buffer = pool.allocate(MIB, stream=own)
    address = buffer.ptr
    gate = threading.Event()
    user.launch_host_func(gate.wait, PATIENCE)
    buffer.fill(1, stream=user)
    buffer.close()
    assert pool.statistics.pending_blocks == 1
    assert own.query() is None or own.is_done  # it need not wait for the other
    assert pool.allocate(MIB, stream=own).ptr != address
    gate.set()
    device.sync()
    held = [pool.allocate(MIB, stream=own) for _ in range(64)]
    assert address in {buffer.ptr for buffer in held}


def test_memory_of_a_capture_is_the_graphs(device: infinirt.Device, pool: infinirt.CachingPool) -> None:
    stream, other = device.create_stream(), device.create_stream()
    result = pool.allocate(MIB, stream=stream)
    with infinirt.capture(stream) as captured:
        temporary = pool.allocate(MIB, stream=stream)
        address = temporary.ptr
        temporary.fill(7, stream=stream)
        result.copy_from(temporary, stream=stream)
        del temporary
    ready = captured.graph.instantiate()
    strangers = [pool.allocate(MIB, stream=s) for s in (stream, other) for _ in range(16)]
    assert address not in {buffer.ptr for buffer in strangers}
    for buffer in strangers:
        buffer.fill(1, stream=buffer.stream)
    ready.launch(stream)
    assert contents(result) == b"\7" * MIB
    live = pool.statistics.live_blocks
    captured.graph.close()
    ready.close()
    del captured, ready
    gc.collect()
    device.sync()
    # A driver tells the end of a graph on a thread of its own; the next calls do what it had to leave.
    patience = time.monotonic() + PATIENCE
    while pool.statistics.live_blocks != live - 1:
        assert time.monotonic() < patience, pool.statistics
        infinirt.Device(TYPE).allocate(1)
        time.sleep(0.001)


def test_graphs_share_no_memory_and_give_it_back(device: infinirt.Device, pool: infinirt.CachingPool) -> None:
    addresses = set()
    kept = []
    for _ in range(3):
        stream = device.create_stream()
        for _ in range(2):
            with infinirt.capture(stream) as captured, pool.allocate(4 * MIB, stream=stream) as temporary:
                temporary.fill(1, stream=stream)
                addresses.add(temporary.ptr)
            kept.append(captured.graph.instantiate())
            captured.graph.close()
    assert temporary.is_closed
    assert len(addresses) == pool.statistics.live_blocks == 6
    for ready in kept:
        ready.close()
    del captured, kept, ready, temporary
    gc.collect()
    device.sync()
    pool.allocate(1).close()
    device.sync()
    pool.trim()
    assert (pool.statistics.live_blocks, pool.statistics.reserved) == (0, 0)


def test_a_limit_is_kept(device: infinirt.Device) -> None:
    pool = infinirt.CachingPool(device, max_size=4 * MIB)
    buffer = pool.allocate(4 * MIB)
    with pytest.raises(
        infinirt.OutOfMemoryError, match=r"1 bytes were asked for.*holds 4194304 of at most 4194304"
    ):
        pool.allocate(1)
    assert pool.statistics.out_of_memory == 1
    buffer.close()
    assert pool.allocate(1).size == 1


def test_a_device_can_allocate_from_it(device: infinirt.Device) -> None:
    pool = infinirt.CachingPool(device)
    pool.set_current()
    try:
        assert device.memory_resource is pool
        buffer = device.allocate(100)
        assert buffer.memory_resource is pool
        assert pool.statistics.live_blocks == 1
    finally:
        pool.close()
    assert device.memory_resource is not pool
    assert pool.is_closed
    assert "closed" in repr(pool)
    with pytest.raises(infinirt.InvalidHandleError, match="closed"):
        pool.allocate(1)
    buffer.fill(1)
    assert contents(buffer) == b"\1" * 100
    buffer.close()


def test_wrong_requests(device: infinirt.Device, pool: infinirt.CachingPool) -> None:
    with pytest.raises(ValueError):
        pool.allocate(-1)
    with pytest.raises(TypeError):
        pool.allocate("much")  # type: ignore[arg-type]
    with pytest.raises(infinirt.OutOfMemoryError):
        pool.allocate(1 << 62)
    with pytest.raises(infinirt.InvalidValueError, match="0x10"):
        pool.deallocate(16, 1)
    with pytest.raises(ValueError):
        pool.trim(-1)
    with pytest.raises(infinirt.InvalidDeviceError):
        type(pool)(f"{TYPE}:1000")
    assert pool.allocate(0).size == 0
    assert pool.statistics.live_blocks == 0


def test_threads_share_a_pool(device: infinirt.Device, pool: infinirt.CachingPool) -> None:
    def work(number: int) -> None:
        stream = device.create_stream()
        for size in range(1, 100):
            buffer = pool.allocate(size * 97, stream=stream)
            buffer.fill(number, stream=stream)
            assert contents(buffer) == bytes([number]) * (size * 97)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert pool.statistics.live_blocks == 0
    assert pool.statistics.allocations == pool.statistics.frees == 4 * 99


def test_host_functions_that_need_the_interpreter_do_not_deadlock(device: infinirt.Device) -> None:
    """Memory goes back to the device inside calls that keep the interpreter's lock, and the device waits."""
    run_python(
        f"""
        import infinirt
        device = infinirt.Device("{TYPE}")
        busy, stream = device.create_stream(), device.create_stream()
        for _ in range(20):
            pool = infinirt.CachingPool(device, max_size=64 << 20)
            busy.launch_host_func(sum, range(100000))
            for size in (8 << 20, 16 << 20, 32 << 20, 48 << 20, 64 << 20):
                pool.allocate(size, stream=stream).fill(1, stream=stream)
            pool.trim()
            del pool
        device.sync()
        """
    )


def test_daemon_threads_may_be_giving_memory_back_when_the_interpreter_ends() -> None:
    run_python(
        f"""
        import infinirt, threading, time
        device = infinirt.Device("{TYPE}")

        def work():
            stream = device.create_stream()
            while True:
                try:
                    pool = infinirt.CachingPool(device, max_size=64 << 20)
                    for size in (8 << 20, 16 << 20, 32 << 20, 48 << 20, 64 << 20):
                        pool.allocate(size, stream=stream)
                except BaseException:  # a device in Python has ended; two threads that report it now would end Python
                    return

        class Slow:  # gives the threads time to want the interpreter while it ends
            def __del__(self, clock=time.monotonic):
                end = clock() + 0.3
                while clock() < end:
                    pass

        for _ in range(2):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.2)
        slow = Slow()
        slow.itself = slow
        """
    )


def test_every_hook_that_pytorch_is_given_exists() -> None:
    library = ctypes.CDLL(str(infinirt_torch._path()))
    for function in (*infinirt_torch._HOOKS.values(), "infinirt_torch_allocate", "infinirt_torch_free"):
        assert getattr(library, function)
    assert Path(infinirt_torch._path()).parent.name == "lib"


def test_the_flat_functions_use_the_same_cache(device: infinirt.Device) -> None:
    from infinirt import runtime as rt

    pool, stream = infinirt.CachingPool(device), device.create_stream()
    handle = int(stream.handle)
    error, pointer = rt.infinirtXCacheAllocate(MIB, pool.handle, handle)
    assert (int(error), pool.statistics.live_blocks) == (0, 1)
    assert pointer
    (error,) = rt.infinirtXCacheFree(pointer, rt.infinirtXCache_t(pool.handle), handle)
    assert (int(error), pool.statistics.live_blocks) == (0, 0)
    assert rt.infinirtXCacheAllocate(MIB, pool.handle, handle)[1] == pointer  # again, without a wait
    assert int(rt.infinirtXCacheFree(pointer + 256, pool.handle, handle)[0]) == 1
    rt.infinirtGetLastError()
    assert int(rt.infinirtXCacheFree(pointer, pool.handle, handle)[0]) == 0
    error, nothing = rt.infinirtXCacheAllocate(MIB, 0x1234, handle)
    assert (int(error), nothing) == (400, None)
    assert "cache" in rt.infinirtXGetLastErrorMessage()[1]
    rt.infinirtGetLastError()
