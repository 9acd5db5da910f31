"""Graph nodes: reading and replacing their parameters."""

from __future__ import annotations

from ..model import cuda13, function, in_group

FUNCTIONS = in_group(
    "graph",
    function(
        "infinirtGraphKernelNodeGetParams",
        "infinirtGraphNode_t node, struct infinirtKernelNodeParams* pNodeParams",
        route="handle:node",
        doc="Writes the parameters of a kernel node; the arrays belong to the node.",
    ),
    function(
        "infinirtGraphKernelNodeSetParams",
        "infinirtGraphNode_t node, const struct infinirtKernelNodeParams* pNodeParams",
        route="handle:node",
        doc="Replaces the parameters of a kernel node. Executable graphs do not change.",
    ),
    function(
        "infinirtGraphKernelNodeCopyAttributes",
        "infinirtGraphNode_t hSrc, infinirtGraphNode_t hDst",
        route="handle:hSrc",
        doc="Copies the attributes of one kernel node to another.",
        cuda13=cuda13(
            "cudaGraphKernelNodeCopyAttributes",
            "infinirtGraphNode_t hDst, infinirtGraphNode_t hSrc",
            "the two parameters are named the other way round; the types agree",
        ),
    ),
    function(
        "infinirtGraphKernelNodeGetAttribute",
        "infinirtGraphNode_t hNode, infinirtKernelNodeAttrID attr, infinirtKernelNodeAttrValue* value_out",
        route="handle:hNode",
        doc="Writes one attribute of a kernel node.",
    ),
    function(
        "infinirtGraphKernelNodeSetAttribute",
        (
            "infinirtGraphNode_t hNode, infinirtKernelNodeAttrID attr, const infinirtKernelNodeAttrValue* "
            "value"
        ),
        route="handle:hNode",
        doc="Sets one attribute of a kernel node.",
    ),
    function(
        "infinirtGraphMemcpyNodeGetParams",
        "infinirtGraphNode_t node, struct infinirtMemcpy3DParms* pNodeParams",
        route="handle:node",
        doc="Writes the parameters of a copy node.",
    ),
    function(
        "infinirtGraphMemcpyNodeSetParams",
        "infinirtGraphNode_t node, const struct infinirtMemcpy3DParms* pNodeParams",
        route="handle:node",
        doc="Replaces the parameters of a copy node. Executable graphs do not change.",
    ),
    function(
        "infinirtGraphMemcpyNodeSetParams1D",
        "infinirtGraphNode_t node, void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind",
        route="handle:node",
        doc="As infinirtGraphMemcpyNodeSetParams, with a copy of `count` bytes.",
    ),
    function(
        "infinirtGraphMemsetNodeGetParams",
        "infinirtGraphNode_t node, struct infinirtMemsetParams* pNodeParams",
        route="handle:node",
        doc="Writes the parameters of a set node.",
    ),
    function(
        "infinirtGraphMemsetNodeSetParams",
        "infinirtGraphNode_t node, const struct infinirtMemsetParams* pNodeParams",
        route="handle:node",
        doc="Replaces the parameters of a set node. Executable graphs do not change.",
    ),
    function(
        "infinirtGraphHostNodeGetParams",
        "infinirtGraphNode_t node, struct infinirtHostNodeParams* pNodeParams",
        route="handle:node",
        doc="Writes the parameters of a host function node.",
    ),
    function(
        "infinirtGraphHostNodeSetParams",
        "infinirtGraphNode_t node, const struct infinirtHostNodeParams* pNodeParams",
        route="handle:node",
        doc="Replaces the parameters of a host function node. Executable graphs do not change.",
    ),
    function(
        "infinirtGraphChildGraphNodeGetGraph",
        "infinirtGraphNode_t node, infinirtGraph_t* pGraph",
        route="handle:node",
        doc=(
            "Writes the graph inside a child graph node. It belongs to the node; changes to it change the "
            "node."
        ),
    ),
    function(
        "infinirtGraphEventRecordNodeGetEvent",
        "infinirtGraphNode_t node, infinirtEvent_t* event_out",
        route="handle:node",
        doc="Writes the event of an event record node.",
    ),
    function(
        "infinirtGraphEventRecordNodeSetEvent",
        "infinirtGraphNode_t node, infinirtEvent_t event",
        route="handle:node",
        doc="Replaces the event of an event record node.",
    ),
    function(
        "infinirtGraphEventWaitNodeGetEvent",
        "infinirtGraphNode_t node, infinirtEvent_t* event_out",
        route="handle:node",
        doc="Writes the event of an event wait node.",
    ),
    function(
        "infinirtGraphEventWaitNodeSetEvent",
        "infinirtGraphNode_t node, infinirtEvent_t event",
        route="handle:node",
        doc="Replaces the event of an event wait node.",
    ),
    function(
        "infinirtGraphMemAllocNodeGetParams",
        "infinirtGraphNode_t node, struct infinirtMemAllocNodeParams* params_out",
        route="handle:node",
        doc="Writes the parameters of an allocation node, its address included.",
    ),
    function(
        "infinirtGraphMemFreeNodeGetParams",
        "infinirtGraphNode_t node, void* dptr_out",
        route="handle:node",
        doc="Writes the address that a free node frees; `dptr_out` points to a pointer.",
    ),
    function(
        "infinirtGraphNodeSetParams",
        "infinirtGraphNode_t node, struct infinirtGraphNodeParams* nodeParams",
        route="handle:node",
        doc="Replaces the parameters of a node of any type; the type itself cannot change.",
    ),
)
