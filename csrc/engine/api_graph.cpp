// Table functions: graphs and their shape.
#include <cstring>

#include "engine/graph.h"
#include "engine/graph_args.h"

namespace infinirt {

namespace {

// The two-call protocol of CUDA's getters: without an array the number is written; with one, as many entries as there
// are, the rest filled with nulls, and the number of entries that mean something.
template <class Write>
infinirtError_t list_out(size_t available, size_t* count, const char* count_name, bool has_array, Write&& write) {
  if (!count) return fail(infinirtErrorInvalidValue, "%s is null; it must point at the number of entries", count_name);
  if (!has_array) {
    *count = available;
    return infinirtSuccess;
  }
  for (size_t i = 0; i < *count; ++i) write(i, i < available);
  if (*count > available) *count = available;
  return infinirtSuccess;
}

infinirtError_t nodes_out(const std::vector<GraphNode*>& nodes, infinirtGraphNode_t* out, infinirtGraphEdgeData* edges,
                          size_t* count, const char* count_name) {
  return list_out(nodes.size(), count, count_name, out != nullptr, [&](size_t i, bool there) {
    out[i] = there ? nodes[i]->handle : nullptr;
    if (edges) edges[i] = {};
  });
}

infinirtError_t edges_out(infinirtGraph_t graph, infinirtGraphNode_t* from, infinirtGraphNode_t* to,
                          infinirtGraphEdgeData* data, size_t* count) {
  GRAPH_OR_RETURN(g, graph);
  if ((from == nullptr) != (to == nullptr))
    return fail(infinirtErrorInvalidValue, "from and to must both be null, or neither");
  std::vector<std::pair<GraphNode*, GraphNode*>> edges;
  for (GraphNode* node : g.nodes) {
    for (GraphNode* dependent : node->dependents) edges.emplace_back(node, dependent);
  }
  return list_out(edges.size(), count, "numEdges", from != nullptr, [&](size_t i, bool there) {
    from[i] = there ? edges[i].first->handle : nullptr;
    to[i] = there ? edges[i].second->handle : nullptr;
    if (data) data[i] = {};
  });
}

// Resolves the pairs of an edge list; nothing has changed when it fails.
infinirtError_t resolve_edges(Graph& graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to,
                              const infinirtGraphEdgeData* data, size_t count,
                              std::vector<std::pair<GraphNode*, GraphNode*>>* out) {
  if (count == 0) return infinirtSuccess;
  if (!from || !to)
    return fail(infinirtErrorInvalidValue, "%s is null, but %zu dependencies were announced", from ? "to" : "from",
                count);
  if (auto error = check_edge_data(data, count, "edgeData")) return error;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* ends[2] = {resolve_node(from[i], "from"), nullptr};
    if (!ends[0]) return infinirtErrorInvalidValue;
    ends[1] = resolve_node(to[i], "to");
    if (!ends[1]) return infinirtErrorInvalidValue;
    for (int side = 0; side < 2; ++side) {
      if (ends[side]->graph != &graph) {
        return fail(infinirtErrorInvalidValue, "%s[%zu] %p is a node of another graph", side ? "to" : "from", i,
                    static_cast<void*>(ends[side]->handle));
      }
    }
    if (ends[0] == ends[1])
      return fail(infinirtErrorInvalidValue, "from[%zu] and to[%zu] are the same node; a node cannot depend on itself",
                  i, i);
    out->emplace_back(ends[0], ends[1]);
  }
  return infinirtSuccess;
}

infinirtError_t add_dependencies(infinirtGraph_t graph, const infinirtGraphNode_t* from, const infinirtGraphNode_t* to,
                                 const infinirtGraphEdgeData* data, size_t count) {
  GRAPH_OR_RETURN(g, graph);
  std::vector<std::pair<GraphNode*, GraphNode*>> edges;
  if (auto error = resolve_edges(g, from, to, data, count, &edges)) return error;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (has_edge(*edges[i].first, *edges[i].second)) {
      while (i-- > 0) remove_edge(*edges[i].first, *edges[i].second);
      return fail(infinirtErrorInvalidValue,
                  "one of the dependencies is there already, or is named twice; nothing was added");
    }
    add_edge(*edges[i].first, *edges[i].second);
  }
  return infinirtSuccess;
}

