"""Devices: how many, which one is current, what they say about themselves."""

from __future__ import annotations

from typing import Any

from infinirt import runtime

from ..bench import Bench
from ..case import Register
from ..check import fails, holds, ok, rt, same

case = Register("device", "minimal")
full = Register("device", "full")


def attribute(name: str, device: int) -> int:
    return int(ok(rt.DeviceGetAttribute(rt.member("DeviceAttr", f"DevAttr{name}"), device)))


@case("device.count", about="GetDeviceCount", rule="contract of infinirtGetDeviceCount")
def count(t: Bench) -> None:
    """A device type that is there has at least one device."""
    holds(int(ok(rt.GetDeviceCount())) >= 1, "at least one device", ok(rt.GetDeviceCount()))


@case("device.set.is-current", about="SetDevice GetDevice", rule="contract of infinirtSetDevice")
def set_is_current(t: Bench) -> None:
    """The device that was set is the current one."""
    for device in range(int(ok(rt.GetDeviceCount()))):
        ok(rt.SetDevice(device))
        same(int(ok(rt.GetDevice())), device, "infinirtGetDevice")
    ok(rt.SetDevice(t.ordinal))


@case("device.set.out-of-range", about="SetDevice", rule="contract of infinirtSetDevice: 101 for no device")
def set_out_of_range(t: Bench) -> None:
    """A device number that does not exist is refused and changes nothing."""
    most = int(ok(rt.GetDeviceCount()))
    for wrong in (-1, most, most + 1000):
        fails(rt.SetDevice(wrong), "InvalidDevice")
        same(int(ok(rt.GetDevice())), t.ordinal, "the current device afterwards")


@case("device.set.per-thread", about="SetDevice GetDevice", rule="SetDevice is per thread")
def set_per_thread(t: Bench) -> None:
    """Every thread has a current device of its own, the first at the beginning."""
    other = t.other_device()

    def body() -> int:
        ok(rt.XSetDeviceType(t.type))
        first = int(ok(rt.GetDevice()))
        ok(rt.SetDevice(other))
        return first

    same(t.elsewhere(body, fresh=True), 0, "the current device of a new thread")
    same(int(ok(rt.GetDevice())), t.ordinal, "the current device of this thread")


@case("device.set.does-not-wait", about="SetDevice", rule="SetDevice does not synchronise")
def set_does_not_wait(t: Bench) -> None:
    """Setting the device does not wait for its work."""
    t.returns(t.blocking_stream(), lambda: rt.SetDevice(t.ordinal))


@case("device.init", about="InitDevice", rule="contract of infinirtInitDevice")
def init(t: Bench) -> None:
    """A device can be initialised explicitly, more than once, and stays as current as it was."""
    for _ in range(2):
        ok(rt.InitDevice(t.ordinal, 0, 0))
    same(int(ok(rt.GetDevice())), t.ordinal, "the current device afterwards")


@case("device.synchronise.waits", about="DeviceSynchronize", rule="contract of infinirtDeviceSynchronize")
def synchronise_waits(t: Bench) -> None:
    """Synchronising the device waits for a stream of it, non-blocking ones included."""
    t.waits(t.stream(), lambda: rt.DeviceSynchronize(), "infinirtDeviceSynchronize")


@case("device.synchronise.idle", about="DeviceSynchronize", rule="contract of infinirtDeviceSynchronize")
def synchronise_idle(t: Bench) -> None:
    """Synchronising an idle device returns, again and again."""
    for _ in range(100):
        ok(rt.DeviceSynchronize())


@case(
    "device.synchronise.all-streams", about="DeviceSynchronize", rule="contract of infinirtDeviceSynchronize"
)
def synchronise_all(t: Bench) -> None:
    """After synchronising the device every stream of it is done."""
    marks = [(t.stream(flags), t.mark()) for flags in (0, 1, 0, 1)]
    for stream, mark in marks:
        mark.set_by(stream)
    ok(rt.DeviceSynchronize())
    for stream, mark in marks:
        holds(mark.is_set, "the work of every stream to have run")
        ok(rt.StreamQuery(stream))


