// The heap: mapped segments, and those of their blocks that are neither handed out nor cut up nor in a stream's own lists.
//
// A free block either is nobody's, or belongs to the stream that freed it, until the point of the free has been passed. Free
// neighbours with the same owner are joined. Everything here is called with `lock` held, except where noted.
#pragma once

#include <string>
#include <vector>

#include "allocator/caching_allocator.h"
#include "allocator/page_map.h"
#include "allocator/stream_state.h"

namespace infinirt::caching {

// How hard to look: a bounded search before mapping more memory, an exhaustive one before failing.
inline constexpr unsigned kBrief = 16;
inline constexpr unsigned kExhaustive = ~0u;

struct MappedRange {
  void* base;
  size_t bytes;
};

class Heap {
 public:
  explicit Heap(StreamOrder& order) : order_(order) {}
  ~Heap();

  ShortLock lock;
  PageMap map;  // read without the lock

  // Blocks come out `moving`, with their owner and point as they were, of exactly `size` bytes unless there is no memory for
  // the descriptor of a remainder.
  LargeBlock* take(StreamState* owner, size_t size, unsigned budget) noexcept;
  // From the owner's blocks or nobody's, whichever has the one that fits better; only one of that very size if `exact`.
  LargeBlock* take_closest(StreamState* owner, size_t size, unsigned budget, bool exact) noexcept;
  // From other streams' blocks, those that `taker` may have without waiting.
  LargeBlock* take_preceding(const StreamState* taker, StreamKey stream, size_t size, bool follow_events,
                             unsigned budget) noexcept;
  // Adjacent free blocks of whatever owners, together of at least `size` bytes. Throws std::bad_alloc, having changed nothing.
  bool find_run(size_t size, std::vector<LargeBlock*>* run) const;
  // Makes them `moving`; afterwards they must be joined, or put back one by one.
  void take_run(const std::vector<LargeBlock*>& run) noexcept;
  LargeBlock* join(const std::vector<LargeBlock*>& run, size_t size) noexcept;
  // A point that is not known becomes the owner's last one now.
  void put(LargeBlock* block, StreamState* owner, uint64_t point) noexcept;
  // Cuts `block`, which is `moving`, down to `size`, and puts the rest back under the same owner.
  void shrink(LargeBlock* block, size_t size) noexcept;

  // Makes nobody's what has been passed: of all streams, or of retired ones only.
  void promote_passed(bool all_streams, unsigned budget) noexcept;
  void promote_passed(StreamState* state, unsigned budget) noexcept;

  // Two steps around mapping, so that the lock is not held meanwhile. `reserve` counts the bytes in, within the limit;
  // `add_segment` makes them one `moving` block, or gives null when host memory has run out.
  bool reserve(size_t bytes) noexcept;
  void unreserve(size_t bytes) noexcept { reserved -= bytes; }
  LargeBlock* add_segment(void* base, size_t bytes) noexcept;
  // Takes wholly free segments out while `keep` bytes stay; the caller unmaps them after giving up the lock. Stops early
  // without host memory for the list.
  void take_free_segments(size_t keep, std::vector<MappedRange>* out) noexcept;

  // `cut` makes the block's granules point at the slab, `uncut` undoes that.
  void cut(LargeBlock* block, Slab* slab) noexcept;
  void uncut(Slab* slab) noexcept;

  Slab* new_slab(unsigned class_index) noexcept;
  void recycle_slab(Slab* slab) noexcept;
  void add_state(StreamState* state) noexcept;
  void remove_state(StreamState* state) noexcept;

  // The fence of a point of the state's stream; resolves one that is not known yet. Either a shard's lock that guards
  // `point`, or the heap's, is held.
  Fence fence_of(StreamState* state, uint64_t& point) noexcept;
  bool passed(StreamState* state, uint64_t& point) noexcept {
    if (point == kAlwaysPassed) return true;
    Fence fence = fence_of(state, point);
    return !fence.timeline || order_.passed(fence);
  }
  bool precedes(StreamState* state, uint64_t& point, StreamKey stream) noexcept {
    Fence fence = fence_of(state, point);
    return !fence.timeline || order_.precedes(fence, stream);
  }
  // Adopts the timeline as the state's, once and for all; false when the state has another one. Takes no lock.
  bool set_timeline(StreamState* state, void* timeline) noexcept;

  static void set_owner(LargeBlock* block, StreamState* owner) noexcept;

  size_t largest_free() const noexcept;

  Segment* segments = nullptr;
  StreamState* states = nullptr;  // all of them, linked by heap_next
  size_t segment_count = 0;
  size_t limit = 0;
  size_t reserved = 0, reserved_high = 0;
  uint64_t maps = 0, unmaps = 0;

 private:
  FreeIndex& index_of(StreamState* owner) noexcept { return owner ? owner->index : nobodys_; }
  void insert(LargeBlock* block) noexcept;
  void extract(LargeBlock* block) noexcept;
  void absorb_next(LargeBlock* block) noexcept;
  bool wholly_free(Segment* segment) noexcept;
  LargeBlock* new_block() noexcept;
  Segment* new_segment(size_t granules) noexcept;

  StreamOrder& order_;
  FreeIndex nobodys_;
  LargeBlock* spare_blocks_ = nullptr;  // linked by `next`
  Slab* spare_slabs_[8] = {};  // by log2 of the capacity over 4, linked by `next`
  Segment* spare_segments_ = nullptr;
  std::vector<LargeBlock*> block_batches_;
  std::vector<Slab*> all_slabs_;
  std::vector<Segment*> all_segments_;
};

}  // namespace infinirt::caching
