// Ranges of address space that are reserved once, and the spans inside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace infinirt::cpu {

inline constexpr size_t kPage = 4096;
inline constexpr size_t kHugePage = size_t{2} << 20;

constexpr size_t round_up(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// Address space without memory behind it, 2 MiB aligned. Never unmapped.
struct ReservedRange {
  uintptr_t base = 0;
  size_t size = 0;  // 0: nothing could be reserved
  bool contains(const void* pointer) const { return reinterpret_cast<uintptr_t>(pointer) - base < size; }
};

// Reserves as much as can be had, from `wanted` down by halves to `least`.
ReservedRange reserve_range(size_t wanted, size_t least);

// What reserve_range may ask for: 4 TiB, less under an address-space limit and under tools that shadow every address.
size_t generous_reservation();

// Hands out spans of [begin, end): best fit, neighbours coalesced, O(log n). Touches no memory. Not synchronised.
class SpanAllocator {
 public:
  SpanAllocator(uintptr_t begin, uintptr_t end);

  // 0 when there is no room. `size` is a multiple of the zone's granularity, `alignment` a power of two.
  uintptr_t take(size_t size, size_t alignment);
  void give(uintptr_t base, size_t size);

  // Nothing at or above this address has ever been handed out.
  uintptr_t highest() const { return highest_; }
  size_t free_spans() const { return by_address_.size(); }

  template <class Visit>
  void for_each_free(Visit&& visit) const {
    for (const auto& [base, size] : by_address_) visit(base, size);
  }

 private:
  using BySize = std::set<std::pair<size_t, uintptr_t>>;
  void add(uintptr_t base, size_t size);
  void remove(uintptr_t base, size_t size);
  uintptr_t cut(BySize::iterator block, size_t size, size_t alignment);

  std::map<uintptr_t, size_t> by_address_;
  BySize by_size_;
  uintptr_t highest_;
};

}  // namespace infinirt::cpu
