// What a program has said about its managed memory: advice and prefetches. On engine-run devices host and device
// share the memory itself, so none of it moves data; all of it is reported back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "infinirt.h"

namespace infinirt {

struct MemoryLocation {
  int type = infinirtMemLocationTypeInvalid;  // infinirtMemLocationType
  int id = infinirtInvalidDeviceId;
  bool operator==(const MemoryLocation&) const = default;
};

struct ManagedState {
  bool read_mostly = false;
  MemoryLocation preferred, last_prefetch;
  std::vector<int> accessed_by;  // devices, and infinirtCpuDeviceId for the host, in the order of the advice
  bool operator==(const ManagedState&) const = default;
};

void managed_create(uintptr_t base, size_t size);
void managed_forget(uintptr_t base);

// Calls change(state) for the pages of [first, first + size), which lies in the allocation at `base`.
void managed_change(uintptr_t base, uintptr_t first, size_t size, void (*change)(ManagedState&, void*), void* context);

// The states of the range's parts, each different from the one before.
std::vector<ManagedState> managed_states(uintptr_t base, uintptr_t first, size_t size);

}  // namespace infinirt
