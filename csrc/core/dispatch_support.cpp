#include <vector>

#include "core/dispatch.h"

namespace infinirt {

namespace {

// Written before g_hot.call_hooks is raised and never removed, so readers need no lock.
constexpr uint32_t kMaxHooks = 4;
CallHook hooks[kMaxHooks];

}  // namespace

void add_call_hook(CallHook hook) {
  const uint32_t n = g_hot.call_hooks.load(std::memory_order_relaxed) & kHookCount;
  if (n == kMaxHooks) return;
  hooks[n] = hook;
  g_hot.call_hooks.fetch_add(1, std::memory_order_release);
}

infinirtError_t enter_slow(ThreadState& ts, FunctionId function) {
  if (ts.call_barrier) {
    return finish_error(ts, function,
                        fail(infinirtErrorNotPermitted,
                             "called from a host function or callback, or from a function of a backend, which may not "
                             "call the API; enqueue the work from the thread that launched it instead"));
  }
  const uint32_t n = g_hot.call_hooks.load(std::memory_order_acquire) & kHookCount;
  for (uint32_t i = 0; i < n; ++i) hooks[i](function);
  return infinirtSuccess;
}

const Backend* route_owned(ThreadState& ts, const Backend* target, const Backend* source, const void* first,
                           const void* second) {
  if (source && source == ts.backend) return source;
  const Backend* native = g_hot.native_backend.load(std::memory_order_acquire);
  if (native && native == ts.backend && (!target || !source) && native->extensions.OwnsPointer &&
      native->extensions.OwnsPointer(target ? second : first))
    return native;
  return target ? target : source;
}

const Backend* route_unknown_pointer(ThreadState& ts, const void* pointer) {
  const Backend* native = g_hot.native_backend.load(std::memory_order_acquire);
  const Backend* current = route_current(ts);
  if (!native || native == current || !pointer || !native->extensions.OwnsPointer) return current;
  return native->extensions.OwnsPointer(pointer) ? native : current;
}

const Backend* backend_of_slot(const HandleSlot& slot) { return backend_at(slot.backend); }

}  // namespace infinirt