@case(
    "device.synchronise.own-device-only",
    about="DeviceSynchronize",
    rule="contract of infinirtDeviceSynchronize",
)
def synchronise_own(t: Bench) -> None:
    """Synchronising one device does not wait for another."""
    stream = t.on_device(t.other_device(), t.stream)
    t.returns(stream, lambda: rt.DeviceSynchronize())


@case("device.properties.name", about="GetDeviceProperties", rule="contract of infinirtGetDeviceProperties")
def name(t: Bench) -> None:
    """A device has a name and a positive amount of memory."""
    properties = ok(rt.GetDeviceProperties(t.ordinal))
    holds(len(properties.name.rstrip(b"\0")) > 0, "a name that is not empty")
    holds(properties.totalGlobalMem > 1 << 20, "more than 1 MiB of memory", properties.totalGlobalMem)


@full(
    "device.properties.agree",
    about="GetDeviceProperties DeviceGetAttribute",
    rule="contract of infinirtDeviceGetAttribute",
)
def agree(t: Bench) -> None:
    """Properties and attributes tell the same."""
    properties = ok(rt.GetDeviceProperties(t.ordinal))
    for key, field in (
        ("WarpSize", "warpSize"),
        ("MultiProcessorCount", "multiProcessorCount"),
        ("MaxThreadsPerBlock", "maxThreadsPerBlock"),
        ("ComputeCapabilityMajor", "major"),
        ("ComputeCapabilityMinor", "minor"),
        ("ManagedMemory", "managedMemory"),
        ("MemoryPoolsSupported", "memoryPoolsSupported"),
        ("UnifiedAddressing", "unifiedAddressing"),
        ("AsyncEngineCount", "asyncEngineCount"),
        ("PciBusId", "pciBusID"),
    ):
        same(attribute(key, t.ordinal), int(getattr(properties, field)), f"attribute {key}")


@full("device.properties.stable", about="GetDeviceProperties", rule="contract of infinirtGetDeviceProperties")
def stable(t: Bench) -> None:
    """What a device says of itself does not change from call to call."""
    first, second = (ok(rt.GetDeviceProperties(t.ordinal)) for _ in range(2))
    for field in ("name", "totalGlobalMem", "major", "minor", "multiProcessorCount", "pciBusID"):
        same(getattr(second, field), getattr(first, field), field)


@full(
    "device.properties.uuid",
    about="GetDeviceProperties",
    rule="contract of infinirtGetDeviceProperties: a unique identifier",
)
def uuid(t: Bench) -> None:
    """Devices are told apart by their UUIDs."""
    count = int(ok(rt.GetDeviceCount()))
    found = {bytes(ok(rt.GetDeviceProperties(i)).uuid.bytes) for i in range(count)}
    same(len(found), count, "the number of different UUIDs")
    holds(bytes(16) not in found, "no UUID of zeros")


@full(
    "device.properties.no-device", about="GetDeviceProperties", rule="contract of infinirtGetDeviceProperties"
)
def properties_of_none(t: Bench) -> None:
    """Asking for the properties of no device is an error."""
    for wrong in (-1, 9999):
        fails(rt.GetDeviceProperties(wrong), "InvalidDevice")


@full("device.attribute.no-device", about="DeviceGetAttribute", rule="contract of infinirtDeviceGetAttribute")
def attribute_of_none(t: Bench) -> None:
    """Asking for an attribute of no device is an error."""
    fails(rt.DeviceGetAttribute(rt.member("DeviceAttr", "DevAttrWarpSize"), 9999), "InvalidDevice")


