#include "backends/nvidia/around_calls.h"

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string>

#include "backends/nvidia/real_library.h"
#include "core/mutex.h"

namespace infinirt::nvidia {

std::atomic<uintptr_t> g_dead_handles[kRememberedHandles];

infinirtError_t refuse_dead(const void* handle, const char* argument) {
  if (handle_is_ours(handle)) {
    return fail(infinirtErrorInvalidResourceHandle, "%s %p belongs to another device type than 'nvidia'", argument,
                handle);
  }
  return fail(infinirtErrorInvalidResourceHandle, "%s %p was destroyed already", argument, handle);
}

infinirtError_t refuse_dead(infinirtMemPool_t pool, const char* argument) {
  if (handle_is_ours(pool)) return refuse_dead(static_cast<const void*>(pool), argument);
  return fail(infinirtErrorInvalidValue, "%s %p was destroyed already", argument, static_cast<const void*>(pool));
}

namespace {

// All threads' lists; those of ended threads are used again.
struct AllRecentCalls {
  Mutex mutex;
  RecentCalls* first = nullptr;
};
AllRecentCalls& all_recent_calls() {
  static auto* instance = new AllRecentCalls;
  return *instance;
}

void thread_ended(ThreadExtra&) {
  void*& mine = thread_state().recent_calls;
  if (auto* calls = static_cast<RecentCalls*>(mine)) calls->in_use.store(false);
  mine = nullptr;
}

std::string describe(const RecentCall& call) {
  const FunctionId function = call.function.load(std::memory_order_relaxed);
  if (function == FunctionId::Count) return {};
  std::string text = kFunctionNames[static_cast<size_t>(function)];
  if (const void* what = call.what.load(std::memory_order_relaxed)) {
    const char* name = nullptr;
    // A name is to be had for kernels only; asking costs nothing on a device that has failed.
    if (real.FuncGetName && real.FuncGetName(&name, what) == infinirtSuccess && name) {
      text += std::string(" of ") + name;
    } else {
      char address[32];
      std::snprintf(address, sizeof address, " of %p", what);
      text += address;
    }
  }
  return text;
}

// The newest first, of one stream or (null) of all.
std::string suspects(infinirtStream_t stream) {
  constexpr int kShown = 5;
  std::string text;
  int count = 0;
  auto& all = all_recent_calls();
  std::lock_guard guard(all.mutex);
  for (const RecentCalls* calls = all.first; calls && count < kShown; calls = calls->following) {
    const uint32_t next = calls->next.load(std::memory_order_relaxed);
    for (uint32_t i = 1; i <= kRecentCalls && i <= next && count < kShown; ++i) {
      const RecentCall& call = calls->calls[(next - i) % kRecentCalls];
      if (stream && call.stream.load(std::memory_order_relaxed) != stream) continue;
      const std::string one = describe(call);
      if (one.empty()) continue;
      text += (count++ ? ", " : "") + one;
    }
  }
  return text;
}

struct Diagnosis {
  Mutex mutex;
  infinirtError_t sticky = infinirtSuccess;  // the first one
  std::string sticky_report;
  std::string capture_breaker;               // the last call that broke a capture
};
Diagnosis& diagnosis() {
  static auto* instance = new Diagnosis;
  return *instance;
}

bool breaks_capture(infinirtError_t error) {
  const int code = static_cast<int>(error);
  return code >= 900 && code <= 907 && code != infinirtErrorStreamCaptureInvalidated;
}

infinirtError_t sticky_failure(FunctionId function, infinirtError_t error, infinirtStream_t stream) {
  auto& d = diagnosis();
  std::lock_guard guard(d.mutex);
  if (d.sticky == infinirtSuccess) {
    d.sticky = error;
    std::string calls = stream ? suspects(stream) : "";
    const bool of_stream = !calls.empty();
    if (!of_stream) calls = suspects(nullptr);
    d.sticky_report = std::string(kFunctionNames[static_cast<size_t>(function)]) + " reported it first";
    if (!calls.empty())
      d.sticky_report +=
          std::string("; last enqueued") + (of_stream ? " on that stream" : "") + ", newest first: " + calls;
    return fail(error,
                "%s: earlier work of this process on the device failed%s%s. The device cannot be used any more by this "
                "process; INFINIRT_LAUNCH_BLOCKING=1 finds the call",
                error_text(error),
                calls.empty() ? ""
                : of_stream   ? "; last enqueued on this stream, newest first: "
                              : "; last enqueued, newest first: ",
                calls.c_str());
  }
  return fail(error, "%s: the device failed earlier and cannot be used any more by this process (%s)",
              error_text(error), d.sticky_report.c_str());
}

}  // namespace

RecentCalls* make_recent_calls(ThreadState& ts) {
  static const bool hooked = (add_thread_exit_hook(thread_ended), true);
  (void)hooked;
  auto& all = all_recent_calls();
  std::lock_guard guard(all.mutex);
  RecentCalls* mine = all.first;
  while (mine && mine->in_use.load()) mine = mine->following;
  if (mine) {
    mine->in_use.store(true);
  } else {
    mine = new RecentCalls;
    mine->following = all.first;
    all.first = mine;
  }
  thread_extra(ts);  // so that the thread's end is noticed
  ts.recent_calls = mine;
  return mine;
}

infinirtError_t failed(FunctionId function, infinirtError_t error, infinirtStream_t stream, const char* format, ...) {
  if (error == infinirtErrorNotReady) return error;
  if (real_get_last_error) real_get_last_error();
  if (is_sticky(error)) return sticky_failure(function, error, stream);
  char arguments[512];
  va_list list;
  va_start(list, format);
  std::vsnprintf(arguments, sizeof arguments, format, list);
  va_end(list);
  auto& d = diagnosis();
  std::string breaker;
  {
    std::lock_guard guard(d.mutex);
    if (breaks_capture(error)) d.capture_breaker = kFunctionNames[static_cast<size_t>(function)];
    if (error == infinirtErrorStreamCaptureInvalidated) breaker = d.capture_breaker;
  }
  if (!breaker.empty()) {
    return fail(error, "%s; it was %s that broke the capture (%s)", error_text(error), breaker.c_str(), arguments);
  }
  return arguments[0] ? fail(error, "%s (%s)", error_text(error), arguments) : fail(error, "%s", error_text(error));
}

}  // namespace infinirt::nvidia
