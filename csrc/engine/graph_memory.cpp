#include "engine/graph_memory.h"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "allocator/caching_allocator.h"
#include "engine/capture.h"
#include "engine/graph.h"
#include "engine/stream.h"

namespace infinirt {

// The memory of one device that graphs own or owned: blocks of graphs that are gone stay cached until trimmed.
class GraphMemory final : SegmentSource, StreamOrder {
 public:
  explicit GraphMemory(EngineDevice& device) : device_(device), allocator_(*this, *this, never_trims()) {}

  infinirtError_t allocate(size_t size, std::shared_ptr<GraphBlock>* out) {
    void* pointer = nullptr;
    const Status status = allocator_.allocate(size, kOwner, &pointer);
    if (status != kStatusOk) {
      size_t free_bytes = 0, total = 0;
      device_.engine->memory_info(device_.ordinal, &free_bytes, &total);
      const AllocatorStats stats = allocator_.stats();
      return fail(
          static_cast<infinirtError_t>(status),
          "no memory for a graph allocation of %zu bytes on %s:%d: %zu of %zu bytes are free, graphs hold %zu; free "
          "memory, destroy graphs or call infinirtDeviceGraphMemTrim",
          size, device_.engine->backend.name.c_str(), device_.ordinal, free_bytes, total, stats.reserved_current);
    }
    Allocation entry;
    entry.base = reinterpret_cast<uintptr_t>(pointer);
    entry.size = size;
    entry.kind = MemoryKind::Pool;
    entry.device = device_.ordinal;
    entry.backend = &device_.engine->backend;
    registry_insert(entry);
    *out = std::make_shared<GraphBlock>();
    (*out)->memory = this;
    (*out)->pointer = pointer;
    (*out)->size = size;
    return infinirtSuccess;
  }

  void release(const GraphBlock& block) {
    Allocation removed;
    registry_remove(block.pointer, &removed);
    if (!block.last_use.reached()) {
      // A fence belongs to a stream, and all fences of one stream to one timeline: the timeline stands for the stream.
      Timeline* timeline = block.last_use.timeline;
      allocator_.record_use(block.pointer, {reinterpret_cast<uintptr_t>(timeline)}, {timeline, block.last_use.value});
    }
    allocator_.free(block.pointer, kOwner, {});
  }

  bool is_of(const EngineDevice& device) const { return &device_ == &device; }

  void trim() { allocator_.trim_to(0); }

  void add_used(size_t size) {
    const uint64_t now = used_.fetch_add(size, std::memory_order_relaxed) + size;
    uint64_t high = used_high_.load(std::memory_order_relaxed);
    while (high < now && !used_high_.compare_exchange_weak(high, now, std::memory_order_relaxed)) {
    }
  }
  void remove_used(size_t size) { used_.fetch_sub(size, std::memory_order_relaxed); }

  uint64_t attribute(enum infinirtGraphMemAttributeType attribute) {
    switch (attribute) {
      case infinirtGraphMemAttrUsedMemCurrent:
        return used_.load(std::memory_order_relaxed);
      case infinirtGraphMemAttrUsedMemHigh:
        return used_high_.load(std::memory_order_relaxed);
      case infinirtGraphMemAttrReservedMemCurrent:
        return allocator_.stats().reserved_current;
      case infinirtGraphMemAttrReservedMemHigh:
        return allocator_.stats().reserved_high;
    }
    return 0;
  }
  void reset_high(enum infinirtGraphMemAttributeType attribute) {
    if (attribute == infinirtGraphMemAttrUsedMemHigh) used_high_.store(used_.load());
    if (attribute == infinirtGraphMemAttrReservedMemHigh) allocator_.reset_reserved_high();
  }

 private:
  static constexpr StreamKey kOwner{1};  // never the address of a timeline

  static AllocatorOptions never_trims() {
    AllocatorOptions options;
    options.release_threshold = ~size_t{0};
    return options;
  }

  // SegmentSource. Backends promise 512 bytes of alignment; when more is wanted, more is taken.
  Status map(size_t bytes, size_t alignment, void** base) noexcept override {
    void* raw = nullptr;
    infinirtError_t error = device_.engine->allocate(device_.ordinal, bytes, MemoryKind::Pool, 0, &raw);
    if (error != infinirtSuccess) return error;
    size_t taken = bytes;
    if (reinterpret_cast<uintptr_t>(raw) % alignment != 0) {
      device_.engine->release(device_.ordinal, raw, bytes, MemoryKind::Pool);
      taken = bytes + alignment;
      error = device_.engine->allocate(device_.ordinal, taken, MemoryKind::Pool, 0, &raw);
      if (error != infinirtSuccess) return error;
    }
    const uintptr_t aligned = (reinterpret_cast<uintptr_t>(raw) + alignment - 1) / alignment * alignment;
    *base = reinterpret_cast<void*>(aligned);
    std::lock_guard guard(segments_mutex_);
    segments_[*base] = {raw, taken};
    return kStatusOk;
  }
  void unmap(void* base, size_t) noexcept override {
    std::pair<void*, size_t> segment;
    {
      std::lock_guard guard(segments_mutex_);
      auto found = segments_.find(base);
      segment = found->second;
      segments_.erase(found);
    }
    device_.engine->release(device_.ordinal, segment.first, segment.second, MemoryKind::Pool);
  }

