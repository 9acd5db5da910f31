// The caching allocator: big segments in, blocks out in stream order. It knows no backend, and never touches the memory
// it manages: all bookkeeping lives beside it, so the memory need not be reachable from the host.
//
// Blocks. Requests up to 32 KiB come from slabs, with four size classes per power of two; the smallest block is 512 bytes.
// Larger requests are cut from segments by best fit, split and coalesced, in multiples of 8 KiB (of 1/64 of their
// size above 512 KiB, of 2 MiB at most). Every block is 256-byte aligned, those above 32 KiB 8 KiB aligned. A block is at
// most 25 % larger than the request rounded up to 256 bytes (the alignment) and to 512 (the minimum): below 1 KiB it is
// the alignment that costs, up to 255 bytes.
//
// Order. A block freed on a stream may be had again at once by that stream. Another stream gets it when the point of the
// free is known to come first (reuse_follow_event_dependencies), has been passed (reuse_allow_opportunistic), or, when no
// more memory can be had, after making it wait (reuse_allow_internal_dependencies). Own and never-used memory go first.
//
// Threads. Every function may be called from any thread. State is sharded by stream, so threads that work on streams of
// their own do not meet in the warm path, which makes no virtual call either. No lock is held across SegmentSource or
// StreamOrder::make_wait; the other StreamOrder calls are made under locks (see stream_order.h). No function throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "allocator/stream_order.h"

namespace infinirt {

// Of the segments that an allocator asks for, in bytes, each a multiple of 2 MiB or rounded up to one.
struct SegmentSizes {
  size_t first = size_t{2} << 20;  // of the first one
  size_t least = size_t{2} << 20;  // of the others, which grow with what is held up to
  size_t most = size_t{64} << 20;  // this; larger requests get their own
};

struct AllocatorOptions {
  size_t limit = 0;  // most bytes of segments ever held; 0 = no limit
  size_t release_threshold = 0;  // what trim_to_threshold keeps
  size_t min_segment = size_t{2} << 20;  // rounded up to a multiple of 2 MiB
  size_t max_segment = size_t{64} << 20;  // segments grow with the pool up to this; larger requests get their own
  bool reuse_follow_event_dependencies = true;
  bool reuse_allow_opportunistic = true;
  bool reuse_allow_internal_dependencies = true;
};

enum class ReusePolicy { follow_event_dependencies, allow_opportunistic, allow_internal_dependencies };

enum class FreeResult {
  ok,
  not_ours,  // the address lies in no segment of this allocator
  double_free,  // the start of a block that is free already
  interior_pointer,  // inside our memory, but not where a block starts
  out_of_memory,  // no host memory for the bookkeeping of a free with foreign fences; the block is still live
};

enum class BlockState : uint8_t {
  free,  // available to its stream, to others by the reuse policies
  live,  // handed out
  pending,  // freed, but waiting for fences of other streams
};

struct BlockInfo {
  void* base = nullptr;
  size_t requested = 0;  // what the caller asked for (live blocks), else 0
  size_t size = 0;  // what the block occupies
  BlockState state = BlockState::free;
  bool pinned = false;  // kept for a pin token
  StreamKey stream{};  // of the allocation (live, pending) or of the free; kNoStream: nobody's memory
};

struct SegmentInfo {
  void* base = nullptr;
  size_t bytes = 0;
};

struct AllocatorStats {
  size_t reserved_current = 0, reserved_high = 0;  // bytes of segments
  size_t used_current = 0, used_high = 0;  // bytes of live blocks; exact, also across streams
  size_t requested_current = 0;  // bytes asked for by those blocks
  size_t segments = 0;
  size_t live_blocks = 0;
  uint64_t allocations = 0, frees = 0;  // since construction
  uint64_t segment_maps = 0, segment_unmaps = 0;
  uint64_t out_of_memory = 0;  // allocations that failed
  size_t largest_free_block = 0;  // of coalesced memory, whichever stream has a claim on it
  size_t pending_blocks = 0;
};

// Names one pin. 0 is none.
struct PinToken {
  uint64_t id = 0;
  explicit operator bool() const { return id != 0; }
};

class CachingAllocator {
 public:
  struct Impl;  // see impl.h

