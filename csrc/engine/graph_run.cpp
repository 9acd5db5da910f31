#include "engine/graph_run.h"

#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "engine/event.h"
#include "engine/graph_exec.h"
#include "engine/memory.h"
#include "engine/observed_work.h"
#include "engine/step.h"

namespace infinirt {

namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// Records of launches that have not run yet. A forked child has lost the threads that would run them: there the points
// count as lost, so that nobody waits for them.
struct OpenRecords {
  Mutex mutex;
  std::vector<Point> points;
};

OpenRecords& open_records() {
  static auto* instance = new OpenRecords;
  return *instance;
}

std::atomic<uint64_t> forks{0};

void after_fork_in_child() {
  forks.fetch_add(1, std::memory_order_relaxed);
  auto& open = open_records();
  open.mutex.reset_after_fork();
  for (const Point& point : open.points) point.timeline->abandon(point.value);
  open.points.clear();
}

// How many forks lie between this process and the one that loaded the library, counted from the first use.
uint64_t fork_count() {
  static const bool installed = pthread_atfork([] { open_records().mutex.lock(); },
                                               [] { open_records().mutex.unlock(); }, after_fork_in_child) == 0;
  (void)installed;
  return forks.load(std::memory_order_relaxed);
}

void finish_record(RunEvent& record) {
  if (!record.event) return;
  const Point point = record.point;
  stamp_event(*record.event, record.serial, monotonic_ns());
  record.event = nullptr;  // may be destroyed from now on
  {
    auto& open = open_records();
    std::lock_guard guard(open.mutex);
    std::erase_if(open.points, [&](const Point& p) { return p.timeline == point.timeline; });
  }
  point.timeline->advance(point.value);
  release_timeline(point.timeline);
}

RunEvent& event_of(GraphRun& run, uint32_t node) {
  const auto& nodes = run.exec->shape->event_nodes;
  return run.events[static_cast<size_t>(std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin())];
}

bool is_allocated(const void* pointer, size_t width, size_t height, size_t depth, size_t pitch, size_t slice) {
  Allocation found;
  size_t span = 0;
  return registry_find(pointer, &found) && region_span(width, height, depth, pitch, slice, &span) &&
         span <= found.size - (reinterpret_cast<uintptr_t>(pointer) - found.base);
}

// Memory that was there when the node was made may have been freed since: an illegal address, as on a GPU, and not a crash.
const void* freed_memory(const Work& work) {
  if (work.type == WorkType::Fill) {
    const FillWork& fill = work.fill;
    const bool gone =
        fill.device >= 0 && !is_allocated(fill.dst, fill.width, fill.height, fill.depth, fill.pitch, fill.slice);
    return gone ? fill.dst : nullptr;
  }
  if (work.type != WorkType::Copy) return nullptr;
  const CopyWork& copy = work.copy;
  if (copy.dst_device >= 0 &&
      !is_allocated(copy.dst, copy.width, copy.height, copy.depth, copy.dst_pitch, copy.dst_slice)) {
    return copy.dst;
  }
  if (copy.src_device >= 0 &&
      !is_allocated(copy.src, copy.width, copy.height, copy.depth, copy.src_pitch, copy.src_slice)) {
    return copy.src;
  }
  return nullptr;
}

void execute_body(const GraphRun& run, NodeBody& body) {
  if (const void* pointer = freed_memory(body.work)) {
    char text[160];
    std::snprintf(text, sizeof text, "a %s node of a graph uses %p, which was freed after the graph was made",
                  node_type_name(body.type), pointer);
    report_async_error(*body.device, infinirtErrorIllegalAddress, text);
    return;
  }
  const Issued& issued = body.made_by.stack ? body.made_by : run.issued;  // whose stack a failure shows
  execute_work(*body.device, body.work, {run.stream, &issued, true});
}

// False: the step is parked.
bool run_step_node(GraphRun& run, uint32_t node, NodeBody& body) {
  GraphBranch& branch = run.exec->branches[node];
  if (branch.step_over) {
    branch.step_over = false;
    return true;
  }
  branch.at = node;
  branch.urgency = run.stream->urgency;
  return run_step(branch, *body.device, body.work.step, false);
}

bool run_body(GraphRun& run, uint32_t node, NodeBody& body) {
  if (body.work.type == WorkType::Step) return run_step_node(run, node, body);
  switch (body.type) {
    case infinirtGraphNodeTypeKernel:
    case infinirtGraphNodeTypeMemcpy:
    case infinirtGraphNodeTypeMemset:
    case infinirtGraphNodeTypeHost:
      execute_body(run, body);
      return true;
    case infinirtGraphNodeTypeEventRecord:
      finish_record(event_of(run, node));
      return true;
    case infinirtGraphNodeTypeWaitEvent: {
      const Point point = event_of(run, node).point;
      if (point.reached()) return true;
      GraphBranch& branch = run.exec->branches[node];
      branch.at = node;
      branch.urgency = run.stream->urgency;
      return !point.timeline->park(&branch, point.value);
    }
    case infinirtGraphNodeTypeMemAlloc:
      graph_allocation_runs(*body.allocation);
      return true;
    case infinirtGraphNodeTypeMemFree:
      graph_free_runs(*body.allocation);
      return true;
    default:
      return true;  // places in the order
  }
}

// False: the node waits, and its branch will be scheduled when it is over.
bool run_node(GraphRun& run, uint32_t node) {
  if (!run.program->enabled[node]) return true;
  NodeBody& body = *run.program->bodies[node];
  if (!observed()) [[likely]]
    return run_body(run, node, body);
  GraphBranch& branch = run.exec->branches[node];
  const int64_t before = branch.began;
  if (before == 0) branch.began = observed_ticks();
  const int64_t began = branch.began;
  if (!run_body(run, node, body)) return false;  // the branch may be running elsewhere already
  branch.began = 0;
  if (body.type != infinirtGraphNodeTypeEmpty) report_graph_node(run, node, body, began);
  return true;
}

enum class Outcome { More, Ended, Finished };  // Ended: others carry on, and nothing here may be touched any more

void start_branch(GraphExec& exec, uint32_t node) {
  GraphBranch& branch = exec.branches[node];
  branch.at = node;
  branch.urgency = exec.running->stream->urgency;
  schedule(&branch);
}

// Runs nodes from `node` on, as long as there is a successor that is ready and the budget lasts.
Outcome run_nodes(GraphRun& run, uint32_t& node, int budget) {
  GraphExec& exec = *run.exec;
  const ExecShape& shape = *exec.shape;
  for (;;) {
    if (!run_node(run, node)) return Outcome::Ended;
    const uint32_t* successor = shape.successors.data() + shape.successor_begin[node];
    const uint32_t* end = shape.successors.data() + shape.successor_begin[node + 1];
    if (successor == end) {
      return exec.sinks_left.fetch_sub(1, std::memory_order_acq_rel) == 1 ? Outcome::Finished : Outcome::Ended;
    }
    // The run cannot finish before the last successor has been told, so everything is still there until then.
    uint32_t next = kNone;
    for (; successor != end; ++successor) {
      const uint32_t candidate = *successor;
      const bool ready = shape.dependency_counts[candidate] == 1 ||
                         exec.remaining[candidate].fetch_sub(1, std::memory_order_acq_rel) == 1;
      if (!ready) continue;
      if (next == kNone) {
        next = candidate;
      } else {
        start_branch(exec, candidate);
      }
    }
    if (next == kNone) return Outcome::Ended;
    node = next;
    if (--budget <= 0) return Outcome::More;
  }
}

// The launch is over: the next one that waits for its turn starts.
void finish_run(GraphRun& run) {
  GraphExec& exec = *run.exec;
  GraphRun* next;
  {
    std::lock_guard guard(exec.mutex);
    next = exec.first_waiting;
    if (next) {
      exec.first_waiting = next->next;
      if (!exec.first_waiting) exec.last_waiting = nullptr;
    }
    exec.running = next;
  }
  give_back_run(run);
  if (next) schedule(next);  // holds a reference of its own
}

// True: all done on this thread. The run is exec.running.
bool begin_run(GraphRun& run) {
  GraphExec& exec = *run.exec;
  const ExecShape& shape = *exec.shape;
  if (shape.roots.empty()) return true;
  for (size_t i = 0; i < shape.size(); ++i) {
    exec.remaining[i].store(shape.dependency_counts[i], std::memory_order_relaxed);
  }
  exec.sinks_left.store(shape.sinks, std::memory_order_relaxed);
  if (observed()) [[unlikely]] {
    for (size_t i = 0; i < shape.size(); ++i) exec.branches[i].began = 0;
  }
  uint32_t node = shape.roots[0];
  // In a random schedule every step is the generator's choice, the first one included.
  const bool in_place = !is_random_schedule();
  // The run may be over as soon as its last branch has been handed out: nothing of it is looked at after that.
  const size_t count = shape.roots.size();
  const uint32_t* roots = shape.roots.data();
  for (size_t i = 1; i < count; ++i) start_branch(exec, roots[i]);
  if (!in_place) {
    start_branch(exec, node);
    return false;
  }
  for (;;) {
    switch (run_nodes(run, node, 1 << 30)) {
      case Outcome::More:
        break;
      case Outcome::Ended:
        return false;
      case Outcome::Finished:
        return true;
    }
  }
}

}  // namespace

