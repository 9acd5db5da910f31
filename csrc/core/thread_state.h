// What one thread carries: its device type and devices, its last error, and whether it may call the API now.
#pragma once

#include <cstdint>
#include <string>

#include "infinirt.h"

namespace infinirt {

struct Backend;
struct ObservedThread;

inline constexpr int kMaxBackends = 32;

// The rarely touched part, on the heap: static TLS is scarce in a library that is loaded late.
struct ThreadExtra {
  std::string pending_message;  // set by fail() during the current call
  std::string last_message;     // belongs to the last error
  bool has_pending = false;
  infinirtError_t pending_code = infinirtSuccess;  // given to fail() with it
  void (*on_failure)(const char* function) = nullptr;  // one-shot: called with the name of the call that is failing
  void* per_thread_streams[kMaxBackends] = {};  // engine-owned: one list of streams per backend
  uint64_t number = 0;                          // never given twice in a process; 0: not needed yet
};

// The part every call reads. Zero-initialised, so the first access costs nothing but the load.
struct alignas(64) ThreadState {  // what calls read lies in its first line
  const Backend* backend;          // the thread's device type; null until first used
  ThreadExtra* extra;              // null until first used
  infinirtStream_t implicit_stream;  // what "no stream argument" means: null (legacy) or infinirtStreamPerThread
  uint32_t
      call_barrier;  // > 0 while a host function, or another that may not call us, runs on this thread: every call is NotPermitted
  infinirtError_t last_error;
  enum infinirtStreamCaptureMode capture_mode;  // this thread's interaction mode (Global is 0)
  void* recent_calls;  // owned by the backend with native handles: what was enqueued last
  const Backend* routed;  // where the latest call went; null: no call yet within the one that is observed
  int device[kMaxBackends];  // current device of each backend
  uint64_t call;  // number of the observed call that this thread is in; 0: none (core/observe.h)
  ObservedThread* observed;  // null until it is first observed
};

extern constinit thread_local ThreadState t_thread_state [[gnu::tls_model("initial-exec")]];

inline ThreadState& thread_state() { return t_thread_state; }

// Creates the thread's extra block on first use; it is freed when the thread ends.
ThreadExtra& thread_extra(ThreadState& ts);

// Engines register what must be torn down when a thread that used them ends (its per-thread streams).
using ThreadExitHook = void (*)(ThreadExtra&);
void add_thread_exit_hook(ThreadExitHook hook);
void thread_hooks_reset_in_child();  // after fork

// While code runs that may not call the API.
class BarredScope {
 public:
  BarredScope() : ts_(thread_state()) { ++ts_.call_barrier; }
  ~BarredScope() { --ts_.call_barrier; }
  BarredScope(const BarredScope&) = delete;
  BarredScope& operator=(const BarredScope&) = delete;

 private:
  ThreadState& ts_;
};

// For `_ptds` entries: the implicit stream is the per-thread one for the duration of the call.
class PerThreadDefaultScope {
 public:
  explicit PerThreadDefaultScope(ThreadState& ts) : ts_(ts), saved_(ts.implicit_stream) {
    ts.implicit_stream = reinterpret_cast<infinirtStream_t>(2);
  }
  ~PerThreadDefaultScope() { ts_.implicit_stream = saved_; }
  PerThreadDefaultScope(const PerThreadDefaultScope&) = delete;
  PerThreadDefaultScope& operator=(const PerThreadDefaultScope&) = delete;

 private:
  ThreadState& ts_;
  infinirtStream_t saved_;
};

}  // namespace infinirt
