// Graphs as programs build them: nodes, edges, and what each node does.
//
// Graph objects are not synchronised internally; a graph that is being captured is guarded by the capture lock.
#pragma once

#include <atomic>
#include <memory>
#include <variant>
#include <vector>

#include "engine/engine.h"
#include "engine/graph_memory.h"
#include "engine/user_object.h"
#include "engine/work.h"

namespace infinirt {

struct Graph;

struct KernelNodeParams {
  infinirtKernelNodeParams given{};   // kernelParams is set from `arguments` when it is given back
  std::vector<void*> arguments;       // pointers into the work's own copy
};

struct AllocNodeParams {
  infinirtMemAllocNodeParams given{};
  std::vector<infinirtMemAccessDesc> access;
};

// What a node does. Never changed once made: a setter gives the node another body, so that clones, executable graphs and
// launches that share this one keep what they had. What the work owns goes with the last of them; that may call user
// code, so never let a body go while holding a lock.
struct NodeBody {
  enum infinirtGraphNodeType type = infinirtGraphNodeTypeEmpty;
  EngineDevice* device = nullptr;
  Work work;                       // Nothing where the type is not a kind of work
  std::variant<std::monostate, infinirtMemcpy3DParms, infinirtMemsetParams, infinirtHostNodeParams, KernelNodeParams,
               AllocNodeParams, infinirtEvent_t>
      params;                      // what the getters give back
  GraphAllocationPtr allocation;   // of allocation and free nodes
  Issued made_by;  // the captured call, with the name that it was given; empty if nothing observed it

  NodeBody() = default;
  NodeBody(const NodeBody&) = delete;
  NodeBody& operator=(const NodeBody&) = delete;
  ~NodeBody() { dispose_work(work); }
};

using NodeBodyPtr = std::shared_ptr<NodeBody>;

// Type-stable, as Graph is.
struct GraphNode {
  infinirtGraphNode_t handle = nullptr;
  uint64_t id = 0;  // never reused
  uint64_t origin = 0;  // id of the node that this one was cloned from
  Graph* graph = nullptr;
  size_t position = 0;  // in graph->nodes
  NodeBodyPtr body;
  Graph* child = nullptr;  // owned; child graph nodes only
  std::vector<GraphNode*> dependencies, dependents;
  std::vector<infinirtLaunchAttribute> attributes;  // kernel nodes
  uint64_t mark = 0;  // scratch of walks over one graph
};

struct Graph {
  infinirtGraph_t handle = nullptr;
  uint64_t id = 0;  // never reused
  uint64_t origin = 0;  // id of the graph that this one was cloned from
  Engine* engine = nullptr;
  std::vector<GraphNode*> nodes;  // in the order they were made
  GraphNode* owner = nullptr;  // the child graph node that owns this graph
  int captures = 0;  // streams that are being captured into it
  UserObjectSet user_objects;
  std::vector<GraphAllocationPtr> allocations;  // of its allocation nodes
  std::shared_ptr<std::atomic<bool>> instance;  // true while an executable graph owns the allocations
  uint64_t last_mark = 0;
};

// Null with a message (infinirtErrorInvalidValue).
Graph* resolve_graph(infinirtGraph_t handle, const char* argument);
GraphNode* resolve_node(infinirtGraphNode_t handle, const char* argument);
// Nodes of this graph, no two the same; false with a message.
bool resolve_nodes(Graph& graph, const infinirtGraphNode_t* handles, size_t count, const char* argument,
                   std::vector<GraphNode*>* out);

// Null with a message when no more handles are to be had.
Graph* create_graph(Engine& engine);
// The graph, its nodes and child graphs. Calls user code when the graph was the last to need it.
void destroy_graph(Graph& graph);

// Adds a node. `child`, if any, belongs to the node afterwards. Null with a message when there are no more handles; the
// caller still owns `child` then.
GraphNode* add_node(Graph& graph, const std::vector<GraphNode*>& dependencies, NodeBodyPtr body,
                    Graph* child = nullptr);
void remove_node(GraphNode& node);

bool has_edge(const GraphNode& from, const GraphNode& to);
void add_edge(GraphNode& from, GraphNode& to);
void remove_edge(GraphNode& from, GraphNode& to);

// Whether the graph, child graphs included, allocates or frees memory.
bool has_memory_nodes(const Graph& graph);

// A copy with child graphs; null with *error set.
Graph* clone_graph(const Graph& graph, infinirtError_t* error);

// Marks `nodes` and all they depend on with the value returned.
uint64_t mark_ancestors(Graph& graph, const std::vector<GraphNode*>& nodes);

// ---- node bodies (graph_node.cpp). Each is null with *error set when the parameters are wrong.

NodeBodyPtr make_empty_body(EngineDevice& device);
NodeBodyPtr make_copy_body(EngineDevice& device, const infinirtMemcpy3DParms& params, infinirtError_t* error);
NodeBodyPtr make_copy_body_1d(EngineDevice& device, void* dst, const void* src, size_t count,
                              enum infinirtMemcpyKind kind, infinirtError_t* error);
NodeBodyPtr make_fill_body(EngineDevice& device, const infinirtMemsetParams& params, infinirtError_t* error);
NodeBodyPtr make_host_body(EngineDevice& device, const infinirtHostNodeParams& params, infinirtError_t* error);
NodeBodyPtr make_kernel_body(EngineDevice& device, const infinirtKernelNodeParams& params, infinirtError_t* error);
NodeBodyPtr make_event_body(enum infinirtGraphNodeType type, infinirtEvent_t event, infinirtError_t* error);
NodeBodyPtr make_child_body(EngineDevice& device);
// In `block`, if that is not null (see graph_memory.h).
NodeBodyPtr make_alloc_body(const Graph& graph, const infinirtMemAllocNodeParams& params,
                            std::shared_ptr<GraphBlock> block, infinirtError_t* error);
NodeBodyPtr make_free_body(Graph& graph, EngineDevice& device, void* pointer, infinirtError_t* error);
// From work that a capturing stream was given; takes what the work owns. Null for work that cannot be captured, which is
// left as it was.
NodeBodyPtr make_captured_body(EngineDevice& device, Work& work);

// From generic parameters, for every type but child graphs and allocations; those must be dealt with by the caller.
NodeBodyPtr make_body(Graph& graph, EngineDevice& device, const infinirtGraphNodeParams& params,
                      infinirtError_t* error);

const char* node_type_name(enum infinirtGraphNodeType type);  // "kernel", "memcpy", …

// graph_dot.cpp
infinirtError_t write_graph_dot(const Graph& graph, const char* path, unsigned flags);

}  // namespace infinirt
