// Free blocks by size: sixteen lists per power of two and a bitmap over them, so that finding, adding and removing cost
// the same for ten blocks and for a million.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "allocator/large_block.h"

namespace infinirt::caching {

class FreeIndex {
 public:
  void add(LargeBlock* block) noexcept;
  void remove(LargeBlock* block) noexcept;
  // The best fit: the smallest of at least `size` bytes, searched among at most `budget` blocks of the list that `size` itself
  // belongs to (whose blocks may all be too small), and then among as many of the first list that always fits.
  LargeBlock* find(size_t size, unsigned budget) const noexcept;
  // Calls visit(block) for blocks of at least `size` bytes, roughly from small to large, until it returns true; gives that
  // block, or null. At most `budget` blocks are visited.
  template <class Visit>
  LargeBlock* search(size_t size, unsigned budget, Visit visit) const noexcept;
  size_t largest() const noexcept;
  bool empty() const noexcept { return levels_ == 0; }

 private:
  static constexpr unsigned kLevels = 35;
  static unsigned list_of(size_t size) noexcept;
  // The first list at or after `list` that is not empty; kLevels * 16 when there is none.
  unsigned next_list(unsigned list) const noexcept;

  uint64_t levels_ = 0;  // which levels have a list that is not empty
  std::array<uint16_t, kLevels> lists_{};
  std::array<LargeBlock*, kLevels * 16> heads_{};
};

template <class Visit>
LargeBlock* FreeIndex::search(size_t size, unsigned budget, Visit visit) const noexcept {
  for (unsigned list = next_list(list_of(size)); list < kLevels * 16; list = next_list(list + 1)) {
    for (LargeBlock* block = heads_[list]; block; block = block->next) {
      if (block->size < size) continue;
      if (budget-- == 0) return nullptr;
      if (visit(block)) return block;
    }
  }
  return nullptr;
}

}  // namespace infinirt::caching
