// From a graph with child graphs to one array of nodes.
#include <algorithm>

#include "engine/graph_exec.h"

namespace infinirt {

namespace {

// An order that respects the edges and otherwise that in which the nodes were made; shorter than the graph when there is
// a cycle.
std::vector<const GraphNode*> topological_order(const Graph& graph) {
  std::vector<size_t> missing(graph.nodes.size());
  std::vector<const GraphNode*> order;
  order.reserve(graph.nodes.size());
  for (const GraphNode* node : graph.nodes) {
    missing[node->position] = node->dependencies.size();
    if (node->dependencies.empty()) order.push_back(node);
  }
  for (size_t done = 0; done < order.size(); ++done) {
    for (const GraphNode* dependent : order[done]->dependents) {
      if (--missing[dependent->position] == 0) order.push_back(dependent);
    }
  }
  return order;
}

// Flattens a graph and its child graphs. A child graph lies between two markers, so that edges to and from its node need
// not be multiplied by its roots and leaves.
class Flattener {
 public:
  explicit Flattener(InstantiateReport* report) : report_(report) {}

  bool add(const Graph& graph, ExecLevel& level, const std::vector<uint32_t>& entry, std::vector<uint32_t>* exits) {
    const auto order = topological_order(graph);
    if (order.size() != graph.nodes.size()) {
      report_cycle(graph, order);
      return false;
    }
    program->user_objects.merge(graph.user_objects);
    level.entries.resize(graph.nodes.size());
    std::vector<uint32_t> ends(graph.nodes.size());
    for (const GraphNode* node : order) {
      ExecLevel::Entry& mirrored = level.entries[node->position];
      mirrored.type = node->body->type;
      std::vector<uint32_t> before;
      for (const GraphNode* dependency : node->dependencies) {
        mirrored.dependencies.push_back(static_cast<uint32_t>(dependency->position));
        before.push_back(ends[dependency->position]);
      }
      const uint32_t index = add_node(node->body, before.empty() ? entry : before);
      shape->by_source.emplace_back(node->id, index);
      mirrored.index = ends[node->position] = index;
      if (node->child) {
        mirrored.child = std::make_unique<ExecLevel>();
        std::vector<uint32_t> child_exits;
        if (!add(*node->child, *mirrored.child, {index}, &child_exits)) return false;
        if (!child_exits.empty()) ends[node->position] = add_node(make_empty_body(*node->body->device), child_exits);
      }
      if (node->dependents.empty()) exits->push_back(ends[node->position]);
    }
    return true;
  }

  // Edges are collected per target; now per source.
  void finish() {
    const size_t count = dependencies_.size();
    shape->successor_begin.assign(count + 1, 0);
    shape->dependency_counts.resize(count);
    for (size_t i = 0; i < count; ++i) {
      shape->dependency_counts[i] = static_cast<uint32_t>(dependencies_[i].size());
      if (dependencies_[i].empty()) shape->roots.push_back(static_cast<uint32_t>(i));
      for (uint32_t dependency : dependencies_[i]) ++shape->successor_begin[dependency + 1];
    }
    for (size_t i = 0; i < count; ++i) {
      if (shape->successor_begin[i + 1] == 0) ++shape->sinks;
      shape->successor_begin[i + 1] += shape->successor_begin[i];
    }
    shape->successors.resize(shape->successor_begin[count]);
    // One edge less than nodes, and one end on either side.
    shape->is_chain = shape->roots.size() == 1 && shape->sinks == 1 && shape->successors.size() + 1 == count;
    auto place = shape->successor_begin;
    for (size_t i = 0; i < count; ++i) {
      for (uint32_t dependency : dependencies_[i]) shape->successors[place[dependency]++] = static_cast<uint32_t>(i);
    }
    std::sort(shape->by_source.begin(), shape->by_source.end());
  }

  std::shared_ptr<ExecShape> shape = std::make_shared<ExecShape>();
  std::shared_ptr<ExecProgram> program = std::make_shared<ExecProgram>();

 private:
  uint32_t add_node(NodeBodyPtr body, std::vector<uint32_t> before) {
    const auto index = static_cast<uint32_t>(program->bodies.size());
    const bool event = body->type == infinirtGraphNodeTypeEventRecord || body->type == infinirtGraphNodeTypeWaitEvent;
    if (event) shape->event_nodes.push_back(index);
    program->note(*body);
    program->bodies.push_back(std::move(body));
    program->enabled.push_back(1);
    dependencies_.push_back(std::move(before));
    return index;
  }

  void report_cycle(const Graph& graph, const std::vector<const GraphNode*>& order) {
    std::vector<bool> ordered(graph.nodes.size());
    for (const GraphNode* node : order) ordered[node->position] = true;
    for (const GraphNode* node : graph.nodes) {
      if (ordered[node->position]) continue;
      report_->node = node->handle;
      break;
    }
    report_->result = infinirtGraphInstantiateInvalidStructure;
    fail(infinirtErrorInvalidValue,
         "graph has a cycle: %zu of its %zu nodes depend on themselves, node %p among them or behind it",
         graph.nodes.size() - order.size(), graph.nodes.size(), static_cast<void*>(report_->node));
  }

  InstantiateReport* report_;
  std::vector<std::vector<uint32_t>> dependencies_;
};

}  // namespace

bool flatten_graph(const Graph& graph, std::shared_ptr<ExecShape>* shape, std::shared_ptr<ExecProgram>* program,
                   InstantiateReport* report) {
  Flattener flat(report);
  std::vector<uint32_t> exits;
  if (!flat.add(graph, flat.shape->top, {}, &exits)) return false;
  flat.finish();
  *shape = std::move(flat.shape);
  *program = std::move(flat.program);
  return true;
}

}  // namespace infinirt
