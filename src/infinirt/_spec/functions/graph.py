"""Graphs: work described once and launched many times. Graph objects are not synchronised internally."""

from __future__ import annotations

from ..model import cuda13, function, in_group

FUNCTIONS = in_group(
    "graph",
    function(
        "infinirtGraphCreate",
        "infinirtGraph_t* pGraph, unsigned int flags",
        route="current",
        doc="Creates an empty graph. `flags` must be 0. The caller destroys it.",
    ),
    function(
        "infinirtGraphDestroy",
        "infinirtGraph_t graph",
        route="handle:graph",
        doc="Destroys a graph and its nodes. Executable graphs made from it live on.",
    ),
    function(
        "infinirtGraphClone",
        "infinirtGraph_t* pGraphClone, infinirtGraph_t originalGraph",
        route="handle:originalGraph",
        doc=(
            "Makes a copy of a graph, child graphs included; the caller destroys it. Nodes are found again "
            "with infinirtGraphNodeFindInClone."
        ),
    ),
    function(
        "infinirtGraphAddNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, struct infinirtGraphNodeParams* nodeParams"
        ),
        route="handle:graph",
        doc=(
            "Adds a node of the type that `nodeParams` names, after the given dependencies. Writes results, "
            "such as the address of an allocation, into `nodeParams`."
        ),
        cuda13=cuda13(
            "cudaGraphAddNode",
            (
                "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* "
                "pDependencies, const infinirtGraphEdgeData* dependencyData, size_t numDependencies, struct "
                "infinirtGraphNodeParams* nodeParams"
            ),
            "pass null for the edge data",
        ),
    ),
    function(
        "infinirtGraphAddNode_v2",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "const infinirtGraphEdgeData* dependencyData, size_t numDependencies, struct "
            "infinirtGraphNodeParams* nodeParams"
        ),
        route="handle:graph",
        doc="As infinirtGraphAddNode, with annotations of the edges.",
        cuda13=cuda13(
            "cudaGraphAddNode",
            None,
            "same shape under the plain name",
        ),
    ),
    function(
        "infinirtGraphAddEmptyNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies"
        ),
        route="handle:graph",
        doc="Adds a node that does nothing; it joins and forks dependencies.",
    ),
    function(
        "infinirtGraphAddMemcpyNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, const struct infinirtMemcpy3DParms* pCopyParams"
        ),
        route="handle:graph",
        doc="Adds a 3D copy.",
    ),
    function(
        "infinirtGraphAddMemcpyNode1D",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind"
        ),
        route="handle:graph",
        doc="Adds a copy of `count` bytes.",
    ),
    function(
        "infinirtGraphAddMemsetNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, const struct infinirtMemsetParams* pMemsetParams"
        ),
        route="handle:graph",
        doc="Adds a set.",
    ),
    function(
        "infinirtGraphAddHostNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, const struct infinirtHostNodeParams* pNodeParams"
        ),
        route="handle:graph",
        doc="Adds a host function; it may not call this API.",
    ),
    function(
        "infinirtGraphAddKernelNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, const struct infinirtKernelNodeParams* pNodeParams"
        ),
        route="handle:graph",
        doc="Adds a kernel launch. The arguments are copied.",
    ),
    function(
        "infinirtGraphAddChildGraphNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, infinirtGraph_t childGraph"
        ),
        route="handle:graph",
        doc="Adds a copy of another graph as one node. That graph may not contain allocation or free nodes.",
    ),
    function(
        "infinirtGraphAddEventRecordNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, infinirtEvent_t event"
        ),
        route="handle:graph",
        doc="Adds a record of an event at each launch.",
    ),
    function(
        "infinirtGraphAddEventWaitNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, infinirtEvent_t event"
        ),
        route="handle:graph",
        doc="Adds a wait for an event at each launch.",
    ),
    function(
        "infinirtGraphAddMemAllocNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, struct infinirtMemAllocNodeParams* nodeParams"
        ),
        route="handle:graph",
        doc=(
            "Adds an allocation and writes its address, fixed for the life of the graph, into "
            "`nodeParams->dptr`. Use the memory only between this node and the one that frees it."
        ),
    ),
    function(
        "infinirtGraphAddMemFreeNode",
        (
            "infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph, const infinirtGraphNode_t* pDependencies, "
            "size_t numDependencies, void* dptr"
        ),
        route="handle:graph",
        doc="Adds the free of a graph allocation.",
    ),
    function(
        "infinirtGraphAddDependencies",
        (
            "infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to, size_t "
            "numDependencies"
        ),
        route="handle:graph",
        doc="Adds edges. infinirtErrorInvalidValue if an edge exists already or would close a cycle.",
        cuda13=cuda13(
            "cudaGraphAddDependencies",
            (
                "infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to, const "
                "infinirtGraphEdgeData* edgeData, size_t numDependencies"
            ),
            "pass null for the edge data",
        ),
    ),
    function(
        "infinirtGraphAddDependencies_v2",
        (
            "infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to, const "
            "infinirtGraphEdgeData* edgeData, size_t numDependencies"
        ),
        route="handle:graph",
        doc="As infinirtGraphAddDependencies, with annotations of the edges.",
        cuda13=cuda13(
            "cudaGraphAddDependencies",
            None,
            "same shape under the plain name",
        ),
    ),
    function(
        "infinirtGraphRemoveDependencies",
        (
            "infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to, size_t "
            "numDependencies"
        ),
        route="handle:graph",
        doc="Removes edges. infinirtErrorInvalidValue if an edge does not exist.",
        cuda13=cuda13(
            "cudaGraphRemoveDependencies",
            (
                "infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to, const "
                "infinirtGraphEdgeData* edgeData, size_t numDependencies"
            ),
            "pass null for the edge data",
        ),
    ),
    function(
        "infinirtGraphRemoveDependencies_v2",
        (
            "infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to, const "
            "infinirtGraphEdgeData* edgeData, size_t numDependencies"
        ),
        route="handle:graph",
        doc="As infinirtGraphRemoveDependencies; the annotations must match.",
        cuda13=cuda13(
            "cudaGraphRemoveDependencies",
            None,
            "same shape under the plain name",
        ),
    ),
    function(
        "infinirtGraphGetNodes",
        "infinirtGraph_t graph, infinirtGraphNode_t* nodes, size_t* numNodes",
        route="handle:graph",
        doc=(
            "Writes the nodes of a graph. With a null array writes only their number; else fills up to "
            "`*numNodes` entries, the rest with null, and writes how many there are."
        ),
    ),
    function(
        "infinirtGraphGetRootNodes",
        "infinirtGraph_t graph, infinirtGraphNode_t* pRootNodes, size_t* pNumRootNodes",
        route="handle:graph",
        doc="Writes the nodes that depend on nothing, as infinirtGraphGetNodes does.",
    ),
    function(
        "infinirtGraphGetEdges",
        "infinirtGraph_t graph, infinirtGraphNode_t* from, infinirtGraphNode_t* to, size_t* numEdges",
        route="handle:graph",
        doc=(
            "Writes the edges, as infinirtGraphGetNodes does. infinirtErrorLossyQuery if an edge has an "
            "annotation."
        ),
        cuda13=cuda13(
            "cudaGraphGetEdges",
            (
                "infinirtGraph_t graph, infinirtGraphNode_t* from, infinirtGraphNode_t* to, "
                "infinirtGraphEdgeData* edgeData, size_t* numEdges"
            ),
            "pass null for the edge data",
        ),
    ),
    function(
        "infinirtGraphGetEdges_v2",
        (
            "infinirtGraph_t graph, infinirtGraphNode_t* from, infinirtGraphNode_t* to, infinirtGraphEdgeData* "
            "edgeData, size_t* numEdges"
        ),
        route="handle:graph",
        doc=(
            "As infinirtGraphGetEdges, with the annotations. infinirtErrorLossyQuery if there are some and "
            "`edgeData` is null."
        ),
        cuda13=cuda13(
            "cudaGraphGetEdges",
            None,
            "same shape under the plain name",
        ),
    ),
    function(
        "infinirtGraphNodeGetType",
        "infinirtGraphNode_t node, enum infinirtGraphNodeType* pType",
        route="handle:node",
        doc="Writes the type of a node.",
    ),
    function(
        "infinirtGraphNodeGetDependencies",
        "infinirtGraphNode_t node, infinirtGraphNode_t* pDependencies, size_t* pNumDependencies",
        route="handle:node",
        doc="Writes the nodes that a node depends on, as infinirtGraphGetNodes does.",
        cuda13=cuda13(
            "cudaGraphNodeGetDependencies",
            (
                "infinirtGraphNode_t node, infinirtGraphNode_t* pDependencies, infinirtGraphEdgeData* "
                "edgeData, size_t* pNumDependencies"
            ),
            "pass null for the edge data",
        ),
    ),
    function(
        "infinirtGraphNodeGetDependencies_v2",
        (
            "infinirtGraphNode_t node, infinirtGraphNode_t* pDependencies, infinirtGraphEdgeData* edgeData, "
            "size_t* pNumDependencies"
        ),
        route="handle:node",
        doc="As infinirtGraphNodeGetDependencies, with the annotations of the edges.",
        cuda13=cuda13(
            "cudaGraphNodeGetDependencies",
            None,
            "same shape under the plain name",
        ),
    ),
    function(
        "infinirtGraphNodeGetDependentNodes",
        "infinirtGraphNode_t node, infinirtGraphNode_t* pDependentNodes, size_t* pNumDependentNodes",
        route="handle:node",
        doc="Writes the nodes that depend on a node, as infinirtGraphGetNodes does.",
        cuda13=cuda13(
            "cudaGraphNodeGetDependentNodes",
            (
                "infinirtGraphNode_t node, infinirtGraphNode_t* pDependentNodes, infinirtGraphEdgeData* "
                "edgeData, size_t* pNumDependentNodes"
            ),
            "pass null for the edge data",
        ),
    ),
    function(
        "infinirtGraphNodeGetDependentNodes_v2",
        (
            "infinirtGraphNode_t node, infinirtGraphNode_t* pDependentNodes, infinirtGraphEdgeData* edgeData, "
            "size_t* pNumDependentNodes"
        ),
        route="handle:node",
        doc="As infinirtGraphNodeGetDependentNodes, with the annotations of the edges.",
        cuda13=cuda13(
            "cudaGraphNodeGetDependentNodes",
            None,
            "same shape under the plain name",
        ),
    ),
    function(
        "infinirtGraphNodeFindInClone",
        "infinirtGraphNode_t* pNode, infinirtGraphNode_t originalNode, infinirtGraph_t clonedGraph",
        route="handle:clonedGraph",
        doc="Writes the node of a cloned graph that corresponds to a node of the original.",
    ),
    function(
        "infinirtGraphDestroyNode",
        "infinirtGraphNode_t node",
        route="handle:node",
        doc="Removes a node and its edges from its graph.",
    ),
)
