// Addresses for device memory whose own address cannot be shown: unique in the process, and reachable by nobody.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace infinirt::plugin {

// A reserved part of the address space. Not synchronised.
class AddressRange {
 public:
  // Null when there is no room, or no part of the address space could be reserved.
  void* take(size_t bytes);
  void give(void* address, size_t bytes);
  bool contains(const void* address) const { return reinterpret_cast<uintptr_t>(address) - begin_ < end_ - begin_; }

 private:
  static constexpr size_t kBytes = size_t{1} << 40;
  bool reserve();

  uintptr_t begin_ = 0, end_ = 0;
  std::map<uintptr_t, size_t> free_;  // address → bytes, never adjacent
};

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
