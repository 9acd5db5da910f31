// What caches of memory have to know from others: that a stream or a whole device is about to go, or that somebody frees memory
// which is theirs. The dispatch asks before it calls a backend, holding no lock.
#pragma once

#include <atomic>

#include "core/backend.h"
#include "core/error.h"

namespace infinirt {

struct EndingListener {
  void (*stream_ends)(const Backend& backend, infinirtStream_t stream);  // it can still be given work
  void (*device_resets)(const Backend& backend, int device);
  bool (*owns)(const void* pointer);
};

// At most one, set once and for ever.
inline std::atomic<const EndingListener*> g_ending_listener{nullptr};

inline void announce_stream_end(const Backend& backend, infinirtStream_t stream) {
  if (const auto* listener = g_ending_listener.load(std::memory_order_acquire)) [[unlikely]]
    listener->stream_ends(backend, stream);
}

inline void announce_device_reset(const Backend& backend) {
  const auto* listener = g_ending_listener.load(std::memory_order_acquire);
  int device = 0;
  if (listener && backend.table.GetDevice(&device) == infinirtSuccess) [[unlikely]]
    listener->device_resets(backend, device);
}

inline bool is_of_cache(const void* pointer) {
  const auto* listener = g_ending_listener.load(std::memory_order_acquire);
  return listener && listener->owns(pointer);
}

inline infinirtError_t refuse_free(const void* pointer) {
  return fail(infinirtErrorInvalidValue, "%p belongs to a cache; infinirtXCacheFree gives it back", pointer);
}

}  // namespace infinirt
