#include "backends/nvidia/cross_events.h"

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "backends/nvidia/around_calls.h"
#include "backends/nvidia/driver_calls.h"
#include "backends/nvidia/host_function.h"
#include "backends/nvidia/real_library.h"
#include "core/handle.h"
#include "core/mutex.h"
#include "core/wait_hooks.h"
#include "engine/event.h"
#include "engine/scheduler.h"

namespace infinirt::nvidia {

namespace {

// ---- words in page-locked memory, which streams wait for and write

using Word = std::atomic<uint32_t>;
using ValueCall = int (*)(infinirtStream_t, uint64_t address, uint32_t value, unsigned flags);

// cuStreamWaitValue32, cuStreamWriteValue32; null: the driver has no such function.
ValueCall find_value_call(const char* name) {
  void* entry = nullptr;
  enum infinirtDriverEntryPointQueryResult result = infinirtDriverEntryPointSymbolNotFound;
  if (!real.GetDriverEntryPoint ||
      real.GetDriverEntryPoint(name, &entry, infinirtEnableDefault, &result) != infinirtSuccess) {
    if (real_get_last_error) real_get_last_error();
    return nullptr;
  }
  return reinterpret_cast<ValueCall>(entry);
}

// A word, and where a GPU finds it.
struct SharedWord {
  Word* word = nullptr;
  uint64_t address = 0;
};

struct Words {
  Mutex mutex;
  std::vector<SharedWord> unused;
};
Words& words() {
  static auto* instance = new Words;
  return *instance;
}

// Memory of our own, page-locked by the driver: a worker may look at it when the driver is gone, at the end of the process or after a reset.
// Words are never given back: what has one is used again.
infinirtError_t take_word(SharedWord* out) {
  constexpr size_t kPage = 4096, kStride = 64;  // a cache line each
  auto& w = words();
  std::lock_guard guard(w.mutex);
  if (w.unused.empty()) {
    auto* memory = static_cast<char*>(std::aligned_alloc(kPage, kPage));
    if (!memory) return infinirtErrorMemoryAllocation;
    std::memset(memory, 0, kPage);
    void* address = nullptr;
    infinirtError_t error = real.HostRegister(memory, kPage, infinirtHostRegisterPortable | infinirtHostRegisterMapped);
    if (!error) error = real.HostGetDevicePointer(&address, memory, 0);
    if (error) {  // the driver's own memory, then
      if (real_get_last_error) real_get_last_error();
      std::free(memory);
      if ((error = real.HostAlloc(&address, kPage, infinirtHostAllocPortable | infinirtHostAllocMapped))) return error;
      memory = static_cast<char*>(address);
    }
    for (size_t at = 0; at < kPage; at += kStride)
      w.unused.push_back({new (memory + at) Word(0), reinterpret_cast<uintptr_t>(address) + at});
  }
  *out = w.unused.back();
  w.unused.pop_back();
  return infinirtSuccess;
}

// What is ours to wait with does not concern streams that this or another thread captures.
class RelaxedCapture {
 public:
  RelaxedCapture() { real.ThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedCapture() { real.ThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  enum infinirtStreamCaptureMode mode_ = infinirtStreamCaptureModeRelaxed;
};

// ---- a GPU's stream waits for the CPU
// The stream waits for a word, which the CPU device sets when it gets there: no thread waits, and no host function of the driver is
// blocked.

constexpr unsigned kGreaterOrEqual = 0;

struct Flag final : Waiter {
  SharedWord shared;
  infinirtEvent_t passed = nullptr;  // recorded behind the wait: afterwards the flag can be used again
  void wake() override;
};

// Words that streams wait for: until they are set, a call that waits for a GPU may wait for the CPU, and for a Python function there.
std::atomic<long> g_awaited{0};

void add_awaited(int count) {
  g_awaited.fetch_add(count, std::memory_order_relaxed);
  g_hot.may_wait.fetch_add(count, std::memory_order_relaxed);
}

void Flag::wake() {
  shared.word->store(1, std::memory_order_release);
  add_awaited(-1);
}

struct Flags {
  Mutex mutex;
  std::deque<Flag*> waiting;  // in the order of their waits; the first are likely to be over first
  std::vector<Flag*> free;
};
Flags& flags() {
  static auto* instance = new Flags;
  return *instance;
}

infinirtError_t take_flag(Flag** out) {
  auto& f = flags();
  std::lock_guard guard(f.mutex);
  while (!f.waiting.empty() && real.EventQuery(f.waiting.front()->passed) == infinirtSuccess) {
    f.free.push_back(f.waiting.front());
    f.waiting.pop_front();
  }
  if (f.free.empty()) {
    SharedWord word;
    if (auto error = take_word(&word)) return error;
    f.free.push_back(new Flag);
    f.free.back()->shared = word;
  }
  Flag* flag = f.free.back();
  if (!flag->passed) {
    if (auto error = real.EventCreateWithFlags(&flag->passed, infinirtEventDisableTiming)) return error;
  }
  f.free.pop_back();
  flag->shared.word->store(0, std::memory_order_relaxed);
  *out = flag;
  return infinirtSuccess;
}

infinirtError_t wait_for_cpu(infinirtStream_t stream, infinirtEvent_t event) {
  Event* waited = resolve_event(event, "event");
  if (!waited) return infinirtErrorInvalidResourceHandle;
  const Point point = event_point(*waited);
  if (!point.timeline && waited->shared) {
    return fail(infinirtErrorNotSupported,
                "event was opened from another process; let a stream of the CPU device wait for it, and the GPU for an "
                "event behind that");
  }
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
  if (point.awaits_vendor()) {
    // A copy to or from a GPU comes before the event, and the worker that makes it needs the driver. Were a stream to wait for that, any
    // call of this program's that waits for the GPU inside the driver could hold the driver's lock for ever.
    const RareWaitScope waiting;
    wait_for(point);
    return infinirtSuccess;
  }
  static const ValueCall wait_value = find_value_call("cuStreamWaitValue32");
  if (!wait_value) return fail(infinirtErrorNotSupported, "the driver has no cuStreamWaitValue32");
  const RelaxedCapture relaxed;
  Flag* flag = nullptr;
  if (auto error = take_flag(&flag)) return error;
  add_awaited(1);
  const int code = wait_value(stream, flag->shared.address, 1, kGreaterOrEqual);
  infinirtError_t error = static_cast<infinirtError_t>(code);
  if (!error) error = real.EventRecord(flag->passed, stream);
  if (error) {
    flag->wake();  // in case the wait is in the stream; nobody knows when it is over, so the flag is not used again
    return error;
  }
  // From here on the CPU may set the word at any moment; if it has got there meanwhile, nobody else will.
  if (!point.timeline->park(flag, point.value)) flag->wake();
  auto& f = flags();
  std::lock_guard guard(f.mutex);
  f.waiting.push_back(flag);
  return infinirtSuccess;
}

}  // namespace

[[gnu::hot, gnu::aligned(64)]] infinirtError_t StreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event,
                                                               unsigned int flags) {
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
    error = direct::StreamWaitEvent(stream, event, flags);
    if (error == infinirtSuccess) [[likely]]
      return error;
  }
  return failed(FunctionId::StreamWaitEvent, error, stream, "stream %p, event %p, flags 0x%x", shown(stream),
                shown(event), flags);
}

// ---- a stream of the CPU waits for a GPU
// A later record of the event must not move what is waited for: a stream of the driver's waits for the event as it is now, and says so
// behind it. A stream of the CPU's has one for all its waits, its lane. That adds no order that is not there: what is behind a wait on
// the CPU's stream is behind all earlier ones. With one lane for several, two waits that need each other would never end. With one per
// wait, many would be made, and the driver waits for all of the GPU's work in about one of forty creations.
// The thread that waits makes no call of the driver's meanwhile, since a GPU's stream may wait for that thread in turn (see above): it
// looks at a word that the lane writes. A callback wakes it, and is all that comes after an error of the GPU's. Callbacks have a stream of
// their own, since what is behind one waits for the driver's thread, which the program's host functions may keep. With 57 of a
// stream under way the next was seen to wait; so a lane with kFull waits is left for another one.

namespace {

constexpr int kFull = 32;

// Never freed.
struct Lane {
  infinirtStream_t stream = nullptr, for_callbacks = nullptr;
  SharedWord shared;  // the last wait that is over, by the GPU
  Word callbacks{0};  // how many came: what those who wait sleep on
  std::atomic<bool> failed{false};  // a callback told of an error

