"""Opaque handles and the other typedefs."""

from __future__ import annotations

from .model import Handle, Typedef

HANDLES: tuple[Handle, ...] = (
    Handle("infinirtStream_t", "infinirtStream_st", "A stream; 0, 1 and 2 are the predefined ones."),
    Handle("infinirtEvent_t", "infinirtEvent_st", "An event."),
    Handle("infinirtMemPool_t", "infinirtMemPool_st", "A memory pool."),
    Handle("infinirtGraph_t", "infinirtGraph_st", "A graph."),
    Handle("infinirtGraphNode_t", "infinirtGraphNode_st", "A node; it lives as long as its graph."),
    Handle("infinirtGraphExec_t", "infinirtGraphExec_st", "A graph made ready for launching."),
    Handle("infinirtGraphDeviceNode_t", "infinirtGraphDeviceNode_st", "A node as device code sees it."),
    Handle("infinirtUserObject_t", "infinirtUserObject_st", "A reference-counted resource of the user's."),
    Handle("infinirtFunction_t", "infinirtFunction_st", "A loaded device function."),
    Handle("infinirtKernel_t", "infinirtKernel_st", "A kernel of a library."),
    Handle("infinirtLibrary_t", "infinirtLibrary_st", "A loaded library of kernels."),
    Handle("infinirtArray_t", "infinirtArray", "An array in device memory; part of the copy structs only."),
    Handle("infinirtExternalSemaphore_t", "infinirtExternalSemaphore_st", "A semaphore of another API."),
)

TYPEDEFS: tuple[Typedef, ...] = (
    Typedef(
        "infinirtGraphConditionalHandle",
        "unsigned long long infinirtGraphConditionalHandle",
        "Names the value that a conditional node tests.",
    ),
    Typedef(
        "infinirtHostFn_t",
        "void (*infinirtHostFn_t)(void* userData)",
        "A host function in stream order. It may not call this API.",
    ),
    Typedef(
        "infinirtStreamCallback_t",
        "void (*infinirtStreamCallback_t)(infinirtStream_t stream, infinirtError_t status, void* userData)",
        "A stream callback; status tells whether the work before it succeeded.",
    ),
)
