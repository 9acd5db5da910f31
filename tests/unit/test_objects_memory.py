"""Memory pools, plain resources and adaptors."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import pytest
from objects_support import PATIENCE, POOL_UNIT, TYPE, contents, run_python, said

import infinirt


@pytest.fixture
def device() -> infinirt.Device:
    return infinirt.Device(TYPE)


MAKERS: dict[str, Callable[[infinirt.Device], infinirt.MemoryResource]] = {
    "pool": infinirt.MemoryPool,
    "current pool": infinirt.MemoryPool.current,
    "direct": infinirt.DirectResource,
    "pinned": infinirt.PinnedResource,
    "managed": infinirt.ManagedResource,
    "pinned pool": infinirt.PinnedPool,
    "caching pool": infinirt.CachingPool,
    "limiting": lambda device: infinirt.LimitingResource(infinirt.MemoryPool(device), 1 << 30),
    "tracking": lambda device: infinirt.TrackingResource(infinirt.DirectResource(device), traces=True),
    "failing": lambda device: infinirt.FailingResource(infinirt.MemoryPool(device), 1_000_000),
    "caching": lambda device: infinirt.CachingResource(infinirt.DirectResource(device)),
    "stacked": lambda device: infinirt.TrackingResource(
        infinirt.LimitingResource(infinirt.CachingResource(infinirt.DirectResource(device)), 1 << 30)
    ),
}

if infinirt.support("infinirtMallocManaged", TYPE) == "none":
    del MAKERS["managed"]


@pytest.fixture(params=MAKERS)
def resource(request: pytest.FixtureRequest, device: infinirt.Device) -> infinirt.MemoryResource:
    return MAKERS[request.param](device)


def test_every_resource_gives_usable_memory(
    device: infinirt.Device, resource: infinirt.MemoryResource
) -> None:
    stream = device.create_stream()
    assert resource.device is device
    assert resource.device_id == 0
    with resource.allocate(1000, stream=stream) as buffer:
        assert buffer.size == 1000
        assert buffer.memory_resource is resource
        assert buffer.stream == stream
        assert (resource.is_host_accessible, resource.is_device_accessible) == (
            buffer.is_host_accessible,
            True,
        )
        buffer.fill(3, stream=stream)
        other = buffer.copy_to(stream=stream)
        assert other.memory_resource is resource
        stream.sync()
        assert contents(other) == b"\3" * 1000
    assert buffer.is_closed
    assert resource.allocate(0).size == 0
    assert type(resource).__name__ in repr(resource)


def test_every_resource_can_be_a_devices_own(
    device: infinirt.Device, resource: infinirt.MemoryResource
) -> None:
    device.memory_resource = resource
    try:
        assert device.memory_resource is resource
        buffer = device.allocate(10)
        assert buffer.memory_resource is resource
        buffer.fill(1)
        device.sync()
        del buffer
    finally:
        device.memory_resource = None  # type: ignore[assignment]
    assert isinstance(device.memory_resource, infinirt.MemoryPool)


def test_every_resource_frees_after_other_streams(
    device: infinirt.Device, resource: infinirt.MemoryResource
) -> None:
    first, second = device.create_stream(), device.create_stream()
    buffer = resource.allocate(1 << 16, stream=first)
    target = device.allocate(1 << 16, stream=second)
    buffer.fill(8, stream=first)
    second.wait(first)
    gate = threading.Event()
    second.launch_host_func(gate.wait, PATIENCE)
    buffer.copy_to(target, stream=second)
    timer = threading.Timer(0.05, gate.set)
    timer.start()
    del buffer  # returns at once, or waits until the work is done; never frees before
    again = resource.allocate(1 << 16, stream=first)
    again.fill(9, stream=first)
    gate.set()
    device.sync()
    assert contents(target[0:8]) == b"\x08" * 8
    timer.join()


def test_a_device_refuses_what_is_no_resource(device: infinirt.Device) -> None:
    with pytest.raises(TypeError, match="allocate"):
        device.memory_resource = 3  # type: ignore[assignment]


def test_pool_attributes(device: infinirt.Device) -> None:
    pool = infinirt.MemoryPool(device)
    assert pool.attributes.release_threshold == (1 << 64) - 1
    assert pool.attributes.reuse_allow_opportunistic is True
    pool.attributes.reuse_allow_opportunistic = False
    assert pool.attributes.reuse_allow_opportunistic is False
    buffer = pool.allocate(1 << 20)
    assert pool.attributes.used_mem_current >= 1 << 20
    assert pool.attributes.used_mem_high >= 1 << 20
    buffer.close()
    device.sync()
    assert pool.attributes.used_mem_current == 0
    assert pool.attributes.reserved_mem_current >= 1 << 20
    pool.trim()
    assert pool.attributes.reserved_mem_current == 0
    pool.attributes.used_mem_high = 0
    assert pool.attributes.used_mem_high == 0
    with pytest.raises(AttributeError):
        pool.attributes.used_mem_current = 0


def test_release_threshold_zero_gives_back_at_the_next_synchronisation(device: infinirt.Device) -> None:
    pool = infinirt.MemoryPool(device, infinirt.MemoryPoolOptions(release_threshold=0))
    stream = device.create_stream()
    pool.allocate(1 << 20, stream=stream).close()
    assert pool.attributes.reserved_mem_current > 0
    stream.sync()  # of an idle stream, too
    assert pool.attributes.reserved_mem_current == 0


def test_pools_reuse_memory_in_stream_order(device: infinirt.Device) -> None:
    pool, stream = infinirt.MemoryPool(device), device.create_stream()
    gate = threading.Event()
    stream.launch_host_func(gate.wait, PATIENCE)
    first = pool.allocate(1 << 16, stream=stream)
    address = first.ptr
    first.close()
    assert pool.allocate(1 << 16, stream=stream).ptr == address
    gate.set()
    stream.sync()


def test_closing_a_pool_spares_its_memory(device: infinirt.Device) -> None:
    pool = infinirt.MemoryPool(device)
    buffer = pool.allocate(100)
    pool.close()
    assert pool.is_closed
    with pytest.raises(infinirt.InvalidHandleError, match="closed"):
        pool.allocate(1)
    buffer.fill(1)
    device.sync()
    assert contents(buffer[0:2]) == b"\1\1"
    del buffer


def test_the_default_pool_cannot_be_closed(device: infinirt.Device) -> None:
    pool = infinirt.MemoryPool.current(device)
    with pytest.raises(infinirt.InvalidValueError, match=said(r"default pool of .* cannot be destroyed")):
        pool.close()
    assert not pool.is_closed
    assert pool.allocate(8).size == 8


def test_somebody_elses_pool_is_left_alone(device: infinirt.Device) -> None:
    with device:
        mine = infinirt.MemoryPool(device)
        mine.set_current()
        theirs = infinirt.MemoryPool.current(device)
        assert theirs.handle == mine.handle
        theirs.close()
        assert mine.allocate(8).size == 8
        mine.close()


def test_set_current(device: infinirt.Device) -> None:
    run_python(
        """
        import infinirt
        from infinirt import runtime
        device = infinirt.Device()
        pool = infinirt.MemoryPool(device)
        pool.set_current()
        error, address = runtime.infinirtMallocAsync(4096, 0)
        assert error == 0 and pool.attributes.used_mem_current >= 4096
        assert device.allocate(1).memory_resource is pool
        """,
        INFINIRT_DEVICE=TYPE,
    )


def test_pool_maximum(device: infinirt.Device) -> None:
    pool = infinirt.MemoryPool(device, infinirt.MemoryPoolOptions(max_size=2 * POOL_UNIT))
    with pytest.raises(infinirt.OutOfMemoryError, match=said(rf"at most {2 * POOL_UNIT} \(maxSize\)")):
        pool.allocate(8 * POOL_UNIT)


def test_a_maximum_is_rounded_up_to_whole_segments_and_the_message_says_so(device: infinirt.Device) -> None:
    half = POOL_UNIT // 2
    pool = infinirt.MemoryPool(device, infinirt.MemoryPoolOptions(max_size=half))
    held = [pool.allocate(half), pool.allocate(half)]
    message = rf"at most {POOL_UNIT} \(maxSize {half}, rounded up"
    with pytest.raises(infinirt.OutOfMemoryError, match=said(message)):
        held.append(pool.allocate(half))
    assert pool.attributes.reserved_mem_high == POOL_UNIT


@pytest.mark.parametrize("wrong", [-1, 1 << 64])
def test_pool_sizes_that_are_none(device: infinirt.Device, wrong: int) -> None:
    with pytest.raises(ValueError, match="max_size must be between 0"):
        infinirt.MemoryPool(device, infinirt.MemoryPoolOptions(max_size=wrong))


def test_limiting(device: infinirt.Device) -> None:
    limited = infinirt.LimitingResource(infinirt.MemoryPool(device), 100)
    first = limited.allocate(60)
    with pytest.raises(infinirt.OutOfMemoryError, match=r"41 bytes .* 60 of the limit of 100"):
        limited.allocate(41)
    assert limited.used == 60
    second = limited.allocate(40)
    first.close()
    second.close()
    assert limited.used == 0


def test_failures_undo_their_own_accounting(device: infinirt.Device) -> None:
    """The inner resource fails: the outer ones have counted before, and must take it back."""
    failing = infinirt.FailingResource(infinirt.MemoryPool(device), 1)
    limited = infinirt.LimitingResource(failing, 100)
    tracked = infinirt.TrackingResource(limited)
    with pytest.raises(infinirt.OutOfMemoryError, match="allocation 1, of 100 bytes"):
        tracked.allocate(100)
    assert (limited.used, tracked.current_bytes, tracked.total_count) == (0, 0, 0)
    assert tracked.allocate(100).size == 100


def test_failing_by_rule(device: infinirt.Device) -> None:
    failing = infinirt.FailingResource(infinirt.MemoryPool(device), lambda number, size: size > 10)
    failing.allocate(10)
    with pytest.raises(MemoryError):
        failing.allocate(11)
    own = infinirt.FailingResource(infinirt.MemoryPool(device), 1, infinirt.NotSupportedError(801, "no"))
    with pytest.raises(NotImplementedError, match="no"):
        own.allocate(1)


def test_tracking(device: infinirt.Device) -> None:
    tracked = infinirt.TrackingResource(infinirt.MemoryPool(device), traces=True)
    buffers = [tracked.allocate(size) for size in (1, 20, 300)]
    assert (tracked.current_bytes, tracked.peak_bytes, tracked.total_count) == (321, 321, 3)
    size, where = tracked.outstanding[buffers[1].ptr]
    assert size == 20
    assert "test_tracking" in where
    del buffers[1:]
    gc.collect()
    assert (tracked.current_bytes, tracked.peak_bytes, list(tracked.outstanding)) == (
        1,
        321,
        [buffers[0].ptr],
    )


def test_freeing_what_is_not_there(device: infinirt.Device) -> None:
    for adaptor in (infinirt.TrackingResource(infinirt.MemoryPool(device)), infinirt.PinnedPool(device)):
        with pytest.raises(ValueError, match="0x10"):
            adaptor.deallocate(16, 1)


def test_caching_reuses_when_the_work_is_done(device: infinirt.Device) -> None:
    cache = infinirt.CachingResource(infinirt.PinnedResource(device))
    first, second = device.create_stream(), device.create_stream()
    buffer = cache.allocate(1000, stream=first)
    address = buffer.ptr
    gate = threading.Event()
    first.launch_host_func(gate.wait, PATIENCE)
    buffer.close()
    assert cache.idle_bytes >= 1000
    other = cache.allocate(1000, stream=second)
    assert other.ptr != address  # the first stream is not through with it
    same = cache.allocate(1000, stream=first)
    assert same.ptr == address  # but may itself have it at once
    gate.set()
    first.sync()
    same.close()
    first.sync()
    assert cache.allocate(1000, stream=second).ptr == address
    del other
    cache.trim()
    assert cache.idle_bytes == 0


@pytest.mark.parametrize("size", [1, 256, 257, 1000, 1025, 4097, 1 << 20, (1 << 20) + 1, 12345678])
def test_rounding_wastes_at_most_a_quarter(device: infinirt.Device, size: int) -> None:
    tracked = infinirt.TrackingResource(infinirt.DirectResource(device))
    cache = infinirt.CachingResource(tracked)
    buffer = cache.allocate(size)
    assert buffer.size == size
    assert size <= tracked.current_bytes <= max(256, size * 5 // 4)


def test_resources_are_used_from_many_threads(device: infinirt.Device) -> None:
    tracked = infinirt.TrackingResource(infinirt.PinnedPool(device))

    def work() -> None:
        stream = device.create_stream()
        for size in range(1, 100):
            buffer = tracked.allocate(size * 7, stream=stream)
            buffer.fill(size % 256, stream=stream)
            assert bytes(buffer[0:1]) == bytes([size])

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert (tracked.current_bytes, tracked.total_count) == (0, 4 * 99)


def test_less_memory_than_a_pool_takes_at_once_is_explained() -> None:
    code = """
    import infinirt
    device = infinirt.Device("cpu")
    for place in (device, infinirt.CachingPool(device, max_size=1 << 20)):
        try:
            place.allocate(64)
        except infinirt.OutOfMemoryError as error:
            assert "memory in pieces of 2 MiB" in str(error), error
    print(infinirt.DirectResource(device).allocate(64).size)
    """
    assert run_python(code, INFINIRT_CPU_MEMORY_LIMIT="1M") == "64\n"


def test_device_types_have_our_names_in_the_list_of_what_is_visible() -> None:
    code = "import infinirt; infinirt.Device('cpu').create_stream()"
    for listed, meant in (("cuda:0", "nvidia:0"), ("cpu:0, GPU:1", "nvidia:1"), ("CPU:0", "cpu:0")):
        alone = {"INFINIRT_VISIBLE_DEVICES": listed, "INFINIRT_PLUGIN_PATH": ""}
        said = run_python(f"import sys, os; os.dup2(1, 2); {code}", **alone)
        assert f"it may be '{meant}'" in said
    for listed in ("cpu:0", "nvidia:0,cpu:0", "0", "toy:3", "Toy:3,cpu:0"):
        assert run_python(f"import sys, os; os.dup2(1, 2); {code}", INFINIRT_VISIBLE_DEVICES=listed) == ""
    plugins = {"INFINIRT_VISIBLE_DEVICES": "npu:0,cpu:0", "INFINIRT_PLUGIN_PATH": "/nowhere"}
    assert "is not known" not in run_python(f"import sys, os; os.dup2(1, 2); {code}", **plugins)


def test_a_list_of_what_is_visible_has_numbers() -> None:
    code = """
    import infinirt
    try:
        infinirt.Device("cpu").create_stream()
    except infinirt.InfiniRTError as error:
        print(error)
    """
    assert "a type and a number: 'cpu:0'" in run_python(code, INFINIRT_VISIBLE_DEVICES="cpu")
