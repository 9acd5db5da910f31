// The inside of the caching allocator, divided over the source files by what happens how often:
//   caching_allocator.cpp  the public functions and the warm path
//   free_path.cpp          a stream's lists; frees that have to wait
//   slow_path.cpp          where a block comes from when the stream has none
//   stealing.cpp           single blocks that other streams do not need any more
//   waiting.cpp            the last resort: making the stream wait for others
//   lifetime.cpp           streams that come and go, trimming, pins, fork
//   introspection.cpp      statistics, snapshots, reports
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/heap.h"

namespace infinirt {

using namespace caching;  // NOLINT: internal header

struct CachingAllocator::Impl {
  using Guard = std::lock_guard<ShortLock>;
  static constexpr unsigned kShards = 32;

  struct Request {
    size_t size;                 // asked for
    size_t bytes;                // of the large block, or of the slab, that would serve it
    const SizeClass* small;      // null: a large block
    unsigned class_index;
    StreamKey stream;
    StreamState* state;
  };

  struct Pin {
    uint64_t id;
    const void* thread;  // null: the pin is for a stream
    StreamKey stream;
    bool open;
    bool released;
    Fence last_use;
  };

  Impl(SegmentSource& source, StreamOrder& order, const AllocatorOptions& options);
  ~Impl();

  Shard& shard_of(StreamKey stream) {
    uint64_t id = stream.id;
    return shards[(id ^ id >> 5 ^ id >> 10) % kShards];
  }

  // ---- slots of slabs; the owner's shard lock is held
  static void list(StreamState* state, Slab* slab) noexcept {
    Slab*& head = state->with_room[slab->class_index];
    slab->prev = nullptr;
    slab->next = head;
    if (head) head->prev = slab;
    head = slab;
    slab->listed = true;
  }
  static void unlist(StreamState* state, Slab* slab) noexcept {
    (slab->prev ? slab->prev->next : state->with_room[slab->class_index]) = slab->next;
    if (slab->next) slab->next->prev = slab->prev;
    slab->prev = slab->next = nullptr;
    slab->listed = false;
  }
  // Marks a slot that is in no list of free slots as handed out.
  static void* hand_out(Slab* slab, uint16_t slot, size_t size, StreamKey stream) noexcept {
    SlotRecord& record = slab->records()[slot];
    record.state = Slot::live;
    record.has_uses = false;
    record.requested = static_cast<uint16_t>(size - 1);
    record.point = stream.id;
    return slab->base + size_t{slot} * slab->size_class().block;
  }
  static void* pop(StreamState* state, Slab* slab, size_t size, StreamKey stream) noexcept {
    uint16_t slot = slab->free_head;
    if (slot != kNoSlot) [[likely]]
      slab->free_head = slab->records()[slot].next;
    else
      slot = slab->untouched++;
    ++slab->in_use;
    if (!slab->has_room()) unlist(state, slab);
    return hand_out(slab, slot, size, stream);
  }
  void push(StreamState* state, Slab* slab, uint16_t slot, uint64_t point) noexcept {
    SlotRecord& record = slab->records()[slot];
    record.state = Slot::free;
    record.point = point;
    record.next = slab->free_head;
    slab->free_head = slot;
    if (point > slab->point) slab->point = point;
    if (!slab->listed) [[unlikely]]
      list(state, slab);
    if (--slab->in_use == 0) [[unlikely]]
      emptied(state, slab);
  }
  void emptied(StreamState* state, Slab* slab) noexcept;
  void retire_slab(StreamState* state, Slab* slab) noexcept;

  // ---- large blocks in a stream's quick lists; the owner's shard lock is held
  static unsigned quick_list(size_t size) noexcept {
    return static_cast<unsigned>((size >> kGranuleBits) * 0x9e3779b97f4a7c15u >> 58);
  }
  static LargeBlock* quick_take(StreamState* state, size_t size) noexcept;
  void quick_put(StreamState* state, LargeBlock* block, uint64_t point) noexcept;
  void flush_quick(StreamState* state) noexcept;
  // Everything the stream holds that is wholly free goes to the heap, still as that stream's.
  void flush(StreamState* state) noexcept;

  // ---- accounting; the shard's lock is held. True: the caller must call raise_used_high after giving it up.
  static bool count_in(Shard& shard, size_t bytes, size_t requested) noexcept {
    shard.used.add(static_cast<int64_t>(bytes));
    shard.requested.add(static_cast<int64_t>(requested));
    shard.allocations.add(1);
    return shard.used.get() > shard.allowance.get();
  }
  static void count_out(Shard& shard, size_t bytes, size_t requested) noexcept {
    shard.used.add(-static_cast<int64_t>(bytes));
    shard.requested.add(-static_cast<int64_t>(requested));
    shard.frees.add(1);
  }
  void raise_used_high(Shard& shard) noexcept;
  void reset_used_high() noexcept;

  Status allocate(size_t size, StreamKey stream, void** out) noexcept;
  FreeResult free(void* ptr, StreamKey stream, Fence freed, bool known) noexcept;
  FreeResult free_slot(StreamState* owner, Slab* slab, void* ptr, StreamKey stream, Fence freed, bool known) noexcept;
  FreeResult free_block(StreamState* owner, LargeBlock* block, void* ptr, StreamKey stream, Fence freed,
                        bool known) noexcept;
  Status record_use(void* ptr, Fence fence) noexcept;

