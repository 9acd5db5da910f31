// Executable graphs: a graph flattened into one array of nodes, ready to be launched again and again.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/mutex.h"
#include "engine/graph.h"
#include "engine/scheduler.h"
#include "engine/stream.h"

namespace infinirt {

struct GraphExec;

// One graph as it was when it was instantiated, child graphs below it: what an update is compared with, and what a launch
// into a capture is rebuilt from. Entries are in the order in which the nodes were made.
struct ExecLevel {
  struct Entry {
    enum infinirtGraphNodeType type;
    uint32_t index;                         // of the node, or of the marker before the child graph's nodes
    std::vector<uint32_t> dependencies;     // positions in this level
    std::unique_ptr<ExecLevel> child;
  };
  std::vector<Entry> entries;
};

// What never changes after instantiation. Nodes are numbered in an order that respects all dependencies.
struct ExecShape {
  ExecLevel top;
  std::vector<uint32_t> successor_begin;    // node i's successors: [successor_begin[i], successor_begin[i + 1])
  std::vector<uint32_t> successors;
  std::vector<uint32_t> dependency_counts;
  std::vector<uint32_t> roots;
  uint32_t sinks = 0;
  bool is_chain = false;  // one node after the other
  std::vector<std::pair<uint64_t, uint32_t>> by_source;  // id of the graph's node → node, sorted
  std::vector<uint32_t> event_nodes;        // records and waits, ascending

  size_t size() const { return dependency_counts.size(); }
};

bool calls_vendor(const NodeBody& body);

// As computation_ns() of work: 0 where it runs code of the user or may wait for somebody.
uint64_t computation_ns(const NodeBody& body);

// What setters and updates change. Launches keep the one they were given.
struct ExecProgram {
  std::vector<NodeBodyPtr> bodies;
  std::vector<uint8_t> enabled;
  UserObjectSet user_objects;
  bool calls_vendor = false;  // some body does, or did before an update
  bool computes = true;       // all bodies do, and did before updates
  uint64_t ns = 0;            // about how long they take then, one after the other, whether they are enabled or not

  void note(const NodeBody& body);  // that it is one of the bodies

  // Devices whose memory is used, one bit each (see `users` in EngineDevice).
  uint64_t devices() const;
};

// A branch of a running graph: starts at its node and goes on as long as it finds a successor that is ready. A waiting
// event node parks through the branch of its number.
struct GraphBranch final : Runnable, Waiter, StepHost {
  GraphExec* exec = nullptr;
  uint32_t at = 0;
  int64_t began = 0;    // when the node of its number began, if something observes
  bool step_over = false;  // the step at `at` was parked and has been finished
  bool run(int budget) override;
  void wake() override { schedule(this); }
  void finish_step() override;
  void fail_step(infinirtError_t error, const char* message) override;
  void run_parallel(int64_t count, int64_t grain, void (*body)(long long, long long, void*), void* context) override;
};

// What the launch of an event node needs: for a wait the point, for a record the point to be reached and the event.
struct RunEvent {
  Point point;
  Event* event = nullptr;  // records only
  uint64_t serial = 0;
};

// One launch. Runs of one executable graph are recycled.
class GraphRun final : public Runnable {
 public:
  GraphExec* exec = nullptr;
  std::shared_ptr<const ExecProgram> program;
  Stream* stream = nullptr;         // set when the launch is at the head of its stream
  Issued issued;                    // the launch, for observers; likewise
  uint64_t position = 0;            // in the stream's order; likewise
  std::vector<RunEvent> events;     // parallel to ExecShape::event_nodes
  GraphRun* next = nullptr;         // in the list of runs that wait for their turn, or of spare ones

  bool run(int budget) override;    // its turn has come after all
};

// A copy of its, or what it waits for.
bool calls_vendor(const GraphRun& run);

// Type-stable.
struct GraphExec {
  Mutex mutex;  // before any stream's; never held while user code runs or work is enqueued
  infinirtGraphExec_t handle = nullptr;  // null once destroyed
  Engine* engine = nullptr;
  unsigned long long flags = 0;
  size_t references = 0;                 // the handle and every launch that is not finished
  std::shared_ptr<const ExecShape> shape;
  std::shared_ptr<ExecProgram> program;
  GraphMemoryEffects memory;
  std::vector<std::shared_ptr<std::atomic<bool>>> memory_instances;  // of the graphs whose allocations it uses
  std::vector<Point> launched;           // where earlier launches end; those reached are forgotten
  GraphRun* spare_runs = nullptr;

  // Only one launch runs at a time; these belong to it.
  GraphRun* running = nullptr;
  uint64_t running_since_fork = 0;       // in which process, counted in forks
  GraphRun* first_waiting = nullptr;     // launches that came to the head of their streams meanwhile
  GraphRun* last_waiting = nullptr;
  std::unique_ptr<std::atomic<uint32_t>[]> remaining;  // unfinished dependencies per node
  std::unique_ptr<GraphBranch[]> branches;
  std::atomic<uint32_t> sinks_left{0};
};

struct InstantiateReport {
  infinirtGraphInstantiateResult result = infinirtGraphInstantiateSuccess;
  infinirtGraphNode_t node = nullptr;
};

// Null with a message (infinirtErrorInvalidValue).
GraphExec* resolve_exec(infinirtGraphExec_t handle, const char* argument);

// False with a message and the report when the graph has a cycle.
bool flatten_graph(const Graph& graph, std::shared_ptr<ExecShape>* shape, std::shared_ptr<ExecProgram>* program,
                   InstantiateReport* report);

infinirtError_t instantiate_graph(Graph& graph, unsigned long long flags, infinirtGraphExec_t* out,
                                  InstantiateReport* report);
void destroy_exec(GraphExec& exec, infinirtGraphExec_t handle);

infinirtError_t launch_graph(GraphExec& exec, infinirtGraphExec_t handle, Stream& stream);

// The number of the node that `node` became; false with a message when it is not of the graph that was instantiated.
bool exec_node(const ExecShape& shape, const GraphNode& node, uint32_t* index);

// A run that is ready to be enqueued, or null when the handle is dead. Takes a reference.
GraphRun* take_run(GraphExec& exec, infinirtGraphExec_t handle);
// Puts a finished run back and drops its reference. May call user code.
void give_back_run(GraphRun& run);

// A point on a timeline of its own, reached when the record node that it is for has run (graph_run.cpp).
Point begin_record();

// ---- changing it (graph_update.cpp)

// Replaces what one node does. Fails when the change is of a kind that needs a new instantiation.
infinirtError_t set_exec_body(GraphExec& exec, infinirtGraphExec_t handle, const GraphNode& node, NodeBodyPtr body);
infinirtError_t set_exec_child(GraphExec& exec, infinirtGraphExec_t handle, const GraphNode& node, const Graph& child);
infinirtError_t set_exec_enabled(GraphExec& exec, infinirtGraphExec_t handle, const GraphNode& node, bool enabled);
infinirtError_t get_exec_enabled(GraphExec& exec, infinirtGraphExec_t handle, const GraphNode& node, bool* enabled);
infinirtError_t update_exec(GraphExec& exec, infinirtGraphExec_t handle, const Graph& graph,
                            infinirtGraphExecUpdateResultInfo* info);

}  // namespace infinirt
