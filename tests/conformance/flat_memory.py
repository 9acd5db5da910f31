"""Memory, copies and pools, through the flat API."""

from __future__ import annotations

import ctypes

from flat_api import download, fails, host, ok, rt, upload

DATA = bytes(range(256)) * 4


def check_copies_and_sets() -> None:
    one, two = ok(rt.Malloc(1024)), ok(rt.Malloc(1024))
    assert isinstance(one, int)
    assert one % 256 == two % 256 == 0
    upload(one, DATA)
    ok(rt.Memcpy(two, one, 1024, rt.copy_kind("DeviceToDevice")))
    assert download(two, 1024) == DATA
    ok(rt.Memset(two, 0x1FF, 512))  # the low byte counts
    assert download(two, 1024) == b"\xff" * 512 + DATA[512:]
    ok(rt.Memcpy(dst=two, src=DATA, count=1024, kind=rt.copy_kind("Default")))
    assert download(two, 1024) == DATA
    ok(rt.Free(one))
    ok(rt.Free(two))
    ok(rt.Free(None))
    ok(rt.Free(0))


def check_asynchronous_copies() -> None:
    stream = ok(rt.StreamCreate())
    device = ok(rt.Malloc(1024))
    pinned = ok(rt.MallocHost(1024))
    ctypes.memmove(pinned, DATA, 1024)
    ok(rt.MemcpyAsync(device, pinned, 1024, rt.copy_kind("HostToDevice"), stream))
    ok(rt.MemsetAsync(device, 7, 16, stream))
    ok(rt.MemsetAsync(pinned, 0, 1024, stream))
    ok(rt.MemcpyAsync(pinned, device, 1024, rt.copy_kind("DeviceToHost"), stream))
    ok(rt.StreamSynchronize(stream))
    assert ctypes.string_at(pinned, 1024) == b"\7" * 16 + DATA[16:]
    ok(rt.FreeHost(pinned))
    ok(rt.Free(device))
    ok(rt.StreamDestroy(stream))


def check_bad_memory_arguments() -> None:
    pointer = ok(rt.Malloc(256))
    fails(rt.Memset(pointer, 0, 1 << 30), "ErrorInvalidValue")
    fails(rt.Memcpy(pointer, host(16), 16, 77), "ErrorInvalidMemcpyDirection", "ErrorInvalidValue")
    fails(rt.Malloc(1 << 60), "ErrorMemoryAllocation")
    ok(rt.Free(pointer))
    fails(rt.Free(pointer), "ErrorInvalidValue")
    fails(rt.FreeHost(host(16)), "ErrorInvalidValue")
    fails(rt.HostUnregister(host(16)), "ErrorHostMemoryNotRegistered")
    fails(rt.HostGetFlags(host(16)), "ErrorInvalidValue")


def check_host_memory() -> None:
    pinned = ok(rt.HostAlloc(4096, rt.HostAllocMapped | rt.HostAllocPortable))
    assert ok(rt.HostGetFlags(pinned)) & rt.HostAllocPortable
    assert ok(rt.HostGetDevicePointer(pinned, 0)) == pinned
    attributes = ok(rt.PointerGetAttributes(pinned))
    assert attributes.type == rt.member("MemoryType", "MemoryTypeHost")
    assert attributes.hostPointer == pinned
    ok(rt.FreeHost(pinned))
    buffer = host(1 << 16)
    ok(rt.HostRegister(buffer, 1 << 16, rt.HostRegisterDefault))
    fails(rt.HostRegister(buffer, 1 << 16, 0), "ErrorHostMemoryAlreadyRegistered")
    ok(rt.HostUnregister(buffer))