Point begin_record() {
  fork_count();
  auto& open = open_records();
  Timeline* timeline = acquire_timeline();
  const Point point{timeline, timeline->completed() + 1};
  std::lock_guard guard(open.mutex);
  open.points.push_back(point);
  return point;
}

void GraphBranch::finish_step() {
  step_over = true;
  schedule(this);
}

void GraphBranch::fail_step(infinirtError_t error, const char* message) {
  report_async_error(*exec->running->program->bodies[at]->device, error, message);
}

void GraphBranch::run_parallel(int64_t count, int64_t grain, void (*body)(long long, long long, void*), void* context) {
  run_step_parallel(count, grain, body, context);
}

bool GraphBranch::run(int budget) {
  GraphRun& graph_run = *exec->running;
  uint32_t node = at;
  switch (run_nodes(graph_run, node, budget)) {
    case Outcome::More:
      at = node;
      return true;
    case Outcome::Ended:
      return false;
    case Outcome::Finished:
      break;
  }
  Stream& stream = *graph_run.stream;
  finish_run(graph_run);
  graph_work_finished(stream);
  return false;
}

bool GraphRun::run(int) {
  Stream& its_stream = *stream;
  if (begin_run(*this)) {
    finish_run(*this);
    graph_work_finished(its_stream);
  }
  return false;
}

bool start_graph_run(GraphRun* run, Stream& stream) {
  GraphExec& exec = *run->exec;
  run->stream = &stream;
  {
    std::lock_guard guard(exec.mutex);
    const uint64_t now = fork_count();
    if (exec.running && exec.running_since_fork == now) {
      run->next = nullptr;
      run->urgency = stream.urgency;
      (exec.last_waiting ? exec.last_waiting->next : exec.first_waiting) = run;
      exec.last_waiting = run;
      return false;
    }
    if (exec.running) exec.first_waiting = exec.last_waiting = nullptr;  // all of it was the parent's
    exec.running = run;
    exec.running_since_fork = now;
  }
  if (!begin_run(*run)) return false;
  finish_run(*run);
  return true;
}

void drop_graph_run(GraphRun* run) {
  for (RunEvent& event : run->events) finish_record(event);  // nobody must wait for ever
  give_back_run(*run);
}

}  // namespace infinirt
