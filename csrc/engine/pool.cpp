#include "engine/pool.h"

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>

#include "engine/graph_memory.h"
#include "engine/ipc.h"
#include "engine/pool_order.h"

namespace infinirt {

namespace {

// Every pool ever made. Lock order: `creation`, then `mutex`, then a pool's own, then the allocator's.
struct PoolList {
  Mutex creation;  // only one default pool per device
  Mutex mutex;
  std::vector<MemPool*> all;
};

PoolList& pool_list() {
  static auto* list = new PoolList;
  return *list;
}

// The pools of a device (null: of all), destroyed ones that still hold memory included. They may be recycled meanwhile,
// which is no harm: whatever is done to all pools can be done to any.
std::vector<MemPool*> pools_of(const EngineDevice* device) {
  auto& list = pool_list();
  std::lock_guard guard(list.mutex);
  std::vector<MemPool*> pools;
  for (MemPool* pool : list.all) {
    if (pool->state.load(std::memory_order_relaxed) == MemPool::State::Unused) continue;
    if (!device || pool->device == device) pools.push_back(pool);
  }
  return pools;
}

const struct infinirtMemPoolProps kDefaultProperties = {.allocType = infinirtMemAllocationTypePinned,
                                                        .handleTypes = infinirtMemHandleTypeNone,
                                                        .location = {infinirtMemLocationTypeDevice, 0},
                                                        .win32SecurityAttributes = nullptr,
                                                        .maxSize = 0,
                                                        .usage = 0,
                                                        .reserved = {}};

constexpr size_t kSegmentUnit = size_t{2} << 20;

// Gives the pool the settings of a new one. Under the list's mutex; nobody has its handle yet.
void reset_pool(MemPool& pool, EngineDevice& device, const struct infinirtMemPoolProps& properties, bool imported,
                const SegmentSizes& sizes) {
  pool.device = &device;
  pool.properties = properties;
  pool.imported = imported;
  pool.access.assign(device.engine->devices.size(), infinirtMemAccessFlagsProtNone);
  pool.access[static_cast<size_t>(device.ordinal)] = infinirtMemAccessFlagsProtReadWrite;
  pool.file = -1;
  pool.token = 0;
  pool.file_end = 0;
  pool.imported_blocks = pool.imported_in_use = 0;
  for (auto policy : {ReusePolicy::follow_event_dependencies, ReusePolicy::allow_opportunistic,
                      ReusePolicy::allow_internal_dependencies}) {
    pool.allocator.set_policy(policy, true);
  }
  pool.allocator.set_release_threshold(0);
  pool.allocator.set_segment_sizes(sizes);
  // Upwards, as the real runtime does it (there to 32 MiB): a pool that may not hold one segment would be of no use.
  const size_t rounded = (properties.maxSize + kSegmentUnit - 1) / kSegmentUnit * kSegmentUnit;
  pool.allocator.set_limit(rounded);
  pool.allocator.reset_used_high();
  pool.allocator.reset_reserved_high();
}

}  // namespace

bool bury_pool(MemPool& pool) {
  std::lock_guard guard(pool_list().mutex);
  if (pool.state.load(std::memory_order_relaxed) != MemPool::State::Dying) return true;
  pool.allocator.trim_to(0);
  std::lock_guard pool_guard(pool.mutex);
  if (pool.imported_blocks != 0 || !pool.mapped.empty()) return false;
  if (pool.file >= 0) close(pool.file);
  pool.file = -1;
  pool.state.store(MemPool::State::Unused, std::memory_order_release);
  return true;
}

MemPool::MemPool() : allocator(segments, timeline_order()) {}

MemPool* resolve_pool(infinirtMemPool_t handle, const char* argument) {
  if (auto* pool = handle_resolve<MemPool>(handle, HandleKind::MemPool)) return pool;
  char text[160];
  fail(infinirtErrorInvalidValue, "%s %s", argument, describe_handle(handle, HandleKind::MemPool, text, sizeof text));
  return nullptr;
}

MemPool* create_pool(EngineDevice& device, const struct infinirtMemPoolProps& properties, bool imported) {
  const SegmentSizes sizes = device.engine->segment_sizes(device.ordinal);  // asks the backend: before any lock
  auto& list = pool_list();
  std::lock_guard guard(list.mutex);
  MemPool* pool = nullptr;
  for (MemPool* candidate : list.all) {
    if (candidate->state.load(std::memory_order_relaxed) == MemPool::State::Unused) pool = candidate;
  }
  if (!pool) {
    pool = new MemPool;
    list.all.push_back(pool);
  }
  {
    std::lock_guard pool_guard(pool->mutex);
    reset_pool(*pool, device, properties, imported, sizes);
  }
  if (pool->shareable() && !imported && open_pool_file(*pool) != infinirtSuccess) return nullptr;
  pool->handle = static_cast<infinirtMemPool_t>(handle_create(HandleKind::MemPool, device.engine->backend.index, pool));
  if (!pool->handle) {
    if (pool->file >= 0) close(pool->file);
    fail(infinirtErrorMemoryAllocation, "no room for another handle: 16 million objects are alive");
    return nullptr;
  }
  pool->state.store(MemPool::State::Alive, std::memory_order_release);
  return pool;
}

MemPool* default_pool(EngineDevice& device) {
  if (MemPool* pool = device.default_pool.load(std::memory_order_acquire)) return pool;
  std::lock_guard guard(pool_list().creation);
  if (MemPool* pool = device.default_pool.load(std::memory_order_acquire)) return pool;
  struct infinirtMemPoolProps properties = kDefaultProperties;
  properties.location.id = device.ordinal;
  MemPool* pool = create_pool(device, properties, false);
  device.default_pool.store(pool, std::memory_order_release);
  return pool;
}

MemPool* current_pool(EngineDevice& device) {
  if (MemPool* pool = device.current_pool.load(std::memory_order_acquire)) [[likely]]
    return pool;
  MemPool* pool = default_pool(device);
  MemPool* expected = nullptr;
  return pool && !device.current_pool.compare_exchange_strong(expected, pool) ? expected : pool;
}

void destroy_pool(MemPool& pool) {
  auto expected = MemPool::State::Alive;
  if (!pool.state.compare_exchange_strong(expected, MemPool::State::Dying)) return;
  handle_destroy(pool.handle);
  EngineDevice& device = *pool.device;
  MemPool* current = &pool;
  device.current_pool.compare_exchange_strong(current, default_pool(device));
  if (!bury_pool(pool)) device.pools_freed.store(true, std::memory_order_relaxed);
}

void imported_block_added(MemPool& pool) {
  std::lock_guard guard(pool.mutex);
  ++pool.imported_blocks;
  ++pool.imported_in_use;
}

void imported_block_freed(MemPool& pool, bool freed) {
  std::lock_guard guard(pool.mutex);
  freed ? --pool.imported_in_use : ++pool.imported_in_use;
}

size_t imported_blocks_in_use(MemPool& pool) {
  std::lock_guard guard(pool.mutex);
  return pool.imported_in_use;
}

void imported_block_gone(MemPool& pool) {
  {
    std::lock_guard guard(pool.mutex);
    --pool.imported_blocks;
  }
  bury_pool(pool);
}

bool pool_block_bounds(void* pool_owner, const void* pointer, uintptr_t* base, size_t* size, bool* live) {
  auto* pool = static_cast<MemPool*>(pool_owner);
  if (!pool) return false;
  if (pool->imported) {  // registered block by block
    Allocation found;
    if (!registry_find(pointer, &found)) return false;
    *base = found.base;
    *size = found.size;
    *live = true;
    return true;
  }
  BlockInfo block;
  if (!pool->allocator.block_info(pointer, &block)) return false;
  *live = block.state == BlockState::live;
  *base = reinterpret_cast<uintptr_t>(block.base);
  *size = *live ? block.requested : block.size;
  return true;
}

void pools_after_synchronize(EngineDevice& device) {
  if (!device.pools_freed.load(std::memory_order_relaxed)) [[likely]]
    return;
  device.pools_freed.store(false, std::memory_order_relaxed);
  bool left = false;
  for (MemPool* pool : pools_of(&device)) {
    if (pool->state.load(std::memory_order_relaxed) == MemPool::State::Dying) {
      left |= !bury_pool(*pool);
      continue;
    }
    pool->allocator.trim_to_threshold();
    const AllocatorStats stats = pool->allocator.stats();
    left |= stats.reserved_current > std::max(pool->allocator.release_threshold(), stats.used_current);
  }
  if (!left) return;
  // What is left is either in use, in part, or freed by work that has not finished: only then is it worth another try.
  bool busy = !device.legacy->idle();
  if (!busy) {
    std::lock_guard guard(device.mutex);
    busy = std::any_of(device.streams.begin(), device.streams.end(), [](const Stream* s) { return !s->idle(); });
  }
  if (busy) device.pools_freed.store(true, std::memory_order_relaxed);
}

void pools_stream_retired(Stream& stream) {
  for (MemPool* pool : pools_of(nullptr)) pool->allocator.retire_stream(key_of(stream));
}

void trim_pools(EngineDevice& device) {
  for (MemPool* pool : pools_of(&device)) pool->allocator.trim_to(0);
}

size_t free_bytes_of_pools(EngineDevice& device) {
  size_t bytes = 0;
  for (MemPool* pool : pools_of(&device)) {
    const AllocatorStats stats = pool->allocator.stats();
    bytes += stats.reserved_current - std::min(stats.used_current, stats.reserved_current);
  }
  return bytes;
}

void pools_prepare_fork() {
  auto& list = pool_list();
  list.creation.lock();
  list.mutex.lock();
  for (MemPool* pool : list.all) pool->mutex.lock();
  for (MemPool* pool : list.all) pool->allocator.prepare_fork();
}

void pools_after_fork_parent() {
  auto& list = pool_list();
  for (MemPool* pool : list.all) pool->allocator.after_fork_parent();
  for (MemPool* pool : list.all) pool->mutex.unlock();
  list.mutex.unlock();
  list.creation.unlock();
}

void pools_after_fork_child() {
  auto& list = pool_list();
  for (MemPool* pool : list.all) {
    pool->allocator.after_fork_child();
    if (pool->file >= 0 && !pool->imported) {  // the file is the parent's; what comes now is private
      close(pool->file);
      pool->file = -1;
      pool->properties.handleTypes = infinirtMemHandleTypeNone;
    }
    pool->mutex.reset_after_fork();
  }
  list.mutex.reset_after_fork();
  list.creation.reset_after_fork();
}

}  // namespace infinirt
