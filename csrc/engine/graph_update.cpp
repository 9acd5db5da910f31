// Changing executable graphs: one node at a time, or all of them from a graph of the same shape.
#include <algorithm>
#include <mutex>

#include "engine/graph_exec.h"

namespace infinirt {

namespace {

using Change = std::pair<uint32_t, NodeBodyPtr>;

struct Mismatch {
  infinirtGraphExecUpdateResult result = infinirtGraphExecUpdateSuccess;
  const GraphNode* node = nullptr;  // of the updating graph
  const GraphNode* from = nullptr;  // the other end of the edge that differs
  const char* reason = "";
};

// Why `fresh` cannot take the place of `old` in an executable graph; null when it can.
const char* cannot_replace(const NodeBody& old, const NodeBody& fresh, infinirtGraphExecUpdateResult* result) {
  *result = infinirtGraphExecUpdateErrorParametersChanged;
  if (old.device != fresh.device && fresh.type != infinirtGraphNodeTypeWaitEvent &&
      fresh.type != infinirtGraphNodeTypeEmpty && fresh.type != infinirtGraphNodeTypeGraph) {
    return "it runs on another device";
  }
  switch (fresh.type) {
    case infinirtGraphNodeTypeMemcpy:
      if (old.work.copy.dst_device != fresh.work.copy.dst_device ||
          old.work.copy.src_device != fresh.work.copy.src_device) {
        return "it copies between other places (host or devices)";
      }
      break;
    case infinirtGraphNodeTypeMemset:
      if (old.work.fill.device != fresh.work.fill.device) return "its memory lies elsewhere (host or another device)";
      if (old.work.fill.height != 1 || fresh.work.fill.height != 1) {
        const FillWork &before = old.work.fill, &after = fresh.work.fill;
        if (before.width != after.width || before.height != after.height || before.element_size != after.element_size)
          return "only sets of one row can change their size";
      }
      break;
    case infinirtGraphNodeTypeMemAlloc:
    case infinirtGraphNodeTypeMemFree:
      *result = infinirtGraphExecUpdateErrorNotSupported;
      if (old.allocation != fresh.allocation) return "allocations and frees cannot be changed";
      break;
    default:
      break;
  }
  *result = infinirtGraphExecUpdateSuccess;
  return nullptr;
}

// Compares a level with a graph, nodes in the order they were made. False with the mismatch when they differ.
bool collect_changes(const ExecLevel& level, const ExecProgram& program, const Graph& graph,
                     std::vector<Change>& changes, Mismatch* mismatch) {
  if (level.entries.size() != graph.nodes.size()) {
    *mismatch = {infinirtGraphExecUpdateErrorTopologyChanged, nullptr, nullptr, "the numbers of nodes differ"};
    if (graph.nodes.size() > level.entries.size()) mismatch->node = graph.nodes[level.entries.size()];
    return false;
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = *graph.nodes[i];
    const ExecLevel::Entry& entry = level.entries[i];
    if (node.body->type != entry.type) {
      *mismatch = {infinirtGraphExecUpdateErrorNodeTypeChanged, &node, nullptr, "it is of another type"};
      return false;
    }
    std::vector<uint32_t> now, before = entry.dependencies;
    for (const GraphNode* dependency : node.dependencies) now.push_back(static_cast<uint32_t>(dependency->position));
    std::sort(now.begin(), now.end());
    std::sort(before.begin(), before.end());
    if (now != before) {
      auto added = std::find_if(now.begin(), now.end(),
                                [&](uint32_t d) { return !std::binary_search(before.begin(), before.end(), d); });
      *mismatch = {infinirtGraphExecUpdateErrorTopologyChanged, &node,
                   added != now.end() ? graph.nodes[*added] : nullptr, "its dependencies differ"};
      return false;
    }
    infinirtGraphExecUpdateResult result;
    if (const char* reason = cannot_replace(*program.bodies[entry.index], *node.body, &result)) {
      *mismatch = {result, &node, nullptr, reason};
      return false;
    }
    changes.emplace_back(entry.index, node.body);
    if (entry.child && !collect_changes(*entry.child, program, *node.child, changes, mismatch)) return false;
  }
  return true;
}

const ExecLevel* level_of(const ExecLevel& level, uint32_t index) {
  for (const auto& entry : level.entries) {
    if (entry.index == index) return entry.child.get();
    if (!entry.child) continue;
    if (const ExecLevel* found = level_of(*entry.child, index)) return found;
  }
  return nullptr;
}

// A handle's executable graph, locked; what is replaced goes after the lock, since it may call user code.
class Editor {
 public:
  Editor(GraphExec& exec, infinirtGraphExec_t handle)
      : exec_(exec), guard_(exec.mutex), alive_(exec.handle == handle) {}

  bool alive() const { return alive_; }

  // The program to change: launches that are not finished keep the old one.
  ExecProgram& program() {
    if (exec_.references > 1) {
      dropped_program_ = exec_.program;
      exec_.program = std::make_shared<ExecProgram>(*exec_.program);
    }
    return *exec_.program;
  }

  void replace(ExecProgram& program, uint32_t index, NodeBodyPtr body) {
    const uint64_t before = computation_ns(*program.bodies[index]);
    program.note(*body);
    program.ns -= before;
    program.bodies[index].swap(body);
    dropped_bodies_.push_back(std::move(body));
  }

  void replace(ExecProgram& program, UserObjectSet objects) {
    dropped_objects_ = std::move(program.user_objects);
    program.user_objects = std::move(objects);
  }

