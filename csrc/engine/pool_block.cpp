// Blocks of pools: allocated and freed in a stream's order.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/wait_hooks.h"
#include "engine/event.h"
#include "engine/graph_memory.h"
#include "engine/pool.h"
#include "engine/pool_order.h"

namespace infinirt {

namespace {

constexpr int64_t kPatience = int64_t{10} * 1000 * 1000 * 1000;  // for frees under way when memory is short

// Waits until what is enqueued on the device now has finished, but not for ever: a host function may be waiting for what
// the caller does next.
void wait_for_a_while(EngineDevice& device) {
  std::vector<Point> points;
  {
    std::lock_guard guard(device.mutex);
    points.push_back(device.legacy->tail());
    for (const Stream* stream : device.streams) points.push_back(stream->tail());
  }
  const RareWaitScope waiting;  // the calling thread may hold a lock that the pending work needs
  const int64_t deadline = monotonic_ns() + kPatience;
  for (const Point& point : points) {
    if (point.reached()) continue;
    if (is_random_schedule()) {
      wait_for(point);  // nobody else runs the work
    } else if (!point.timeline->sleep_until(point.value, 100, std::max<int64_t>(deadline - monotonic_ns(), 1))) {
      return;
    }
  }
}

// `said`: what the device itself said of the last attempt, or nothing.
infinirtError_t out_of_memory(const MemPool& pool, size_t size, const std::string& said) {
  size_t device_free = 0, device_total = 0;
  const EngineDevice& device = *pool.device;
  device.engine->memory_info(device.ordinal, &device_free, &device_total);
  const AllocatorStats stats = pool.allocator.stats();
  const size_t limit = pool.allocator.limit();
  constexpr size_t kPiece = AllocatorOptions{}.min_segment;
  const bool lacks_piece = size < kPiece && device_free >= size && device_free < kPiece;
  char limit_text[128] = "";
  if (limit == pool.properties.maxSize && limit) {
    std::snprintf(limit_text, sizeof limit_text, ", at most %zu (maxSize)", limit);
  } else if (limit) {
    std::snprintf(limit_text, sizeof limit_text, ", at most %zu (maxSize %zu, rounded up to segments of 2 MiB)", limit,
                  pool.properties.maxSize);
  }
  return fail(
      infinirtErrorMemoryAllocation,
      "out of memory: size %zu cannot be had on %s:%d, which has %zu of %zu bytes free; the pool holds %zu bytes%s, "
      "%zu "
      "of them in use, its largest free block is %zu%s%s%s; free memory, synchronise so that pending frees complete, "
      "trim "
      "other pools%s",
      size, device.engine->backend.name.c_str(), device.ordinal, device_free, device_total, stats.reserved_current,
      limit_text, stats.used_current, stats.largest_free_block,
      lacks_piece ? "; a pool takes its memory in pieces of 2 MiB, infinirtMalloc does not" : "",
      said.empty() ? "" : "; the device says: ", said.c_str(),
      limit ? ", or create the pool with a larger maxSize" : "");
}

// The allocator has done what it can inside the pool. What is left: memory cached elsewhere, and frees under way.
[[gnu::cold, gnu::noinline]] infinirtError_t allocate_under_pressure(MemPool& pool, Stream& stream, size_t size,
                                                                     void** out, Status status) {
  EngineDevice& device = *pool.device;
  const size_t limit = pool.allocator.limit();
  ThreadExtra& extra = thread_extra(thread_state());
  // What is said from here on is of this call: the first attempt is made again, unless the pool's own limit is in the way.
  if (status == kStatusOutOfMemory) extra.has_pending = false;
  if (status == kStatusOutOfMemory && (limit == 0 || size <= limit)) {
    trim_pools(device);
    trim_graph_memory(device);
    status = pool.allocator.allocate(size, key_of(stream), out);
  }
  if (status == kStatusOutOfMemory && (limit == 0 || size <= limit)) {
    size_t device_free = 0, device_total = 0;
    device.engine->memory_info(device.ordinal, &device_free, &device_total);
    if (free_bytes_of_pools(device) + device_free >= size) {
      wait_for_a_while(device);
      trim_pools(device);
      status = pool.allocator.allocate(size, key_of(stream), out);
    }
  }
  // The CPU device's says no more than ours.
  const bool is_told = extra.has_pending && !extra.pending_message.starts_with("out of memory");
  const std::string said = is_told ? extra.pending_message : "";
  if (status == kStatusOk || status == kStatusOutOfMemory) extra.has_pending = false;  // of the attempts that failed
  if (status == kStatusOk) return infinirtSuccess;
  *out = nullptr;
  return status == kStatusOutOfMemory ? out_of_memory(pool, size, said) : static_cast<infinirtError_t>(status);
}

// `pool` frees the block if it is one of its own.
FreeResult free_in(MemPool& pool, void* pointer, Stream& stream) {
  const StreamKey key = key_of(stream);
  // On the legacy stream the point is found when another stream asks for the block: to find it now would mean a look at
  // every other stream each time.
  if (stream.role == StreamRole::Legacy) return pool.allocator.free(pointer, key);
  if (!stream.blocking || stream.device->legacy->idle()) [[likely]] {
    return pool.allocator.free(pointer, key, fence_at(stream.tail()));
  }
  if (!pool.allocator.owns(pointer)) return FreeResult::not_ours;
  return pool.allocator.free(pointer, key, fence_at(point_of_free(stream)));
}

void note_free(MemPool& pool) {
  EngineDevice& device = *pool.device;
  if (!device.pools_freed.load(std::memory_order_relaxed)) device.pools_freed.store(true, std::memory_order_relaxed);
  if (pool.state.load(std::memory_order_relaxed) == MemPool::State::Dying) [[unlikely]]
    bury_pool(pool);
}

[[gnu::cold, gnu::noinline]] infinirtError_t free_failed(const MemPool& pool, void* pointer, FreeResult result) {
  BlockInfo block;
  switch (result) {
    case FreeResult::double_free:
      return fail(infinirtErrorInvalidValue, "devPtr %p was freed already; free each allocation once", pointer);
    case FreeResult::interior_pointer:
      if (pool.allocator.block_info(pointer, &block) && block.state == BlockState::live) {
        return fail(
            infinirtErrorInvalidValue,
            "devPtr %p lies %zu bytes inside the allocation at %p (%zu bytes); free the address that the allocation "
            "returned",
            pointer, static_cast<size_t>(static_cast<char*>(pointer) - static_cast<char*>(block.base)), block.base,
            block.requested);
      }
      return fail(infinirtErrorInvalidValue, "devPtr %p is memory of a pool, but no live allocation starts there",
                  pointer);
    case FreeResult::out_of_memory:
      return fail(infinirtErrorMemoryAllocation,
                  "no host memory for the bookkeeping of this free; devPtr %p is still allocated", pointer);
    case FreeResult::not_ours:
    case FreeResult::ok:
      break;
  }
  return fail(infinirtErrorInvalidValue, "devPtr %p is not memory of a pool", pointer);
}

// ---- memory that is not a pool's block but can be freed in stream order as well

struct DeferredRelease {
  Allocation memory;
  EngineDevice* device;
  MemPool* importer;  // null: plain device memory
};

// Memory that infinirtFreeAsync was given and whose stream has not got there yet.
struct PendingReleases {
  Mutex mutex;
  std::unordered_set<void*> pointers;
};

PendingReleases& pending_releases() {
  static auto* instance = new PendingReleases;
  return *instance;
}

void release_now(void* context) {
  auto* release = static_cast<DeferredRelease*>(context);
  auto* pointer = reinterpret_cast<void*>(release->memory.base);
  Engine& engine = *release->device->engine;
  // Out of the registry first: in between, a second free must find the pointer in one of the two.
  Allocation removed;
  const bool was_there = registry_remove(pointer, &removed);
  {
    std::lock_guard guard(pending_releases().mutex);
    pending_releases().pointers.erase(pointer);
  }
  if (!was_there) {  // infinirtFree or DeviceReset took it meanwhile
    delete release;
    return;
  }
  if (release->importer) {
    const size_t lead = release->memory.base % static_cast<size_t>(sysconf(_SC_PAGESIZE));  // mapped in whole pages
    engine.unmap_shared(release->device->ordinal, static_cast<char*>(pointer) - lead, lead + release->memory.size);
    imported_block_gone(*release->importer);
  } else {
    engine.release(release->device->ordinal, pointer, release->memory.size, release->memory.kind);
  }
  delete release;
}

// The memory goes when the stream gets there; until then pending work may look it up, so the registry keeps it.
infinirtError_t release_in_order(const Allocation& memory, MemPool* importer, Stream& stream) {
  auto* pointer = reinterpret_cast<void*>(memory.base);
  auto& engine = *static_cast<Engine*>(memory.backend->engine);
  {
    std::lock_guard guard(pending_releases().mutex);
    Allocation still;  // an earlier free may have been carried out since the caller looked
    const bool is_there = registry_find(pointer, &still) && still.base == memory.base;
    if (!is_there || !pending_releases().pointers.insert(pointer).second)
      return fail(infinirtErrorInvalidValue, "devPtr %p was freed already", pointer);
  }
  EngineDevice& device = *engine.devices[static_cast<size_t>(memory.device)];
  Work work;
  work.type = WorkType::Host;
  work.host = {[](void*) {}, new DeferredRelease{memory, &device, importer}, release_now};
  if (importer) imported_block_freed(*importer, true);
  if (!enqueue(stream, work).timeline) {
    if (importer) imported_block_freed(*importer, false);
    dispose_work(work);
    return stream_destroyed_meanwhile();
  }
  return infinirtSuccess;
}

const char* function_that_frees(MemoryKind kind) {
  switch (kind) {
    case MemoryKind::Pinned:
      return "host memory: free it with infinirtFreeHost";
    case MemoryKind::Registered:
      return "registered host memory: unregister it with infinirtHostUnregister";
    case MemoryKind::Managed:
      return "managed memory: free it with infinirtFree";
    case MemoryKind::Imported:
      return "memory of another process: close it with infinirtIpcCloseMemHandle";
    case MemoryKind::Pool:
      return "memory of a graph that the graph itself frees";
    case MemoryKind::Device:
      break;
  }
  return "device memory";
}

[[gnu::cold, gnu::noinline]] infinirtError_t free_elsewhere(void* pointer, Stream& stream) {
  infinirtError_t error = infinirtSuccess;
  if (graph_allocation_free(pointer, stream, &error)) return error;
  Allocation memory;
  if (!registry_find(pointer, &memory)) {
    return fail(infinirtErrorInvalidValue,
                "devPtr %p is not allocated: it was freed already or never was memory of this runtime", pointer);
  }
  auto* pool = static_cast<MemPool*>(memory.kind == MemoryKind::Pool ? memory.owner : nullptr);
  if (pool && !pool->imported) {
    const FreeResult result = free_in(*pool, pointer, stream);
    if (result != FreeResult::ok) return free_failed(*pool, pointer, result);
    note_free(*pool);
    return infinirtSuccess;
  }
  if (!pool && memory.kind != MemoryKind::Device) {
    return fail(infinirtErrorInvalidValue, "devPtr %p is %s", pointer, function_that_frees(memory.kind));
  }
  if (memory.base != reinterpret_cast<uintptr_t>(pointer)) {
    return fail(infinirtErrorInvalidValue,
                "devPtr %p lies inside the allocation at %p (%zu bytes); free the address that the "
                "allocation returned",
                pointer, reinterpret_cast<void*>(memory.base), memory.size);
  }
  if (!pool) {
    auto& engine = *static_cast<Engine*>(memory.backend->engine);
    if ((error = engine.verify_memory(memory.device, pointer))) return error;
  }
  return release_in_order(memory, pool, stream);
}

}  // namespace

infinirtError_t pool_allocate(MemPool& pool, Stream& stream, size_t size, void** out) {
  if (pool.imported) [[unlikely]] {
    return fail(infinirtErrorInvalidValue,
                "memPool was imported from another process; memory is allocated by the process that "
                "made it, and imported with infinirtMemPoolImportPointer");
  }
  void* pointer = nullptr;
  const Status status = pool.allocator.allocate(size, key_of(stream), &pointer);
  if (status != kStatusOk) [[unlikely]] {
    const infinirtError_t error = allocate_under_pressure(pool, stream, size, &pointer, status);
    if (error != infinirtSuccess) return error;
  }
  if (pool.state.load(std::memory_order_relaxed) != MemPool::State::Alive) [[unlikely]] {
    pool.allocator.free(pointer, kHostKey, {});
    return fail(infinirtErrorInvalidValue, "the pool was destroyed by another thread during this call");
  }
  *out = pointer;
  return infinirtSuccess;
}

infinirtError_t pool_free(void* pointer, Stream& stream) {
  MemPool* pool = stream.device->current_pool.load(std::memory_order_acquire);
  const FreeResult result = pool ? free_in(*pool, pointer, stream) : FreeResult::not_ours;
  if (result == FreeResult::ok) [[likely]] {
    note_free(*pool);
    return infinirtSuccess;
  }
  return result == FreeResult::not_ours ? free_elsewhere(pointer, stream) : free_failed(*pool, pointer, result);
}

infinirtError_t pool_free_sync(void* pointer) {
  Allocation memory;
  if (!registry_find(pointer, &memory) || memory.kind != MemoryKind::Pool || !memory.owner) {
    return fail(infinirtErrorInvalidValue, "devPtr %p is not memory of a pool", pointer);
  }
  auto& pool = *static_cast<MemPool*>(memory.owner);
  if (pool.imported) return release_in_order(memory, &pool, *pool.device->legacy);
  const FreeResult result = pool.allocator.free(pointer, kHostKey, {});
  if (result != FreeResult::ok) return free_failed(pool, pointer, result);
  note_free(pool);
  return infinirtSuccess;
}

}  // namespace infinirt
