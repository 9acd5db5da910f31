// The pointer registry: from an address to the allocation it lies in, whoever made it.
//
// Lookups are lock-free and cost tens of nanoseconds; changes take a lock. Pools register their segments, not their
// blocks: an owner with `resolve_block` narrows an address down further. A miss is no error.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/hot_state.h"

namespace infinirt {

struct Backend;

enum class MemoryKind : uint8_t {
  Device,      // infinirtMalloc and friends
  Pinned,      // infinirtMallocHost, infinirtHostAlloc
  Registered,  // infinirtHostRegister: the memory is the user's
  Managed,     // infinirtMallocManaged
  Pool,        // a segment of a memory pool
  Imported,    // opened from another process
};

struct Allocation {
  uintptr_t base = 0;
  size_t size = 0;
  MemoryKind kind = MemoryKind::Device;
  int device = 0;
  unsigned flags = 0;               // as given to the allocating call
  const Backend* backend = nullptr;
  void* owner = nullptr;            // the pool of a segment; backend-private otherwise
};

// Adds an allocation. False when it overlaps one that is there, is empty or no range at all, or cannot be noted for want
// of memory.
bool registry_insert(const Allocation& allocation);

// Removes the allocation that starts at `base` and copies it out. False when there is none.
bool registry_remove(const void* base, Allocation* removed);

// The allocation that `pointer` lies in (base <= pointer < base + size), copied out. False when there is none.
bool registry_find(const void* pointer, Allocation* found);

// Changes the entry at `base` under the registry's lock (kind, flags or owner; never base and size).
bool registry_update(const void* base, void (*change)(Allocation&, void*), void* context);

// False: the address is in no allocation. Costs next to nothing, for addresses that are most likely somebody else's.
inline bool registry_may_hold(const void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  return address >= g_hot.registered.begin.load(std::memory_order_relaxed) &&
         address < g_hot.registered.end.load(std::memory_order_relaxed);
}

// Only the owner: null for memory the runtime does not know.
const Backend* registry_owner(const void* pointer);

// Visits every allocation of a backend (null: all), in address order, under the registry's lock: the visitor must not
// call back into the registry.
void registry_for_each(const Backend* backend, void (*visit)(const Allocation&, void*), void* context);

void registry_lock_for_fork();
void registry_unlock_after_fork();

}  // namespace infinirt