@full(
    "device.attribute.every-one-answers",
    about="DeviceGetAttribute",
    rule="contract of infinirtDeviceGetAttribute",
)
def every_attribute(t: Bench) -> None:
    """Every attribute that the API names is answered, or refused as an invalid value."""
    answered = 0
    for member in runtime.infinirtDeviceAttr:
        error = int(rt.DeviceGetAttribute(member, t.ordinal)[0])
        rt.GetLastError()
        holds(error in (0, 1, 801), f"{member.name} to be answered or refused with 1", error)
        answered += error == 0
    holds(answered >= 40, "at least 40 attributes to be answered", answered)


@full(
    "device.pci-bus-id.round-trip",
    about="DeviceGetPCIBusId DeviceGetByPCIBusId",
    rule="contract of infinirtDeviceGetPCIBusId",
)
def bus_id(t: Bench) -> None:
    """A device is found by the bus id that it has."""
    for device in range(int(ok(rt.GetDeviceCount()))):
        address = ok(rt.DeviceGetPCIBusId(13, device)).partition(b"\0")[0]
        same(int(ok(rt.DeviceGetByPCIBusId(address))), device, f"the device at {address.decode()}")


@full("device.pci-bus-id.room", about="DeviceGetPCIBusId", rule="contract of infinirtDeviceGetPCIBusId")
def bus_id_room(t: Bench) -> None:
    """A buffer too small for the bus id is an error."""
    fails(rt.DeviceGetPCIBusId(5, t.ordinal), "InvalidValue")
    ok(rt.DeviceGetPCIBusId(13, t.ordinal))


@full(
    "device.pci-bus-id.unknown", about="DeviceGetByPCIBusId", rule="contract of infinirtDeviceGetByPCIBusId"
)
def bus_id_unknown(t: Bench) -> None:
    """Text that is no bus id, and a bus id where no device sits, are different errors."""
    fails(rt.DeviceGetByPCIBusId(b"nonsense"), "InvalidValue")
    fails(rt.DeviceGetByPCIBusId(b"0000:ff:1f.0"), "InvalidDevice")


@full(
    "device.priorities.range",
    about="DeviceGetStreamPriorityRange",
    rule="Streams: a lower number is a higher priority",
)
def priorities(t: Bench) -> None:
    """The greatest priority is a number not above the least."""
    least, greatest = ok(rt.DeviceGetStreamPriorityRange())
    holds(greatest <= least, "greatest <= least", (greatest, least))


@full("device.flags", about="GetDeviceFlags SetDeviceFlags", rule="contract of infinirtSetDeviceFlags")
def flags(t: Bench) -> None:
    """The device's flags can be asked for and set again; unknown ones are refused."""
    found = int(ok(rt.GetDeviceFlags()))
    same(found & ~int(runtime.infinirtDeviceMask), 0, "flags outside the mask")
    ok(rt.SetDeviceFlags(0))
    fails(rt.SetDeviceFlags(3), "InvalidValue")


@full("device.limits", about="DeviceGetLimit DeviceSetLimit", rule="contract of infinirtDeviceSetLimit")
def limits(t: Bench) -> None:
    """A limit that can be read can be set to what it is; one that does not exist is refused."""
    stack = rt.member("Limit", "LimitStackSize")
    value = int(ok(rt.DeviceGetLimit(stack)))
    ok(rt.DeviceSetLimit(stack, value))
    fails(rt.DeviceGetLimit(77), "UnsupportedLimit", "InvalidValue")


@full(
    "device.cache-config",
    about="DeviceGetCacheConfig DeviceSetCacheConfig",
    rule="contract of infinirtDeviceSetCacheConfig",
)
def cache_config(t: Bench) -> None:
    """The preferred cache configuration is a hint that can be set."""
    ok(rt.DeviceSetCacheConfig(ok(rt.DeviceGetCacheConfig())))


@full(
    "device.persisting-cache",
    about="CtxResetPersistingL2Cache",
    rule="contract of infinirtCtxResetPersistingL2Cache",
)
def persisting_cache(t: Bench) -> None:
    """Resetting the persisting part of the cache succeeds whether there is one or not."""
    ok(rt.CtxResetPersistingL2Cache())


