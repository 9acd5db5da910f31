"""Streams: ordered queues of work, and their capture into graphs."""

from __future__ import annotations

from ..model import cuda13, function, in_group

FUNCTIONS = in_group(
    "stream",
    function(
        "infinirtStreamCreate",
        "infinirtStream_t* pStream",
        route="current",
        doc=(
            "Creates a stream on the current device that synchronises with the legacy default stream. The "
            "caller destroys it."
        ),
    ),
    function(
        "infinirtStreamCreateWithFlags",
        "infinirtStream_t* pStream, unsigned int flags",
        route="current",
        doc=(
            "Creates a stream; with infinirtStreamNonBlocking it does not synchronise with the legacy default "
            "stream."
        ),
    ),
    function(
        "infinirtStreamCreateWithPriority",
        "infinirtStream_t* pStream, unsigned int flags, int priority",
        route="current",
        doc=(
            "Creates a stream with a priority; a lower number is a higher priority, and one out of range is "
            "clamped."
        ),
    ),
    function(
        "infinirtStreamDestroy",
        "infinirtStream_t stream",
        route="stream:stream",
        doc=(
            "Destroys a stream. Returns at once even if work is pending; that work still completes. The handle "
            "is invalid afterwards; the predefined streams cannot be destroyed."
        ),
    ),
    function(
        "infinirtStreamQuery",
        "infinirtStream_t stream",
        route="stream:stream",
        doc=(
            "Returns infinirtSuccess if all work of the stream has finished, infinirtErrorNotReady if not. The "
            "latter does not become the last error."
        ),
        ptsz=True,
    ),
    function(
        "infinirtStreamSynchronize",
        "infinirtStream_t stream",
        route="stream:stream",
        doc=(
            "Blocks the host until all work of the stream has finished. Returns the error of that work if it "
            "failed. Not allowed on a capturing stream."
        ),
        ptsz=True,
    ),
    function(
        "infinirtStreamWaitEvent",
        "infinirtStream_t stream, infinirtEvent_t event, unsigned int flags = 0",
        route="stream:stream|handle:event",
        doc=(
            "Makes later work of the stream wait for the event's most recent record; recording it again later "
            "does not matter. Does not block the host, except where a GPU waits for a copy that the CPU device "
            "makes to or from a GPU. The event may belong to another device; one that was never recorded is no wait."
        ),
        ptsz=True,
    ),
    function(
        "infinirtStreamAddCallback",
        "infinirtStream_t stream, infinirtStreamCallback_t callback, void* userData, unsigned int flags",
        route="stream:stream",
        doc=(
            "Calls `callback` on a host thread after the work enqueued so far, with the error state of the "
            "stream; later work waits for it. `flags` must be 0. Cannot be captured; infinirtLaunchHostFunc "
            "can."
        ),
        ptsz=True,
    ),
    function(
        "infinirtStreamGetFlags",
        "infinirtStream_t hStream, unsigned int* flags",
        route="stream:hStream",
        doc="Writes the flags with which the stream was created.",
        ptsz=True,
    ),
    function(
        "infinirtStreamGetPriority",
        "infinirtStream_t hStream, int* priority",
        route="stream:hStream",
        doc="Writes the priority of the stream, after clamping.",
        ptsz=True,
    ),
    function(
        "infinirtStreamGetId",
        "infinirtStream_t hStream, unsigned long long* streamId",
        route="stream:hStream",
        doc="Writes a number that is unique to this stream for the life of the process, unlike its handle.",
        ptsz=True,
    ),
    function(
        "infinirtStreamGetDevice",
        "infinirtStream_t hStream, int* device",
        route="stream:hStream",
        doc="Writes the device of the stream.",
        ptsz=True,
    ),
    function(
        "infinirtStreamBeginCapture",
        "infinirtStream_t stream, enum infinirtStreamCaptureMode mode",
        route="stream:stream",
        doc=(
            "Turns later calls on the stream into nodes of a graph instead of running them. Not possible on "
            "the legacy default stream. infinirtErrorIllegalState if the stream is already capturing."
        ),
        ptsz=True,
    ),
    function(
        "infinirtStreamBeginCaptureToGraph",
        (
            "infinirtStream_t stream, infinirtGraph_t graph, const infinirtGraphNode_t* dependencies, const "
            "infinirtGraphEdgeData* dependencyData, size_t numDependencies, enum infinirtStreamCaptureMode "
            "mode"
        ),
        route="stream:stream",
        doc=(
            "As infinirtStreamBeginCapture, but the nodes are added to `graph`, the first ones after the given "
            "dependencies. `graph` must outlive the capture and stays the caller's."
        ),
        ptsz=True,
    ),
    function(
        "infinirtStreamEndCapture",
        "infinirtStream_t stream, infinirtGraph_t* pGraph",
        route="stream:stream",
        doc=(
            "Ends the capture that began on this stream and writes the graph, which the caller destroys. If "
            "the capture was invalidated, the error says why and the graph is null; the stream is usable again "
            "either way."
        ),
        ptsz=True,
    ),
    function(
        "infinirtStreamIsCapturing",
        "infinirtStream_t stream, enum infinirtStreamCaptureStatus* pCaptureStatus",
        route="stream:stream",
        doc="Writes whether the stream is capturing, is not, or has a capture that was invalidated.",
        ptsz=True,
    ),
    function(
        "infinirtStreamGetCaptureInfo",
        (
            "infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out, unsigned long long* "
            "id_out = 0, infinirtGraph_t* graph_out = 0, const infinirtGraphNode_t** dependencies_out = 0, "
            "size_t* numDependencies_out = 0"
        ),
        route="stream:stream",
        doc=(
            "Writes the state of the stream's capture and, if it is active, its number, graph and the nodes "
            "that the next one will depend on. All outputs but the state may be null; the node array is valid "
            "until the next call on the capture."
        ),
        ptsz=True,
        cuda13=cuda13(
            "cudaStreamGetCaptureInfo",
            (
                "infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out, unsigned long "
                "long* id_out, infinirtGraph_t* graph_out, const infinirtGraphNode_t** dependencies_out, const "
                "infinirtGraphEdgeData** edgeData_out, size_t* numDependencies_out"
            ),
            "pass null for edgeData_out",
        ),
    ),
    function(
        "infinirtStreamGetCaptureInfo_v2",
        (
            "infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out, unsigned long long* "
            "id_out = 0, infinirtGraph_t* graph_out = 0, const infinirtGraphNode_t** dependencies_out = 0, "
            "size_t* numDependencies_out = 0"
        ),
        route="stream:stream",
        doc="The name under which CUDA 12 exports infinirtStreamGetCaptureInfo; same function.",
        ptsz=True,
        alias_of="infinirtStreamGetCaptureInfo",
        cuda13=cuda13(
            "cudaStreamGetCaptureInfo",
            (
                "infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out, unsigned long "
                "long* id_out, infinirtGraph_t* graph_out, const infinirtGraphNode_t** dependencies_out, const "
                "infinirtGraphEdgeData** edgeData_out, size_t* numDependencies_out"
            ),
            "pass null for edgeData_out",
        ),
    ),
    function(
        "infinirtStreamGetCaptureInfo_v3",
        (
            "infinirtStream_t stream, enum infinirtStreamCaptureStatus* captureStatus_out, unsigned long long* "
            "id_out = 0, infinirtGraph_t* graph_out = 0, const infinirtGraphNode_t** dependencies_out = 0, "
            "const infinirtGraphEdgeData** edgeData_out = 0, size_t* numDependencies_out = 0"
        ),
        route="stream:stream",
        doc=(
            "As infinirtStreamGetCaptureInfo, with the annotations of the edges. infinirtErrorLossyQuery if "
            "there are annotations and `edgeData_out` is null."
        ),
        ptsz=True,
        cuda13=cuda13(
            "cudaStreamGetCaptureInfo",
            None,
            "same shape under the plain name",
        ),
    ),
    function(
        "infinirtStreamUpdateCaptureDependencies",
        (
            "infinirtStream_t stream, infinirtGraphNode_t* dependencies, size_t numDependencies, unsigned int "
            "flags = 0"
        ),
        route="stream:stream",
        doc="Adds to or replaces, as `flags` says, the nodes that the next captured node will depend on.",
        ptsz=True,
        cuda13=cuda13(
            "cudaStreamUpdateCaptureDependencies",
            (
                "infinirtStream_t stream, infinirtGraphNode_t* dependencies, const infinirtGraphEdgeData* "
                "dependencyData, size_t numDependencies, unsigned int flags"
            ),
            "pass null for the edge data",
        ),
    ),
    function(
        "infinirtStreamUpdateCaptureDependencies_v2",
        (
            "infinirtStream_t stream, infinirtGraphNode_t* dependencies, const infinirtGraphEdgeData* "
            "dependencyData, size_t numDependencies, unsigned int flags = 0"
        ),
        route="stream:stream",
        doc="As infinirtStreamUpdateCaptureDependencies, with annotations of the edges.",
        ptsz=True,
        cuda13=cuda13(
            "cudaStreamUpdateCaptureDependencies",
            None,
            "same shape under the plain name",
        ),
    ),
    function(
        "infinirtThreadExchangeStreamCaptureMode",
        "enum infinirtStreamCaptureMode* mode",
        route="current",
        doc=(
            "Swaps the calling thread's capture interaction mode with `*mode`. Used in pairs around calls that "
            "are known to be safe during a capture."
        ),
    ),
    function(
        "infinirtStreamAttachMemAsync",
        (
            "infinirtStream_t stream, void* devPtr, size_t length = 0, unsigned int flags = "
            "infinirtMemAttachSingle"
        ),
        route="stream:stream",
        doc=(
            "Changes, in stream order, which streams may use a range of managed memory. `length` must be 0 or "
            "the whole allocation."
        ),
        ptsz=True,
    ),
    function(
        "infinirtStreamGetAttribute",
        "infinirtStream_t hStream, infinirtStreamAttrID attr, infinirtStreamAttrValue* value_out",
        route="stream:hStream",
        doc="Writes the value of one attribute of the stream.",
        ptsz=True,
    ),
    function(
        "infinirtStreamSetAttribute",
        "infinirtStream_t hStream, infinirtStreamAttrID attr, const infinirtStreamAttrValue* value",
        route="stream:hStream",
        doc="Sets one attribute of the stream.",
        ptsz=True,
    ),
    function(
        "infinirtStreamCopyAttributes",
        "infinirtStream_t dst, infinirtStream_t src",
        route="stream:dst",
        doc="Copies all attributes from `src` to `dst`; both must be on the same device.",
        ptsz=True,
    ),
)
