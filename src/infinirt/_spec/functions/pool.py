"""Stream-ordered memory and its pools."""

from __future__ import annotations

from ..model import function, in_group

FUNCTIONS = in_group(
    "pool",
    function(
        "infinirtMallocAsync",
        "void** devPtr, size_t size, infinirtStream_t hStream",
        route="stream:hStream",
        doc=(
            "Allocates from the current pool of the stream's device, in stream order. The pointer is returned "
            "at once and may be used by work that comes after this call in the stream."
        ),
        ptsz=True,
    ),
    function(
        "infinirtFreeAsync",
        "void* devPtr, infinirtStream_t hStream",
        route="stream:hStream|pointer:devPtr",
        doc=(
            "Frees memory in stream order; work enqueued later may not use it. Null is no operation. Does not "
            "synchronise."
        ),
        ptsz=True,
    ),
    function(
        "infinirtMallocFromPoolAsync",
        "void** ptr, size_t size, infinirtMemPool_t memPool, infinirtStream_t stream",
        route="stream:stream|handle:memPool",
        doc="As infinirtMallocAsync, from the given pool.",
        ptsz=True,
    ),
    function(
        "infinirtMemPoolCreate",
        "infinirtMemPool_t* memPool, const struct infinirtMemPoolProps* poolProps",
        route="current",
        doc="Creates a pool on the location that `poolProps` names. The caller destroys it.",
    ),
    function(
        "infinirtMemPoolDestroy",
        "infinirtMemPool_t memPool",
        route="handle:memPool",
        doc=(
            "Destroys a pool. Returns at once; memory still in use is returned to the device when it is freed. "
            "If the pool was current, the default pool becomes current. The default pool cannot be destroyed."
        ),
    ),
    function(
        "infinirtMemPoolTrimTo",
        "infinirtMemPool_t memPool, size_t minBytesToKeep",
        route="handle:memPool",
        doc=(
            "Returns unused memory to the device until the pool holds no more than `minBytesToKeep`, or "
            "nothing more can be returned."
        ),
    ),
    function(
        "infinirtMemPoolSetAttribute",
        "infinirtMemPool_t memPool, enum infinirtMemPoolAttr attr, void* value",
        route="handle:memPool",
        doc=(
            "Sets an attribute of a pool; high-water marks can only be set to 0. `value` points to an int or a "
            "uint64_t, see infinirtMemPoolAttr."
        ),
    ),
    function(
        "infinirtMemPoolGetAttribute",
        "infinirtMemPool_t memPool, enum infinirtMemPoolAttr attr, void* value",
        route="handle:memPool",
        doc="Writes an attribute of a pool; `value` points to an int or a uint64_t, see infinirtMemPoolAttr.",
    ),
    function(
        "infinirtMemPoolSetAccess",
        "infinirtMemPool_t memPool, const struct infinirtMemAccessDesc* descList, size_t count",
        route="handle:memPool",
        doc=(
            "Sets which locations can reach the memory of a pool. The pool's own device cannot lose its "
            "access."
        ),
    ),
    function(
        "infinirtMemPoolGetAccess",
        (
            "enum infinirtMemAccessFlags* flags, infinirtMemPool_t memPool, struct infinirtMemLocation* "
            "location"
        ),
        route="handle:memPool",
        doc="Writes the access that a location has to the memory of a pool.",
    ),
    function(
        "infinirtMemPoolExportToShareableHandle",
        (
            "void* shareableHandle, infinirtMemPool_t memPool, enum infinirtMemAllocationHandleType "
            "handleType, unsigned int flags"
        ),
        route="handle:memPool",
        doc=(
            "Writes an operating system handle for a pool that was created with that handle type. `flags` must "
            "be 0. The caller closes the handle."
        ),
    ),
    function(
        "infinirtMemPoolImportFromShareableHandle",
        (
            "infinirtMemPool_t* memPool, void* shareableHandle, enum infinirtMemAllocationHandleType "
            "handleType, unsigned int flags"
        ),
        route="current",
        doc=(
            "Makes a pool out of a handle that another process exported. Memory cannot be allocated from it; "
            "its pointers are imported."
        ),
    ),
    function(
        "infinirtMemPoolExportPointer",
        "struct infinirtMemPoolPtrExportData* exportData, void* ptr",
        route="pointer:ptr",
        doc="Writes the data that another process needs to import one allocation of a shareable pool.",
    ),
    function(
        "infinirtMemPoolImportPointer",
        "void** ptr, infinirtMemPool_t memPool, struct infinirtMemPoolPtrExportData* exportData",
        route="handle:memPool",
        doc=(
            "Writes a pointer to an allocation that another process exported. Free it here before it is freed "
            "there."
        ),
    ),
)
