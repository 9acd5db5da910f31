#include "backends/nvidia/cupti.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <string>

#include "backends/nvidia/cupti_records.h"
#include "backends/nvidia/find_library.h"
#include "backends/nvidia/timed_calls.h"
#include "core/log.h"
#include "core/mutex.h"
#include "engine/work.h"

namespace infinirt::nvidia {

namespace {

using namespace cupti;  // NOLINT: the layouts

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kManyCalls = size_t{1} << 20;  // numbers that are remembered before old ones are forgotten
constexpr uint32_t kForced = 1;                 // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED
constexpr uint32_t kKinds[] = {kConcurrentKernel,    kMemcpy,  kMemcpyPeer, kMemset,
                               kExternalCorrelation, kRuntime, kDriver};

using RequestBuffer = void (*)(uint8_t** buffer, size_t* size, size_t* most_records);
using CompleteBuffer = void (*)(void* context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);

// The functions of libcupti; all return 0 for success.
struct Tracer {
  int (*RegisterCallbacks)(RequestBuffer, CompleteBuffer);
  int (*Enable)(uint32_t kind);
  int (*Disable)(uint32_t kind);
  int (*FlushAll)(uint32_t flags);
  int (*GetNextRecord)(uint8_t* buffer, size_t valid, void** record);
  int (*GetTimestamp)(uint64_t*);
  int (*PushExternalCorrelationId)(uint32_t kind, uint64_t id);
  int (*PopExternalCorrelationId)(uint32_t kind, uint64_t* last);
};

struct State {
  Mutex mutex;  // of the reader; taken by CUPTI's thread and at the end of a trace
  Tracer tracer{};
  bool searched = false, found = false;
  int runtime_version = 0;
  ActivityReader* reader = nullptr;
  TimedCalls* timed = nullptr;  // what there is without CUPTI
};

State& state() {
  static auto* instance = new State;
  return *instance;
}

int64_t to_monotonic(const Tracer& tracer) {
  uint64_t theirs = 0;
  timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  tracer.GetTimestamp(&theirs);
  return int64_t{ts.tv_sec} * 1000000000 + ts.tv_nsec - static_cast<int64_t>(theirs);
}

void give_buffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  void* memory = nullptr;
  *most_records = 0;
  *size = posix_memalign(&memory, 64, kBufferBytes) == 0 ? kBufferBytes : 0;
  *buffer = static_cast<uint8_t*>(memory);
}

void take_buffer(void*, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  State& s = state();
  {
    std::lock_guard guard(s.mutex);
    const int64_t offset = to_monotonic(s.tracer);
    void* record = nullptr;
    while (valid > 0 && s.tracer.GetNextRecord(buffer, valid, &record) == 0) s.reader->take(record, offset);
  }
  std::free(buffer);
}

template <class Function>
bool look_up(void* library, const char* name, Function*& out) {
  out = reinterpret_cast<Function*>(dlsym(library, name));
  return out != nullptr;
}

bool load_tracer(void* library, Tracer& tracer) {
  return look_up(library, "cuptiActivityRegisterCallbacks", tracer.RegisterCallbacks) &&
         look_up(library, "cuptiActivityEnable", tracer.Enable) &&
         look_up(library, "cuptiActivityDisable", tracer.Disable) &&
         look_up(library, "cuptiActivityFlushAll", tracer.FlushAll) &&
         look_up(library, "cuptiActivityGetNextRecord", tracer.GetNextRecord) &&
         look_up(library, "cuptiGetTimestamp", tracer.GetTimestamp) &&
         look_up(library, "cuptiActivityPushExternalCorrelationId", tracer.PushExternalCorrelationId) &&
         look_up(library, "cuptiActivityPopExternalCorrelationId", tracer.PopExternalCorrelationId);
}

// CUPTI follows the runtime's major version: another one knows nothing of its calls.
bool find_tracer(State& s) {
  if (s.searched) return s.found;
  s.searched = true;
  const std::string same = ".so." + std::to_string(s.runtime_version / 1000);
  std::string tried;
  for (const Candidate& candidate :
       candidates({"INFINIRT_CUPTI_LIBRARY",
                   "libcupti",
                   {"nvidia/cu13/lib/libcupti.so.13", "nvidia/cuda_cupti/lib/libcupti.so.12"},
                   {"libcupti.so.13", "libcupti.so.12"}})) {
    std::string why;
    if (!std::getenv("INFINIRT_CUPTI_LIBRARY") && candidate.path.find(same) == std::string::npos) continue;
    void* library = open_candidate(candidate, why);
    if (library && load_tracer(library, s.tracer) && s.tracer.RegisterCallbacks(give_buffer, take_buffer) == 0) {
      s.found = true;
      return true;
    }
    tried += (tried.empty() ? "" : "; ") + (why.empty() ? candidate.path + " cannot trace here" : why);
  }
  log_line("trace", ("the GPU's work is timed by events, at microseconds a call, for want of libcupti" + same + ": " +
                     tried + "; install it with pip install nvidia-cuda-cupti, or set INFINIRT_CUPTI_LIBRARY")
                        .c_str());
  return false;
}

constexpr CorrelationHooks kTraced{[](uint64_t call, uint16_t, const unsigned long long*) {
                                     state().tracer.PushExternalCorrelationId(kCustomCorrelation, call);
                                   },
                                   [](infinirtError_t) {
                                     uint64_t last = 0;
                                     state().tracer.PopExternalCorrelationId(kCustomCorrelation, &last);
                                   }};

constexpr CorrelationHooks kTimed{[](uint64_t call, uint16_t function, const unsigned long long* arguments) {
                                    state().timed->before(call, function, arguments);
                                  },
                                  [](infinirtError_t result) { state().timed->after(result); }};

void begun() {
  State& s = state();
  const bool traced = find_tracer(s);
  for (const uint32_t kind : kKinds) {
    if (traced) s.tracer.Enable(kind);
  }
  // What has not been delivered when the process ends is asked for while the driver is still there.
  static const bool at_exit = std::atexit([] { infinirtXTraceEnd(); }) == 0;
  (void)at_exit;
  g_correlation_hooks.store(traced ? &kTraced : &kTimed, std::memory_order_release);
}

void ending() {
  State& s = state();
  if (!g_correlation_hooks.exchange(nullptr, std::memory_order_acq_rel)) return;  // a forked child has none
  if (!s.found) {
    s.timed->report();
    return;
  }
  s.tracer.FlushAll(kForced);  // take_buffer() is called in it
  for (const uint32_t kind : kKinds) s.tracer.Disable(kind);
  std::lock_guard guard(s.mutex);
  s.reader->report_waiting();
}

std::string readable_name(const char* name) {
  int status = 0;
  char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string text = plain ? plain : name;
  std::free(plain);
  return text;
}

template <class Record>
const Record& as(const void* record) {
  return *static_cast<const Record*>(record);
}

}  // namespace