  // ---- frees that have to wait; the owner's shard lock is held
  // The point of a plain free, on the owner's timeline; false when the free is of another kind.
  bool own_point(StreamState* owner, StreamKey stream, Fence freed, bool known, uint64_t* point) noexcept {
    if (owner->id != stream.id) [[unlikely]]
      return false;
    if (!known) {
      *point = kUnknownPoint;
      return true;
    }
    *point = freed.timeline ? freed.value : kAlwaysPassed;
    if (owner->timeline.load(std::memory_order_relaxed) == freed.timeline) [[likely]]
      return true;
    return !freed.timeline || heap.set_timeline(owner, freed.timeline);
  }
  PendingFree* make_pending(StreamState* owner, void* ptr, bool has_uses, StreamKey stream, Fence freed,
                            bool known) noexcept;
  void append_or_settle(StreamState* owner, PendingFree* pending) noexcept;
  void settle(StreamState* owner, PendingFree* pending, uint64_t point) noexcept;
  bool try_settle(StreamState* owner, PendingFree* pending, bool opportunistic, bool follow_events) noexcept;
  void drain(StreamState* owner, bool opportunistic, bool follow_events, unsigned budget) noexcept;
  void drop(PendingFree* pending) noexcept;
  static void append(StreamState* owner, PendingFree* pending) noexcept;
  static void detach(StreamState* owner, PendingFree* previous, PendingFree* pending) noexcept;

  // ---- the slow path; no lock is held
  // `pin` names one, or is 0: then the open one that the thread or the stream is in, if any.
  Status allocate_slow(size_t size, StreamKey stream, void** out, uint64_t pin = 0) noexcept;
  StreamState* state_for(StreamKey stream, uint64_t named_pin) noexcept;
  StreamState* find_or_make_state(Shard& shard, StreamKey stream, uint64_t pin) noexcept;
  void* serve_from_lists(const Request& request) noexcept;
  LargeBlock* serve_from_heap(const Request& request, unsigned budget) noexcept;
  LargeBlock* reuse_from_others(const Request& request, unsigned budget) noexcept;
  void* steal_from_others(const Request& request, unsigned budget) noexcept;
  void* steal_slot(StreamState* victim, const Request& request) noexcept;
  void* steal_pending(StreamState* victim, const Request& request, unsigned budget) noexcept;
  Slab* adopt_slab(StreamState* victim, const Request& request) noexcept;
  bool fits(const PendingFree* pending, const Request& request, unsigned budget) const noexcept;
  void swap_idle_segments(size_t bytes) noexcept;
  Status map_segment(const Request& request, LargeBlock** block) noexcept;
  void* install(const Request& request, LargeBlock* block) noexcept;
  void* install_slab(const Request& request, Slab* slab) noexcept;
  void* give_pending(StreamState* victim, PendingFree* pending, const Request& request) noexcept;

  LargeBlock* wait_for_run(const Request& request) noexcept;
  void* wait_for_pending(const Request& request) noexcept;
  void* wait_for_slot(const Request& request) noexcept;
  bool wait_for(StreamKey stream, std::span<const Fence> fences) noexcept;

  // ---- lifetime
  void retire_stream(StreamKey stream) noexcept;
  void rename(Shard& shard, decltype(Shard::states)::iterator place) noexcept;
  void retire(StreamState* state) noexcept;
  // Forgets retired states that nothing refers to any more.
  void sweep_states(Shard& shard) noexcept;
  size_t trim_to(size_t keep) noexcept;
  size_t release_segments(size_t keep) noexcept;
  PinToken begin_pin(const void* thread, StreamKey stream, bool open) noexcept;
  bool can_allocate_from(uint64_t pin) const noexcept;  // pins_lock is held
  Status end_pin(PinToken token) noexcept;
  Status release_pin(PinToken token, Fence last_use) noexcept;
  void release_pins() noexcept;
  // The open pin that an allocation on this stream by this thread belongs to, or 0. pins_lock is held.
  uint64_t pin_for(StreamKey stream) const noexcept;
  // Lets go of released pins whose last use has been passed.
  void settle_pins() noexcept;
  void unpin(uint64_t pin) noexcept;
  void lock_everything() const noexcept;
  void unlock_everything() const noexcept;

  // ---- introspection
  bool block_info(const void* ptr, BlockInfo* info) noexcept;
  static void describe(const Slab* slab, uint16_t slot, BlockInfo* info) noexcept;
  static void describe(const LargeBlock* block, BlockInfo* info) noexcept;
  AllocatorStats stats() noexcept;

  SegmentSource& source;
  StreamOrder& order;
  size_t first_segment, min_segment, max_segment;  // under heap.lock
  std::atomic<bool> follow_events, opportunistic, internal_dependencies;
  std::atomic<size_t> release_threshold;
  std::atomic<uint64_t> failures{0};
  std::atomic<uint64_t> gone_streams{0};

  mutable Heap heap;
  mutable Shard shards[kShards];
  StreamState nobody;  // what a shard's `latest` is before there is a stream

  // Lock order: pins_lock, high_lock, shards, heap.
  mutable ShortLock high_lock;
  std::atomic<int64_t> used_high{0};
  unsigned slack_hint = 0;                    // high_lock
  std::atomic<uint32_t> shards_in_use{0};     // bit i: shard i has had a stream

  mutable ShortLock pins_lock;
  std::atomic<unsigned> open_pins{0};
  std::atomic<unsigned> released_pins{0};
  uint64_t next_pin = 1;
  std::vector<Pin> pins;
};

}  // namespace infinirt
