// Memory that graphs own: allocation and free nodes.
//
// An allocation has its address from the moment its node is made until the last graph, executable graph or launch that
// knows the node is gone, and longer while the program still holds the memory. Whether it is live is decided when calls
// are made, as the rules about relaunching ask: a launch makes live what the graph allocates and does not free itself, and
// infinirtFreeAsync, infinirtFree or the launch of a graph with a free node ends that.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/timeline.h"

namespace infinirt {

struct Graph;
struct GraphNode;
struct Stream;
class GraphMemory;

// A piece of device memory, shared by allocations whose lifetimes follow each other within one graph.
struct GraphBlock {
  GraphMemory* memory = nullptr;
  void* pointer = nullptr;
  size_t size = 0;
  bool promised = false;  // to an allocation whose node is being made
  Point last_use;  // when it goes, others may have it after this point
  ~GraphBlock();
};

struct GraphAllocation {
  std::shared_ptr<GraphBlock> block;
  size_t size = 0;  // as asked for
  uint64_t graph_id = 0;  // the graph whose node allocates
  bool freed_in_graph = false;  // that graph has a free node for it
  uint64_t free_node = 0;  // id of that node

  // Under the lock of graph_memory.cpp:
  bool live = false;  // the program holds it
  std::shared_ptr<GraphAllocation> self;  // set while live: the program may hold it longer than any graph knows it
  Point free_point;  // where it was freed last, outside its graph
};

using GraphAllocationPtr = std::shared_ptr<GraphAllocation>;

// ---- making nodes

// Memory of an allocation of `graph` that is freed before anything that comes after `dependencies` runs, promised to the
// caller; null when there is none.
std::shared_ptr<GraphBlock> reusable_block(Graph& graph, const std::vector<GraphNode*>& dependencies,
                                           const EngineDevice& device, size_t size);

// An allocation for a node of `graph`, in `block` or, if that is null, in memory of its own. May call the backend: no lock
// is held.
infinirtError_t make_graph_allocation(const Graph& graph, EngineDevice& device, size_t size,
                                      std::shared_ptr<GraphBlock> block, GraphAllocationPtr* out);

// The allocation that a free node of `graph` for this address means: one of the graph's own that is not freed there yet,
// or one that another graph leaves to the program. InvalidValue with a message when there is none.
infinirtError_t find_graph_allocation(Graph& graph, void* pointer, GraphAllocationPtr* out);

// ---- launching

// What a launch does to allocations that outlive it.
struct GraphMemoryEffects {
  std::vector<GraphAllocationPtr> allocates;  // and the graph does not free
  std::vector<GraphAllocationPtr> frees;  // of other graphs
  bool empty() const { return allocates.empty() && frees.empty(); }
};

// Takes effect as a whole or fails with InvalidValue and a message; the launch must follow. `waits` receives the points
// that it must be ordered after. With `auto_free` allocations that are still live are freed first.
infinirtError_t claim_graph_memory(const GraphMemoryEffects& effects, bool auto_free, std::vector<Point>* waits);
// The launch will be finished at this point.
void graph_memory_launched(const GraphMemoryEffects& effects, const Point& point);

// Called as nodes run, for the accounting.
void graph_allocation_runs(const GraphAllocation& allocation);
void graph_free_runs(const GraphAllocation& allocation);

// ---- for the memory functions

// infinirtMallocAsync and infinirtFreeAsync on a capturing stream.
infinirtError_t capture_malloc(Stream& stream, size_t size, const struct infinirtMemPoolProps& props, void** out);
infinirtError_t capture_free(Stream& stream, void* pointer);

// Frees an allocation of a graph outside of it, in the stream's order. False: the address is none of a graph's. Cheap
// when no graph allocates memory.
bool graph_allocation_free(void* pointer, Stream& stream, infinirtError_t* result);

// Gives unused memory kept for graphs back; the attributes are infinirtGraphMemAttributeType's.
void trim_graph_memory(EngineDevice& device);
uint64_t graph_memory_attribute(EngineDevice& device, enum infinirtGraphMemAttributeType attribute);
void reset_graph_memory_high(EngineDevice& device, enum infinirtGraphMemAttributeType attribute);

}  // namespace infinirt
