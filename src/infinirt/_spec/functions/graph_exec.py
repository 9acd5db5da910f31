"""Executable graphs, and resources that graphs keep alive."""

from __future__ import annotations

from ..model import function, in_group

FUNCTIONS = in_group(
    "graph",
    function(
        "infinirtGraphInstantiate",
        "infinirtGraphExec_t* pGraphExec, infinirtGraph_t graph, unsigned long long flags = 0",
        route="handle:graph",
        doc=(
            "Makes an executable graph out of a snapshot of `graph`; the caller destroys it. The launch order "
            "is checked here, not at launch."
        ),
    ),
    function(
        "infinirtGraphInstantiateWithFlags",
        "infinirtGraphExec_t* pGraphExec, infinirtGraph_t graph, unsigned long long flags = 0",
        route="handle:graph",
        doc="As infinirtGraphInstantiate.",
    ),
    function(
        "infinirtGraphInstantiateWithParams",
        (
            "infinirtGraphExec_t* pGraphExec, infinirtGraph_t graph, infinirtGraphInstantiateParams* "
            "instantiateParams"
        ),
        route="handle:graph",
        doc=(
            "As infinirtGraphInstantiate; `instantiateParams` also carries an upload stream, and receives the "
            "reason and the node of a failure."
        ),
        ptsz=True,
    ),
    function(
        "infinirtGraphExecGetFlags",
        "infinirtGraphExec_t graphExec, unsigned long long* flags",
        route="handle:graphExec",
        doc="Writes the flags with which an executable graph was made.",
    ),
    function(
        "infinirtGraphUpload",
        "infinirtGraphExec_t graphExec, infinirtStream_t stream",
        route="handle:graphExec",
        doc=(
            "Prepares an executable graph on the device, in stream order, so that its first launch is as fast "
            "as later ones."
        ),
        ptsz=True,
    ),
    function(
        "infinirtGraphLaunch",
        "infinirtGraphExec_t graphExec, infinirtStream_t stream",
        route="handle:graphExec",
        doc=(
            "Launches an executable graph in stream order. Launches of the same executable graph run one after "
            "the other."
        ),
        ptsz=True,
    ),
    function(
        "infinirtGraphExecDestroy",
        "infinirtGraphExec_t graphExec",
        route="handle:graphExec",
        doc="Destroys an executable graph. A launch that is running completes.",
    ),
    function(
        "infinirtGraphExecUpdate",
        (
            "infinirtGraphExec_t hGraphExec, infinirtGraph_t hGraph, infinirtGraphExecUpdateResultInfo* "
            "resultInfo"
        ),
        route="handle:hGraphExec",
        doc=(
            "Replaces the parameters of all nodes by those of a graph with the same shape. "
            "infinirtErrorGraphExecUpdateFailure, with the reason in `resultInfo`, if the shapes differ."
        ),
    ),
    function(
        "infinirtGraphExecNodeSetParams",
        (
            "infinirtGraphExec_t graphExec, infinirtGraphNode_t node, struct infinirtGraphNodeParams* "
            "nodeParams"
        ),
        route="handle:graphExec",
        doc=(
            "Replaces the parameters of one node, of any type, in an executable graph; `node` is of the "
            "original graph. Launches already issued do not change."
        ),
    ),
    function(
        "infinirtGraphExecKernelNodeSetParams",
        (
            "infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, const struct infinirtKernelNodeParams* "
            "pNodeParams"
        ),
        route="handle:hGraphExec",
        doc="Replaces the parameters of a kernel node in an executable graph.",
    ),
    function(
        "infinirtGraphExecMemcpyNodeSetParams",
        (
            "infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, const struct infinirtMemcpy3DParms* "
            "pNodeParams"
        ),
        route="handle:hGraphExec",
        doc="Replaces the parameters of a copy node in an executable graph.",
    ),
    function(
        "infinirtGraphExecMemcpyNodeSetParams1D",
        (
            "infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, void* dst, const void* src, size_t "
            "count, enum infinirtMemcpyKind kind"
        ),
        route="handle:hGraphExec",
        doc="As infinirtGraphExecMemcpyNodeSetParams, with a copy of `count` bytes.",
    ),
    function(
        "infinirtGraphExecMemsetNodeSetParams",
        (
            "infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, const struct infinirtMemsetParams* "
            "pNodeParams"
        ),
        route="handle:hGraphExec",
        doc="Replaces the parameters of a set node in an executable graph.",
    ),
    function(
        "infinirtGraphExecHostNodeSetParams",
        (
            "infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, const struct infinirtHostNodeParams* "
            "pNodeParams"
        ),
        route="handle:hGraphExec",
        doc="Replaces the parameters of a host function node in an executable graph.",
    ),
    function(
        "infinirtGraphExecChildGraphNodeSetParams",
        "infinirtGraphExec_t hGraphExec, infinirtGraphNode_t node, infinirtGraph_t childGraph",
        route="handle:hGraphExec",
        doc="Replaces the parameters inside a child graph node by those of a graph with the same shape.",
    ),
    function(
        "infinirtGraphExecEventRecordNodeSetEvent",
        "infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode, infinirtEvent_t event",
        route="handle:hGraphExec",
        doc="Replaces the event of an event record node in an executable graph.",
    ),
    function(
        "infinirtGraphExecEventWaitNodeSetEvent",
        "infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode, infinirtEvent_t event",
        route="handle:hGraphExec",
        doc="Replaces the event of an event wait node in an executable graph.",
    ),
    function(
        "infinirtGraphNodeSetEnabled",
        "infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode, unsigned int isEnabled",
        route="handle:hGraphExec",
        doc=(
            "Switches a kernel, copy or set node of an executable graph on or off; one that is off acts as an "
            "empty node."
        ),
    ),
    function(
        "infinirtGraphNodeGetEnabled",
        "infinirtGraphExec_t hGraphExec, infinirtGraphNode_t hNode, unsigned int* isEnabled",
        route="handle:hGraphExec",
        doc="Writes whether a node of an executable graph is on.",
    ),
    function(
        "infinirtGraphDebugDotPrint",
        "infinirtGraph_t graph, const char* path, unsigned int flags",
        route="handle:graph",
        doc="Writes the graph as a DOT file; `flags` says in how much detail.",
    ),
    function(
        "infinirtUserObjectCreate",
        (
            "infinirtUserObject_t* object_out, void* ptr, infinirtHostFn_t destroy, unsigned int "
            "initialRefcount, unsigned int flags"
        ),
        route="current",
        doc=(
            "Wraps a resource of the user's; `destroy` is called with `ptr` when the last reference goes. "
            "`flags` must be infinirtUserObjectNoDestructorSync. `destroy` may not call this API."
        ),
    ),
    function(
        "infinirtUserObjectRetain",
        "infinirtUserObject_t object, unsigned int count = 1",
        route="handle:object",
        doc="Adds references that the caller owns.",
    ),
    function(
        "infinirtUserObjectRelease",
        "infinirtUserObject_t object, unsigned int count = 1",
        route="handle:object",
        doc="Gives back references that the caller owns.",
    ),
    function(
        "infinirtGraphRetainUserObject",
        (
            "infinirtGraph_t graph, infinirtUserObject_t object, unsigned int count = 1, unsigned int flags = "
            "0"
        ),
        route="handle:graph",
        doc=(
            "Gives references to a graph; with infinirtGraphUserObjectMove they are taken from the caller. "
            "They go when the graph and its executable graphs have gone."
        ),
    ),
    function(
        "infinirtGraphReleaseUserObject",
        "infinirtGraph_t graph, infinirtUserObject_t object, unsigned int count = 1",
        route="handle:graph",
        doc="Gives back references that a graph owns.",
    ),
)
