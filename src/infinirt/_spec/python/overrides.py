"""Facts about single functions that do not follow from their C prototypes."""

from __future__ import annotations

INPUT_STRUCTS = {
    ("infinirtGraphAddNode", "nodeParams"),
    ("infinirtGraphAddNode_v2", "nodeParams"),
    ("infinirtGraphAddMemAllocNode", "nodeParams"),
    ("infinirtGraphNodeSetParams", "nodeParams"),
    ("infinirtGraphExecNodeSetParams", "nodeParams"),
    ("infinirtGraphInstantiateWithParams", "instantiateParams"),
    ("infinirtMemPoolGetAccess", "location"),
    ("infinirtMemPoolImportPointer", "exportData"),
}
"""Structs that C takes by a pointer without const and that the caller brings."""

INPUT_ARRAYS = {
    ("infinirtStreamUpdateCaptureDependencies", "dependencies"),
    ("infinirtStreamUpdateCaptureDependencies_v2", "dependencies"),
}
"""Arrays that C takes by a pointer without const and only reads."""

OUTPUT_POINTERS = {("infinirtGraphMemFreeNodeGetParams", "dptr_out")}
"""Addresses that C writes through a `void*`."""

PARAMETER_NAMES = {
    ("*", "from"): "from_",
    ("infinirtGraphKernelNodeCopyAttributes", "hSrc"): "hDst",
    ("infinirtGraphKernelNodeCopyAttributes", "hDst"): "hSrc",
}
"""Names that cuda.bindings 13 has and the C prototype of 12.9 has not. A keyword cannot be a name; 13 swapped the names of
the two nodes, not their places."""

CALLS = {
    "infinirtMemAdvise": "infinirtMemAdvise_v2",
    "infinirtMemPrefetchAsync": "infinirtMemPrefetchAsync_v2",
    "infinirtGraphAddNode": "infinirtGraphAddNode_v2",
    "infinirtGraphAddDependencies": "infinirtGraphAddDependencies_v2",
    "infinirtGraphRemoveDependencies": "infinirtGraphRemoveDependencies_v2",
    "infinirtStreamUpdateCaptureDependencies": "infinirtStreamUpdateCaptureDependencies_v2",
    "infinirtEventElapsedTime": "infinirtEventElapsedTime_v2",
}
"""CUDA 13 gave these plain names the shape that 12.9's `_v2` has; so does Python."""

OLDER_SHAPES = {
    "infinirtMemPrefetchAsync",
    "infinirtGraphAddNode",
    "infinirtGraphAddDependencies",
    "infinirtGraphRemoveDependencies",
    "infinirtStreamUpdateCaptureDependencies",
}
"""Of those, the ones whose 12.9 arguments are accepted too: they differ in number."""

QUERIES = {
    "infinirtStreamSynchronize": "infinirtStreamQuery",
    "infinirtEventSynchronize": "infinirtEventQuery",
}

# Functions that can block, or that take long enough for other Python threads to want to run meanwhile. Everything that
# waits for work belongs here: with the lock held, a pending Python host function could never run.
RELEASE = {
    "infinirtDeviceSynchronize",
    "infinirtDeviceReset",
    "infinirtInitDevice",
    "infinirtDeviceSetLimit",
    "infinirtGetDriverEntryPoint",
    "infinirtGetDriverEntryPointByVersion",
    "infinirtDeviceGraphMemTrim",
    "infinirtStreamAttachMemAsync",
    "infinirtStreamSynchronize",
    "infinirtEventSynchronize",
    "infinirtMemPoolCreate",
    "infinirtMemPoolDestroy",
    "infinirtMemPoolTrimTo",
    "infinirtMemPoolImportFromShareableHandle",
    "infinirtMemPoolExportPointer",
    "infinirtMemPoolImportPointer",
    "infinirtLibraryUnload",
    "infinirtGraphInstantiate",
    "infinirtGraphInstantiateWithFlags",
    "infinirtGraphInstantiateWithParams",
    "infinirtGraphExecDestroy",
    "infinirtGraphExecUpdate",
    "infinirtGraphUpload",
    "infinirtGraphDebugDotPrint",
    "infinirtProfilerStart",
    "infinirtProfilerStop",
    "infinirtXSetDeviceType",
    "infinirtXGetDeviceTypeInfo",
    "infinirtXGetDeviceTypeCount",
    "infinirtXDrain",
}

RELEASE_GROUPS = {"memory", "ipc"}

COPIES = {"infinirtMemcpyAsync", "infinirtMemcpy2DAsync"}
"""Enqueued by the call, and no more, if both sides are device memory. With host memory, which may be pageable, they wait."""

ALLOCATIONS = {"infinirtMalloc"}
"""A driver waits in them for other threads at most."""

EXTENTS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    **dict.fromkeys(
        ("infinirtMemcpy", "infinirtMemcpyAsync", "infinirtMemcpyPeer", "infinirtMemcpyPeerAsync"),
        (("dst", "count", True), ("src", "count", False)),
    ),
    **dict.fromkeys(("infinirtMemset", "infinirtMemsetAsync"), (("devPtr", "count", True),)),
}
"""Pointers whose memory, where an object with a buffer stands for it, must have so many bytes, and whether they are written."""

KEEP = {
    "infinirtMemsetAsync",
    "infinirtMemset2DAsync",
    "infinirtMemset3DAsync",
    "infinirtMemGetInfo",
    "infinirtPointerGetAttributes",
    "infinirtHostGetDevicePointer",
    "infinirtHostGetFlags",
}
"""Quick functions of the groups above."""

CORE = {"infinirtXGetLastErrorMessage", "infinirtXGetDeviceType"}
"""Functions beyond those with the route `core` that enter no backend."""
