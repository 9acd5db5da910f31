// Work of destructors that could not be done when they ran.
//
// A destructor may run anywhere: between any two lines of a capture, or inside a host function, where the API may not be
// called. What it has to destroy or free then waits here for the next call that can do it.
#pragma once

#include <atomic>

#include "bindings/objects/library.h"

namespace infinirt::objects {

enum class Outcome { Done, NotNow };

/// Tries to do what was deferred. Takes over `data` when Done.
using DeferredAction = Outcome (*)(void* data);

/// Tries `action` now and keeps it for later when it is not possible now. Never fails, never raises.
void do_or_defer(DeferredAction action, void* data);

extern std::atomic<size_t> deferred_count;
/// Whether this thread now does what the end of a graph's launch, or of a host function, has let go of: their work is over.
bool drops_late();
/// How many captures our own objects have under way.
extern std::atomic<int> captures_under_way;

void drain_deferred_slow();

/// Called at the beginning of calls on objects. One load when there is nothing to do.
inline void drain_deferred() {
  if (deferred_count.load(std::memory_order_relaxed) != 0) drain_deferred_slow();
}

/// Whether work on the stream would go into a capture, or break one.
bool is_in_capture(infinirtStream_t stream);
/// Whether the API may not be called now.
inline bool is_in_host_function() { return !infinirtXCallsArePermitted(); }

/// Lets a scope's calls through although some thread captures: what destructors free has nothing to do with any capture.
class RelaxedCaptureScope {
 public:
  /// On devices of a type; null: of all.
  explicit RelaxedCaptureScope(const char* type) : state_(infinirtXBeginRelaxedCapture(type)) {}
  ~RelaxedCaptureScope() { infinirtXEndRelaxedCapture(state_); }
  RelaxedCaptureScope(const RelaxedCaptureScope&) = delete;
  RelaxedCaptureScope& operator=(const RelaxedCaptureScope&) = delete;

 private:
  unsigned int state_;
};

}  // namespace infinirt::objects
