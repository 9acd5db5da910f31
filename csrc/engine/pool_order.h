// How pools see streams: the allocator's questions about order, answered from timelines.
#pragma once

#include "allocator/stream_order.h"
#include "engine/stream.h"

namespace infinirt {

// A stream's name for the allocator: found without a look-up, and turned back into the stream by a shift. Stream objects
// are recycled, so part of the stream's number is in it; two streams with one name would need a million streams between
// them and a pool that was not told that the first has gone.
inline StreamKey key_of(const Stream& stream) {
  return {reinterpret_cast<uintptr_t>(&stream) >> 4 << 20 | (stream.id & 0xfffff)};
}

// Frees by the host: what it frees is not used any more.
inline constexpr StreamKey kHostKey{1};

inline Fence fence_at(const Point& point) { return {point.timeline, point.value}; }

// A point at or after everything that must come before work the stream is given next. The stream's own last operation,
// unless its next one would first wait for the legacy stream's rules: then a place in the stream is taken for it.
Point point_of_free(Stream& stream);

// Whether the stream's next operation would wait for other streams, beyond what its own last one did.
bool next_work_waits(Stream& stream);

// For all pools; knows nothing of any.
StreamOrder& timeline_order();

}  // namespace infinirt
