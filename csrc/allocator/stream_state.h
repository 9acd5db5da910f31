// Slabs, and what one stream has a claim on. The rules about locks stand in large_block.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "allocator/free_index.h"
#include "allocator/large_block.h"
#include "allocator/short_lock.h"
#include "allocator/stream_order.h"

namespace infinirt::caching {

struct Shard;

enum class Slot : uint8_t { free, live, pending };
inline constexpr uint16_t kNoSlot = 0xffff;

// One block of a slab. Sixteen bytes: the smallest block has 512.
struct SlotRecord {
  uint64_t point;      // free: of the owner's timeline; live: id of the allocation's stream
  uint16_t next;       // free: the next free slot
  uint16_t requested;  // live: bytes asked for, less one
  Slot state;
  bool has_uses;
};

// Owner's shard lock, except `owner` itself, which readers check again under the lock. The records follow in memory: a free of
// any of a million blocks should miss the cache as rarely as possible.
struct alignas(64) Slab {
  std::atomic<StreamState*> owner{nullptr};
  char* base = nullptr;
  LargeBlock* span = nullptr;
  uint64_t point = kAlwaysPassed;  // latest of its frees and of the memory it was cut from
  uint16_t free_head = kNoSlot;
  uint16_t untouched = 0;  // slots from here on have never been handed out
  uint16_t in_use = 0;     // live and pending slots
  uint8_t class_index = 0;
  bool listed = false;  // in the owner's list of slabs with room
  Slab *prev = nullptr, *next = nullptr;

  const SizeClass& size_class() const { return kSizeClasses[class_index]; }
  SlotRecord* records() { return reinterpret_cast<SlotRecord*>(this + 1); }
  const SlotRecord* records() const { return reinterpret_cast<const SlotRecord*>(this + 1); }
  bool has_room() const { return free_head != kNoSlot || untouched < size_class().count; }
};
static_assert(sizeof(Slab) == 64);

// A freed block that other streams may still be using.
struct PendingFree {
  PendingFree* next = nullptr;
  Slab* slab = nullptr;  // with `slot`, or
  LargeBlock* block = nullptr;
  uint16_t slot = 0;
  uint64_t own_point = kAlwaysPassed;  // of the owner's timeline, when it was freed there
  std::vector<Fence> fences;           // each retained
};

inline constexpr unsigned kQuickLists = 64;
inline constexpr unsigned kQuickBlocks = 64;

// What one stream (or one stream within one pin) has a claim on. Shard lock, unless said otherwise.
struct StreamState {
  uint64_t id = kNoStream.id;
  uint64_t pin = 0;
  Shard* shard = nullptr;  // fixed
  std::atomic<bool> pinned{false};  // its memory is for itself only
  std::atomic<bool> retired{false};  // no allocation comes through it any more
  std::atomic<bool> gone{false};    // its stream no longer exists; `last_point` is final
  uint64_t last_point = kAlwaysPassed;
  std::atomic<void*> timeline{nullptr};  // of its stream; retained once set
  unsigned busy = 0;                     // threads working on it outside the lock
  std::atomic<size_t> attached{0};       // slabs and large blocks that name it as owner

  Slab* with_room[kClasses] = {};
  LargeBlock* quick[kQuickLists] = {};
  unsigned quick_count = 0;
  PendingFree* pending_first = nullptr;
  PendingFree* pending_last = nullptr;
  size_t pending_count = 0;

  // Heap lock.
  FreeIndex index;
  LargeBlock *oldest = nullptr, *youngest = nullptr;
  StreamState *heap_prev = nullptr, *heap_next = nullptr;

  StreamKey key() const { return {id}; }
};

struct StateKey {
  uint64_t stream, pin;
  friend bool operator==(const StateKey&, const StateKey&) = default;
};
struct StateKeyHash {
  size_t operator()(const StateKey& key) const { return (key.stream * 0x9e3779b97f4a7c15u) ^ (key.pin << 17); }
};

// Counters are written under the lock and read without.
struct Counter {
  std::atomic<int64_t> value{0};
  void add(int64_t n) { value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
  int64_t get() const { return value.load(std::memory_order_relaxed); }
  void set(int64_t n) { value.store(n, std::memory_order_relaxed); }
};

struct alignas(128) Shard {
  ShortLock lock;
  StreamState* latest = nullptr;  // the warm path's guess; never null, never pinned
  // Signed, because a block may be freed through another shard than it was allocated through.
  Counter used, allowance, requested, allocations, frees;
  std::unordered_map<StateKey, StreamState*, StateKeyHash> states;
  std::unordered_map<const void*, std::vector<Fence>> uses;  // recorded for live blocks; each fence retained
  std::vector<StreamState*> spare;
};

}  // namespace infinirt::caching
