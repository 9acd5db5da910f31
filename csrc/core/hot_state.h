// What nearly every call reads, in one cache line: a vendor's driver leaves little in the nearest cache, and each line that has to come
// back is paid for by the next call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace infinirt {

struct Backend;
struct HandleSlot;

// Where handles lie and their slots (core/handle.h); set once, before the first handle exists.
struct HandleArena {
  uintptr_t base;
  HandleSlot* slots;
};

// No registered allocation lies outside of these (core/registry.h); they widen with every one that does, and start anew when the last
// one is gone.
struct RegistryBounds {
  std::atomic<uintptr_t> begin{UINTPTR_MAX};
  std::atomic<uintptr_t> end{0};
};

struct alignas(64) HotState {
  std::atomic<uint32_t> call_hooks{
      0};  // low byte: how many hooks run before calls (core/dispatch.h); above: what observes (core/observe.h)
  // Reasons why infinirtXCallMayWait could say yes: it asks further only when there is one. The first: no thread has chosen a device
  // type yet, so that a call may load a vendor's library.
  std::atomic<int32_t> may_wait{1};
  HandleArena handles;
  // The backend whose handles are the vendor's own, once some thread has chosen it; null before. Values that are no handles of this
  // runtime go there.
  std::atomic<const Backend*> native_backend{nullptr};
  RegistryBounds registered{};
};
static_assert(sizeof(HotState) == 64);

extern constinit HotState g_hot;

}  // namespace infinirt
