"""Several devices: copies between them, access to each other's memory."""

from __future__ import annotations

from ..bench import DEFAULT, Bench, download, pattern, upload
from ..case import Register
from ..check import Inapplicable, fails, holds, ok, rt, same, same_bytes

case = Register("peer", "full")


def reachable(t: Bench) -> int:
    """Another device that can reach this one's memory."""
    other = t.other_device()
    if not int(ok(rt.DeviceCanAccessPeer(t.ordinal, other))):
        raise Inapplicable("the two devices do not reach each other's memory")
    return other


@case(
    "peer.memory-apart",
    about="Malloc Memcpy SetDevice",
    rule="contract of infinirtMalloc: memory of the current device",
)
def apart(t: Bench) -> None:
    """Memory of one device is not memory of another: writing one leaves the other as it was."""
    other = t.other_device()
    mine = [t.memory(4096) for _ in range(4)]
    theirs = t.on_device(other, lambda: [t.memory(4096) for _ in range(4)])
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        upload(a, pattern(4096, i))
        upload(b, pattern(4096, i + 50))
    for i, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        same_bytes(download(a, 4096), pattern(4096, i), "memory of this device")
        same_bytes(download(b, 4096), pattern(4096, i + 50), "memory of the other device")


@case("peer.memory.device", about="PointerGetAttributes", rule="contract of infinirtPointerGetAttributes")
def device_of(t: Bench) -> None:
    """Memory says which device it belongs to, whichever is current."""
    other = t.other_device()
    pointer = t.on_device(other, lambda: t.memory(64))
    same(int(ok(rt.PointerGetAttributes(pointer)).device), other, "the device of the memory")


@case("peer.memory.freed-anywhere", about="Free", rule="contract of infinirtFree: any device may be current")
def freed_anywhere(t: Bench) -> None:
    """Memory of one device is freed while another is current."""
    other = t.other_device()
    pointer = t.on_device(other, lambda: ok(rt.Malloc(4096)))
    ok(rt.Free(pointer))
    same(int(ok(rt.GetDevice())), t.ordinal, "the current device")


@case(
    "peer.copy.default", about="Memcpy", rule="Copies: MemcpyDefault infers the direction from the pointers"
)
def copy_default(t: Bench) -> None:
    """A copy with the default kind goes from one device to another."""
    other = t.other_device()
    mine, theirs = t.memory(8192), t.on_device(other, lambda: t.memory(8192))
    upload(mine, pattern(8192, 2))
    ok(rt.Memcpy(theirs, mine, 8192, DEFAULT))
    same_bytes(download(theirs, 8192), pattern(8192, 2), "what arrived at the other device")


@case("peer.copy", about="MemcpyPeer", rule="contract of infinirtMemcpyPeer")
def copy(t: Bench) -> None:
    """Bytes go from one device to another and back."""
    other = t.other_device()
    mine, theirs, back = t.memory(1 << 20), t.on_device(other, lambda: t.memory(1 << 20)), t.memory(1 << 20)
    upload(mine, pattern(1 << 20, 3))
    ok(rt.MemcpyPeer(theirs, other, mine, t.ordinal, 1 << 20))
    ok(rt.MemcpyPeer(back, t.ordinal, theirs, other, 1 << 20))
    same_bytes(download(back, 1 << 20), pattern(1 << 20, 3), "what came back")


@case("peer.copy.async", about="MemcpyPeerAsync", rule="contract of infinirtMemcpyPeerAsync")
def copy_async(t: Bench) -> None:
    """A copy between devices is done in stream order."""
    other, stream = t.other_device(), t.stream()
    mine, theirs = t.memory(4096, fill=1), t.on_device(other, lambda: t.memory(4096, fill=2))
    gate = t.gate(stream)
    ok(rt.MemsetAsync(mine, 7, 4096, stream))
    ok(rt.MemcpyPeerAsync(theirs, other, mine, t.ordinal, 4096, stream))
    gate.open()
    ok(rt.StreamSynchronize(stream))
    same(download(theirs, 4096), b"\7" * 4096, "what arrived at the other device")


@case(
    "peer.copy.same-device", about="MemcpyPeer", rule="measured: MemcpyPeer from a device to itself succeeds"
)
def same_device(t: Bench) -> None:
    """A copy between devices may be one within a device."""
    one, two = t.memory(64, fill=1), t.memory(64, fill=2)
    ok(rt.MemcpyPeer(one, t.ordinal, two, t.ordinal, 64))
    same(download(one, 64), b"\2" * 64, "the memory")


