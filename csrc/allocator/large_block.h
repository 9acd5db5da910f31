// Segments, and the large blocks they are divided into.
//
// Two kinds of locks guard the bookkeeping: one per shard (a stream belongs to one shard), and the heap's. A shard's lock may
// be held when the heap's is taken, never the other way round, and never two shards' at once. Descriptors are recycled
// but never freed before the allocator is, so that a lookup without a lock always finds memory that it may look at, and
// then makes sure under the lock that it found what it was looking for.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/size_classes.h"

namespace infinirt::caching {

struct LargeBlock;
struct StreamState;

// Values of a stream's own timeline, with two special ones.
inline constexpr uint64_t kAlwaysPassed = 0;
inline constexpr uint64_t kUnknownPoint = ~uint64_t{0};  // whatever the stream's last point is when somebody asks

// What a granule of a segment holds: 0 inside a large block, the block at its first granule, the slab (+1) in all of its own.
using GranuleEntry = std::atomic<uintptr_t>;

struct Segment {
  std::atomic<char*> base{nullptr};
  size_t bytes = 0;
  size_t capacity = 0;  // granules that `entries` has room for; fixed
  GranuleEntry* entries = nullptr;
  LargeBlock* first = nullptr;  // in address order; heap lock
  Segment* prev = nullptr;  // mapped segments; heap lock
  Segment* next = nullptr;

  GranuleEntry* entry(const void* ptr) {
    size_t index =
        static_cast<size_t>(static_cast<const char*>(ptr) - base.load(std::memory_order_relaxed)) >> kGranuleBits;
    return index < capacity ? entries + index : nullptr;
  }
};

enum class Where : uint8_t {
  heap,  // free, in an index of the heap; heap lock
  moving,  // taken out of the heap by a thread that is busy with it
  live,  // handed out; from here on the owner's shard lock
  quick,  // free, in the owner's quick lists
  pending,  // freed, waiting for fences
  slab,  // cut up
};

struct alignas(64) LargeBlock {
  Segment* segment = nullptr;
  char* base = nullptr;
  size_t size = 0;
  size_t requested = 0;
  std::atomic<StreamState*> owner{nullptr};  // null: nobody's
  std::atomic<Where> where{Where::moving};
  bool has_uses = false;
  uint64_t point = kAlwaysPassed;  // of the owner's timeline: when it was freed
  LargeBlock *before = nullptr, *after = nullptr;  // in the segment; heap lock
  LargeBlock *prev = nullptr, *next = nullptr;  // in an index or a quick list
  LargeBlock *older = nullptr, *younger = nullptr;  // the owner's blocks in the heap, by time of the free; heap lock
};

}  // namespace infinirt::caching
