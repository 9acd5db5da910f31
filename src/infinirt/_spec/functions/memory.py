"""Memory: allocation, host memory, copies and sets."""

from __future__ import annotations

from ..model import cuda13, function, in_group

FUNCTIONS = in_group(
    "memory",
    function(
        "infinirtMalloc",
        "void** devPtr, size_t size",
        route="current",
        doc=(
            "Allocates memory on the current device, aligned for any type. Size 0 gives a null pointer. "
            "infinirtErrorMemoryAllocation if there is not enough. May synchronise."
        ),
    ),
    function(
        "infinirtMallocHost",
        "void** ptr, size_t size",
        route="current",
        doc="Allocates page-locked host memory that the device can reach. Free it with infinirtFreeHost.",
    ),
    function(
        "infinirtMallocManaged",
        "void** devPtr, size_t size, unsigned int flags = infinirtMemAttachGlobal",
        route="current",
        doc=(
            "Allocates memory that host and device both reach under one address; `flags` is "
            "infinirtMemAttachGlobal or infinirtMemAttachHost. Free it with infinirtFree."
        ),
    ),
    function(
        "infinirtMallocPitch",
        "void** devPtr, size_t* pitch, size_t width, size_t height",
        route="current",
        doc=(
            "Allocates rows of `width` bytes whose starts are aligned for fast access, and writes the distance "
            "between rows."
        ),
    ),
    function(
        "infinirtMalloc3D",
        "struct infinirtPitchedPtr* pitchedDevPtr, struct infinirtExtent extent",
        route="current",
        doc="As infinirtMallocPitch for a 3D region.",
    ),
    function(
        "infinirtHostAlloc",
        "void** pHost, size_t size, unsigned int flags",
        route="current",
        doc=(
            "Allocates page-locked host memory with flags (infinirtHostAlloc...). Free it with "
            "infinirtFreeHost."
        ),
    ),
    function(
        "infinirtHostRegister",
        "void* ptr, size_t size, unsigned int flags",
        route="current",
        doc=(
            "Page-locks a range of host memory that the caller owns. infinirtErrorHostMemoryAlreadyRegistered "
            "if it overlaps one that is registered. Unregister it before freeing it."
        ),
    ),
    function(
        "infinirtHostUnregister",
        "void* ptr",
        route="pointer:ptr",
        doc="Takes back infinirtHostRegister; `ptr` is the address that was registered.",
    ),
    function(
        "infinirtHostGetDevicePointer",
        "void** pDevice, void* pHost, unsigned int flags",
        route="pointer:pHost",
        doc="Writes the address under which the device reaches page-locked host memory. `flags` must be 0.",
    ),
    function(
        "infinirtHostGetFlags",
        "unsigned int* pFlags, void* pHost",
        route="pointer:pHost",
        doc="Writes the flags with which page-locked host memory was made.",
    ),
    function(
        "infinirtFree",
        "void* devPtr",
        route="pointer:devPtr",
        doc=(
            "Frees device memory; null is no operation. May wait for the device, except for stream-ordered "
            "memory. infinirtErrorInvalidValue if the pointer is not the start of a live allocation."
        ),
    ),
    function(
        "infinirtFreeHost",
        "void* ptr",
        route="pointer:ptr",
        doc="Frees memory from infinirtMallocHost or infinirtHostAlloc; null is no operation.",
    ),
    function(
        "infinirtMemGetInfo",
        "size_t* free, size_t* total",
        route="current",
        doc="Writes the free and the total memory of the current device, in bytes.",
    ),
    function(
        "infinirtMemcpy",
        "void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind",
        route="pointers:dst,src",
        doc=(
            "Copies `count` bytes, ordered as work of the default stream. Host memory may be reused when it "
            "returns; a copy within a device may still be running. infinirtErrorInvalidValue if a range leaves "
            "its allocation."
        ),
        ptds=True,
    ),
    function(
        "infinirtMemcpyAsync",
        (
            "void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind, infinirtStream_t stream = "
            "0"
        ),
        route="stream:stream",
        doc=(
            "Copies in stream order. Returns at once if the host memory is page-locked; with pageable memory "
            "it may wait."
        ),
        ptsz=True,
    ),
    function(
        "infinirtMemcpy2D",
        (
            "void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, enum "
            "infinirtMemcpyKind kind"
        ),
        route="pointers:dst,src",
        doc=(
            "Copies `height` rows of `width` bytes between memory with different pitches; a pitch may not be "
            "smaller than the width. Synchronises as infinirtMemcpy does."
        ),
        ptds=True,
    ),
    function(
        "infinirtMemcpy2DAsync",
        (
            "void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, enum "
            "infinirtMemcpyKind kind, infinirtStream_t stream = 0"
        ),
        route="stream:stream",
        doc="As infinirtMemcpy2D, in stream order.",
        ptsz=True,
    ),
    function(
        "infinirtMemcpy3D",
        "const struct infinirtMemcpy3DParms* p",
        route="pointers:p->dstPtr.ptr,p->srcPtr.ptr",
        doc="Copies a 3D region. Synchronises as infinirtMemcpy does.",
        ptds=True,
    ),
    function(
        "infinirtMemcpy3DAsync",
        "const struct infinirtMemcpy3DParms* p, infinirtStream_t stream = 0",
        route="stream:stream",
        doc="As infinirtMemcpy3D, in stream order.",
        ptsz=True,
    ),
    function(
        "infinirtMemcpyPeer",
        "void* dst, int dstDevice, const void* src, int srcDevice, size_t count",
        route="pointers:dst,src",
        doc=(
            "Copies between the memory of two devices, directly if they can reach each other, else through the "
            "host. Asynchronous to the host."
        ),
    ),
    function(
        "infinirtMemcpyPeerAsync",
        (
            "void* dst, int dstDevice, const void* src, int srcDevice, size_t count, infinirtStream_t stream = "
            "0"
        ),
        route="stream:stream",
        doc="As infinirtMemcpyPeer, in stream order.",
    ),
    function(
        "infinirtMemcpy3DPeer",
        "const struct infinirtMemcpy3DPeerParms* p",
        route="pointers:p->dstPtr.ptr,p->srcPtr.ptr",
        doc="Copies a 3D region between two devices.",
        ptds=True,
    ),
    function(
        "infinirtMemcpy3DPeerAsync",
        "const struct infinirtMemcpy3DPeerParms* p, infinirtStream_t stream = 0",
        route="stream:stream",
        doc="As infinirtMemcpy3DPeer, in stream order.",
        ptsz=True,
    ),
    function(
        "infinirtMemcpyBatchAsync",
        (
            "void** dsts, void** srcs, size_t* sizes, size_t count, struct infinirtMemcpyAttributes* attrs, "
            "size_t* attrsIdxs, size_t numAttrs, size_t* failIdx, infinirtStream_t stream"
        ),
        route="stream:stream",
        doc=(
            "Makes many copies in stream order with one call; among themselves they have no order. `attrsIdxs` "
            "gives the first copy that each attribute applies to and starts with 0. On failure `*failIdx` is "
            "the copy at fault, or SIZE_MAX."
        ),
        ptsz=True,
        cuda13=cuda13(
            "cudaMemcpyBatchAsync",
            (
                "void* const* dsts, const void* const* srcs, const size_t* sizes, size_t count, struct "
                "infinirtMemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs, infinirtStream_t stream"
            ),
            "failIdx is gone: report SIZE_MAX on failure",
        ),
    ),
    function(
        "infinirtMemcpy3DBatchAsync",
        (
            "size_t numOps, struct infinirtMemcpy3DBatchOp* opList, size_t* failIdx, unsigned long long flags, "
            "infinirtStream_t stream"
        ),
        route="stream:stream",
        doc="As infinirtMemcpyBatchAsync for 3D copies.",
        ptsz=True,
        cuda13=cuda13(
            "cudaMemcpy3DBatchAsync",
            (
                "size_t numOps, struct infinirtMemcpy3DBatchOp* opList, unsigned long long flags, "
                "infinirtStream_t stream"
            ),
            "failIdx is gone: report SIZE_MAX on failure",
        ),
    ),
    function(
        "infinirtMemset",
        "void* devPtr, int value, size_t count",
        route="pointer:devPtr",
        doc=(
            "Sets `count` bytes to the low byte of `value`. Asynchronous to the host, unless the target is "
            "page-locked host memory."
        ),
        ptds=True,
    ),
    function(
        "infinirtMemsetAsync",
        "void* devPtr, int value, size_t count, infinirtStream_t stream = 0",
        route="stream:stream",
        doc="As infinirtMemset, in stream order.",
        ptsz=True,
    ),
    function(
        "infinirtMemset2D",
        "void* devPtr, size_t pitch, int value, size_t width, size_t height",
        route="pointer:devPtr",
        doc="Sets `height` rows of `width` bytes that lie `pitch` bytes apart.",
        ptds=True,
    ),
    function(
        "infinirtMemset2DAsync",
        "void* devPtr, size_t pitch, int value, size_t width, size_t height, infinirtStream_t stream = 0",
        route="stream:stream",
        doc="As infinirtMemset2D, in stream order.",
        ptsz=True,
    ),
    function(
        "infinirtMemset3D",
        "struct infinirtPitchedPtr pitchedDevPtr, int value, struct infinirtExtent extent",
        route="pointer:pitchedDevPtr.ptr",
        doc="Sets a 3D region.",
        ptds=True,
    ),
    function(
        "infinirtMemset3DAsync",
        (
            "struct infinirtPitchedPtr pitchedDevPtr, int value, struct infinirtExtent extent, "
            "infinirtStream_t stream = 0"
        ),
        route="stream:stream",
        doc="As infinirtMemset3D, in stream order.",
        ptsz=True,
    ),
    function(
        "infinirtPointerGetAttributes",
        "struct infinirtPointerAttributes* attributes, const void* ptr",
        route="pointer:ptr",
        doc=(
            "Writes what kind of memory a pointer refers to and where it lives. A pointer unknown to the "
            "runtime is no error: its type is infinirtMemoryTypeUnregistered."
        ),
        cuda13=cuda13(
            "cudaPointerGetAttributes",
            None,
            "CUDA 13 writes a longer struct: 64 more bytes, reserved",
            reshaped=True,
        ),
    ),
    function(
        "infinirtMemPrefetchAsync",
        "const void* devPtr, size_t count, int dstDevice, infinirtStream_t stream = 0",
        route="stream:stream|pointer:devPtr",
        doc="Moves managed memory to a device, or with infinirtCpuDeviceId to the host, in stream order.",
        ptsz=True,
        cuda13=cuda13(
            "cudaMemPrefetchAsync",
            (
                "const void* devPtr, size_t count, struct infinirtMemLocation location, unsigned int flags, "
                "infinirtStream_t stream"
            ),
            (
                "a device number becomes a location: infinirtCpuDeviceId is the host, any other a device; "
                "flags are 0"
            ),
        ),
    ),
    function(
        "infinirtMemPrefetchAsync_v2",
        (
            "const void* devPtr, size_t count, struct infinirtMemLocation location, unsigned int flags, "
            "infinirtStream_t stream = 0"
        ),
        route="stream:stream|pointer:devPtr",
        doc=(
            "As infinirtMemPrefetchAsync, to a location, which may be a NUMA node of the host. `flags` must be "
            "0."
        ),
        ptsz=True,
        cuda13=cuda13(
            "cudaMemPrefetchAsync",
            None,
            "same shape under the plain name",
        ),
    ),
    function(
        "infinirtMemAdvise",
        "const void* devPtr, size_t count, enum infinirtMemoryAdvise advice, int device",
        route="pointer:devPtr",
        doc="Tells how a range of managed memory will be used. Changes speed, never results.",
        cuda13=cuda13(
            "cudaMemAdvise",
            (
                "const void* devPtr, size_t count, enum infinirtMemoryAdvise advice, struct "
                "infinirtMemLocation location"
            ),
            "a device number becomes a location: infinirtCpuDeviceId is the host, any other a device",
        ),
    ),
    function(
        "infinirtMemAdvise_v2",
        (
            "const void* devPtr, size_t count, enum infinirtMemoryAdvise advice, struct infinirtMemLocation "
            "location"
        ),
        route="pointer:devPtr",
        doc="As infinirtMemAdvise, with a location, which may be a NUMA node of the host.",
        cuda13=cuda13(
            "cudaMemAdvise",
            None,
            "same shape under the plain name",
        ),
    ),
    function(
        "infinirtMemRangeGetAttribute",
        (
            "void* data, size_t dataSize, enum infinirtMemRangeAttribute attribute, const void* devPtr, size_t "
            "count"
        ),
        route="pointer:devPtr",
        doc="Writes one attribute of a range of managed memory.",
    ),
    function(
        "infinirtMemRangeGetAttributes",
        (
            "void** data, size_t* dataSizes, enum infinirtMemRangeAttribute* attributes, size_t numAttributes, "
            "const void* devPtr, size_t count"
        ),
        route="pointer:devPtr",
        doc="Writes several attributes of a range of managed memory.",
    ),
)
