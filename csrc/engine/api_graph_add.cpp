// Table functions: adding nodes.
#include "engine/graph_args.h"

namespace infinirt {

EngineDevice& current_device_of(const Engine& engine) {
  return *engine.devices[static_cast<size_t>(thread_state().device[engine.backend.index])];
}

namespace {

using NodeList = std::vector<GraphNode*>;

infinirtError_t resolve_add(infinirtGraphNode_t* out, infinirtGraph_t handle, const infinirtGraphNode_t* dependencies,
                            size_t count, Graph** graph, NodeList* nodes) {
  if (!out) return fail(infinirtErrorInvalidValue, "pGraphNode is null; it must point at where the new node goes");
  *graph = resolve_graph(handle, "graph");
  if (!*graph || !resolve_nodes(**graph, dependencies, count, "pDependencies", nodes)) return infinirtErrorInvalidValue;
  return infinirtSuccess;
}

infinirtError_t missing(const char* argument) {
  return fail(infinirtErrorInvalidValue, "%s is null; it must describe the node", argument);
}

// The common end of all that add a node. `make` gives the body, or null with *error set.
template <class Make>
infinirtError_t add(infinirtGraphNode_t* out, infinirtGraph_t handle, const infinirtGraphNode_t* dependencies,
                    size_t count, Make&& make) {
  Graph* graph = nullptr;
  NodeList nodes;
  infinirtError_t error = resolve_add(out, handle, dependencies, count, &graph, &nodes);
  if (error != infinirtSuccess) return error;
  NodeBodyPtr body = make(*graph, nodes, &error);
  if (!body) return error;
  GraphNode* node = add_node(*graph, nodes, std::move(body));
  if (!node) return infinirtErrorMemoryAllocation;
  *out = node->handle;
  return infinirtSuccess;
}

// Whether `graph` is `ancestor` or lies inside it as a child graph.
bool is_inside(const Graph& graph, const Graph& ancestor) {
  for (const Graph* g = &graph; g; g = g->owner ? g->owner->graph : nullptr) {
    if (g == &ancestor) return true;
  }
  return false;
}

infinirtError_t check_move(const Graph& graph, const Graph& child) {
  if (child.owner) return fail(infinirtErrorInvalidValue, "graph.graph belongs to a child graph node already");
  if (child.captures)
    return fail(infinirtErrorInvalidValue, "graph.graph is being captured into; call infinirtStreamEndCapture first");
  if (is_inside(graph, child)) return fail(infinirtErrorInvalidValue, "graph.graph would become a part of itself");
  return infinirtSuccess;
}

infinirtError_t add_child(infinirtGraphNode_t* out, infinirtGraph_t handle, const infinirtGraphNode_t* dependencies,
                          size_t count, infinirtGraph_t child_handle,
                          enum infinirtGraphChildGraphNodeOwnership ownership) {
  Graph* graph = nullptr;
  NodeList nodes;
  infinirtError_t error = resolve_add(out, handle, dependencies, count, &graph, &nodes);
  if (error != infinirtSuccess) return error;
  Graph* child = resolve_graph(child_handle, "childGraph");
  if (!child) return infinirtErrorInvalidValue;
  if (child->engine != graph->engine) {
    return fail(infinirtErrorInvalidValue, "childGraph is of device type '%s', graph of '%s'",
                child->engine->backend.name.c_str(), graph->engine->backend.name.c_str());
  }
  const bool moves = ownership == infinirtGraphChildGraphOwnershipMove;
  if (!moves && ownership != infinirtGraphChildGraphOwnershipClone) {
    return fail(infinirtErrorInvalidValue, "graph.ownership %d is neither clone (0) nor move (1)",
                static_cast<int>(ownership));
  }
  if (moves) {
    if ((error = check_move(*graph, *child))) return error;
  } else if (!(child = clone_graph(*child, &error))) {
    return error;
  }
  GraphNode* node = add_node(*graph, nodes, make_child_body(current_device_of(*graph->engine)), child);
  if (!node) {
    if (!moves) destroy_graph(*child);
    return infinirtErrorMemoryAllocation;
  }
  *out = node->handle;
  return infinirtSuccess;
}

NodeBodyPtr make_alloc(Graph& graph, const NodeList& nodes, infinirtMemAllocNodeParams& params,
                       infinirtError_t* error) {
  // The device is looked at again by the maker, with messages; here it only helps to find memory to share.
  std::shared_ptr<GraphBlock> block;
  const auto ordinal = static_cast<size_t>(params.poolProps.location.id);
  if (ordinal < graph.engine->devices.size() && params.bytesize) {
    block = reusable_block(graph, nodes, *graph.engine->devices[ordinal], params.bytesize);
  }
  NodeBodyPtr body = make_alloc_body(graph, params, block, error);
  if (body) {
    params.dptr = body->allocation->block->pointer;
  } else if (block) {
    block->promised = false;
  }
  return body;
}

infinirtError_t add_alloc(infinirtGraphNode_t* out, infinirtGraph_t graph, const infinirtGraphNode_t* dependencies,
                          size_t count, infinirtMemAllocNodeParams& params) {
  return add(out, graph, dependencies, count, [&](Graph& g, const NodeList& nodes, infinirtError_t* error) {
    return make_alloc(g, nodes, params, error);
  });
}

infinirtError_t add_any(infinirtGraphNode_t* out, infinirtGraph_t graph, const infinirtGraphNode_t* dependencies,
                        size_t count, infinirtGraphNodeParams* params) {
  if (!params) return missing("nodeParams");
  if (params->type == infinirtGraphNodeTypeGraph) {
    return add_child(out, graph, dependencies, count, params->graph.graph, params->graph.ownership);
  }
  if (params->type == infinirtGraphNodeTypeMemAlloc) {
    auto& given = params->alloc;
    infinirtMemAllocNodeParams alloc{given.poolProps, given.accessDescs, given.accessDescCount, given.bytesize,
                                     nullptr};
    const infinirtError_t error = add_alloc(out, graph, dependencies, count, alloc);
    if (error == infinirtSuccess) given.dptr = alloc.dptr;
    return error;
  }
  return add(out, graph, dependencies, count, [&](Graph& g, const NodeList&, infinirtError_t* error) {
    return make_body(g, current_device_of(*g.engine), *params, error);
  });
}

}  // namespace

namespace engine_api {

infinirtError_t GraphAddNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                             const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                             struct infinirtGraphNodeParams* nodeParams) {
  return add_any(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
}

infinirtError_t GraphAddNode_v2(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                const infinirtGraphNode_t* pDependencies, const infinirtGraphEdgeData* dependencyData,
                                size_t numDependencies, struct infinirtGraphNodeParams* nodeParams) {
  if (auto error = check_edge_data(dependencyData, numDependencies, "dependencyData")) return error;
  return add_any(pGraphNode, graph, pDependencies, numDependencies, nodeParams);
}

infinirtError_t GraphAddEmptyNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                  const infinirtGraphNode_t* pDependencies, size_t numDependencies) {
  return add(pGraphNode, graph, pDependencies, numDependencies,
             [](Graph& g, const NodeList&, infinirtError_t*) { return make_empty_body(current_device_of(*g.engine)); });
}

infinirtError_t GraphAddMemcpyNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                   const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                                   const struct infinirtMemcpy3DParms* pCopyParams) {
  if (!pCopyParams) return missing("pCopyParams");
  return add(pGraphNode, graph, pDependencies, numDependencies, [&](Graph& g, const NodeList&, infinirtError_t* error) {
    return make_copy_body(current_device_of(*g.engine), *pCopyParams, error);
  });
}