@case(
    "peer.copy.wrong",
    about="MemcpyPeer",
    rule="measured: MemcpyPeer with no device is 101, of plain host memory 1",
)
def wrong(t: Bench) -> None:
    """A copy between devices names devices that exist, and memory of theirs."""
    one, two = t.memory(64), t.memory(64)
    fails(rt.MemcpyPeer(one, 9999, two, t.ordinal, 64), "InvalidDevice")
    fails(rt.MemcpyPeer(one, t.ordinal, t.plain(64), t.ordinal, 64), "InvalidValue")


@case("peer.copy.3d", about="Memcpy3DPeer", rule="contract of infinirtMemcpy3DPeer")
def copy_3d(t: Bench) -> None:
    """A volume goes from one device to another."""
    other = t.other_device()
    mine, theirs = t.memory(512), t.on_device(other, lambda: t.memory(512, fill=1))
    upload(mine, pattern(512, 4))
    p = rt.Memcpy3DPeerParms()
    p.srcPtr, p.dstPtr = rt.make("PitchedPtr")(mine, 16, 16, 4), rt.make("PitchedPtr")(theirs, 16, 16, 4)
    p.srcDevice, p.dstDevice = t.ordinal, other
    p.extent = rt.make("Extent")(16, 4, 8)
    ok(rt.Memcpy3DPeer(p))
    ok(rt.DeviceSynchronize())
    same_bytes(download(theirs, 512), pattern(512, 4), "the volume on the other device")


@case(
    "peer.access.itself",
    about="DeviceCanAccessPeer DeviceEnablePeerAccess DeviceDisablePeerAccess",
    rule="measured: a device is not its own peer: 0, 217, 705",
)
def itself(t: Bench) -> None:
    """A device is not its own peer."""
    same(int(ok(rt.DeviceCanAccessPeer(t.ordinal, t.ordinal))), 0, "whether it can access itself as a peer")
    fails(rt.DeviceEnablePeerAccess(t.ordinal, 0), "PeerAccessUnsupported")
    fails(rt.DeviceDisablePeerAccess(t.ordinal), "PeerAccessNotEnabled")


@case(
    "peer.access.no-device",
    about="DeviceCanAccessPeer DeviceEnablePeerAccess DeviceDisablePeerAccess",
    rule="measured: 101",
)
def no_device(t: Bench) -> None:
    """No device is no peer."""
    fails(rt.DeviceCanAccessPeer(t.ordinal, 9999), "InvalidDevice")
    fails(rt.DeviceEnablePeerAccess(9999, 0), "InvalidDevice")
    fails(rt.DeviceDisablePeerAccess(9999), "InvalidDevice")


@case(
    "peer.access.enable",
    about="DeviceEnablePeerAccess DeviceDisablePeerAccess",
    rule="contract of infinirtDeviceEnablePeerAccess: 704 when enabled already, 705 when not",
)
def enable(t: Bench) -> None:
    """Access to a peer is enabled once and disabled once."""
    other = reachable(t)
    ok(rt.DeviceEnablePeerAccess(other, 0))
    fails(rt.DeviceEnablePeerAccess(other, 0), "PeerAccessAlreadyEnabled")
    ok(rt.DeviceDisablePeerAccess(other))
    fails(rt.DeviceDisablePeerAccess(other), "PeerAccessNotEnabled")


@case(
    "peer.access.flags",
    about="DeviceEnablePeerAccess",
    rule="contract of infinirtDeviceEnablePeerAccess: flags must be 0",
)
def flags(t: Bench) -> None:
    """Enabling access to a peer takes no flags."""
    fails(rt.DeviceEnablePeerAccess(reachable(t), 1), "InvalidValue")


@case(
    "peer.attribute",
    about="DeviceGetP2PAttribute",
    rule="contract of infinirtDeviceGetP2PAttribute; measured: of itself 101",
)
def attribute(t: Bench) -> None:
    """Two devices tell how they reach each other; a device and itself do not."""
    which = rt.member("DeviceP2PAttr", "DevP2PAttrAccessSupported")
    fails(rt.DeviceGetP2PAttribute(which, t.ordinal, t.ordinal), "InvalidDevice")
    other = t.other_device()
    holds(int(ok(rt.DeviceGetP2PAttribute(which, t.ordinal, other))) in (0, 1), "0 or 1")


@case(
    "peer.streams-apart",
    about="StreamSynchronize",
    rule="Streams: the legacy stream concerns its own device only",
)
def streams_apart(t: Bench) -> None:
    """The legacy stream of one device does not wait for a blocking stream of another."""
    stream = t.on_device(t.other_device(), t.blocking_stream)
    t.returns(stream, lambda: rt.StreamSynchronize(0))
