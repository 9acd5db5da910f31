#include "backends/nvidia/timed_calls.h"

#include <time.h>

#include <cstring>
#include <mutex>
#include <utility>

#include "core/backend.h"
#include "core/handle.h"
#include "engine/work.h"

namespace infinirt::nvidia {

namespace {

constexpr size_t kMostWaiting = 4096;

struct Enqueuing {
  FunctionId function;
  int stream;  // which argument
  WorkType type;
};

constexpr Enqueuing kEnqueuing[] = {
    {FunctionId::LaunchKernel, 5, WorkType::Kernel},  {FunctionId::LaunchCooperativeKernel, 5, WorkType::Kernel},
    {FunctionId::LaunchHostFunc, 0, WorkType::Host},  {FunctionId::MemcpyAsync, 4, WorkType::Copy},
    {FunctionId::MemcpyPeerAsync, 5, WorkType::Copy}, {FunctionId::Memcpy2DAsync, 7, WorkType::Copy},
    {FunctionId::Memcpy3DAsync, 1, WorkType::Copy},   {FunctionId::MemsetAsync, 3, WorkType::Fill},
    {FunctionId::Memset2DAsync, 5, WorkType::Fill},   {FunctionId::Memset3DAsync, 3, WorkType::Fill},
    {FunctionId::GraphLaunch, 1, WorkType::Graph},
};

const Enqueuing* find(uint16_t function) {
  for (const Enqueuing& row : kEnqueuing) {
    if (static_cast<uint16_t>(row.function) == function) return &row;
  }
  return nullptr;
}

int64_t monotonic() {
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return int64_t{ts.tv_sec} * 1000000000 + ts.tv_nsec;
}

}  // namespace

std::vector<TimedCalls::Timed>& TimedCalls::open_calls() {
  thread_local std::vector<Timed> calls;
  return calls;
}

infinirtEvent_t TimedCalls::take_event(int device) {
  {
    std::lock_guard guard(mutex_);
    if (free_.size() > static_cast<size_t>(device) && !free_[static_cast<size_t>(device)].empty()) {
      const infinirtEvent_t event = free_[static_cast<size_t>(device)].back();
      free_[static_cast<size_t>(device)].pop_back();
      return event;
    }
  }
  infinirtEvent_t event = nullptr;
  return table_.EventCreateWithFlags(&event, 0) == infinirtSuccess ? event : nullptr;
}

// Waits for the device once, when it is first seen.
bool TimedCalls::make_base(int device) {
  const auto index = static_cast<size_t>(device);
  {
    std::lock_guard guard(mutex_);
    if (bases_.size() > index && bases_[index].event) return true;
  }
  Base base;
  base.event = take_event(device);
  infinirtStream_t stream =
      nullptr;  // of its own: other streams may be captured, which the default one must not disturb
  if (!base.event || table_.StreamCreateWithFlags(&stream, infinirtStreamNonBlocking) != infinirtSuccess) return false;
  const bool done = table_.EventRecord(base.event, stream) == infinirtSuccess &&
                    table_.EventSynchronize(base.event) == infinirtSuccess;
  base.ns = monotonic();
  table_.StreamDestroy(stream);
  if (!done) return false;
  std::lock_guard guard(mutex_);
  if (bases_.size() <= index) bases_.resize(index + 1);
  if (!bases_[index].event) bases_[index] = base;
  return true;
}

void TimedCalls::before(uint64_t call, uint16_t function, const unsigned long long* arguments) {
  Timed timed;
  timed.call = call;
  timed.function = function;
  ThreadState& ts = thread_state();
  const Enqueuing* row = find(function);
  if (row && !ts.call_barrier) {
    std::memcpy(&timed.stream, &arguments[row->stream], sizeof timed.stream);
    const auto number = reinterpret_cast<uintptr_t>(timed.stream);
    // Created streams say whose they are, whatever the thread has chosen. A kernel's stream has to be one of the current device; events of
    // others cannot be recorded there.
    const bool fits = number <= 2 ? ts.backend && ts.backend->index == backend_
                                  : backend_at(backend_)->native_handles != handle_is_ours(timed.stream);
    enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusActive;
    if (fits && table_.StreamIsCapturing(timed.stream, &status) == infinirtSuccess &&
        status == infinirtStreamCaptureStatusNone) {
      const int device = ts.device[backend_];
      if (make_base(device) && (timed.begin = take_event(device)) && (timed.end = take_event(device)) &&
          table_.EventRecord(timed.begin, timed.stream) == infinirtSuccess)
        timed.device = device;
    }
    if (ts.extra) ts.extra->has_pending = false;  // what was asked here is not the program's call
  }
  open_calls().push_back(timed);
}

void TimedCalls::after(infinirtError_t result) {
  if (open_calls().empty()) return;  // begun before the trace
  const Timed timed = open_calls().back();
  open_calls().pop_back();
  if (timed.device < 0) return;
  const bool recorded = result == infinirtSuccess && table_.EventRecord(timed.end, timed.stream) == infinirtSuccess;
  bool many = false;
  {
    std::lock_guard guard(mutex_);
    const auto index = static_cast<size_t>(timed.device);
    if (free_.size() <= index) free_.resize(index + 1);
    if (recorded) {
      waiting_.push_back(timed);
      many = waiting_.size() >= kMostWaiting;
    } else {
      free_[index].push_back(timed.begin);
      free_[index].push_back(timed.end);
    }
  }
  if (many) report();
}

void TimedCalls::report() {
  std::vector<Timed> waiting;
  {
    std::lock_guard guard(mutex_);
    waiting.swap(waiting_);
  }
  for (const Timed& timed : waiting) {
    float since_base = 0, duration = 0;  // milliseconds
    const Base base = [&] {
      std::lock_guard guard(mutex_);
      return bases_[static_cast<size_t>(timed.device)];
    }();
    const bool known = table_.EventSynchronize(timed.end) == infinirtSuccess &&
                       table_.EventElapsedTime(&since_base, base.event, timed.begin) == infinirtSuccess &&
                       table_.EventElapsedTime(&duration, timed.begin, timed.end) == infinirtSuccess;
    if (known) {
      const Enqueuing& row = *find(timed.function);
      WorkReport report;
      report.issued.call = timed.call;
      report.kind = static_cast<uint8_t>(row.type);
      report.backend = backend_;
      report.device = timed.device;
      report.handle = reinterpret_cast<uintptr_t>(timed.stream) == 0 ? infinirtStreamLegacy : timed.stream;
      report.stream = reinterpret_cast<uintptr_t>(report.handle);  // asking for its number is a call more
      report.begin = base.ns + static_cast<int64_t>(static_cast<double>(since_base) * 1e6);
      report.end = report.begin + static_cast<int64_t>(static_cast<double>(duration) * 1e6);
      report.in_ns = true;
      report_work(report);
    }
    std::lock_guard guard(mutex_);
    auto& free = free_[static_cast<size_t>(timed.device)];
    free.push_back(timed.begin);
    free.push_back(timed.end);
  }
  ThreadState& ts = thread_state();
  if (ts.extra) ts.extra->has_pending = false;
}

}  // namespace infinirt::nvidia