infinirtError_t remove_dependencies(infinirtGraph_t graph, const infinirtGraphNode_t* from,
                                    const infinirtGraphNode_t* to, const infinirtGraphEdgeData* data, size_t count) {
  GRAPH_OR_RETURN(g, graph);
  std::vector<std::pair<GraphNode*, GraphNode*>> edges;
  if (auto error = resolve_edges(g, from, to, data, count, &edges)) return error;
  if (count && has_memory_nodes(g)) {
    return fail(infinirtErrorNotSupported,
                "graph allocates or frees memory; its dependencies cannot be removed, since memory is shared by them");
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    if (!has_edge(*edges[i].first, *edges[i].second)) {
      while (i-- > 0) add_edge(*edges[i].first, *edges[i].second);
      return fail(infinirtErrorInvalidValue,
                  "one of the dependencies is not there, or is named twice; nothing was removed");
    }
    remove_edge(*edges[i].first, *edges[i].second);
  }
  return infinirtSuccess;
}

}  // namespace

infinirtError_t check_edge_data(const infinirtGraphEdgeData* edges, size_t count, const char* argument) {
  constexpr infinirtGraphEdgeData plain{};
  for (size_t i = 0; edges && i < count; ++i) {
    if (std::memcmp(&edges[i], &plain, sizeof plain) != 0) {
      return fail(infinirtErrorNotSupported, "%s[%zu] is not all zero; only plain dependencies are supported", argument,
                  i);
    }
  }
  return infinirtSuccess;
}

