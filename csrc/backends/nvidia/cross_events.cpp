#include "backends/nvidia/cross_events.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "backends/nvidia/around_calls.h"
#include "backends/nvidia/real_library.h"
#include "core/handle.h"
#include "core/mutex.h"
#include "engine/event.h"
#include "engine/scheduler.h"

namespace infinirt::nvidia {

namespace {

// ---- a GPU's stream waits for the CPU
// The stream waits for a word in page-locked memory, which the CPU device sets when it gets there: no thread waits, and no
// host function of the driver is blocked.

using WaitValue = int (*)(infinirtStream_t, uint64_t address, uint32_t value, unsigned flags);  // cuStreamWaitValue32
constexpr unsigned kGreaterOrEqual = 0;

struct Flag final : Waiter {
  std::atomic<uint32_t>* word = nullptr;
  infinirtEvent_t passed = nullptr;  // recorded behind the wait: afterwards the flag can be used again
  void wake() override { word->store(1, std::memory_order_release); }
};

struct Flags {
  Mutex mutex;
  std::deque<Flag*> waiting;  // in the order of their waits; the first are likely to be over first
  std::vector<Flag*> free;
};
Flags& flags() {
  static auto* instance = new Flags;
  return *instance;
}

WaitValue find_wait_value() {
  void* entry = nullptr;
  enum infinirtDriverEntryPointQueryResult result = infinirtDriverEntryPointSymbolNotFound;
  if (!real.GetDriverEntryPoint ||
      real.GetDriverEntryPoint("cuStreamWaitValue32", &entry, infinirtEnableDefault, &result) != infinirtSuccess) {
    if (real_get_last_error) real_get_last_error();
    return nullptr;
  }
  return reinterpret_cast<WaitValue>(entry);
}

infinirtError_t make_flags(Flags& f) {
  constexpr size_t kCount = 64, kStride = 64;  // a cache line each
  void* memory = nullptr;
  if (auto error = real.HostAlloc(&memory, kCount * kStride, infinirtHostAllocPortable | infinirtHostAllocMapped))
    return error;
  for (size_t i = 0; i < kCount; ++i) {
    auto* flag = new Flag;
    flag->word = new (static_cast<char*>(memory) + i * kStride) std::atomic<uint32_t>(0);
    f.free.push_back(flag);
  }
  return infinirtSuccess;
}

infinirtError_t take_flag(Flag** out) {
  auto& f = flags();
  std::lock_guard guard(f.mutex);
  while (!f.waiting.empty() && real.EventQuery(f.waiting.front()->passed) == infinirtSuccess) {
    f.free.push_back(f.waiting.front());
    f.waiting.pop_front();
  }
  if (f.free.empty()) {
    if (auto error = make_flags(f)) return error;
  }
  Flag* flag = f.free.back();
  if (!flag->passed) {
    if (auto error = real.EventCreateWithFlags(&flag->passed, infinirtEventDisableTiming)) return error;
  }
  f.free.pop_back();
  flag->word->store(0, std::memory_order_relaxed);
  *out = flag;
  return infinirtSuccess;
}

infinirtError_t wait_for_cpu(infinirtStream_t stream, infinirtEvent_t event) {
  Event* waited = resolve_event(event, "event");
  if (!waited) return infinirtErrorInvalidResourceHandle;
  const Point point = event_point(*waited);
  if (point.reached()) return infinirtSuccess;
  if (is_random_schedule()) {
    return fail(
        infinirtErrorNotSupported,
        "event belongs to the CPU device, whose random schedule runs work only inside calls; a GPU cannot wait for it");
  }
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  real.StreamIsCapturing(stream, &status);
  if (status != infinirtStreamCaptureStatusNone) {
    return fail(infinirtErrorStreamCaptureUnsupported,
                "event belongs to another device type; a wait for it cannot be captured");
  }
  static const WaitValue wait_value = find_wait_value();
  if (!wait_value) return fail(infinirtErrorNotSupported, "the driver has no cuStreamWaitValue32");
  Flag* flag = nullptr;
  if (auto error = take_flag(&flag)) return error;
  const int code = wait_value(stream, reinterpret_cast<uintptr_t>(flag->word), 1, kGreaterOrEqual);
  infinirtError_t error = static_cast<infinirtError_t>(code);
  if (!error) error = real.EventRecord(flag->passed, stream);
  if (error) flag->word->store(1, std::memory_order_release);  // in case the wait is in the stream
  // From here on the CPU may set the word at any moment; if it has got there meanwhile, nobody else will.
  else if (!point.timeline->park(flag, point.value))
    flag->wake();
  auto& f = flags();
  std::lock_guard guard(f.mutex);
  f.waiting.push_back(flag);
  return error;
}

}  // namespace

infinirtError_t StreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event, unsigned int flags) {
  if (is_dead(stream)) [[unlikely]]
    return refuse_dead(stream, "stream");
  note_call(FunctionId::StreamWaitEvent, stream, nullptr);
  infinirtError_t error;
  if (handle_is_ours(event)) {
    error = wait_for_cpu(stream, event);
    if (error == infinirtSuccess || thread_extra(thread_state()).has_pending) return error;
  } else if (is_dead(event)) [[unlikely]] {
    return refuse_dead(event, "event");
  } else {
    error = real.StreamWaitEvent(stream, event, flags);
    if (error == infinirtSuccess) [[likely]]
      return error;
  }
  return failed(FunctionId::StreamWaitEvent, error, stream, "stream %p, event %p, flags 0x%x", shown(stream),
                shown(event), flags);
}

