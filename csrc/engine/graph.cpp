#include "engine/graph.h"

#include <algorithm>

#include "core/handle.h"
#include "core/object_pool.h"

namespace infinirt {

namespace {

ObjectPool<Graph>& graph_pool() {
  static auto* pool = new ObjectPool<Graph>;
  return *pool;
}

ObjectPool<GraphNode>& node_pool() {
  static auto* pool = new ObjectPool<GraphNode>;
  return *pool;
}

std::atomic<uint64_t> next_id{1};  // of graphs and nodes alike

uint64_t fresh_id() { return next_id.fetch_add(1, std::memory_order_relaxed); }

void no_handles_left() {
  fail(infinirtErrorMemoryAllocation, "no room for another handle: 16 million objects are alive");
}

// The edges are gone, or go with the graph.
void recycle_node(GraphNode& node) {
  handle_destroy(node.handle);
  node.handle = nullptr;
  node.graph = nullptr;
  node.dependencies.clear();
  node.dependents.clear();
  node.attributes.clear();
  node.mark = 0;
  if (Graph* child = std::exchange(node.child, nullptr)) {
    child->owner = nullptr;
    destroy_graph(*child);
  }
  NodeBodyPtr body = std::move(node.body);
  node.body.reset();
  node_pool().release(&node);
}

}  // namespace

Graph* resolve_graph(infinirtGraph_t handle, const char* argument) {
  if (auto* graph = handle_resolve<Graph>(handle, HandleKind::Graph)) return graph;
  char text[160];
  fail(infinirtErrorInvalidValue, "%s %s", argument, describe_handle(handle, HandleKind::Graph, text, sizeof text));
  return nullptr;
}

GraphNode* resolve_node(infinirtGraphNode_t handle, const char* argument) {
  if (auto* node = handle_resolve<GraphNode>(handle, HandleKind::GraphNode)) return node;
  char text[160];
  fail(infinirtErrorInvalidValue, "%s %s", argument, describe_handle(handle, HandleKind::GraphNode, text, sizeof text));
  return nullptr;
}

bool resolve_nodes(Graph& graph, const infinirtGraphNode_t* handles, size_t count, const char* argument,
                   std::vector<GraphNode*>* out) {
  out->clear();
  if (count == 0) return true;
  if (!handles) {
    fail(infinirtErrorInvalidValue, "%s is null, but %zu nodes were announced", argument, count);
    return false;
  }
  const uint64_t mark = ++graph.last_mark;
  for (size_t i = 0; i < count; ++i) {
    GraphNode* node = resolve_node(handles[i], argument);
    if (!node) return false;
    if (node->graph != &graph) {
      fail(infinirtErrorInvalidValue, "%s[%zu] %p is a node of another graph", argument, i,
           static_cast<void*>(handles[i]));
      return false;
    }
    if (node->mark == mark) {
      fail(infinirtErrorInvalidValue, "%s[%zu] %p is there twice; name each node once", argument, i,
           static_cast<void*>(handles[i]));
      return false;
    }
    node->mark = mark;
    out->push_back(node);
  }
  return true;
}

Graph* create_graph(Engine& engine) {
  Graph* graph = graph_pool().acquire();
  graph->handle = static_cast<infinirtGraph_t>(handle_create(HandleKind::Graph, engine.backend.index, graph));
  if (!graph->handle) {
    graph_pool().release(graph);
    no_handles_left();
    return nullptr;
  }
  graph->id = fresh_id();
  graph->origin = 0;
  graph->engine = &engine;
  graph->owner = nullptr;
  graph->captures = 0;
  graph->last_mark = 0;
  return graph;
}

void destroy_graph(Graph& graph) {
  handle_destroy(graph.handle);
  graph.handle = nullptr;
  auto nodes = std::exchange(graph.nodes, {});
  for (GraphNode* node : nodes) recycle_node(*node);
  graph.allocations.clear();
  graph.instance.reset();
  graph.user_objects.clear();
  graph_pool().release(&graph);
}

GraphNode* add_node(Graph& graph, const std::vector<GraphNode*>& dependencies, NodeBodyPtr body, Graph* child) {
  GraphNode* node = node_pool().acquire();
  node->handle =
      static_cast<infinirtGraphNode_t>(handle_create(HandleKind::GraphNode, graph.engine->backend.index, node));
  if (!node->handle) {
    node_pool().release(node);
    no_handles_left();
    return nullptr;
  }
  node->id = fresh_id();
  node->origin = 0;
  node->graph = &graph;
  node->position = graph.nodes.size();
  node->child = child;
  if (child) child->owner = node;
  if (body->allocation && body->type == infinirtGraphNodeTypeMemAlloc) {
    body->allocation->block->promised = false;
    graph.allocations.push_back(body->allocation);
  }
  if (body->allocation && body->type == infinirtGraphNodeTypeMemFree && body->allocation->graph_id == graph.id) {
    body->allocation->freed_in_graph = true;
    body->allocation->free_node = node->id;
  }
  node->body = std::move(body);
  graph.nodes.push_back(node);
  for (GraphNode* dependency : dependencies) add_edge(*dependency, *node);
  return node;
}

void remove_node(GraphNode& node) {
  Graph& graph = *node.graph;
  while (!node.dependencies.empty()) remove_edge(*node.dependencies.back(), node);
  while (!node.dependents.empty()) remove_edge(node, *node.dependents.back());
  graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(node.position));
  for (size_t i = node.position; i < graph.nodes.size(); ++i) graph.nodes[i]->position = i;
  recycle_node(node);
}

