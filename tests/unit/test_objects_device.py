"""Device: names, identity, being current, properties."""

from __future__ import annotations

import pickle
import threading

import pytest
from objects_support import run_python

import infinirt


def test_one_object_per_device() -> None:
    device = infinirt.Device("cpu:0")
    assert infinirt.Device("cpu") is device
    assert infinirt.Device(device) is device
    assert infinirt.devices("cpu")[0] is device
    assert pickle.loads(pickle.dumps(device)) is device
    assert (device.type, device.ordinal, int(device), str(device)) == ("cpu", 0, 0, "cpu:0")


def test_device_without_arguments_is_the_current_one() -> None:
    with infinirt.Device("cpu:0"):
        assert infinirt.Device() is infinirt.Device("cpu:0") is infinirt.current_device()


@pytest.mark.parametrize("name", ["cpu:1000000", "nosuchtype", "nosuchtype:0"])
def test_unknown_devices_are_refused_by_name(name: str) -> None:
    with pytest.raises(infinirt.InvalidDeviceError, match=name.split(":")[0]) as caught:
        infinirt.Device(name)
    assert caught.value.name == "infinirtErrorInvalidDevice"
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("name", ["cpu:x", "cpu:", "cpu:-1", "cpu:1x"])
def test_names_that_are_no_names(name: str) -> None:
    with pytest.raises(infinirt.InvalidValueError, match="type:ordinal"):
        infinirt.Device(name)


def test_wrong_types_are_refused() -> None:
    with pytest.raises(TypeError, match="float"):
        infinirt.Device(1.5)  # type: ignore[arg-type]
    with pytest.raises(infinirt.InvalidDeviceError):
        infinirt.Device(-1)
    with pytest.raises(infinirt.InvalidDeviceError, match="known types: cpu"):
        infinirt.devices("nosuchtype")


def test_description() -> None:
    device = infinirt.Device("cpu")
    assert device.name
    assert [len(part) for part in device.uuid.split("-")] == [8, 4, 4, 4, 12]
    free, total = device.memory_info()
    assert 0 < free <= total
    assert device.compute_capability == (
        device.properties.compute_capability_major,
        device.properties.compute_capability_minor,
    )
    least, greatest = device.stream_priority_range
    assert greatest <= least


def test_properties_have_the_names_of_cuda_core() -> None:
    properties = infinirt.Device("cpu").properties
    assert properties.max_threads_per_block >= 1
    assert properties.unified_addressing is True
    assert "warp_size" in dir(properties)
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = properties.no_such_thing
    everything = infinirt.Device("cpu").attributes()
    assert everything["max_threads_per_block"] == properties.max_threads_per_block
    assert infinirt.Device("cpu").attributes("warp_size") == {"warp_size": everything["warp_size"]}


def test_devices_are_current_per_thread() -> None:
    out = run_python(
        """
        import threading, infinirt
        first, second = infinirt.devices("cpu")
        second.set_current()
        assert infinirt.Device() is second
        seen = []
        thread = threading.Thread(target=lambda: seen.append(infinirt.Device()))
        thread.start(); thread.join()
        assert seen == [first], seen
        with first:
            with second:
                assert infinirt.Device() is second
            assert infinirt.Device() is first
            stream = second.create_stream()
            assert stream.device is second
            event = second.create_event()
            assert infinirt.Device() is first
            buffer = second.allocate(64)
            assert buffer.device is second
        try:
            with first:
                raise KeyError
        except KeyError:
            pass
        assert infinirt.Device() is second
        assert infinirt.Device(0) is first
        assert first.can_access_peer(second) and not first.can_access_peer(first)
        first.enable_peer_access(second)
        first.disable_peer_access(second)
        print("ok")
        """,
        INFINIRT_CPU_DEVICES="2",
        INFINIRT_DEVICE="cpu",
    )
    assert out.strip() == "ok"


def test_default_streams_belong_to_their_device() -> None:
    out = run_python(
        """
        import threading, infinirt
        first, second = infinirt.devices("cpu")
        gate = threading.Event()
        second.default_stream.launch_host_func(gate.wait, 20)
        assert not second.default_stream.query()
        assert first.default_stream.query()
        assert infinirt.LEGACY_DEFAULT_STREAM.query()
        with second:
            assert not infinirt.LEGACY_DEFAULT_STREAM.query()
            assert infinirt.LEGACY_DEFAULT_STREAM.device is second
        gate.set()
        second.sync()
        a, b = first.allocate(8), second.allocate(8)
        a.fill(3)
        first.sync()
        a.copy_to(b)
        first.sync()
        assert bytes(b) == bytes([3]) * 8
        print("ok")
        """,
        INFINIRT_CPU_DEVICES="2",
        INFINIRT_DEVICE="cpu",
    )
    assert out.strip() == "ok"


def test_device_sync_waits_for_all_streams() -> None:
    device = infinirt.Device("cpu")
    done = []
    for number in range(3):
        device.create_stream().launch_host_func(done.append, number)
    device.sync()
    assert sorted(done) == [0, 1, 2]


def test_per_thread_default_stream() -> None:
    device = infinirt.Device("cpu")
    before = infinirt.per_thread_default_stream(True)
    try:
        assert int(device.default_stream) == 2
        gate = threading.Event()
        device.default_stream.launch_host_func(gate.wait, 20)
        idle: list[bool] = []
        thread = threading.Thread(target=lambda: idle.append(device.default_stream.query()))
        thread.start()
        thread.join()
        mine = device.default_stream.query()
        gate.set()
        device.sync()
        assert (mine, idle) == (False, [True])
    finally:
        infinirt.per_thread_default_stream(before)
    assert int(device.default_stream) == 1


def test_memory_limit_gives_out_of_memory() -> None:
    out = run_python(
        """
        import infinirt
        device = infinirt.Device("cpu")
        device.set_memory_limit(1 << 20)
        try:
            device.allocate(1 << 24)
        except MemoryError as error:
            assert isinstance(error, infinirt.OutOfMemoryError) and isinstance(error, infinirt.InfiniRTError)
            print(error)
        device.set_memory_limit(0)
        device.allocate(1 << 24)
        """,
        INFINIRT_DEVICE="cpu",
    )
    assert "16777216" in out
    assert "infinirtErrorMemoryAllocation" in out


def test_support_is_told() -> None:
    assert infinirt.support("infinirtMemcpyAsync", "cpu") == "native"
    with pytest.raises(infinirt.InvalidValueError, match="infinirtNoSuchThing"):
        infinirt.support("infinirtNoSuchThing", "cpu")