  // `source` and `order` outlive the allocator.
  CachingAllocator(SegmentSource& source, StreamOrder& order, const AllocatorOptions& options = {});
  // Gives every segment back at once, live blocks included: the caller has seen to it that no work uses them.
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // A block of at least `size` bytes, usable by what the stream is given next. Size 0 gives a null pointer and succeeds.
  // On failure *out is null and nothing has changed, except that cached memory may have been given back.
  [[nodiscard]] Status allocate(size_t size, StreamKey stream, void** out) noexcept;

  // The block is not used after `freed`, a point of `stream`, except as recorded by record_use. Null is a no-op. The form
  // without a fence is as cheap, but counts as a free at the moment when another stream first asks for the block.
  FreeResult free(void* ptr, StreamKey stream) noexcept;
  FreeResult free(void* ptr, StreamKey stream, Fence freed) noexcept;

  // The block is also used on another stream, up to `fence`; its free waits for that too. kStatusInvalidValue when ptr is
  // not the start of a live block.
  Status record_use(void* ptr, StreamKey stream, Fence fence) noexcept;

  // Is the address inside one of our segments? Takes no lock.
  bool owns(const void* ptr) const noexcept;
  // The block that holds the address; false when none of ours does.
  bool block_info(const void* ptr, BlockInfo* info) const noexcept;

  // The stream is about to be destroyed: what it freed waits for its last point, then belongs to nobody. Live blocks stay.
  void retire_stream(StreamKey stream) noexcept;

  // Gives wholly free segments back while at least `min_bytes_to_keep` remain reserved; returns the bytes given back.
  // Memory whose free has not been passed stays.
  size_t trim_to(size_t min_bytes_to_keep) noexcept;
  size_t trim_to_threshold() noexcept { return trim_to(release_threshold()); }

  void set_policy(ReusePolicy policy, bool on) noexcept;
  bool policy(ReusePolicy policy) const noexcept;
  void set_release_threshold(size_t bytes) noexcept;
  size_t release_threshold() const noexcept;
  // 0 = none. A limit below what is held bars growth, and takes nothing away.
  void set_limit(size_t bytes) noexcept;
  size_t limit() const noexcept;
  // For segments that are asked for from now on.
  void set_segment_sizes(const SegmentSizes& sizes) noexcept;

  AllocatorStats stats() const noexcept;
  void reset_used_high() noexcept;
  void reset_reserved_high() noexcept;

  // Pin mode, for recording a graph. Between begin and end, allocations of the calling thread (or, in the second form, of
  // any thread on that stream) come from memory of the pin's own: what is freed is reused within the pin only, and all
  // of it keeps its address and is used for nothing else until release_pin. Pins of one thread nest; the latest counts.
  // release_pin waits for nothing: memory becomes available once its frees and `last_use` (the last replay) allow it.
  PinToken begin_pin() noexcept;
  PinToken begin_pin(StreamKey stream) noexcept;
  // A pin that no thread and no stream is in: allocations name it. What holds for a pin's memory holds for it, too.
  PinToken make_pin() noexcept;
  [[nodiscard]] Status allocate(size_t size, StreamKey stream, PinToken pin, void** out) noexcept;
  Status end_pin(PinToken token) noexcept;
  Status release_pin(PinToken token, Fence last_use = {}) noexcept;
  // Of all pins at once; nothing uses their memory any more.
  void release_pins() noexcept;

  // Snapshots, for people and tools: each segment is consistent in itself. The callback runs under locks of the allocator:
  // it must not call it. Blocks come in address order within a segment.
  void for_each_segment(const std::function<void(const SegmentInfo&)>& visit) const;
  void for_each_block(const std::function<void(const SegmentInfo&, const BlockInfo&)>& visit) const;

  // What is held, in a few lines of text for an error message.
  std::string report() const noexcept;

  // Around fork(), in this order of calls: prepare in the parent, then one of the two. In the child everything is as at
  // the fork; what another thread was in the middle of moving then is lost to the child.
  void prepare_fork() noexcept;
  void after_fork_parent() noexcept;
  void after_fork_child() noexcept;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace infinirt