bool has_edge(const GraphNode& from, const GraphNode& to) {
  // Either list will do; the shorter one is searched.
  if (from.dependents.size() < to.dependencies.size()) {
    return std::find(from.dependents.begin(), from.dependents.end(), &to) != from.dependents.end();
  }
  return std::find(to.dependencies.begin(), to.dependencies.end(), &from) != to.dependencies.end();
}

void add_edge(GraphNode& from, GraphNode& to) {
  from.dependents.push_back(&to);
  to.dependencies.push_back(&from);
}

void remove_edge(GraphNode& from, GraphNode& to) {
  from.dependents.erase(std::find(from.dependents.begin(), from.dependents.end(), &to));
  to.dependencies.erase(std::find(to.dependencies.begin(), to.dependencies.end(), &from));
}

bool has_memory_nodes(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const GraphNode* node) {
    return node->body->allocation || (node->child && has_memory_nodes(*node->child));
  });
}

Graph* clone_graph(const Graph& graph, infinirtError_t* error) {
  if (has_memory_nodes(graph)) {
    *error =
        fail(infinirtErrorNotSupported,
             "the graph allocates or frees memory; such a graph cannot be copied, since its addresses are its own");
    return nullptr;
  }
  Graph* clone = create_graph(*graph.engine);
  if (!clone) {
    *error = infinirtErrorMemoryAllocation;
    return nullptr;
  }
  clone->origin = graph.id;
  clone->user_objects = graph.user_objects;
  for (const GraphNode* node : graph.nodes) {
    Graph* child = node->child ? clone_graph(*node->child, error) : nullptr;
    GraphNode* copy = node->child && !child ? nullptr : add_node(*clone, {}, node->body, child);
    if (!copy) {
      if (child) {
        destroy_graph(*child);
        *error = infinirtErrorMemoryAllocation;
      }
      destroy_graph(*clone);
      return nullptr;
    }
    copy->origin = node->id;
    copy->attributes = node->attributes;
  }
  for (size_t i = 0; i < graph.nodes.size();
       ++i) {  // after all nodes exist: the order of nodes need not follow the edges
    for (const GraphNode* dependency : graph.nodes[i]->dependencies) {
      clone->nodes[i]->dependencies.push_back(clone->nodes[dependency->position]);
    }
    for (const GraphNode* dependent : graph.nodes[i]->dependents) {
      clone->nodes[i]->dependents.push_back(clone->nodes[dependent->position]);
    }
  }
  return clone;
}

uint64_t mark_ancestors(Graph& graph, const std::vector<GraphNode*>& nodes) {
  const uint64_t mark = ++graph.last_mark;
  std::vector<GraphNode*> open;
  for (GraphNode* node : nodes) {
    if (node->mark != mark) open.push_back(node);
    node->mark = mark;
  }
  while (!open.empty()) {
    GraphNode* node = open.back();
    open.pop_back();
    for (GraphNode* dependency : node->dependencies) {
      if (dependency->mark == mark) continue;
      dependency->mark = mark;
      open.push_back(dependency);
    }
  }
  return mark;
}

const char* node_type_name(enum infinirtGraphNodeType type) {
  switch (type) {
    case infinirtGraphNodeTypeKernel:
      return "kernel";
    case infinirtGraphNodeTypeMemcpy:
      return "memcpy";
    case infinirtGraphNodeTypeMemset:
      return "memset";
    case infinirtGraphNodeTypeHost:
      return "host function";
    case infinirtGraphNodeTypeGraph:
      return "child graph";
    case infinirtGraphNodeTypeEmpty:
      return "empty";
    case infinirtGraphNodeTypeWaitEvent:
      return "event wait";
    case infinirtGraphNodeTypeEventRecord:
      return "event record";
    case infinirtGraphNodeTypeExtSemaphoreSignal:
      return "external semaphore signal";
    case infinirtGraphNodeTypeExtSemaphoreWait:
      return "external semaphore wait";
    case infinirtGraphNodeTypeMemAlloc:
      return "memory allocation";
    case infinirtGraphNodeTypeMemFree:
      return "memory free";
    case infinirtGraphNodeTypeConditional:
      return "conditional";
    default:
      return "unknown";
  }
}

}  // namespace infinirt
