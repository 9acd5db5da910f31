// Which addresses of a plugin's memory can be shown, and which need a substitute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "engine/address_range.h"

namespace infinirt::plugin {

// Ranges of addresses that were device memory once, and that the host could not read then.
class SeenAddresses {
 public:
  void add(uintptr_t begin, size_t bytes);
  bool contains(uintptr_t address) const;

 private:
  std::map<uintptr_t, uintptr_t> ranges_;  // begin → end, neither touching nor overlapping
};

// Whether the host may read the byte. The kernel answers; no signal is involved.
bool host_can_read(const void* address);

}  // namespace infinirt::plugin