// ---- a stream of the CPU waits for a GPU
// A later record of the event must not move what is waited for: an event of our own keeps it, recorded on a stream of our own
// that waits for the user's event. The two are used again once they have been waited for, and not before: on one stream for
// all, a wait would also be one for the waits in front of it, and could never end.

namespace {

struct Snapshot {
  infinirtStream_t stream = nullptr;
  infinirtEvent_t event = nullptr;
  bool is_over = false;
};

struct IdleSnapshots {
  Mutex mutex;
  std::vector<Snapshot*> list;
};
IdleSnapshots& idle_snapshots() {
  static auto* instance = new IdleSnapshots;
  return *instance;
}

void destroy(Snapshot* snapshot) {
  if (snapshot->stream) real.StreamDestroy(snapshot->stream);  // its work goes on
  if (snapshot->event) real.EventDestroy(snapshot->event);
  delete snapshot;
}

infinirtError_t take_snapshot(Snapshot** out) {
  {
    auto& idle = idle_snapshots();
    std::lock_guard guard(idle.mutex);
    if (!idle.list.empty()) {
      *out = idle.list.back();
      idle.list.pop_back();
      (*out)->is_over = false;
      return infinirtSuccess;
    }
  }
  *out = new Snapshot;
  if (auto error = real.StreamCreateWithFlags(&(*out)->stream, infinirtStreamNonBlocking)) return error;
  return real.EventCreateWithFlags(&(*out)->event, infinirtEventDisableTiming);
}

}  // namespace

infinirtError_t snapshot_event(infinirtEvent_t event, void** snapshot) {
  if (is_dead(event)) return refuse_dead(event, "event");
  Snapshot* taken = nullptr;
  infinirtError_t error = take_snapshot(&taken);
  if (!error) error = real.StreamWaitEvent(taken->stream, event, 0);
  if (!error) error = real.EventRecord(taken->event, taken->stream);
  if (error) {
    destroy(taken);
    return failed(FunctionId::StreamWaitEvent, error, nullptr, "event %p", shown(event));
  }
  *snapshot = taken;
  return infinirtSuccess;
}

void wait_for_snapshot(void* snapshot) {
  auto* waited = static_cast<Snapshot*>(snapshot);
  waited->is_over = real.EventSynchronize(waited->event) == infinirtSuccess;
}

void drop_snapshot(void* snapshot) {
  auto* dropped = static_cast<Snapshot*>(snapshot);
  if (!dropped->is_over) return destroy(dropped);
  auto& idle = idle_snapshots();
  std::lock_guard guard(idle.mutex);
  idle.list.push_back(dropped);
}

}  // namespace infinirt::nvidia