void trace_gpu(const BackendTable& table, uint8_t backend, int runtime_version) {
  State& s = state();
  s.runtime_version = runtime_version;
  s.reader = new ActivityReader(backend);
  s.timed = new TimedCalls(table, backend);
  // The driver does not survive a fork, nor does its tracer.
  pthread_atfork(nullptr, nullptr, [] {
    g_correlation_hooks.store(nullptr, std::memory_order_relaxed);
    state().found = false;
    state().mutex.reset_after_fork();
  });
  add_trace_hooks({begun, ending});
}

void ActivityReader::take(const void* record, int64_t to_monotonic) {
  Found found{};
  WorkReport& report = found.report;
  report.backend = backend_;
  report.in_ns = true;
  const auto copy_facts = [&](const auto& theirs) {
    report.begin = static_cast<int64_t>(theirs.start) + to_monotonic;
    report.end = static_cast<int64_t>(theirs.end) + to_monotonic;
    report.device = static_cast<int>(theirs.device);
    report.stream = theirs.stream;
    found.correlation = theirs.correlation;
    found.in_graph = theirs.graph_node != 0;
    report.node = found.in_graph ? static_cast<int>(theirs.graph_node & 0x7fffffff) : -1;
  };
  switch (as<uint32_t>(record)) {
    case kExternalCorrelation: {
      const auto& theirs = as<ExternalRecord>(record);
      if (theirs.external_kind != kCustomCorrelation) return;
      if (calls_.size() > kManyCalls) calls_.clear();
      calls_[theirs.correlation] = theirs.external;
      std::erase_if(waiting_, [&](const Found& other) {
        if (other.correlation != theirs.correlation) return false;
        this->report(other, theirs.external);
        return true;
      });
      return;
    }
    case kKernel:
    case kConcurrentKernel: {
      const auto& theirs = as<KernelRecord>(record);
      copy_facts(theirs);
      report.kind = static_cast<uint8_t>(WorkType::Kernel);
      if (theirs.name) report.issued.name = intern_name(readable_name(theirs.name).c_str());
      break;
    }
    case kMemcpy: {
      copy_facts(as<MemcpyRecord>(record));
      report.kind = static_cast<uint8_t>(WorkType::Copy);
      report.accesses[report.access_count++] = {nullptr, as<MemcpyRecord>(record).bytes, 1, 0};
      break;
    }
    case kMemcpyPeer: {
      copy_facts(as<MemcpyPeerRecord>(record));
      report.kind = static_cast<uint8_t>(WorkType::Copy);
      report.accesses[report.access_count++] = {nullptr, as<MemcpyPeerRecord>(record).bytes, 1, 0};
      break;
    }
    case kMemset: {
      copy_facts(as<MemsetRecord>(record));
      report.kind = static_cast<uint8_t>(WorkType::Fill);
      report.accesses[report.access_count++] = {nullptr, as<MemsetRecord>(record).bytes, 1, 0};
      break;
    }
    default:
      return;
  }
  add(found);
}

void ActivityReader::add(const Found& found) {
  const auto known = calls_.find(found.correlation);
  if (known != calls_.end()) {
    report(found, known->second);
  } else {
    waiting_.push_back(found);
    if (waiting_.size() > kManyCalls) report_waiting();  // work that no observed call has issued
  }
}

void ActivityReader::report(const Found& found, uint64_t call) {
  WorkReport complete = found.report;
  complete.issued.call = call;
  complete.graph_launch = found.in_graph ? call : 0;
  if (complete.graph_launch == 0) complete.node = -1;
  report_work(complete);
}

void ActivityReader::report_waiting() {
  for (const Found& found : waiting_) report(found, 0);
  waiting_.clear();
  calls_.clear();
}

}  // namespace infinirt::nvidia
