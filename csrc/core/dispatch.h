// Helpers of the generated stubs: from the arguments of a call to the backend that answers it.
#pragma once

#include <atomic>

#include "core/backend.h"
#include "core/error.h"
#include "core/handle.h"
#include "core/observe.h"
#include "core/registry.h"
#include "core/thread_state.h"

#define INFINIRT_EXPORT __attribute__((visibility("default")))

namespace infinirt {

#define INFINIRT_LIKELY(x) __builtin_expect(!!(x), 1)
#define INFINIRT_UNLIKELY(x) __builtin_expect(!!(x), 0)

// Hooks that run before a call: the random scheduler's step. g_hot.call_hooks counts them, and says what observes (core/observe.h).
using CallHook = void (*)(FunctionId);
void add_call_hook(CallHook hook);

inline uint32_t call_hooks() { return g_hot.call_hooks.load(std::memory_order_relaxed); }

// Taken when the thread is barred (it runs a host function) or hooks are installed. Returns what the call must fail with,
// already recorded, or success to go on.
[[gnu::cold]] infinirtError_t enter_slow(ThreadState& ts, FunctionId function);

// What a stub reports when no backend was found; the routing function left the message.
inline infinirtError_t routing_failed(ThreadState& ts) {
  return ts.extra && ts.extra->has_pending ? ts.extra->pending_code : infinirtErrorInitializationError;
}

// A call runs for the backend it was routed to, which need not be the thread's own: for its time it is.
class RoutedScope {
 public:
  RoutedScope(ThreadState& ts, const Backend* backend) : ts_(ts), saved_(ts.backend) {
    ts.backend = ts.routed = backend;
  }
  ~RoutedScope() { ts_.backend = saved_; }
  RoutedScope(const RoutedScope&) = delete;
  RoutedScope& operator=(const RoutedScope&) = delete;

 private:
  ThreadState& ts_;
  const Backend* saved_;
};

inline const Backend* route_current(ThreadState& ts) {
  return INFINIRT_LIKELY(ts.backend != nullptr) ? ts.backend : current_backend(ts);
}

// A handle that is not of ours: the backend whose handles are native, else the current one, which will reject it.
inline const Backend* route_foreign(ThreadState& ts) {
  const Backend* native = g_hot.native_backend.load(std::memory_order_relaxed);
  return native ? native : route_current(ts);
}
const Backend* backend_of_slot(const HandleSlot& slot);

[[gnu::always_inline]] inline const Backend* route_handle(ThreadState& ts, const void* handle) {
  if (INFINIRT_LIKELY(handle_is_ours(handle))) {
    const HandleSlot* slot = handle_slot(handle);
    if (INFINIRT_LIKELY(slot != nullptr)) {
      if (INFINIRT_LIKELY(ts.backend && ts.backend->index == slot->backend)) return ts.backend;
      return backend_of_slot(*slot);
    }
    return route_current(ts);  // a dead handle: the backend says so, with its own words
  }
  return handle ? route_foreign(ts) : route_current(ts);
}

[[gnu::always_inline]] inline const Backend* route_stream(ThreadState& ts, infinirtStream_t stream) {
  return reinterpret_cast<uintptr_t>(stream) <= 2 ? route_current(ts) : route_handle(ts, stream);
}

// One side or both are in the registry.
const Backend* route_owned(ThreadState& ts, const Backend* target, const Backend* source, const void* first,
                           const void* second);

// An address that is not in the registry: the backend with native handles knows its own.
[[gnu::cold]] const Backend* route_unknown_pointer(ThreadState& ts, const void* pointer);

inline const Backend* route_miss(ThreadState& ts, const void* pointer) {
  const Backend* native = g_hot.native_backend.load(std::memory_order_relaxed);
  return INFINIRT_LIKELY(!native || native == ts.backend) ? route_current(ts) : route_unknown_pointer(ts, pointer);
}

inline const Backend* route_pointer(ThreadState& ts, const void* pointer) {
  const Backend* owner = registry_may_hold(pointer) ? registry_owner(pointer) : nullptr;
  return owner ? owner : route_miss(ts, pointer);
}

}  // namespace infinirt