  // StreamOrder: only the points of frees outside of graphs count, and nobody is made to wait for them.
  Fence now(StreamKey) noexcept override { return {}; }
  bool passed(Fence fence) noexcept override {
    return Point{static_cast<Timeline*>(fence.timeline), fence.value}.reached();
  }
  bool precedes(Fence, StreamKey) noexcept override { return false; }
  bool make_wait(StreamKey, Fence) noexcept override { return false; }
  void retain(Fence) noexcept override {}
  void release(Fence) noexcept override {}

  EngineDevice& device_;
  Mutex segments_mutex_;
  std::unordered_map<void*, std::pair<void*, size_t>> segments_;  // what the backend gave, by what the allocator knows
  std::atomic<uint64_t> used_{0}, used_high_{0};
  CachingAllocator allocator_;
};

namespace {

// All allocations of graphs by address: of those that share a block, the one that was made last.
struct AllocationTable {
  Mutex mutex;
  std::unordered_map<void*, std::weak_ptr<GraphAllocation>> by_address;
};

AllocationTable& table() {
  static auto* instance = new AllocationTable;
  return *instance;
}

std::atomic<size_t> known_blocks{0};

GraphMemory& memory_of(EngineDevice& device) {
  std::lock_guard guard(device.mutex);
  if (!device.graph_memory) device.graph_memory = new GraphMemory(device);
  return *static_cast<GraphMemory*>(device.graph_memory);
}

GraphMemory* existing_memory(EngineDevice& device) {
  std::lock_guard guard(device.mutex);
  return static_cast<GraphMemory*>(device.graph_memory);
}

// With the table locked.
void stop_living(GraphAllocation& allocation, const Point& point, std::vector<GraphAllocationPtr>& dropped) {
  allocation.live = false;
  allocation.free_point = point;
  allocation.block->last_use = point;
  allocation.block->memory->remove_used(allocation.size);
  dropped.push_back(std::move(allocation.self));
}

}  // namespace

GraphBlock::~GraphBlock() {
  {
    auto& t = table();
    std::lock_guard guard(t.mutex);
    auto entry = t.by_address.find(pointer);
    if (entry != t.by_address.end() && entry->second.expired()) t.by_address.erase(entry);
  }
  known_blocks.fetch_sub(1, std::memory_order_relaxed);
  memory->release(*this);
}

std::shared_ptr<GraphBlock> reusable_block(Graph& graph, const std::vector<GraphNode*>& dependencies,
                                           const EngineDevice& device, size_t size) {
  if (graph.allocations.empty()) return nullptr;
  const uint64_t mark = mark_ancestors(graph, dependencies);
  std::unordered_map<uint64_t, bool> frees_before;
  for (const GraphNode* node : graph.nodes) {
    if (node->body->type == infinirtGraphNodeTypeMemFree && node->mark == mark) frees_before[node->id] = true;
  }
  std::shared_ptr<GraphBlock> best;
  for (auto user = graph.allocations.rbegin(); user != graph.allocations.rend(); ++user) {
    const auto& block = (*user)->block;
    // Lifetimes in one block follow each other, so its latest user decides for all.
    const bool latest =
        std::none_of(graph.allocations.rbegin(), user, [&](const auto& a) { return a->block == block; });
    if (!latest || !(*user)->freed_in_graph || !frees_before.count((*user)->free_node)) continue;
    if (block->promised || !block->memory->is_of(device) || block->size < size || block->size / 2 > size) continue;
    if (!best || block->size < best->size) best = block;
  }
  if (best) best->promised = true;
  return best;
}

infinirtError_t make_graph_allocation(const Graph& graph, EngineDevice& device, size_t size,
                                      std::shared_ptr<GraphBlock> block, GraphAllocationPtr* out) {
  if (graph.instance && graph.instance->load()) {
    return fail(infinirtErrorNotSupported,
                "graph allocates memory and is instantiated; destroy its executable graph before "
                "adding another allocation");
  }
  auto allocation = std::make_shared<GraphAllocation>();
  allocation->block = std::move(block);
  if (!allocation->block) {
    const infinirtError_t error = memory_of(device).allocate(size, &allocation->block);
    if (error != infinirtSuccess) return error;
    known_blocks.fetch_add(1, std::memory_order_relaxed);
  }
  allocation->size = size;
  allocation->graph_id = graph.id;
  {
    auto& t = table();
    std::lock_guard guard(t.mutex);
    t.by_address[allocation->block->pointer] = allocation;
  }
  *out = std::move(allocation);
  return infinirtSuccess;
}

infinirtError_t find_graph_allocation(Graph& graph, void* pointer, GraphAllocationPtr* out) {
  if (!pointer)
    return fail(infinirtErrorInvalidValue, "dptr is null; the address of a graph's allocation was expected");
  bool freed = false;
  for (auto own = graph.allocations.rbegin(); own != graph.allocations.rend(); ++own) {
    if ((*own)->block->pointer != pointer) continue;
    if (!(*own)->freed_in_graph) {
      *out = *own;
      return infinirtSuccess;
    }
    freed = true;
  }
  if (freed) return fail(infinirtErrorInvalidValue, "dptr %p is freed by another node of this graph already", pointer);
  GraphAllocationPtr other;
  {
    auto& t = table();
    std::lock_guard guard(t.mutex);
    auto entry = t.by_address.find(pointer);
    if (entry != t.by_address.end()) other = entry->second.lock();
  }
  if (!other) {
    return fail(infinirtErrorInvalidValue,
                "dptr %p is not where an allocation of a graph starts; a graph can free only what a graph allocates",
                pointer);
  }
  if (other->freed_in_graph) {
    return fail(infinirtErrorInvalidValue, "dptr %p is freed by the graph that allocates it", pointer);
  }
  *out = std::move(other);
  return infinirtSuccess;
}

infinirtError_t claim_graph_memory(const GraphMemoryEffects& effects, bool auto_free, std::vector<Point>* waits) {
  std::vector<GraphAllocationPtr> dropped;  // goes after the lock
  auto& t = table();
  std::lock_guard guard(t.mutex);
  for (const auto& allocation : effects.allocates) {
    if (allocation->live && !auto_free) {
      return fail(infinirtErrorInvalidValue,
                  "graphExec allocates %p (%zu bytes), which an earlier launch left allocated; free it with "
                  "infinirtFreeAsync, or "
                  "instantiate with infinirtGraphInstantiateFlagAutoFreeOnLaunch",
                  allocation->block->pointer, allocation->size);
    }
  }
  for (const auto& allocation : effects.frees) {
    if (!allocation->live) {
      return fail(infinirtErrorInvalidValue,
                  "graphExec frees %p, which is not allocated now; launch the graph that allocates it first",
                  allocation->block->pointer);
    }
  }
  for (const auto& allocation : effects.frees) stop_living(*allocation, {}, dropped);
  for (const auto& allocation : effects.allocates) {
    if (!allocation->free_point.reached()) waits->push_back(allocation->free_point);
    if (allocation->live) continue;
    allocation->live = true;
    allocation->self = allocation;
    allocation->block->memory->add_used(allocation->size);
  }
  return infinirtSuccess;
}

void graph_memory_launched(const GraphMemoryEffects& effects, const Point& point) {
  auto& t = table();
  std::lock_guard guard(t.mutex);
  for (const auto& allocation : effects.frees) {
    if (allocation->live) continue;  // allocated again meanwhile
    allocation->free_point = point;
    allocation->block->last_use = point;
  }
}

void graph_allocation_runs(const GraphAllocation& allocation) {
  if (allocation.freed_in_graph) allocation.block->memory->add_used(allocation.size);
}

void graph_free_runs(const GraphAllocation& allocation) {
  if (allocation.freed_in_graph) allocation.block->memory->remove_used(allocation.size);
}

bool graph_allocation_free(void* pointer, Stream& stream, infinirtError_t* result) {
  if (known_blocks.load(std::memory_order_relaxed) == 0) return false;
  std::vector<GraphAllocationPtr> dropped;  // goes after the lock
  auto& t = table();
  std::lock_guard guard(t.mutex);
  auto entry = t.by_address.find(pointer);
  if (entry == t.by_address.end()) return false;
  GraphAllocationPtr allocation = entry->second.lock();
  if (!allocation) return false;
  if (allocation->live) {
    stop_living(*allocation, stream.tail(), dropped);
    *result = infinirtSuccess;
  } else if (allocation->freed_in_graph) {
    *result = fail(infinirtErrorInvalidValue, "%p is memory of a graph that frees it itself", pointer);
  } else {
    *result = fail(
        infinirtErrorInvalidValue,
        "%p is memory of a graph and not allocated now: it was freed already, or the graph has not been launched since",
        pointer);
  }
  dropped.push_back(std::move(allocation));
  return true;
}

void trim_graph_memory(EngineDevice& device) {
  if (GraphMemory* memory = existing_memory(device)) memory->trim();
}

uint64_t graph_memory_attribute(EngineDevice& device, enum infinirtGraphMemAttributeType attribute) {
  GraphMemory* memory = existing_memory(device);
  return memory ? memory->attribute(attribute) : 0;
}

void reset_graph_memory_high(EngineDevice& device, enum infinirtGraphMemAttributeType attribute) {
  if (GraphMemory* memory = existing_memory(device)) memory->reset_high(attribute);
}

}  // namespace infinirt
