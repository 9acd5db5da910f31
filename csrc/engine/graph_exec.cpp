#include "engine/graph_exec.h"

#include <algorithm>
#include <mutex>

#include "core/object_pool.h"
#include "engine/capture.h"
#include "engine/event.h"
#include "engine/graph_run.h"
#include "engine/memory.h"

namespace infinirt {

namespace {

ObjectPool<GraphExec>& exec_pool() {
  static auto* pool = new ObjectPool<GraphExec>;
  return *pool;
}

infinirtError_t dead_exec(infinirtGraphExec_t handle) {
  char text[160];
  return fail(infinirtErrorInvalidValue, "graphExec %s",
              describe_handle(handle, HandleKind::GraphExec, text, sizeof text));
}

// Takes the allocations of a graph and its child graphs for one executable graph; false when another one has them.
bool take_memory(Graph& graph, GraphExec& exec) {
  for (GraphNode* node : graph.nodes) {
    if (node->child && !take_memory(*node->child, exec)) return false;
    const auto& allocation = node->body->allocation;
    if (!allocation) continue;
    const bool own = allocation->graph_id == graph.id;
    if (node->body->type == infinirtGraphNodeTypeMemFree && !own) exec.memory.frees.push_back(allocation);
    if (node->body->type == infinirtGraphNodeTypeMemAlloc && !allocation->freed_in_graph)
      exec.memory.allocates.push_back(allocation);
  }
  if (graph.allocations.empty()) return true;
  if (!graph.instance) graph.instance = std::make_shared<std::atomic<bool>>(false);
  if (graph.instance->exchange(true)) return false;
  exec.memory_instances.push_back(graph.instance);
  return true;
}

// The last reference has gone; no lock is held.
void recycle_exec(GraphExec& exec) {
  while (GraphRun* run = exec.spare_runs) {
    exec.spare_runs = run->next;
    delete run;
  }
  auto program = std::move(exec.program);
  auto shape = std::move(exec.shape);
  exec.program.reset();
  exec.shape.reset();
  exec.memory = {};
  exec.memory_instances.clear();
  exec.launched.clear();
  exec.remaining.reset();
  exec.branches.reset();
  exec_pool().release(&exec);
}

void release_instances(GraphExec& exec) {
  for (auto& instance : exec.memory_instances) instance->store(false);
  exec.memory_instances.clear();
}

// The events of a launch, looked up; nothing has changed when it fails.
infinirtError_t find_events(GraphRun& run, const ExecShape& shape) {
  run.events.assign(shape.event_nodes.size(), {});
  for (size_t i = 0; i < run.events.size(); ++i) {
    const NodeBody& body = *run.program->bodies[shape.event_nodes[i]];
    const infinirtEvent_t handle = std::get<infinirtEvent_t>(body.params);
    Event* event = resolve_event(handle, "graphExec has a node whose event");
    if (!event) return infinirtErrorInvalidResourceHandle;
    if (body.type == infinirtGraphNodeTypeEventRecord) {
      run.events[i].event = event;
    } else {
      run.events[i].point = event_point(*event);
    }
  }
  return infinirtSuccess;
}

// Waits were looked up before, so a graph that waits for an event and then records it does not wait for itself.
void install_records(GraphRun& run, bool calls_vendor) {
  for (RunEvent& record : run.events) {
    if (!record.event) continue;
    record.point = begin_record();
    if (calls_vendor) record.point.timeline->note_vendor_call(record.point.value);
    record.serial = set_event_point(*record.event, record.point);
  }
}

bool any_awaits_vendor(const std::vector<Point>& points) {
  return std::any_of(points.begin(), points.end(), [](const Point& point) { return point.awaits_vendor(); });
}

// Whether a launch does, or comes after what does. Streams of the device may order one another by the legacy stream: all are asked.
bool launch_calls_vendor(const GraphRun& run, const std::vector<Point>& waits, Stream& stream) {
  if (calls_vendor(run) || any_awaits_vendor(waits)) return true;
  EngineDevice& device = *stream.device;
  if (stream.tail().awaits_vendor() || device.legacy->tail().awaits_vendor()) return true;
  std::lock_guard guard(device.mutex);
  return std::any_of(device.streams.begin(), device.streams.end(),
                     [](const Stream* other) { return other->tail().awaits_vendor(); });
}

// Frees of memory wait for the streams of its device, and for those of other devices that are known to use it.
void note_memory_use(const ExecProgram& program, const EngineDevice& user) {
  uint64_t others = program.devices() & ~(uint64_t{1} << (user.ordinal & 63));
  for (; others != 0; others &= others - 1) {
    const auto device = static_cast<size_t>(__builtin_ctzll(others));
    user.engine->devices[device]->users.fetch_or(uint64_t{1} << (user.ordinal & 63), std::memory_order_acq_rel);
  }
}

}  // namespace

bool calls_vendor(const NodeBody& body) { return body.work.type == WorkType::Copy && calls_vendor(body.work.copy); }

uint64_t computation_ns(const NodeBody& body) {
  switch (body.type) {
    case infinirtGraphNodeTypeKernel:
    case infinirtGraphNodeTypeMemcpy:
    case infinirtGraphNodeTypeMemset:
      return computation_ns(*body.device->engine, body.work);
    case infinirtGraphNodeTypeEmpty:
    case infinirtGraphNodeTypeGraph:  // the marker before its nodes
    case infinirtGraphNodeTypeEventRecord:
    case infinirtGraphNodeTypeMemAlloc:
    case infinirtGraphNodeTypeMemFree:
      return 1;
    default:
      return 0;
  }
}

void ExecProgram::note(const NodeBody& body) {
  const uint64_t body_ns = computation_ns(body);
  calls_vendor |= infinirt::calls_vendor(body);
  computes &= body_ns > 0;
  ns += body_ns;
}

bool calls_vendor(const GraphRun& run) {
  return run.program->calls_vendor || std::any_of(run.events.begin(), run.events.end(), [](const RunEvent& event) {
           return !event.event && event.point.awaits_vendor();
         });
}

uint64_t ExecProgram::devices() const {
  uint64_t mask = 0;
  const auto add = [&](int device) {
    if (device >= 0) mask |= uint64_t{1} << (device & 63);
  };
  for (const NodeBodyPtr& body : bodies) {
    add(body->device->ordinal);
    if (body->work.type == WorkType::Copy) {
      add(body->work.copy.dst_device);
      add(body->work.copy.src_device);
    } else if (body->work.type == WorkType::Fill) {
      add(body->work.fill.device);
    }
  }
  return mask;
}

GraphExec* resolve_exec(infinirtGraphExec_t handle, const char* argument) {
  if (auto* exec = handle_resolve<GraphExec>(handle, HandleKind::GraphExec)) return exec;
  char text[160];
  fail(infinirtErrorInvalidValue, "%s %s", argument, describe_handle(handle, HandleKind::GraphExec, text, sizeof text));
  return nullptr;
}

infinirtError_t instantiate_graph(Graph& graph, unsigned long long flags, infinirtGraphExec_t* out,
                                  InstantiateReport* report) {
  report->result = infinirtGraphInstantiateError;
  std::shared_ptr<ExecShape> shape;
  std::shared_ptr<ExecProgram> program;
  if (!flatten_graph(graph, &shape, &program, report)) return infinirtErrorInvalidValue;
  GraphExec* exec = exec_pool().acquire();
  if (!take_memory(graph, *exec)) {
    release_instances(*exec);
    recycle_exec(*exec);
    report->result = infinirtGraphInstantiateNodeOperationNotSupported;
    return fail(infinirtErrorNotSupported,
                "graph allocates memory and is instantiated already; destroy that executable graph first");
  }
  const size_t count = shape->size();
  exec->engine = graph.engine;
  exec->flags = flags;
  exec->references = 1;
  exec->remaining = std::make_unique<std::atomic<uint32_t>[]>(count);
  exec->branches = std::make_unique<GraphBranch[]>(count);
  for (size_t i = 0; i < count; ++i) exec->branches[i].exec = exec;
  exec->shape = std::move(shape);
  exec->program = std::move(program);
  exec->running = exec->first_waiting = exec->last_waiting = nullptr;
  auto handle =
      static_cast<infinirtGraphExec_t>(handle_create(HandleKind::GraphExec, graph.engine->backend.index, exec));
  if (!handle) {
    release_instances(*exec);
    recycle_exec(*exec);
    return fail(infinirtErrorMemoryAllocation, "no room for another handle: 16 million objects are alive");
  }
  {
    std::lock_guard guard(exec->mutex);
    exec->handle = handle;
  }
  *out = handle;
  report->result = infinirtGraphInstantiateSuccess;
  return infinirtSuccess;
}

void destroy_exec(GraphExec& exec, infinirtGraphExec_t handle) {
  handle_destroy(handle);
  bool last;
  {
    std::lock_guard guard(exec.mutex);
    if (exec.handle != handle) return;  // another thread was faster
    exec.handle = nullptr;
    release_instances(exec);
    last = --exec.references == 0;
  }
  if (last) recycle_exec(exec);
}

bool exec_node(const ExecShape& shape, const GraphNode& node, uint32_t* index) {
  auto found =
      std::lower_bound(shape.by_source.begin(), shape.by_source.end(), std::pair<uint64_t, uint32_t>{node.id, 0});
  if (found == shape.by_source.end() || found->first != node.id) {
    fail(infinirtErrorInvalidValue,
         "node %p is not of the graph from which graphExec was instantiated, or was added later",
         static_cast<void*>(node.handle));
    return false;
  }
  *index = found->second;
  return true;
}

GraphRun* take_run(GraphExec& exec, infinirtGraphExec_t handle) {
  std::lock_guard guard(exec.mutex);
  if (exec.handle != handle) return nullptr;
  GraphRun* run = exec.spare_runs;
  if (run) {
    exec.spare_runs = run->next;
  } else {
    run = new GraphRun;
    run->exec = &exec;
  }
  run->next = nullptr;
  run->stream = nullptr;
  run->program = exec.program;
  ++exec.references;
  return run;
}

void give_back_run(GraphRun& run) {
  GraphExec& exec = *run.exec;
  auto program = std::move(run.program);
  run.program.reset();
  bool last;
  {
    std::lock_guard guard(exec.mutex);
    run.next = exec.spare_runs;
    exec.spare_runs = &run;
    last = --exec.references == 0;
  }
  program.reset();
  if (last) recycle_exec(exec);
}

infinirtError_t launch_graph(GraphExec& exec, infinirtGraphExec_t handle, Stream& stream) {
  if (auto error = check_device(*stream.device)) return error;
  if (stream.role == StreamRole::Legacy && stream.device->blocking_captures.load(std::memory_order_relaxed) > 0) {
    if (auto error = capture_bars_legacy(*stream.device)) return error;
  }
  GraphRun* run = take_run(exec, handle);
  if (!run) return dead_exec(handle);
  // The reference that the run holds keeps all of the executable graph in place from here on.
  infinirtError_t error = infinirtSuccess;
  std::vector<Point> waits;
  if (!exec.shape->event_nodes.empty()) error = find_events(*run, *exec.shape);
  if (error == infinirtSuccess && !exec.memory.empty()) {
    error = claim_graph_memory(exec.memory, exec.flags & infinirtGraphInstantiateFlagAutoFreeOnLaunch, &waits);
  }
  if (error != infinirtSuccess) {
    for (RunEvent& event : run->events) event = {};
    give_back_run(*run);
    return error;
  }
  if (exec.engine->devices.size() > 1) note_memory_use(*run->program, *stream.device);
  {
    std::lock_guard guard(exec.mutex);
    std::erase_if(exec.launched, [](const Point& point) { return point.reached(); });
    for (const Point& point : exec.launched) {
      if (point.timeline != stream.timeline) waits.push_back(point);
    }
  }
  if (!run->events.empty()) install_records(*run, launch_calls_vendor(*run, waits, stream));
  for (const Point& point : waits) stream_wait_point(stream, point);
  Work work;
  work.type = WorkType::Graph;
  work.graph.run = run;
  work.graph.computes_ns = exec.shape->is_chain && run->program->computes ? 1 + run->program->ns : 0;
  // From here on the run may finish, and the executable graph go with it if another thread destroys it.
  const GraphMemoryEffects memory = exec.memory;
  const Point point = enqueue_or_run(stream, work);
  if (!point.timeline) {
    dispose_work(work);
    return stream_destroyed_meanwhile();
  }
  if (!memory.empty()) graph_memory_launched(memory, point);
  std::lock_guard guard(exec.mutex);
  if (exec.handle != handle) return infinirtSuccess;
  for (Point& earlier : exec.launched) {
    if (earlier.timeline == point.timeline) {
      earlier.value = std::max(earlier.value, point.value);
      return infinirtSuccess;
    }
  }
  exec.launched.push_back(point);
  return infinirtSuccess;
}

}  // namespace infinirt