@full(
    "device.versions",
    about="RuntimeGetVersion DriverGetVersion",
    rule="contract of infinirtRuntimeGetVersion",
)
def versions(t: Bench) -> None:
    """Runtime and driver say which version of the API they are."""
    holds(
        int(ok(rt.RuntimeGetVersion())) >= 12000, "a runtime version from 12000", ok(rt.RuntimeGetVersion())
    )
    holds(int(ok(rt.DriverGetVersion())) >= 12000, "a driver version from 12000", ok(rt.DriverGetVersion()))


@full("device.choose", about="ChooseDevice", rule="contract of infinirtChooseDevice")
def choose(t: Bench) -> None:
    """Asked for a device like an existing one, the runtime names an existing one."""
    chosen = int(ok(rt.ChooseDevice(ok(rt.GetDeviceProperties(t.ordinal)))))
    holds(0 <= chosen < int(ok(rt.GetDeviceCount())), "a number of a device", chosen)


@full("device.init.no-device", about="InitDevice", rule="contract of infinirtInitDevice")
def init_none(t: Bench) -> None:
    """Initialising no device is an error."""
    fails(rt.InitDevice(9999, 0, 0), "InvalidDevice")


@full(
    "device.reset.works-again",
    about="DeviceReset",
    rule="Processes: after DeviceReset the next call initialises again",
    alone=True,
)
def reset(t: Bench) -> None:
    """A device that was reset works again with the next call."""
    ok(rt.Malloc(4096))
    ok(rt.DeviceReset())
    pointer = t.memory(64, fill=3)
    mark = t.mark()
    stream = t.stream()
    mark.set_by(stream)
    ok(rt.StreamSynchronize(stream))
    holds(mark.is_set, "work to run after the reset")
    ok(rt.Memset(pointer, 0, 64))


@full(
    "device.reset.frees-memory",
    about="DeviceReset",
    rule="Processes: DeviceReset destroys Malloc and MallocHost memory",
    alone=True,
)
def reset_frees(t: Bench) -> None:
    """Resetting a device takes its plain and page-locked memory away."""
    device, pinned = int(ok(rt.Malloc(1 << 20))), int(ok(rt.MallocHost(4096)))
    ok(rt.DeviceReset())
    for pointer in (device, pinned):
        kind: Any = ok(rt.PointerGetAttributes(pointer)).type
        same(int(kind), 0, "the type of memory after the reset (0: unregistered)")


@full(
    "device.reset.others-go-on",
    about="DeviceReset",
    rule="contract of infinirtDeviceReset: the current device",
    alone=True,
)
def reset_others(t: Bench) -> None:
    """Resetting one device leaves the memory of another alone."""
    other = t.other_device()
    pointer = t.memory(64, fill=9)
    ok(rt.SetDevice(other))
    ok(rt.DeviceReset())
    ok(rt.SetDevice(t.ordinal))
    same(
        int(ok(rt.PointerGetAttributes(pointer)).type), 2, "the type of the other device's memory (2: device)"
    )


@full("device.profiler", about="ProfilerStart ProfilerStop", rule="contract of infinirtProfilerStart")
def profiler(t: Bench) -> None:
    """Profiling can be started and stopped without a profiler."""
    ok(rt.ProfilerStart())
    ok(rt.ProfilerStop())


@full(
    "device.driver-entry-point",
    about="GetDriverEntryPointByVersion",
    rule="contract of infinirtGetDriverEntryPoint",
)
def entry_point(t: Bench) -> None:
    """A symbol of the driver that does not exist is reported as not found, without an error."""
    error, *rest = rt.GetDriverEntryPointByVersion(b"cuThereIsNoSuchFunction", 12000, 0)
    code = int(error)
    rt.GetLastError()
    holds(code in (0, 500), "success with 'symbol not found', or 500", code)
    if code == 0:
        holds(int(rest[-1]) != 0, "the result to say that the symbol was not found", rest[-1])