def check_pointer_attributes() -> None:
    pointer = ok(rt.Malloc(100))
    attributes = ok(rt.PointerGetAttributes(pointer + 50))
    assert attributes.type is rt.member("MemoryType", "MemoryTypeDevice")
    assert attributes.device == 0
    assert attributes.devicePointer == pointer + 50
    ok(rt.Free(pointer))
    plain = ok(rt.PointerGetAttributes(host(8)))
    assert plain.type == rt.member("MemoryType", "MemoryTypeUnregistered")
    managed = ok(rt.MallocManaged(64, rt.MemAttachGlobal))
    assert ok(rt.PointerGetAttributes(managed)).type == rt.member("MemoryType", "MemoryTypeManaged")
    ok(rt.Free(managed))


def check_memory_info() -> None:
    free, total = ok(rt.MemGetInfo())
    assert 0 < free <= total
    pointer = ok(rt.Malloc(64 << 20))
    assert ok(rt.MemGetInfo())[0] < free
    ok(rt.Free(pointer))


def check_2d() -> None:
    stream = ok(rt.StreamCreate())
    pointer, pitch = ok(rt.MallocPitch(100, 8))
    assert pitch >= 100
    source = bytes(range(200)) * 4
    ok(rt.Memset2D(pointer, pitch, 9, 100, 8))
    ok(rt.Memcpy2D(pointer, pitch, source, 100, 50, 8, rt.copy_kind("HostToDevice")))
    back = bytearray(800)
    ok(rt.Memcpy2D(back, 100, pointer, pitch, 100, 8, rt.copy_kind("DeviceToHost")))
    for row in range(8):
        assert back[row * 100 : row * 100 + 100] == source[row * 100 : row * 100 + 50] + b"\x09" * 50
    ok(rt.Memset2DAsync(pointer, pitch, 1, 10, 8, stream))
    ok(rt.Memcpy2DAsync(back, 100, pointer, pitch, 10, 8, rt.copy_kind("DeviceToHost"), stream))
    ok(rt.StreamSynchronize(stream))
    assert back[700:710] == b"\1" * 10
    fails(
        rt.Memcpy2D(pointer, pitch, source, 10, 50, 8, rt.copy_kind("HostToDevice")), "ErrorInvalidPitchValue"
    )
    ok(rt.Free(pointer))
    ok(rt.StreamDestroy(stream))


def check_3d() -> None:
    stream = ok(rt.StreamCreate())
    extent = rt.make("Extent")(32, 4, 3)
    pitched = ok(rt.Malloc3D(extent))
    assert pitched.pitch >= 32
    assert (pitched.xsize, pitched.ysize) == (32, 4)
    ok(rt.Memset3D(pitched, 5, extent))
    parms = rt.Memcpy3DParms()
    source = host(16 * 2 * 2, fill=8)
    parms.srcPtr = rt.make("PitchedPtr")(source, 16, 16, 2)
    parms.dstPtr = pitched
    parms.dstPos = rt.make("Pos")(4, 1, 1)
    parms.extent.width, parms.extent.height, parms.extent.depth = 16, 2, 2
    parms.kind = rt.copy_kind("HostToDevice")
    ok(rt.Memcpy3D(parms))
    back = host(32 * 4 * 3)
    out = rt.Memcpy3DParms()
    out.srcPtr = pitched
    out.dstPtr.ptr = ctypes.addressof(back)
    out.dstPtr.pitch, out.dstPtr.xsize, out.dstPtr.ysize = 32, 32, 4
    out.extent = extent
    out.kind = rt.copy_kind("DeviceToHost")
    ok(rt.Memcpy3DAsync(out, stream))
    ok(rt.StreamSynchronize(stream))
    for z in range(3):
        for y in range(4):
            inside = z >= 1 and y in (1, 2)
            row = b"\5" * 4 + b"\x08" * 16 + b"\5" * 12 if inside else b"\5" * 32
            assert back.raw[(z * 4 + y) * 32 :][:32] == row, (z, y)
    ok(rt.Memset3DAsync(pitched, 0, extent, stream))
    ok(rt.StreamSynchronize(stream))
    assert download(pitched.ptr, 32) == bytes(32)
    ok(rt.Free(pitched.ptr))
    ok(rt.StreamDestroy(stream))


