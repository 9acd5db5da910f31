// Addresses for device memory that has none which could be shown: unique in the process, and reachable by nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace infinirt {

// A reserved part of the address space. Not synchronised.
class AddressRange {
 public:
  // Null when there is no room, or no part of the address space could be reserved.
  void* take(size_t bytes);
  void give(void* address, size_t bytes);
  bool contains(const void* address) const { return reinterpret_cast<uintptr_t>(address) - begin_ < end_ - begin_; }

 private:
  static constexpr size_t kMostBytes = size_t{1} << 40, kLeastBytes = size_t{1} << 34;
  bool reserve();

  uintptr_t begin_ = 0, end_ = 0;
  std::map<uintptr_t, size_t> free_;  // address → bytes, never adjacent
};

}  // namespace infinirt
