// What happens around every call into NVIDIA's library (nvidia_calls.cpp, generated).
#pragma once

#include <atomic>
#include <cstdint>

#include "core/error.h"
#include "core/handle.h"
#include "core/thread_state.h"

namespace infinirt::nvidia {

// ---- Handles
// They are the library's own, and it crashes on destroyed ones. The addresses of those that are certainly dead are kept here,
// for streams and events as long as retired_handles.h keeps them.

inline constexpr size_t kRememberedHandles = 1024;
extern std::atomic<uintptr_t> g_dead_handles[kRememberedHandles];

inline std::atomic<uintptr_t>& dead_slot(uintptr_t handle) {
  return g_dead_handles[(handle >> 4) * 0x9e3779b97f4a7c15ull >> 54];
}

inline bool was_destroyed(uintptr_t handle) {
  return handle > 2 && dead_slot(handle).load(std::memory_order_relaxed) == handle;
}

// Handles of other device types, which are not the library's, would crash it as well.
inline bool is_dead(const void* handle) {
  return was_destroyed(reinterpret_cast<uintptr_t>(handle)) || handle_is_ours(handle);
}

inline void mark_dead(const void* handle) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  dead_slot(value).store(value, std::memory_order_relaxed);
}

inline void note_alive(const void* handle) {
  const auto value = reinterpret_cast<uintptr_t>(handle);
  if (was_destroyed(value)) dead_slot(value).store(0, std::memory_order_relaxed);
}

// Marks a handle before the library destroys it: afterwards another thread may be given the same address.
class DyingHandle {
 public:
  explicit DyingHandle(const void* handle) : handle_(handle) {
    const auto value = reinterpret_cast<uintptr_t>(handle);
    if (value > 2) dead_slot(value).store(value, std::memory_order_relaxed);
  }
  void revive() const { note_alive(handle_); }

 private:
  const void* handle_;
};

[[gnu::cold]] infinirtError_t refuse_dead(const void* handle, const char* argument);
// With the code that the real library has for pools.
[[gnu::cold]] infinirtError_t refuse_dead(infinirtMemPool_t pool, const char* argument);

// ---- Recent calls
// An asynchronous error surfaces at some later call. What the streams were given last is kept to name the suspects.

inline constexpr uint32_t kRecentCalls = 32;

struct RecentCall {
  std::atomic<infinirtStream_t> stream{nullptr};
  std::atomic<const void*> what{nullptr};  // the kernel of a launch
  std::atomic<FunctionId> function{FunctionId::Count};
};

struct RecentCalls {
  std::atomic<uint32_t> next{0};  // written by the owning thread only
  RecentCall calls[kRecentCalls];
  std::atomic<bool> in_use{true};
  RecentCalls* following = nullptr;
};

[[gnu::cold]] RecentCalls* make_recent_calls(ThreadState& ts);

inline void note_call(FunctionId function, infinirtStream_t stream, const void* what) {
  ThreadState& ts = thread_state();
  auto* mine = static_cast<RecentCalls*>(ts.recent_calls);
  if (!mine) [[unlikely]]
    mine = make_recent_calls(ts);
  const uint32_t next = mine->next.load(std::memory_order_relaxed);
  RecentCall& call = mine->calls[next % kRecentCalls];
  call.stream.store(stream, std::memory_order_relaxed);
  call.what.store(what, std::memory_order_relaxed);
  call.function.store(function, std::memory_order_relaxed);
  mine->next.store(next + 1, std::memory_order_relaxed);
}

// ---- Failures

template <class T>
const void* shown(T* pointer) {
  return reinterpret_cast<const void*>(pointer);
}

// Leaves a message made of the error, the arguments and, for asynchronous errors, the suspects; returns the error. The
// library's own last error is taken back: it belongs to whoever else uses that library in this process.
[[gnu::cold, gnu::format(printf, 4, 5)]] infinirtError_t failed(FunctionId function, infinirtError_t error,
                                                                infinirtStream_t stream, const char* format, ...);

}  // namespace infinirt::nvidia
