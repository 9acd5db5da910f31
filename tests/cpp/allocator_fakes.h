// Stand-ins for memory and streams. The memory cannot be touched: a write of bookkeeping into a block would crash the test.
// The streams run when the test says so, and know exactly what happens before what.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <vector>

#include "allocator/caching_allocator.h"

namespace fake {

using infinirt::Fence;
using infinirt::Status;
using infinirt::StreamKey;

class Source : public infinirt::SegmentSource {
 public:
  explicit Source(size_t capacity = SIZE_MAX) : capacity(capacity) {}

  Status map(size_t bytes, size_t alignment, void** base) noexcept override {
    std::lock_guard guard(mutex_);
    ++map_calls;
    if (fail_with) return fail_with;
    if (bytes > capacity - mapped) return infinirt::kStatusOutOfMemory;
    void* range = mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return infinirt::kStatusOutOfMemory;
    uintptr_t start = (reinterpret_cast<uintptr_t>(range) + alignment - 1) / alignment * alignment;
    *base = reinterpret_cast<void*>(start);
    ranges_[start] = {range, bytes + alignment, bytes};
    mapped += bytes;
    return infinirt::kStatusOk;
  }

  void unmap(void* base, size_t bytes) noexcept override {
    std::lock_guard guard(mutex_);
    auto range = ranges_.find(reinterpret_cast<uintptr_t>(base));
    if (range == ranges_.end() || range->second.bytes != bytes) {
      ++bad_unmaps;
      return;
    }
    munmap(range->second.start, range->second.whole);
    mapped -= bytes;
    ranges_.erase(range);
  }

  size_t capacity;
  size_t mapped = 0;
  size_t map_calls = 0;
  int bad_unmaps = 0;
  Status fail_with = infinirt::kStatusOk;

 private:
  struct Range {
    void* start;
    size_t whole, bytes;
  };
  std::mutex mutex_;
  std::map<uintptr_t, Range> ranges_;
};

// Streams with ids 1..n. An operation of a stream may wait for points of others; for every operation the set of what
// comes before it is kept as a vector clock, so "precedes" is the truth and not an estimate.
class Order : public infinirt::StreamOrder {
 public:
  using Clock = std::vector<uint64_t>;

  explicit Order(size_t streams) : streams_(streams + 1) {
    for (size_t i = 0; i <= streams; ++i) streams_[i].history.push_back(Clock(streams + 1, 0));
  }

  StreamKey key(size_t stream) const { return {stream}; }

  // Gives the stream an operation; returns the point after it.
  Fence enqueue(StreamKey stream) {
    std::lock_guard guard(mutex_);
    return append(stream, streams_[stream.id].history.back());
  }
  // The stream waits for the point, as after an event.
  void wait(StreamKey stream, Fence fence) {
    std::lock_guard guard(mutex_);
    wait_locked(stream, fence);
  }
  // Finishes what can be finished on the stream, at most `steps` operations.
  void advance(StreamKey stream, uint64_t steps = UINT64_MAX) {
    std::lock_guard guard(mutex_);
    Stream& s = streams_[stream.id];
    for (; steps > 0 && s.completed + 1 < s.history.size(); --steps) {
      const Clock& needs = s.history[s.completed + 1];
      for (size_t other = 0; other < streams_.size(); ++other)
        if (other != stream.id && streams_[other].completed < needs[other]) return;
      ++s.completed;
    }
  }
  void finish_everything() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t i = 1; i < streams_.size(); ++i) {
        uint64_t before = streams_[i].completed;
        advance({i});
        moved = moved || streams_[i].completed != before;
      }
    }
  }

  Fence now(StreamKey stream) noexcept override {
    std::lock_guard guard(mutex_);
    ++queries;
    return {&streams_[stream.id], streams_[stream.id].history.size() - 1};
  }
  bool passed(Fence fence) noexcept override {
    std::lock_guard guard(mutex_);
    ++queries;
    return !fence.timeline || static_cast<Stream*>(fence.timeline)->completed >= fence.value;
  }
  bool precedes(Fence fence, StreamKey stream) noexcept override {
    std::lock_guard guard(mutex_);
    ++queries;
    return !fence.timeline || streams_[stream.id].history.back()[index_of(fence)] >= fence.value;
  }
  bool make_wait(StreamKey stream, Fence fence) noexcept override {
    std::lock_guard guard(mutex_);
    if (refuse_waits) return false;
    wait_locked(stream, fence);
    ++waits_made;
    return true;
  }
  void retain(Fence fence) noexcept override {
    std::lock_guard guard(mutex_);
    ++static_cast<Stream*>(fence.timeline)->retained;
  }
  void release(Fence fence) noexcept override {
    std::lock_guard guard(mutex_);
    --static_cast<Stream*>(fence.timeline)->retained;
  }
  // Whether every retain has met its release.
  bool balanced() const {
    return std::all_of(streams_.begin(), streams_.end(), [](const Stream& s) { return s.retained == 0; });
  }

  size_t queries = 0;
  int waits_made = 0;
  bool refuse_waits = false;

 private:
  struct Stream {
    std::vector<Clock> history;  // what comes before the end of the i-th operation
    uint64_t completed = 0;
    int retained = 0;
  };

  size_t index_of(Fence fence) const {
    return static_cast<size_t>(static_cast<Stream*>(fence.timeline) - streams_.data());
  }
  Fence append(StreamKey stream, Clock before) {
    Stream& s = streams_[stream.id];
    before[stream.id] = s.history.size();
    s.history.push_back(std::move(before));
    return {&s, s.history.size() - 1};
  }
  void wait_locked(StreamKey stream, Fence fence) {
    Clock clock = streams_[stream.id].history.back();
    const Clock& other = static_cast<Stream*>(fence.timeline)->history[fence.value];
    for (size_t i = 0; i < clock.size(); ++i) clock[i] = std::max(clock[i], other[i]);
    append(stream, std::move(clock));
  }

  std::mutex mutex_;
  std::vector<Stream> streams_;
};

}  // namespace fake