def check_batches_of_copies() -> None:
    stream = ok(rt.StreamCreate())
    device = ok(rt.Malloc(64))
    pinned = ok(rt.MallocHost(64))
    ctypes.memmove(pinned, DATA[:64], 64)
    attributes = rt.MemcpyAttributes()
    attributes.srcAccessOrder = rt.member("MemcpySrcAccessOrder", "MemcpySrcAccessOrderStream")
    ok(
        rt.MemcpyBatchAsync(
            [device, device + 32], [pinned + 32, pinned], [32, 32], 2, [attributes], [0], 1, stream
        )
    )
    ok(rt.StreamSynchronize(stream))
    assert download(device, 64) == DATA[32:64] + DATA[:32]
    ok(rt.FreeHost(pinned))
    ok(rt.Free(device))
    ok(rt.StreamDestroy(stream))


def check_stream_ordered_memory() -> None:
    stream = ok(rt.StreamCreate())
    pointer = ok(rt.MallocAsync(1000, stream))
    ok(rt.MemsetAsync(pointer, 4, 1000, stream))
    back = bytearray(1000)
    ok(rt.MemcpyAsync(back, pointer, 1000, rt.copy_kind("DeviceToHost"), stream))
    ok(rt.FreeAsync(pointer, stream))
    ok(rt.StreamSynchronize(stream))
    assert back == b"\4" * 1000
    fails(rt.FreeAsync(pointer, stream), "ErrorInvalidValue")
    ok(rt.StreamDestroy(stream))


def check_pools() -> None:
    stream = ok(rt.StreamCreate())
    properties = rt.MemPoolProps()
    properties.allocType = rt.member("MemAllocationType", "MemAllocationTypePinned")
    properties.handleTypes = rt.member("MemAllocationHandleType", "MemHandleTypeNone")
    properties.location.type = rt.member("MemLocationType", "MemLocationTypeDevice")
    properties.location.id = 0
    pool = ok(rt.MemPoolCreate(properties))
    assert isinstance(pool, rt.MemPool_t)
    threshold = rt.member("MemPoolAttr", "MemPoolAttrReleaseThreshold")
    used = rt.member("MemPoolAttr", "MemPoolAttrUsedMemCurrent")
    switch = rt.member("MemPoolAttr", "MemPoolReuseAllowOpportunistic")
    assert int(ok(rt.MemPoolGetAttribute(pool, threshold))) == 0
    ok(rt.MemPoolSetAttribute(pool, threshold, rt.uint64(1 << 30)))
    assert int(ok(rt.MemPoolGetAttribute(pool, threshold))) == 1 << 30
    assert ok(rt.MemPoolGetAttribute(pool, switch)) == 1
    ok(rt.MemPoolSetAttribute(pool, switch, 0))
    assert ok(rt.MemPoolGetAttribute(pool, switch)) == 0
    pointer = ok(rt.MallocFromPoolAsync(4096, pool, stream))
    assert int(ok(rt.MemPoolGetAttribute(pool, used))) >= 4096
    ok(rt.FreeAsync(pointer, stream))
    ok(rt.StreamSynchronize(stream))
    assert int(ok(rt.MemPoolGetAttribute(pool, used))) == 0
    ok(rt.MemPoolTrimTo(pool, 0))
    read_write = rt.member("MemAccessFlags", "MemAccessFlagsProtReadWrite")
    assert ok(rt.MemPoolGetAccess(pool, properties.location)) == read_write
    access = rt.MemAccessDesc()
    access.location = properties.location
    access.flags = read_write
    ok(rt.MemPoolSetAccess(pool, [access], 1))
    default = ok(rt.DeviceGetDefaultMemPool(0))
    ok(rt.DeviceSetMemPool(0, pool))
    assert ok(rt.DeviceGetMemPool(0)) == pool
    ok(rt.DeviceSetMemPool(0, default))
    assert ok(rt.DeviceGetMemPool(0)) == default
    ok(rt.MemPoolDestroy(pool))
    ok(rt.StreamDestroy(stream))
