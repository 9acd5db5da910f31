"""Functions whose bodies are written by hand in csrc/bindings/*_functions.cpp."""

from __future__ import annotations

from .model import ByHand


def _parameters(text: str) -> tuple[tuple[str, str], ...]:
    pairs = []
    for part in filter(None, (p.strip() for p in text.split(";"))):
        name, _, annotation = part.partition(":")
        pairs.append((name.strip(), annotation.strip()))
    return tuple(pairs)


def by_hand(
    name: str, parameters: str, *returns: str, doc: str, uses: tuple[str, ...] | None = None
) -> ByHand:
    return ByHand(name, doc, _parameters(parameters), returns, (name,) if uses is None else uses)


_NODES = "list[infinirtGraphNode_t]"
_EDGES = "list[infinirtGraphEdgeData]"
_LAUNCH = "func: _Pointer; gridDim: _Dim3; blockDim: _Dim3; args: _KernelParams; sharedMem: _Int = 0; stream: _Stream = None"
_LIBRARY_OPTIONS = (
    "jitOptions: _Sequence[infinirtJitOption]; jitOptionsValues: _Sequence[Any]; numJitOptions: _Int; "
    "libraryOptions: _Sequence[infinirtLibraryOption]; libraryOptionValues: _Sequence[Any]; numLibraryOptions: _Int"
)
_CAPTURE_INFO = (
    "infinirtStreamCaptureStatus",
    "int",
    "infinirtGraph_t",
    _NODES,
    _EDGES,
    "int",
)

