// From an address to the segment that holds it. Readers take no lock: two loads.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "allocator/size_classes.h"

namespace infinirt::caching {

struct Segment;

class PageMap {
 public:
  static constexpr unsigned kAddressBits = 52;

  PageMap() : root_(static_cast<Slot*>(std::calloc(kRootSize, sizeof(Slot)))) {}
  ~PageMap() {
    for (size_t i = first_leaf_; i < end_leaf_; ++i) std::free(root_[i].load(std::memory_order_relaxed));
    std::free(root_);
  }
  PageMap(const PageMap&) = delete;
  PageMap& operator=(const PageMap&) = delete;

  Segment* find(const void* ptr) const noexcept {
    uintptr_t address = reinterpret_cast<uintptr_t>(ptr);
    if (address >> kAddressBits) [[unlikely]]
      return nullptr;
    size_t chunk = address >> kChunkBits;
    Entry* leaf = root_[chunk >> kLeafBits].load(std::memory_order_acquire);
    if (!leaf) [[unlikely]]
      return nullptr;
    return leaf[chunk & (kLeafSize - 1)].load(std::memory_order_acquire);
  }

  // Writers are serialised by the caller. False: no host memory, or an address we cannot map; nothing has changed then.
  bool set(const void* base, size_t bytes, Segment* segment) noexcept {
    uintptr_t first = reinterpret_cast<uintptr_t>(base) >> kChunkBits, count = bytes >> kChunkBits;
    if (!root_ || (first + count) >> (kAddressBits - kChunkBits)) return false;
    for (uintptr_t leaf = first >> kLeafBits; leaf <= (first + count - 1) >> kLeafBits; ++leaf) {
      if (root_[leaf].load(std::memory_order_relaxed)) continue;
      void* made = std::calloc(kLeafSize, sizeof(Entry));
      if (!made) return false;
      root_[leaf].store(static_cast<Entry*>(made), std::memory_order_release);
      if (leaf < first_leaf_) first_leaf_ = leaf;
      if (leaf >= end_leaf_) end_leaf_ = leaf + 1;
    }
    for (uintptr_t chunk = first; chunk < first + count; ++chunk)
      root_[chunk >> kLeafBits].load(std::memory_order_relaxed)[chunk & (kLeafSize - 1)].store(
          segment, std::memory_order_release);
    return true;
  }

 private:
  using Entry = std::atomic<Segment*>;
  using Slot = std::atomic<Entry*>;
  static constexpr unsigned kLeafBits = 14;
  static constexpr size_t kLeafSize = size_t{1} << kLeafBits;
  static constexpr size_t kRootSize = size_t{1} << (kAddressBits - kChunkBits - kLeafBits);
  static_assert(sizeof(Entry) == sizeof(void*) && Entry::is_always_lock_free);

  size_t first_leaf_ = kRootSize,
         end_leaf_ = 0;  // between them are all leaves, so that the destructor need not read a MiB
  Slot* root_;  // 1 MiB of zero pages; the system only backs those that are used
};

}  // namespace infinirt::caching
