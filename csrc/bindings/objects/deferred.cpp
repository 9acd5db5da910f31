#include "bindings/objects/deferred.h"

#include <deque>
#include <mutex>

namespace infinirt::objects {

std::atomic<size_t> deferred_count{0};
std::atomic<int> captures_under_way{0};

namespace {

struct Deferred {
  DeferredAction action;
  void* data;
  bool late;  // let go of by a callback of the runtime
};

thread_local bool t_drops_late = false;

struct Waiting {
  std::mutex mutex;
  std::deque<Deferred> items;
};

// Leaked: destructors run until the very end of the process.
Waiting& waiting() {
  static auto* made = new Waiting;
  return *made;
}

// Attempts per call: a long capture by somebody else must not make every call walk the whole list.
constexpr size_t kAttempts = 8;

}  // namespace

bool is_in_capture(infinirtStream_t stream) {
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  const bool is_default = reinterpret_cast<uintptr_t>(stream) <= 2;
  const infinirtError_t before = is_default ? rt.PeekAtLastError() : infinirtSuccess;
  // The legacy stream answers with an error, and leaves the capture alone, while a blocking stream captures.
  const infinirtError_t error = rt.StreamIsCapturing(stream, &status);
  if (error != infinirtSuccess && is_default && before == infinirtSuccess) rt.GetLastError();  // nobody's business
  // Errors of other kinds, a stream that is gone say, are not a capture's.
  const bool in_the_way = error == infinirtErrorNotPermitted || (error >= infinirtErrorStreamCaptureUnsupported &&
                                                                 error <= infinirtErrorStreamCaptureWrongThread);
  return in_the_way || status != infinirtStreamCaptureStatusNone;
}

void do_or_defer(DeferredAction action, void* data) {
  if (action(data) == Outcome::Done) return;
  Waiting& list = waiting();
  std::lock_guard guard(list.mutex);
  list.items.push_back({action, data, is_in_host_function()});
  deferred_count.store(list.items.size(), std::memory_order_relaxed);
}

bool drops_late() { return t_drops_late; }

void drain_deferred_slow() {
  if (captures_under_way.load(std::memory_order_relaxed) > 0) return;
  // An action may run destructors, which come back here.
  static thread_local bool draining = false;
  if (draining) return;
  draining = true;
  Waiting& list = waiting();
  for (size_t attempt = 0; attempt < kAttempts; ++attempt) {
    Deferred item{};
    {
      std::lock_guard guard(list.mutex);
      if (list.items.empty()) break;
      item = list.items.front();
      list.items.pop_front();
      deferred_count.store(list.items.size(), std::memory_order_relaxed);
    }
    t_drops_late = item.late;
    const Outcome outcome = item.action(item.data);
    t_drops_late = false;
    if (outcome == Outcome::Done) {
      attempt = 0;  // it is possible now: go on until the list is empty
      continue;
    }
    std::lock_guard guard(list.mutex);
    list.items.push_back(item);
    deferred_count.store(list.items.size(), std::memory_order_relaxed);
  }
  draining = false;
}

}  // namespace infinirt::objects