BY_HAND: tuple[ByHand, ...] = (
    by_hand(
        "infinirtGetDeviceProperties",
        "device: _Int",
        "infinirtDeviceProp",
        doc="The properties of a device: the fields of CUDA 12.9 and of CUDA 13.",
        uses=("infinirtGetDeviceProperties", "infinirtDeviceGetAttribute"),
    ),
    by_hand(
        "infinirtGetDeviceProperties_v2",
        "device: _Int",
        "infinirtDeviceProp",
        doc="As infinirtGetDeviceProperties.",
        uses=(),
    ),
    by_hand(
        "infinirtDeviceGetPCIBusId",
        "length: _Int; device: _Int",
        "bytes",
        doc="The PCI address of a device, zero-terminated, in `length` bytes; 13 are enough.",
    ),
    by_hand(
        "infinirtSetValidDevices",
        "device_arr: _Sequence[int]; len: _Int",
        doc="Sets the devices, in order of preference, from which one is taken when the thread has not chosen one.",
    ),
    by_hand(
        "infinirtDeviceGetGraphMemAttribute",
        "device: _Int; attr: infinirtGraphMemAttributeType | _Int",
        "cuuint64_t",
        doc="A counter of the memory that graphs have allocated on a device.",
    ),
    by_hand(
        "infinirtDeviceSetGraphMemAttribute",
        "device: _Int; attr: infinirtGraphMemAttributeType | _Int; value: _Int",
        doc="Resets one of the high-water marks of graph memory; the value must be 0.",
    ),
    by_hand(
        "infinirtStreamAddCallback",
        "stream: _Stream; callback: _StreamCallback; userData: Any; flags: _Int",
        doc=(
            "Calls `callback` after the work enqueued so far. A C function gets (stream, status, userData) with an address; "
            "a Python function gets the objects."
        ),
    ),
    by_hand(
        "infinirtStreamGetCaptureInfo",
        "stream: _Stream",
        *_CAPTURE_INFO,
        doc="The state of the stream's capture: status, id, graph, dependencies, their edges and their number.",
        uses=("infinirtStreamGetCaptureInfo_v3",),
    ),
    by_hand(
        "infinirtStreamGetCaptureInfo_v2",
        "stream: _Stream",
        *(_CAPTURE_INFO[:4] + _CAPTURE_INFO[5:]),
        doc="As infinirtStreamGetCaptureInfo, without the edges.",
        uses=("infinirtStreamGetCaptureInfo",),
    ),
    by_hand(
        "infinirtStreamGetCaptureInfo_v3",
        "stream: _Stream",
        *_CAPTURE_INFO,
        doc="As infinirtStreamGetCaptureInfo.",
        uses=(),
    ),
    by_hand(
        "infinirtThreadExchangeStreamCaptureMode",
        "mode: infinirtStreamCaptureMode | _Int",
        "infinirtStreamCaptureMode",
        doc="Sets the calling thread's capture interaction mode and returns the one it had.",
    ),
    by_hand(
        "infinirtMemAdvise",
        "devPtr: _Pointer; count: _Int; advice: infinirtMemoryAdvise | _Int; location: infinirtMemLocation | _Int",
        doc="Tells how a range of managed memory will be used. The location may be a device number.",
        uses=("infinirtMemAdvise", "infinirtMemAdvise_v2"),
    ),
    by_hand(
        "infinirtMemcpyBatchAsync",
        "dsts: _Sequence[Any]; srcs: _Sequence[Any]; sizes: _Sequence[int]; count: _Int; "
        "attrs: _Sequence[infinirtMemcpyAttributes]; attrsIdxs: _Sequence[int]; numAttrs: _Int; stream: _Stream",
        doc="Makes many copies in stream order with one call; among themselves they have no order.",
    ),
    by_hand(
        "infinirtMemcpy3DBatchAsync",
        "numOps: _Int; opList: _Sequence[infinirtMemcpy3DBatchOp]; flags: _Int; stream: _Stream",
        doc="As infinirtMemcpyBatchAsync for 3D copies.",
    ),
    by_hand(
        "infinirtMemRangeGetAttribute",
        "dataSize: _Int; attribute: infinirtMemRangeAttribute | _Int; devPtr: _Pointer; count: _Int",
        "int | list[int]",
        doc="One attribute of a range of managed memory; a list where there can be several values.",
    ),
    by_hand(
        "infinirtMemRangeGetAttributes",
        "dataSizes: _Sequence[int]; attributes: _Sequence[infinirtMemRangeAttribute]; numAttributes: _Int; "
        "devPtr: _Pointer; count: _Int",
        "list[int | list[int]]",
        doc="Several attributes of a range of managed memory.",
    ),
    by_hand(
        "infinirtMemPoolSetAttribute",
        "memPool: infinirtMemPool_t | _Int | None; attr: infinirtMemPoolAttr | _Int; value: _Int",
        doc="Sets an attribute of a pool.",
    ),
    by_hand(
        "infinirtMemPoolGetAttribute",
        "memPool: infinirtMemPool_t | _Int | None; attr: infinirtMemPoolAttr | _Int",
        "int | cuuint64_t",
        doc="An attribute of a pool: an int for switches, a cuuint64_t for sizes.",
    ),
    by_hand(
        "infinirtMemPoolExportToShareableHandle",
        "memPool: infinirtMemPool_t | _Int | None; handleType: infinirtMemAllocationHandleType | _Int; flags: _Int",
        "int | bytes",
        doc="An operating system handle for a pool that was created with that handle type: a file descriptor.",
    ),
    by_hand(
        "infinirtLaunchHostFunc",
        "stream: _Stream; fn: _HostFunction; userData: Any",
        doc=(
            "Calls `fn(userData)` after the work enqueued so far; it may not call this API. A C function gets an address, a "
            "Python function the object."
        ),
        uses=("infinirtXLaunchHostFunc",),
    ),
    by_hand("infinirtLaunchKernel", _LAUNCH, doc="Launches a kernel. The arguments are copied."),
    by_hand(
        "infinirtLaunchCooperativeKernel",
        _LAUNCH,
        doc="As infinirtLaunchKernel; all blocks run at the same time and may synchronise.",
    ),
    by_hand(
        "infinirtLaunchKernelExC",
        "config: infinirtLaunchConfig_t | None; func: _Pointer; args: _KernelParams",
        doc="As infinirtLaunchKernel, with a configuration that can carry launch attributes.",
    ),
    by_hand(
        "infinirtLibraryLoadData",
        f"code: _Pointer; {_LIBRARY_OPTIONS}",
        "infinirtLibrary_t",
        doc="Loads a library of kernels from memory.",
    ),
    by_hand(
        "infinirtLibraryLoadFromFile",
        f"fileName: _Text; {_LIBRARY_OPTIONS}",
        "infinirtLibrary_t",
        doc="Loads a library of kernels from a file.",
    ),
    by_hand(
        "infinirtLibraryEnumerateKernels",
        "numKernels: _Int; lib: infinirtLibrary_t | _Int | None",
        "list[infinirtKernel_t]",
        doc="Up to `numKernels` kernels of a library.",
    ),
    *(
        by_hand(
            f"infinirt{name}",
            f"{first}; {count}: _Int = 0",
            *lists,
            "int",
            doc=f"{what}: up to `{count}` entries, the rest null, and how many there are. With 0 only the number.",
            uses=(f"infinirt{name}{suffix}",),
        )
        for name, suffix, first, count, lists, what in (
            ("GraphGetNodes", "", "graph: infinirtGraph_t | _Int | None", "numNodes", (_NODES,), "Nodes"),
            (
                "GraphGetRootNodes",
                "",
                "graph: infinirtGraph_t | _Int | None",
                "pNumRootNodes",
                (_NODES,),
                "Nodes that depend on nothing",
            ),
            (
                "GraphGetEdges",
                "_v2",
                "graph: infinirtGraph_t | _Int | None",
                "numEdges",
                (_NODES, _NODES, _EDGES),
                "Edges (from, to, annotation)",
            ),
            (
                "GraphGetEdges_v2",
                "",
                "graph: infinirtGraph_t | _Int | None",
                "numEdges",
                (_NODES, _NODES, _EDGES),
                "Edges (from, to, annotation)",
            ),
            *(
                (
                    f"GraphNodeGet{kind}{version}",
                    "" if version else "_v2",
                    "node: infinirtGraphNode_t | _Int | None",
                    count,
                    (_NODES, _EDGES),
                    what,
                )
                for kind, count, what in (
                    ("Dependencies", "pNumDependencies", "Nodes that a node depends on"),
                    ("DependentNodes", "pNumDependentNodes", "Nodes that depend on a node"),
                )
                for version in ("", "_v2")
            ),
        )
    ),
    by_hand(
        "infinirtUserObjectCreate",
        "ptr: Any; destroy: _HostFunction; initialRefcount: _Int; flags: _Int",
        "infinirtUserObject_t",
        doc="Makes a counted reference to a resource; `destroy(ptr)` is called when the last one is released.",
    ),
    by_hand(
        "infinirtXGetDeviceTypeInfo",
        "index: _Int",
        "infinirtXDeviceTypeInfo",
        doc="Name, origin and state of a device type.",
    ),
    by_hand(
        "infinirtXRegisterKernel",
        "name: _Text; function: _HostFunction; paramSizes: _Sequence[int]; maxThreadsPerBlock: _Int = 0",
        doc="Registers a C function (an address or a ctypes function) as a kernel of the CPU device.",
    ),
    by_hand(
        "infinirtXLaunchHostFunc",
        "stream: _Stream; fn: _HostFunction; userData: Any = None; destroy: _HostFunction = None",
        doc="As infinirtLaunchHostFunc; `destroy(userData)` is called once, after `fn` or instead of it.",
    ),
    by_hand(
        "infinirtXGetProcAddress",
        "name: _Text",
        "int",
        doc="The address of a public C function; infinirtErrorSymbolNotFound if there is none.",
    ),
    by_hand(
        "make_infinirtExtent",
        "w: _Int; h: _Int; d: _Int",
        doc="An infinirtExtent with these sizes.",
        uses=(),
    ),
    by_hand(
        "make_infinirtPos", "x: _Int; y: _Int; z: _Int", doc="An infinirtPos with these values.", uses=()
    ),
    by_hand(
        "make_infinirtPitchedPtr",
        "d: _Pointer; p: _Int; xsz: _Int; ysz: _Int",
        doc="An infinirtPitchedPtr with these values.",
        uses=(),
    ),
    by_hand("sizeof", "objType: type", doc="The size of a class's C type in bytes.", uses=()),
    by_hand(
        "getLocalRuntimeVersion",
        "",
        "int",
        doc="The version of the runtime API that this module follows.",
        uses=(),
    ),
)

PLAIN_RESULTS = {
    "make_infinirtExtent": "infinirtExtent",
    "make_infinirtPos": "infinirtPos",
    "make_infinirtPitchedPtr": "infinirtPitchedPtr",
    "sizeof": "int",
}
"""Helpers that return a value instead of a tuple with an error code."""