  Mutex mutex;  // what is enqueued, and `issued`
  uint32_t issued = 0;  // the last wait

  // --- under the mutex of Lanes
  int waits = 0;  // under way, by the GPU or by who waits
  bool attached = false;  // to a stream of the CPU's; else it is idle, or will be when `waits` is 0
  int reset = 0;  // how often a device had been reset when it was made; kBroken: it is not used again
  static constexpr int kBroken = -1;
};

struct Lanes {
  Mutex mutex;  // also for all streams' pointers to their lanes
  std::vector<Lane*> idle;
  int resets = 0;

  bool is_usable(const Lane* lane) const { return lane && is_whole(*lane) && lane->waits < kFull; }
  bool is_whole(const Lane& lane) const { return lane.reset == resets && !lane.failed.load(std::memory_order_acquire); }
  void rest_if_over(Lane& lane) {
    if (!lane.attached && lane.waits == 0 && is_whole(lane)) idle.push_back(&lane);
  }
};
Lanes& g_lanes = *new Lanes;

infinirtError_t make_lane(Lane** out) {
  auto made = std::make_unique<Lane>();
  {
    std::lock_guard guard(g_lanes.mutex);
    made->reset = g_lanes.resets;
  }
  infinirtError_t error = real.StreamCreateWithFlags(&made->stream, infinirtStreamNonBlocking);
  if (!error) error = real.StreamCreateWithFlags(&made->for_callbacks, infinirtStreamNonBlocking);
  if (!error) error = take_word(&made->shared);
  if (error) {
    if (made->stream) real.StreamDestroy(made->stream);
    if (made->for_callbacks) real.StreamDestroy(made->for_callbacks);
    return error;
  }
  made->shared.word->store(0, std::memory_order_relaxed);
  *out = made.release();
  return infinirtSuccess;
}

// The lane of the stream with this slot, with one wait more; null: there is none that can be used.
Lane* current_lane(void* const* slot) {
  std::lock_guard guard(g_lanes.mutex);
  auto* lane = static_cast<Lane*>(*slot);
  if (!g_lanes.is_usable(lane)) return nullptr;
  ++lane->waits;
  return lane;
}

// An idle lane or a new one becomes that of the stream, unless another thread was faster; with one wait more.
infinirtError_t change_lane(void** slot, Lane** out) {
  Lane* lane = nullptr;
  {
    std::lock_guard guard(g_lanes.mutex);
    if (!g_lanes.idle.empty()) {
      lane = g_lanes.idle.back();
      g_lanes.idle.pop_back();
    }
  }
  if (!lane) {
    if (auto error = make_lane(&lane)) return error;
  }
  std::lock_guard guard(g_lanes.mutex);
  auto* old = static_cast<Lane*>(*slot);
  if (g_lanes.is_usable(old)) {
    g_lanes.rest_if_over(*lane);
    lane = old;
  } else {
    if (old) old->attached = false;  // it has waits, or went with a reset
    lane->attached = true;
    *slot = lane;
  }
  ++lane->waits;
  *out = lane;
  return infinirtSuccess;
}

void end_wait(Lane& lane, bool breaks = false) {
  std::lock_guard guard(g_lanes.mutex);
  if (breaks) lane.reset = Lane::kBroken;
  --lane.waits;
  g_lanes.rest_if_over(lane);
}

struct Snapshot {
  Lane& lane;
  uint32_t value;
  std::atomic<int> owners{2};  // who waits, and the callback
  bool is_passed() const {
    return static_cast<int32_t>(lane.shared.word->load(std::memory_order_acquire) - value) >= 0 ||
           lane.failed.load(std::memory_order_acquire);
  }
};

constexpr int kSpin = 200;  // a few microseconds: most waits are for work that is nearly done
constexpr long kFirstNap = 100'000, kLongestNap = 3'000'000;  // nanoseconds

void release(Snapshot* snapshot) {
  if (snapshot->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  end_wait(snapshot->lane);
  delete snapshot;
}

// Unlike a host function it is called after an error, too.
void call_back(infinirtStream_t, infinirtError_t error, void* data) {
  auto* passed = static_cast<Snapshot*>(data);
  if (error != infinirtSuccess) passed->lane.failed.store(true, std::memory_order_release);
  passed->lane.callbacks.fetch_add(1, std::memory_order_release);
  futex_wake(&passed->lane.callbacks, INT_MAX);
  release(passed);
}

// `begun`: if it fails, the lane is in a capture now, or has half a wait in it.
infinirtError_t enqueue(Lane& lane, infinirtEvent_t event, Snapshot** out, bool* begun) {
  static const ValueCall write_value = find_value_call("cuStreamWriteValue32");
  if (!write_value) return fail(infinirtErrorNotSupported, "the driver has no cuStreamWriteValue32");
  std::lock_guard guard(lane.mutex);
  if (auto error = real.StreamWaitEvent(lane.stream, event, 0)) return error;
  *begun = true;
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  if (auto error = real.StreamIsCapturing(lane.stream, &status)) return error;
  if (status != infinirtStreamCaptureStatusNone) {
    return fail(infinirtErrorStreamCaptureUnsupported,
                "event was recorded by a stream that captures; a stream of another device type cannot wait for it");
  }
  auto made = std::unique_ptr<Snapshot>(new Snapshot{lane, ++lane.issued});
  const int code = write_value(lane.stream, lane.shared.address, made->value, 0);
  if (code != 0) return static_cast<infinirtError_t>(code);
  // If the event is recorded again meanwhile, the callback comes at another time; it only makes the thread look at the word. (In a capture, it is
  // refused, and breaks that: who records an event that another thread waits for had better not.)
  if (auto error = real.StreamWaitEvent(lane.for_callbacks, event, 0)) return error;
  if (auto error = real.StreamAddCallback(lane.for_callbacks, call_back, made.get(), 0)) return error;
  *out = made.release();
  return infinirtSuccess;
}

infinirtError_t take_snapshot(infinirtEvent_t event, Lane* lane, void** slot, Snapshot** out) {
  const RelaxedCapture relaxed;
  if (!lane) {
    if (auto error = change_lane(slot, &lane)) return error;
  }
  bool begun = false;
  const infinirtError_t error = enqueue(*lane, event, out, &begun);
  if (error) end_wait(*lane, begun);
  return error;
}

}  // namespace

infinirtError_t snapshot_event(infinirtEvent_t event, void** slot, void** snapshot) {
  if (is_dead(event)) return refuse_dead(event, "event");
  Lane* lane = current_lane(slot);
  Snapshot* taken = nullptr;
  infinirtError_t error;
  if (!lane || host_functions_pending() || streams_await_cpu()) {
    // Making a lane may wait for the GPU, as any call does whose stream has too much before it, and that perhaps for a Python function.
    const RareWaitScope waiting;
    error = take_snapshot(event, lane, slot, &taken);
  } else {
    error = take_snapshot(event, lane, slot, &taken);
  }
  if (error) {
    if (thread_extra(thread_state()).has_pending) return error;
    return failed(FunctionId::StreamWaitEvent, error, nullptr, "event %p", shown(event));
  }
  *snapshot = taken;
  return infinirtSuccess;
}

void drop_lane(void** slot) {
  std::lock_guard guard(g_lanes.mutex);
  auto* lane = static_cast<Lane*>(*slot);
  *slot = nullptr;
  lane->attached = false;
  g_lanes.rest_if_over(*lane);
}

void wait_for_snapshot(void* snapshot) {
  auto* waited = static_cast<Snapshot*>(snapshot);
  const Word& callbacks = waited->lane.callbacks;
  // The callback wakes us, unless a host function of the program keeps the driver's thread: so the word is looked at again. It may come just
  // before the word.
  uint32_t seen = callbacks.load(std::memory_order_acquire);
  for (timespec nap{0, kFirstNap};; nap.tv_nsec = std::min(2 * nap.tv_nsec, kLongestNap)) {
    for (int i = 0; i < kSpin && !waited->is_passed(); ++i) cpu_pause();
    if (waited->is_passed()) return;
    futex_wait(&callbacks, seen, &nap);
    const uint32_t now = callbacks.load(std::memory_order_acquire);
    if (now != seen) nap.tv_nsec = kFirstNap / 2;
    seen = now;
  }
}

void drop_snapshot(void* snapshot) { release(static_cast<Snapshot*>(snapshot)); }

bool streams_await_cpu() { return g_awaited.load(std::memory_order_relaxed) > 0; }

void unlock_cross_events_in_forked_child() { g_lanes.mutex.reset_after_fork(); }

// Page-locked memory, streams and events go with the device. What is under way keeps its own, and is not used again.
void forget_cross_events() {
  {
    std::lock_guard guard(words().mutex);
    words().unused.clear();
  }
  {
    std::lock_guard guard(flags().mutex);
    flags().waiting.clear();
    flags().free.clear();
  }
  std::lock_guard guard(g_lanes.mutex);
  g_lanes.idle.clear();
  ++g_lanes.resets;
}

}  // namespace infinirt::nvidia