infinirtError_t GraphAddMemcpyNode1D(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                     const infinirtGraphNode_t* pDependencies, size_t numDependencies, void* dst,
                                     const void* src, size_t count, enum infinirtMemcpyKind kind) {
  return add(pGraphNode, graph, pDependencies, numDependencies, [&](Graph& g, const NodeList&, infinirtError_t* error) {
    return make_copy_body_1d(current_device_of(*g.engine), dst, src, count, kind, error);
  });
}

infinirtError_t GraphAddMemsetNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                   const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                                   const struct infinirtMemsetParams* pMemsetParams) {
  if (!pMemsetParams) return missing("pMemsetParams");
  return add(pGraphNode, graph, pDependencies, numDependencies, [&](Graph& g, const NodeList&, infinirtError_t* error) {
    return make_fill_body(current_device_of(*g.engine), *pMemsetParams, error);
  });
}

infinirtError_t GraphAddHostNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                 const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                                 const struct infinirtHostNodeParams* pNodeParams) {
  if (!pNodeParams) return missing("pNodeParams");
  return add(pGraphNode, graph, pDependencies, numDependencies, [&](Graph& g, const NodeList&, infinirtError_t* error) {
    return make_host_body(current_device_of(*g.engine), *pNodeParams, error);
  });
}

infinirtError_t GraphAddKernelNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                   const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                                   const struct infinirtKernelNodeParams* pNodeParams) {
  if (!pNodeParams) return missing("pNodeParams");
  return add(pGraphNode, graph, pDependencies, numDependencies, [&](Graph& g, const NodeList&, infinirtError_t* error) {
    return make_kernel_body(current_device_of(*g.engine), *pNodeParams, error);
  });
}

infinirtError_t GraphAddChildGraphNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                       const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                                       infinirtGraph_t childGraph) {
  return add_child(pGraphNode, graph, pDependencies, numDependencies, childGraph,
                   infinirtGraphChildGraphOwnershipClone);
}

infinirtError_t GraphAddEventRecordNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                        const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                                        infinirtEvent_t event) {
  return add(pGraphNode, graph, pDependencies, numDependencies, [&](Graph&, const NodeList&, infinirtError_t* error) {
    return make_event_body(infinirtGraphNodeTypeEventRecord, event, error);
  });
}

infinirtError_t GraphAddEventWaitNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                      const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                                      infinirtEvent_t event) {
  return add(pGraphNode, graph, pDependencies, numDependencies, [&](Graph&, const NodeList&, infinirtError_t* error) {
    return make_event_body(infinirtGraphNodeTypeWaitEvent, event, error);
  });
}

infinirtError_t GraphAddMemAllocNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                     const infinirtGraphNode_t* pDependencies, size_t numDependencies,
                                     struct infinirtMemAllocNodeParams* nodeParams) {
  if (!nodeParams) return missing("nodeParams");
  return add_alloc(pGraphNode, graph, pDependencies, numDependencies, *nodeParams);
}

infinirtError_t GraphAddMemFreeNode(infinirtGraphNode_t* pGraphNode, infinirtGraph_t graph,
                                    const infinirtGraphNode_t* pDependencies, size_t numDependencies, void* dptr) {
  return add(pGraphNode, graph, pDependencies, numDependencies, [&](Graph& g, const NodeList&, infinirtError_t* error) {
    return make_free_body(g, current_device_of(*g.engine), dptr, error);
  });
}

}  // namespace engine_api

}  // namespace infinirt