namespace engine_api {

infinirtError_t GraphCreate(infinirtGraph_t* pGraph, unsigned int flags) {
  if (!pGraph) return fail(infinirtErrorInvalidValue, "pGraph is null; it must point at where the new graph goes");
  if (flags != 0) return fail(infinirtErrorInvalidValue, "flags 0x%x must be 0", flags);
  Engine& engine = current_engine(thread_state());
  if (engine.devices.empty()) {
    device_at(engine, 0, "device");  // for its message
    return infinirtErrorNoDevice;
  }
  Graph* graph = create_graph(engine);
  if (!graph) return infinirtErrorMemoryAllocation;
  *pGraph = graph->handle;
  return infinirtSuccess;
}

infinirtError_t GraphDestroy(infinirtGraph_t graph) {
  GRAPH_OR_RETURN(g, graph);
  if (g.owner)
    return fail(infinirtErrorInvalidValue, "graph belongs to a child graph node of another graph, and goes with it");
  if (g.captures)
    return fail(infinirtErrorIllegalState, "graph is being captured into; call infinirtStreamEndCapture first");
  destroy_graph(g);
  return infinirtSuccess;
}

infinirtError_t GraphClone(infinirtGraph_t* pGraphClone, infinirtGraph_t originalGraph) {
  if (!pGraphClone) return fail(infinirtErrorInvalidValue, "pGraphClone is null; it must point at where the copy goes");
  GRAPH_OR_RETURN(original, originalGraph);
  infinirtError_t error = infinirtSuccess;
  Graph* clone = clone_graph(original, &error);
  if (!clone) return error;
  *pGraphClone = clone->handle;
  return infinirtSuccess;
}

infinirtError_t GraphAddDependencies(infinirtGraph_t graph, const infinirtGraphNode_t* from,
                                     const infinirtGraphNode_t* to, size_t numDependencies) {
  return add_dependencies(graph, from, to, nullptr, numDependencies);
}

infinirtError_t GraphAddDependencies_v2(infinirtGraph_t graph, const infinirtGraphNode_t* from,
                                        const infinirtGraphNode_t* to, const infinirtGraphEdgeData* edgeData,
                                        size_t numDependencies) {
  return add_dependencies(graph, from, to, edgeData, numDependencies);
}

infinirtError_t GraphRemoveDependencies(infinirtGraph_t graph, const infinirtGraphNode_t* from,
                                        const infinirtGraphNode_t* to, size_t numDependencies) {
  return remove_dependencies(graph, from, to, nullptr, numDependencies);
}

infinirtError_t GraphRemoveDependencies_v2(infinirtGraph_t graph, const infinirtGraphNode_t* from,
                                           const infinirtGraphNode_t* to, const infinirtGraphEdgeData* edgeData,
                                           size_t numDependencies) {
  return remove_dependencies(graph, from, to, edgeData, numDependencies);
}

infinirtError_t GraphGetNodes(infinirtGraph_t graph, infinirtGraphNode_t* nodes, size_t* numNodes) {
  GRAPH_OR_RETURN(g, graph);
  return nodes_out(g.nodes, nodes, nullptr, numNodes, "numNodes");
}

infinirtError_t GraphGetRootNodes(infinirtGraph_t graph, infinirtGraphNode_t* pRootNodes, size_t* pNumRootNodes) {
  GRAPH_OR_RETURN(g, graph);
  std::vector<GraphNode*> roots;
  for (GraphNode* node : g.nodes) {
    if (node->dependencies.empty()) roots.push_back(node);
  }
  return nodes_out(roots, pRootNodes, nullptr, pNumRootNodes, "pNumRootNodes");
}

infinirtError_t GraphGetEdges(infinirtGraph_t graph, infinirtGraphNode_t* from, infinirtGraphNode_t* to,
                              size_t* numEdges) {
  return edges_out(graph, from, to, nullptr, numEdges);
}

infinirtError_t GraphGetEdges_v2(infinirtGraph_t graph, infinirtGraphNode_t* from, infinirtGraphNode_t* to,
                                 infinirtGraphEdgeData* edgeData, size_t* numEdges) {
  return edges_out(graph, from, to, edgeData, numEdges);
}

infinirtError_t GraphNodeGetType(infinirtGraphNode_t node, enum infinirtGraphNodeType* pType) {
  NODE_OR_RETURN(n, node);
  if (!pType) return fail(infinirtErrorInvalidValue, "pType is null; it must point at where the type goes");
  *pType = n.body->type;
  return infinirtSuccess;
}

infinirtError_t GraphNodeGetDependencies(infinirtGraphNode_t node, infinirtGraphNode_t* pDependencies,
                                         size_t* pNumDependencies) {
  NODE_OR_RETURN(n, node);
  return nodes_out(n.dependencies, pDependencies, nullptr, pNumDependencies, "pNumDependencies");
}

infinirtError_t GraphNodeGetDependencies_v2(infinirtGraphNode_t node, infinirtGraphNode_t* pDependencies,
                                            infinirtGraphEdgeData* edgeData, size_t* pNumDependencies) {
  NODE_OR_RETURN(n, node);
  return nodes_out(n.dependencies, pDependencies, edgeData, pNumDependencies, "pNumDependencies");
}

infinirtError_t GraphNodeGetDependentNodes(infinirtGraphNode_t node, infinirtGraphNode_t* pDependentNodes,
                                           size_t* pNumDependentNodes) {
  NODE_OR_RETURN(n, node);
  return nodes_out(n.dependents, pDependentNodes, nullptr, pNumDependentNodes, "pNumDependentNodes");
}

infinirtError_t GraphNodeGetDependentNodes_v2(infinirtGraphNode_t node, infinirtGraphNode_t* pDependentNodes,
                                              infinirtGraphEdgeData* edgeData, size_t* pNumDependentNodes) {
  NODE_OR_RETURN(n, node);
  return nodes_out(n.dependents, pDependentNodes, edgeData, pNumDependentNodes, "pNumDependentNodes");
}

infinirtError_t GraphNodeFindInClone(infinirtGraphNode_t* pNode, infinirtGraphNode_t originalNode,
                                     infinirtGraph_t clonedGraph) {
  if (!pNode) return fail(infinirtErrorInvalidValue, "pNode is null; it must point at where the node goes");
  NODE_OR_RETURN(original, originalNode);
  GRAPH_OR_RETURN(clone, clonedGraph);
  if (clone.origin != original.graph->id) {
    return fail(infinirtErrorInvalidValue, "clonedGraph was not cloned from the graph that originalNode belongs to");
  }
  for (const GraphNode* node : clone.nodes) {
    if (node->origin != original.id) continue;
    *pNode = node->handle;
    return infinirtSuccess;
  }
  return fail(infinirtErrorInvalidValue,
              "clonedGraph has no node for originalNode: it was added after the copy was made, or removed from it");
}

infinirtError_t GraphDestroyNode(infinirtGraphNode_t node) {
  NODE_OR_RETURN(n, node);
  if (n.graph->captures)
    return fail(infinirtErrorInvalidValue,
                "node is of a graph that is being captured into; call infinirtStreamEndCapture first");
  if (has_memory_nodes(*n.graph)) {
    return fail(infinirtErrorNotSupported,
                "node is of a graph that allocates or frees memory; nodes of such a graph cannot be removed");
  }
  remove_node(n);
  return infinirtSuccess;
}

infinirtError_t GraphDebugDotPrint(infinirtGraph_t graph, const char* path, unsigned int flags) {
  GRAPH_OR_RETURN(g, graph);
  if (!path) return fail(infinirtErrorInvalidValue, "path is null; the name of the file to write was expected");
  return write_graph_dot(g, path, flags);
}

}  // namespace engine_api

}  // namespace infinirt