 private:
  std::shared_ptr<ExecProgram> dropped_program_;
  std::vector<NodeBodyPtr> dropped_bodies_;
  UserObjectSet dropped_objects_;
  GraphExec& exec_;
  std::lock_guard<Mutex> guard_;  // last, so that it is the first to go
  bool alive_;
};

infinirtError_t dead_exec(infinirtGraphExec_t handle) {
  char text[160];
  return fail(infinirtErrorInvalidValue, "graphExec %s",
              describe_handle(handle, HandleKind::GraphExec, text, sizeof text));
}

void collect_user_objects(const Graph& graph, UserObjectSet& objects) {
  objects.merge(graph.user_objects);
  for (const GraphNode* node : graph.nodes) {
    if (node->child) collect_user_objects(*node->child, objects);
  }
}

bool can_be_disabled(enum infinirtGraphNodeType type) {
  return type == infinirtGraphNodeTypeKernel || type == infinirtGraphNodeTypeMemcpy ||
         type == infinirtGraphNodeTypeMemset;
}

infinirtError_t cannot_be_disabled(enum infinirtGraphNodeType type) {
  return fail(infinirtErrorInvalidValue, "hNode is a %s node; only kernel, memcpy and memset nodes can be switched off",
              node_type_name(type));
}

}  // namespace

infinirtError_t set_exec_body(GraphExec& exec, infinirtGraphExec_t handle, const GraphNode& node, NodeBodyPtr body) {
  Editor editor(exec, handle);
  uint32_t index;
  if (!editor.alive()) return dead_exec(handle);
  if (!exec_node(*exec.shape, node, &index)) return infinirtErrorInvalidValue;
  const NodeBody& old = *exec.program->bodies[index];
  if (old.type != body->type) {
    return fail(infinirtErrorInvalidValue, "node is a %s node; parameters of a %s node were given",
                node_type_name(old.type), node_type_name(body->type));
  }
  infinirtGraphExecUpdateResult result;
  if (const char* reason = cannot_replace(old, *body, &result)) {
    return fail(infinirtErrorInvalidValue, "the change of this %s node needs a new instantiation: %s",
                node_type_name(old.type), reason);
  }
  editor.replace(editor.program(), index, std::move(body));
  return infinirtSuccess;
}

infinirtError_t set_exec_child(GraphExec& exec, infinirtGraphExec_t handle, const GraphNode& node, const Graph& child) {
  Editor editor(exec, handle);
  uint32_t index;
  if (!editor.alive()) return dead_exec(handle);
  if (!exec_node(*exec.shape, node, &index)) return infinirtErrorInvalidValue;
  const ExecLevel* level = level_of(exec.shape->top, index);
  if (!level) return fail(infinirtErrorInvalidValue, "node is not a child graph node");
  std::vector<Change> changes;
  Mismatch mismatch;
  if (!collect_changes(*level, *exec.program, child, changes, &mismatch)) {
    return fail(infinirtErrorInvalidValue, "childGraph differs from the graph that was instantiated: node %p: %s",
                static_cast<void*>(mismatch.node ? mismatch.node->handle : nullptr), mismatch.reason);
  }
  ExecProgram& program = editor.program();
  for (auto& [place, body] : changes) editor.replace(program, place, std::move(body));
  return infinirtSuccess;
}

infinirtError_t set_exec_enabled(GraphExec& exec, infinirtGraphExec_t handle, const GraphNode& node, bool enabled) {
  Editor editor(exec, handle);
  uint32_t index;
  if (!editor.alive()) return dead_exec(handle);
  if (!exec_node(*exec.shape, node, &index)) return infinirtErrorInvalidValue;
  const auto type = exec.program->bodies[index]->type;
  if (!can_be_disabled(type)) return cannot_be_disabled(type);
  editor.program().enabled[index] = enabled;
  return infinirtSuccess;
}

infinirtError_t get_exec_enabled(GraphExec& exec, infinirtGraphExec_t handle, const GraphNode& node, bool* enabled) {
  Editor editor(exec, handle);
  uint32_t index;
  if (!editor.alive()) return dead_exec(handle);
  if (!exec_node(*exec.shape, node, &index)) return infinirtErrorInvalidValue;
  if (!can_be_disabled(exec.program->bodies[index]->type)) return cannot_be_disabled(exec.program->bodies[index]->type);
  *enabled = exec.program->enabled[index];
  return infinirtSuccess;
}

infinirtError_t update_exec(GraphExec& exec, infinirtGraphExec_t handle, const Graph& graph,
                            infinirtGraphExecUpdateResultInfo* info) {
  UserObjectSet objects;
  collect_user_objects(graph, objects);
  Editor editor(exec, handle);
  if (!editor.alive()) return dead_exec(handle);
  std::vector<Change> changes;
  Mismatch mismatch;
  const bool same = collect_changes(exec.shape->top, *exec.program, graph, changes, &mismatch);
  info->result = mismatch.result;
  info->errorNode = mismatch.node ? mismatch.node->handle : nullptr;
  info->errorFromNode = mismatch.from ? mismatch.from->handle : nullptr;
  if (!same) {
    return fail(infinirtErrorGraphExecUpdateFailure,
                "hGraph cannot replace what hGraphExec does: node %p: %s; instantiate it instead",
                static_cast<void*>(info->errorNode), mismatch.reason);
  }
  ExecProgram& program = editor.program();
  for (auto& [index, body] : changes) editor.replace(program, index, std::move(body));
  editor.replace(program, std::move(objects));
  return infinirtSuccess;
}

}  // namespace infinirt
