// What the caching allocator needs to know of the world: where memory comes from, and how streams are ordered.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infinirt {

// Result codes are the numbers of infinirtError_t; the allocator itself produces these only.
using Status = int;
inline constexpr Status kStatusOk = 0;
inline constexpr Status kStatusInvalidValue = 1;
inline constexpr Status kStatusOutOfMemory = 2;

// A stream's identity until retire_stream; afterwards the id may name another stream. Small consecutive ids spread best over
// the allocator's shards. Ids with both topmost bits set are the allocator's own, for streams that are gone.
struct StreamKey {
  uint64_t id = 0;
  friend bool operator==(StreamKey, StreamKey) = default;
};
inline constexpr StreamKey kNoStream{~uint64_t{0}};
inline constexpr uint64_t kGoneStreams = uint64_t{3} << 62;

// A point in a stream's order: everything enqueued on it up to there. Values grow along one timeline, and all fences of
// one stream lie on one timeline. A null timeline is a point that has always been passed (StreamOrder is not asked about it).
struct Fence {
  void* timeline = nullptr;
  uint64_t value = 0;
};

// Where segments come from. Called with no lock of the allocator held, from any thread, several at a time.
class SegmentSource {
 public:
  virtual ~SegmentSource() = default;
  // On success *base is a multiple of `alignment` (a power of two) below 2^52, and the range stays valid until unmap.
  // The allocator never reads or writes the memory. kStatusOutOfMemory makes it look for memory elsewhere; any other
  // failure is handed to the caller as it is.
  virtual Status map(size_t bytes, size_t alignment, void** base) noexcept = 0;
  // Exactly one mapped range. No work that uses it is pending.
  virtual void unmap(void* base, size_t bytes) noexcept = 0;
};

// What is known about the order of work. `now`, `passed`, `precedes`, `retain` and `release` are called with locks of the
// allocator held: they must not block, nor call the allocator, nor take a lock that somebody holds while calling the
// allocator. `make_wait` is called with no lock held and may do all of that.
class StreamOrder {
 public:
  virtual ~StreamOrder() = default;
  // The point after everything enqueued on the stream so far, waits included.
  virtual Fence now(StreamKey stream) noexcept = 0;
  // Has everything up to the fence finished? Once true, always true.
  virtual bool passed(Fence fence) noexcept = 0;
  // Is it known that whatever the stream is given next comes after the fence, because the fence is the stream's own or
  // because the stream has waited for an event at or after it? Once true, always true.
  virtual bool precedes(Fence fence, StreamKey stream) noexcept = 0;
  // Makes whatever the stream is given next wait for the fence; false when that cannot be done (say, while capturing).
  virtual bool make_wait(StreamKey stream, Fence fence) noexcept = 0;
  // The allocator keeps fences of this timeline between the two calls; they nest.
  virtual void retain(Fence fence) noexcept = 0;
  virtual void release(Fence fence) noexcept = 0;
};

}  // namespace infinirt
