"""Devices and errors, through the flat API."""

from __future__ import annotations

from flat_api import fails, ok, rt


def check_devices() -> None:
    count = ok(rt.GetDeviceCount())
    assert count >= 1
    assert ok(rt.SetDevice(0)) is None
    assert ok(rt.GetDevice()) == 0
    fails(rt.SetDevice(count), "ErrorInvalidDevice")
    fails(rt.SetDevice(-1), "ErrorInvalidDevice")
    assert ok(rt.GetDevice()) == 0
    assert ok(rt.DeviceSynchronize()) is None
    assert ok(rt.InitDevice(0, 0, 0)) is None
    assert ok(rt.RuntimeGetVersion()) >= 12000
    assert ok(rt.DriverGetVersion()) >= 12000


def check_attributes_and_properties_agree() -> None:
    properties = ok(rt.GetDeviceProperties(0))
    assert isinstance(properties, rt.DeviceProp)
    assert len(properties.name) > 0
    assert isinstance(properties.name, bytes)
    assert len(properties.uuid.bytes) == 16
    assert len(properties.luid) == 8
    assert len(properties.maxThreadsDim) == len(properties.maxGridSize) == 3
    assert properties.totalGlobalMem > 1 << 20
    for attribute, field in (
        ("DevAttrWarpSize", "warpSize"),
        ("DevAttrMultiProcessorCount", "multiProcessorCount"),
        ("DevAttrMaxThreadsPerBlock", "maxThreadsPerBlock"),
        ("DevAttrComputeCapabilityMajor", "major"),
        ("DevAttrHostNumaId", "hostNumaId"),
        ("DevAttrMemoryPoolsSupported", "memoryPoolsSupported"),
    ):
        value = ok(rt.DeviceGetAttribute(rt.member("DeviceAttr", attribute), 0))
        assert value == getattr(properties, field), field
    assert ok(rt.ChooseDevice(properties)) >= 0
    assert "multiProcessorCount : " in str(properties)
    fails(rt.DeviceGetAttribute(rt.member("DeviceAttr", "DevAttrWarpSize"), 10_000), "ErrorInvalidDevice")
    fails(rt.GetDeviceProperties(10_000), "ErrorInvalidDevice")


def check_pci_bus_id() -> None:
    text = ok(rt.DeviceGetPCIBusId(16, 0))
    assert len(text) == 16
    address, zero, _ = text.partition(b"\0")
    assert zero
    assert len(address) == 12
    assert ok(rt.DeviceGetByPCIBusId(address)) == 0


def check_priorities_flags_and_limits() -> None:
    least, greatest = ok(rt.DeviceGetStreamPriorityRange())
    assert greatest <= least
    flags = ok(rt.GetDeviceFlags())
    assert flags & ~rt.DeviceMask == 0
    fails(rt.SetDeviceFlags(0x4000), "ErrorInvalidValue")
    result = rt.DeviceGetLimit(rt.member("Limit", "LimitMallocHeapSize"))
    if rt.is_infinirt and result[0] != 0:  # a CPU device need not have that heap
        fails(result, "ErrorUnsupportedLimit")
    else:
        assert ok(result) >= 0
    fails(rt.DeviceGetLimit(77), "ErrorUnsupportedLimit", "ErrorInvalidValue")
    ok(rt.DeviceGetCacheConfig())
    assert ok(rt.DeviceGetDefaultMemPool(0)) != rt.MemPool_t()


def check_peers() -> None:
    # A device is not its own peer.
    assert ok(rt.DeviceCanAccessPeer(0, 0)) == 0
    fails(rt.DeviceEnablePeerAccess(10_000, 0), "ErrorInvalidDevice")
    fails(rt.DeviceDisablePeerAccess(10_000), "ErrorInvalidDevice")


def check_errors() -> None:
    error = rt.Error_t
    assert rt.GetErrorName(rt.member("Error_t", "ErrorInvalidValue")) == (
        error(0),
        f"{rt.prefix}ErrorInvalidValue".encode(),
    )
    assert ok(rt.GetErrorString(rt.member("Error_t", "Success"))) == b"no error"
    assert ok(rt.GetErrorName(98765)) == b"unrecognized error code"
    assert rt.GetLastError() == (error(0),)
    assert rt.SetDevice(10_000)[0] == 101
    assert rt.PeekAtLastError() == rt.PeekAtLastError() == (error(101),)
    assert rt.GetLastError() == (error(101),)
    assert rt.GetLastError() == (error(0),)


def check_enums() -> None:
    kind = rt.MemcpyKind
    member = rt.copy_kind("DeviceToHost")
    assert kind(2) is member
    assert member == 2
    assert issubclass(kind, int)
    assert member.value == 2
    assert member.name == f"{rt.prefix}MemcpyDeviceToHost"
    assert [int(m) for m in kind] == [0, 1, 2, 3, 4]
    assert len(kind) == 5
    assert 2 in kind
    assert 9 not in kind
    assert repr(member) == str(member) == f"<{rt.prefix}MemcpyKind.{rt.prefix}MemcpyDeviceToHost: 2>"
    try:
        kind(9)
        refused = ""
    except ValueError as problem:
        refused = str(problem)
    assert "9 is not a valid" in refused
