// Stream-ordered memory: pools of device memory whose blocks change hands in the streams' orders.
//
// A pool is a caching allocator over segments of the engine's memory. Its fences are points on timelines, which live for
// ever, so a freed block is two numbers and nothing else. Pool objects are recycled and never unmapped, their allocators
// with them: a thread that still uses a pool while another destroys it meets an empty allocator, not freed memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "allocator/caching_allocator.h"
#include "core/handle.h"
#include "core/mutex.h"
#include "engine/engine.h"
#include "engine/stream.h"

namespace infinirt {

// Segments of one pool: memory of the engine, known to the pointer registry.
class PoolSegments final : public SegmentSource {
 public:
  explicit PoolSegments(MemPool& pool) : pool_(pool) {}
  Status map(size_t bytes, size_t alignment, void** base) noexcept override;
  void unmap(void* base, size_t bytes) noexcept override;

 private:
  MemPool& pool_;
};

struct MemPool {
  enum class State : uint8_t {
    Unused,  // waits to be recycled
    Alive,
    Dying,  // destroyed by the program; goes when its last block has been freed and its memory given back
  };

  MemPool();

  // --- fixed from creation to recycling
  EngineDevice* device = nullptr;
  infinirtMemPool_t handle = nullptr;
  struct infinirtMemPoolProps properties = {};
  bool imported = false;  // made from another process's handle: nothing can be allocated from it

  std::atomic<State> state{State::Unused};

  // --- under `mutex`
  Mutex mutex;
  std::vector<enum infinirtMemAccessFlags> access;  // by device
  // A pool that can be shared: the file its segments lie in, which of them is where, and where the next one goes. Places
  // in the file are not used twice, so a pointer exported earlier can never mean another segment. Importers keep the file.
  int file = -1;
  uint64_t token = 0;  // also in the file's first page
  size_t file_end = 0;
  struct Segment {
    void* memory;  // what the engine gave; the segment is the aligned part of it
    size_t size;
    size_t offset;  // of that memory in the file
  };
  std::map<uintptr_t, Segment> mapped;
  size_t imported_blocks = 0;  // mapped here
  size_t imported_in_use = 0;  // of these, not freed by the program yet

  PoolSegments segments{*this};
  CachingAllocator allocator;

  bool shareable() const { return properties.handleTypes == infinirtMemHandleTypePosixFileDescriptor; }
};

// ---- pools and devices

// Null with a message (infinirtErrorInvalidValue).
MemPool* resolve_pool(infinirtMemPool_t handle, const char* argument);

// The pool that a new block of the device comes from, and the one it falls back to. Null with a message when there is no
// room for another handle.
MemPool* current_pool(EngineDevice& device);
MemPool* default_pool(EngineDevice& device);

// A fresh pool; the properties have been checked. Null with a message.
MemPool* create_pool(EngineDevice& device, const struct infinirtMemPoolProps& properties, bool imported);
// The handle is gone when this returns; the memory goes when it is free.
void destroy_pool(MemPool& pool);
// Recycles a destroyed pool once nothing is left of it. False: there is still something.
bool bury_pool(MemPool& pool);

// Gives a shareable pool its file. Segments follow the first page, aligned as they are in memory.
infinirtError_t open_pool_file(MemPool& pool);
inline constexpr size_t kPoolFileStart = size_t{2} << 20;

// ---- blocks

// Allocates in the stream's order. When the device is full, other pools are trimmed, then frees that are under way are
// waited for; if that does not help either, MemoryAllocation with a message, and nothing has changed.
infinirtError_t pool_allocate(MemPool& pool, Stream& stream, size_t size, void** out);

// Frees in the stream's order; `pointer` is not null. InvalidValue with a message unless a live block starts there.
infinirtError_t pool_free(void* pointer, Stream& stream);

// infinirtFree on memory of a pool: waits for nothing, and takes all use of it for finished.
infinirtError_t pool_free_sync(void* pointer);

// The block that an address in a segment (registry kind Pool, with this owner) lies in. False when there is none.
bool pool_block_bounds(void* pool_owner, const void* pointer, uintptr_t* base, size_t* size, bool* live);

// A block of an imported pool is mapped, was freed by the program (or was not, after all), or is gone again.
void imported_block_added(MemPool& pool);
void imported_block_freed(MemPool& pool, bool freed);
void imported_block_gone(MemPool& pool);
size_t imported_blocks_in_use(MemPool& pool);

// ---- for the functions that synchronise, destroy streams and fork

// Gives memory above the release thresholds back. A relaxed load when nothing was freed.
void pools_after_synchronize(EngineDevice& device);

// When memory is short: gives all cached memory back, and says how much of what pools hold is not in use.
void trim_pools(EngineDevice& device);
size_t free_bytes_of_pools(EngineDevice& device);

// The stream has drained and will be used for something else: pools forget it.
void pools_stream_retired(Stream& stream);

// Around fork. Pools ask streams about their order under locks of their own, so these locks come before the devices'.
void pools_prepare_fork();
void pools_after_fork_parent();
void pools_after_fork_child();

}  // namespace infinirt
