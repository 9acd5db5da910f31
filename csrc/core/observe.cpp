#include "core/observe.h"

#include <pthread.h>
#include <time.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/backend.h"
#include "core/error.h"
#include "core/log.h"
#include "core/mutex.h"
#include "core/observed_clock.h"
#include "core/trace_file.h"

namespace infinirt {

constinit std::atomic<const CorrelationHooks*> g_correlation_hooks{nullptr};

struct ObservedThread {
  ThreadTrace trace;
  uint64_t number = 0;  // of the thread, in the upper bits of its calls' numbers
  uint64_t calls = 0;
  uint64_t next_name = 0;
  const char* stack = nullptr;  // of the call in progress
  infinirtXAccess accesses[16];
  int access_count = 0;
};

namespace {

constexpr int kCallBits = 40;
constexpr size_t kNameBytes = 127;

std::atomic<uint64_t> thread_count{0};
std::atomic<const infinirtXObserver*> current_observer{nullptr};  // never freed once set
std::atomic<const char* (*)()> stack_hook{nullptr};

struct NameTable {
  Mutex mutex;
  std::unordered_map<uint64_t, std::string> names;  // for ever
};

NameTable& name_table() {
  static NameTable* const table = [] {
    pthread_atfork([] { name_table().mutex.lock(); }, [] { name_table().mutex.unlock(); },
                   [] { name_table().mutex.reset_after_fork(); });
    return new NameTable;
  }();
  return *table;
}

struct TraceHookList {
  Mutex mutex;
  std::vector<TraceHooks> hooks;
};

TraceHookList& trace_hook_list() {
  static auto* list = new TraceHookList;
  return *list;
}

ObservedThread& observed_thread(ThreadState& ts) {
  if (ts.observed) [[likely]]
    return *ts.observed;
  static const bool hooked = (add_thread_exit_hook([](ThreadExtra&) {
                                ThreadState& mine = thread_state();
                                if (!mine.observed) return;
                                trace_thread_ended(mine.observed->trace);
                                delete mine.observed;
                                mine.observed = nullptr;
                              }),
                              true);
  (void)hooked;
  thread_extra(ts);  // whose end runs the hook
  ts.observed = new ObservedThread;
  ts.observed->number = thread_count.fetch_add(1, std::memory_order_relaxed) + 1;
  return *ts.observed;
}

uint64_t hash_text(const char* text, size_t length) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (size_t i = 0; i < length; ++i) hash = (hash ^ static_cast<uint8_t>(text[i])) * 0x100000001b3ull;
  return hash ? hash : 1;
}

void write_text(ThreadTrace& trace, RecordKind kind, uint64_t key, const char* text, size_t length) {
  const size_t words = 3 + (length + 7) / 8;
  uint64_t* record = trace_reserve(trace, words);
  if (!record) return;
  record[0] = record_head(kind, words);
  record[1] = key;
  record[2] = length;
  if (words > 3) record[words - 1] = 0;
  std::memcpy(record + 3, text, length);
  trace_commit(trace, words);
}

// Puts the text of a name into the thread's part of the file, unless it is there. Stacks may be long: two kilobytes are enough.
uint64_t announce(ThreadTrace& trace, const char* text) {
  const size_t all = std::strlen(text);
  const size_t length = all < 1900 ? all : 1900;
  const uint64_t hash = hash_text(text, length);
  uint64_t& slot = trace.announced[hash % 64];
  if (slot != hash || trace.session != trace_session()) {
    write_text(trace, RecordKind::Name, hash, text, length);
    trace.announced[hash % 64] = hash;
  }
  return hash;
}

void announce_backend(ThreadTrace& trace, uint8_t index) {
  const uint64_t key = ~uint64_t{index};  // no name has it, for practical purposes
  uint64_t& slot = trace.announced[63 - index % 32];
  if (slot == key && trace.session == trace_session()) return;
  const std::string& name = backend_at(index)->name;
  write_text(trace, RecordKind::Backend, index, name.c_str(), name.size());
  trace.announced[63 - index % 32] = key;
}

void write_accesses(uint64_t* record, const infinirtXAccess* accesses, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    *record++ = observed_word(accesses[i].pointer);
    *record++ = accesses[i].bytes | (accesses[i].writes ? uint64_t{1} << 63 : 0);
  }
}

// Of 48 bits, which is a day.
uint64_t record_duration(int64_t begin, int64_t end) {
  const auto duration = static_cast<uint64_t>(end > begin ? end - begin : 0);
  return duration < (uint64_t{1} << 48) ? duration : (uint64_t{1} << 48) - 1;
}

void write_call(ObservedThread& thread, const infinirtXCall& call, int64_t begin, int64_t end, uint16_t function,
                uint8_t backend) {
  ThreadTrace& trace = thread.trace;
  const uint64_t stack = call.stack ? announce(trace, call.stack) : 0;
  if (backend != 0xff) announce_backend(trace, backend);
  const auto count = static_cast<size_t>(call.argumentCount), accesses = static_cast<size_t>(call.accessCount);
  const size_t more = (stack != 0) + (call.created != 0);
  const size_t words = 4 + more + count + 2 * accesses;
  uint64_t* record = trace_reserve(trace, words);
  if (!record) return;
  record[0] = record_head(RecordKind::Call, words) | static_cast<uint64_t>(function) << 16 |
              static_cast<uint64_t>(static_cast<uint16_t>(call.result)) << 32 | static_cast<uint64_t>(backend) << 48 |
              static_cast<uint64_t>(static_cast<uint8_t>(call.device)) << 56;
  record[1] = call.number;
  record[2] = static_cast<uint64_t>(begin);
  record[3] = record_duration(begin, end) | static_cast<uint64_t>(stack != 0) << 48 |
              static_cast<uint64_t>(call.created != 0) << 49 | count << 50 | accesses << 56;
  record += 4;
  if (stack) *record++ = stack;
  if (call.created) *record++ = call.created;
  for (size_t i = 0; i < count; ++i) *record++ = call.arguments[i];
  write_accesses(record, call.accesses, accesses);
  trace_commit(trace, words);
}

// "name:k,": appends `name=value` and moves on to the next parameter.
const char* log_argument(std::string& line, const char* parameter, unsigned long long word) {
  const char* colon = std::strchr(parameter, ':');
  if (!colon) return parameter;
  line.append(parameter, static_cast<size_t>(colon - parameter));
  char value[64];
  switch (colon[1]) {
    case 'u':
      std::snprintf(value, sizeof value, "=%llu", word);
      break;
    case 'i':
      std::snprintf(value, sizeof value, "=%lld", static_cast<long long>(static_cast<int>(word)));
      break;
    case 'd':
      std::snprintf(value, sizeof value, "=(%llu, %llu, %llu)", word & 0xffffffff, word >> 32 & 0xffff, word >> 48);
      break;
    case 's':
      std::snprintf(value, sizeof value, "={...}");
      break;
    default:
      std::snprintf(value, sizeof value, word < 4096 ? "=%llu" : "=0x%llx", word);
  }
  line += value;
  return colon[1] && colon[2] ? colon + 3 : colon + 2;
}

// Before the call: the last line is then the one that hangs or crashes.
void log_begin(const infinirtXCall& call) {
  std::string line = std::string(call.function) + "(";
  const char* parameter = call.signature;
  for (int i = 0; i < call.argumentCount; ++i) {
    if (i) line += ", ";
    parameter = log_argument(line, parameter, call.arguments[i]);
  }
  line += ")";
  log_line("call", line.c_str());
}

void log_end(const infinirtXCall& call) {
  std::string line = std::string(call.function) + " -> ";
  line += call.result == infinirtSuccess ? "success" : error_name(call.result);
  char more[80];
  if (call.created) {
    std::snprintf(more, sizeof more, " 0x%llx", call.created);
    line += more;
  }
  std::snprintf(more, sizeof more, ", %.1f us", static_cast<double>(call.endNs - call.startNs) / 1000);
  line += more;
  log_line("done", line.c_str());
}

// The reader knows what has no name by its kind.
uint64_t report_name(ThreadTrace& trace, const WorkReport& report) {
  if (report.issued.name) return announce(trace, name_text(report.issued.name));
  return report.name ? announce(trace, report.name) : 0;
}

void write_work(ObservedThread& thread, const WorkReport& report) {
  ThreadTrace& trace = thread.trace;
  const uint64_t name = report_name(trace, report);
  announce_backend(trace, report.backend);
  const auto accesses = static_cast<size_t>(report.access_count);
  const size_t words = 9 + (report.graph_launch ? 2 : 0) + 2 * accesses;
  uint64_t* record = trace_reserve(trace, words);
  if (!record) return;
  record[0] = record_head(RecordKind::Work, words) | static_cast<uint64_t>(report.kind) << 16 |
              static_cast<uint64_t>(report.in_ns) << 24 | static_cast<uint64_t>(report.backend) << 48 |
              static_cast<uint64_t>(static_cast<uint8_t>(report.device)) << 56;
  record[1] = report.issued.call;
  record[2] = static_cast<uint64_t>(report.begin);
  record[3] = record_duration(report.begin, report.end) | static_cast<uint64_t>(report.graph_launch != 0) << 48 |
              accesses << 56;
  record[4] = report.stream;
  record[5] = observed_word(report.handle);
  record[6] = report.order;
  record[7] = report.position;
  record[8] = name;
  record += 9;
  if (report.graph_launch) {
    *record++ = report.graph_launch;
    *record++ = static_cast<uint64_t>(report.node);
  }
  write_accesses(record, report.accesses, accesses);
  trace_commit(trace, words);
}

constexpr ObservedSignature kExtensionSignatures[] = {
    {"infinirtXLaunchHostFunc", "stream:p,fn:p,userData:p,destroy:p", false, true},
    {"infinirtXLaunchStep", "stream:p,info:p", false, true},
    {"infinirtXCacheAllocate", "ptr:p,size:u,cache:p,stream:p", true, false},
    {"infinirtXCacheFree", "ptr:p,cache:p,stream:p", false, false},
    {"infinirtXCacheRecordStream", "ptr:p,cache:p,stream:p", false, false},
    {"infinirtXCacheReserveAllocate", "ptr:p,size:u,cache:p,reserve:p,stream:p", true, false},
    {"infinirtXCacheReserveDestroy", "cache:p,reserve:p,stream:p", false, false},
    {"infinirtXShareMemory", "pointer:p,bytes:u", false, false},
};
static_assert(sizeof kExtensionSignatures / sizeof *kExtensionSignatures == kObservedFunctions - kFunctionCount);

infinirtError_t trace_begin(const char* folder) {
  if (!folder || !*folder) return fail(infinirtErrorInvalidValue, "folder is null or empty");
  bool already = false;
  const char* problem = trace_open(folder, &already);
  if (already) return fail(infinirtErrorAlreadyAcquired, "a trace runs already; end it first with infinirtXTraceEnd");
  if (problem) return fail(infinirtErrorInvalidValue, "the trace cannot be written: %s", problem);
  set_observed(kObserveTrace, true);
  std::lock_guard guard(trace_hook_list().mutex);
  for (const TraceHooks& hooks : trace_hook_list().hooks) hooks.begun();
  return infinirtSuccess;
}

void trace_end() {
  if (trace_session() == 0) return;
  {
    std::lock_guard guard(trace_hook_list().mutex);
    for (const TraceHooks& hooks : trace_hook_list().hooks) hooks.ending();
  }
  set_observed(kObserveTrace, false);
  trace_close();
}

// What the environment asks for, when the library is loaded.
[[gnu::constructor]] void observe_from_environment() {
  if (log_enabled(LogLevel::Api)) set_observed(kObserveLog, true);
  const char* folder = std::getenv("INFINIRT_TRACE");
  if (!folder || !*folder) return;
  bool already = false;
  if (const char* problem = trace_open(folder, &already)) {
    log_line("trace", problem);
  } else {
    set_observed(kObserveTrace, true);
  }
}

}  // namespace

void set_observed(uint32_t bit, bool on) {
  if (on) {
    g_hot.call_hooks.fetch_or(bit, std::memory_order_release);
  } else {
    g_hot.call_hooks.fetch_and(~bit, std::memory_order_release);
  }
}

int64_t ticks_to_ns(int64_t ticks) {
  const ClockPair now = clock_pair();
  return now.ns - static_cast<int64_t>(static_cast<double>(now.ticks - ticks) * ns_per_tick());
}

const ObservedSignature& observed_signature(uint16_t function) {
  return function < kFunctionCount ? kTableSignatures[function] : kExtensionSignatures[function - kFunctionCount];
}

ObservedCall::ObservedCall(ThreadState& ts, uint16_t function, const unsigned long long* arguments, int count)
    : ts_(ts), outer_(ts.call), outer_routed_(ts.routed), function_(function), observers_(observed()) {
  ts.routed = nullptr;
  ObservedThread& thread = observed_thread(ts);
  const ObservedSignature& signature = observed_signature(function);
  call_.number = thread.number << kCallBits | ++thread.calls;
  call_.function = signature.function;
  call_.signature = signature.parameters;
  call_.arguments = arguments;
  call_.argumentCount = count;
  call_.deviceType = ts.backend ? ts.backend->name.c_str() : nullptr;
  call_.device = ts.backend ? ts.device[ts.backend->index] : 0;
  call_.result = infinirtSuccess;
  call_.created = 0;
  call_.startNs = call_.endNs = 0;
  call_.accesses = thread.accesses;
  call_.accessCount = thread.access_count;
  named_ = thread.next_name != 0 && signature.enqueues_work ? thread.next_name : 0;
  call_.name = name_text(named_);
  outer_stack_ = thread.stack;
  call_.stack = thread.stack;
  if (observers_ & kObserveStacks) [[unlikely]] {
    // The outermost call is the one that the program made.
    if (outer_ == 0) {
      const auto hook = stack_hook.load(std::memory_order_acquire);
      call_.stack = thread.stack = hook ? hook() : nullptr;
    }
  }
  ts.call = call_.number;
  if (const CorrelationHooks* hooks = g_correlation_hooks.load(std::memory_order_acquire)) [[unlikely]]
    hooks->begin(call_.number, function, arguments);
  if (observers_ & kObserveLog) [[unlikely]]
    log_begin(call_);
  begin_ = observed_ticks();
  if (observers_ & kObserveCallbacks) [[unlikely]] {
    const infinirtXObserver* observer = current_observer.load(std::memory_order_acquire);
    if (observer && observer->callBegin) {
      call_.startNs = ticks_to_ns(begin_);
      ++ts.call_barrier;
      observer->callBegin(observer->user, &call_);
      --ts.call_barrier;
    }
  }
}

infinirtError_t ObservedCall::end(infinirtError_t result) {
  const int64_t end = observed_ticks();
  call_.result = result;
  // Handles and addresses lead elsewhere than to the thread's own device type, and a thread may have chosen none.
  const Backend* answered = ts_.routed ? ts_.routed : ts_.backend;
  ts_.routed = outer_routed_;
  if (answered) {
    call_.deviceType = answered->name.c_str();
    call_.device = ts_.device[answered->index];
  }
  if (result == infinirtSuccess && observed_signature(function_).creates && call_.arguments[0])
    std::memcpy(&call_.created, reinterpret_cast<const void*>(call_.arguments[0]), sizeof(void*));
  ObservedThread& thread = observed_thread(ts_);
  if (const CorrelationHooks* hooks = g_correlation_hooks.load(std::memory_order_acquire)) [[unlikely]]
    hooks->end(result);
  if (observers_ & kObserveTrace) write_call(thread, call_, begin_, end, function_, answered ? answered->index : 0xff);
  if (observers_ & (kObserveLog | kObserveCallbacks)) [[unlikely]] {
    call_.startNs = ticks_to_ns(begin_);
    call_.endNs = ticks_to_ns(end);
  }
  if (observers_ & kObserveLog) [[unlikely]]
    log_end(call_);
  if (observers_ & kObserveCallbacks) [[unlikely]] {
    const infinirtXObserver* observer = current_observer.load(std::memory_order_acquire);
    if (observer && observer->callEnd) {
      ++ts_.call_barrier;
      observer->callEnd(observer->user, &call_);
      --ts_.call_barrier;
    }
  }
  if (named_ != 0 && thread.next_name == named_) thread.next_name = 0;  // a vendor's stream takes no names
  thread.access_count = 0;
  thread.stack = outer_stack_;
  ts_.call = outer_;
  return result;
}

Issued issued_now(ThreadState& ts) {
  if (!ts.observed) [[likely]]
    return {};
  return {ts.call, std::exchange(ts.observed->next_name, 0), ts.observed->stack};
}

Issued issued_for_runtime(const ThreadState& ts) {
  if (!ts.observed) [[likely]]
    return {};
  return {ts.call, 0, ts.observed->stack};
}

uint64_t intern_name(const char* text) {
  const size_t length = strnlen(text, kNameBytes);
  const uint64_t hash = hash_text(text, length);
  NameTable& table = name_table();
  std::lock_guard guard(table.mutex);
  table.names.try_emplace(hash, text, length);
  return hash;
}

const char* name_text(uint64_t name) {
  if (name == 0) return nullptr;
  NameTable& table = name_table();
  std::lock_guard guard(table.mutex);
  const auto found = table.names.find(name);
  return found == table.names.end() ? nullptr : found->second.c_str();
}

// In the order of WorkType (engine/work.h), which asserts it.
const char* work_kind_name(uint8_t kind) {
  static constexpr const char* kNames[] = {"nothing", "copy",   "fill",  "host",        "callback",
                                           "kernel",  "record", "wait",  "wait shared", "record shared",
                                           "graph",   "step",   "memory"};
  return kind < sizeof kNames / sizeof *kNames ? kNames[kind] : "?";
}

void report_work(const WorkReport& report) {
  const uint32_t observers = observed();
  ThreadState& ts = thread_state();
  if (observers & kObserveTrace) write_work(observed_thread(ts), report);
  if (!(observers & kObserveCallbacks)) return;
  const infinirtXObserver* observer = current_observer.load(std::memory_order_acquire);
  if (!observer || !observer->work) return;
  const char* name = report.issued.name ? name_text(report.issued.name) : report.name;
  const infinirtXWork work{report.issued.call,
                           work_kind_name(report.kind),
                           name,
                           backend_at(report.backend)->name.c_str(),
                           report.device,
                           report.stream,
                           report.order,
                           report.position,
                           report.graph_launch,
                           report.node,
                           report.in_ns ? report.begin : ticks_to_ns(report.begin),
                           report.in_ns ? report.end : ticks_to_ns(report.end),
                           report.accesses,
                           report.access_count};
  ++ts.call_barrier;
  observer->work(observer->user, &work);
  --ts.call_barrier;
}

void report_order(uint64_t call, uint64_t later_order, uint64_t later_position, uint64_t earlier_order,
                  uint64_t earlier_position) {
  const uint32_t observers = observed();
  ThreadState& ts = thread_state();
  if (observers & kObserveTrace) {
    ThreadTrace& trace = observed_thread(ts).trace;
    if (uint64_t* record = trace_reserve(trace, 7)) {
      record[0] = record_head(RecordKind::Order, 7);
      record[1] = call;
      record[2] = static_cast<uint64_t>(observed_ticks());
      record[3] = later_order;
      record[4] = later_position;
      record[5] = earlier_order;
      record[6] = earlier_position;
      trace_commit(trace, 7);
    }
  }
  if (!(observers & kObserveCallbacks)) return;
  const infinirtXObserver* observer = current_observer.load(std::memory_order_acquire);
  if (!observer || !observer->order) return;
  ++ts.call_barrier;
  observer->order(observer->user, call, later_order, later_position, earlier_order, earlier_position);
  --ts.call_barrier;
}

void add_trace_hooks(const TraceHooks& hooks) {
  std::lock_guard guard(trace_hook_list().mutex);
  trace_hook_list().hooks.push_back(hooks);
  if (trace_session() != 0) hooks.begun();
}

}  // namespace infinirt

using namespace infinirt;

extern "C" {

infinirtError_t infinirtXTraceBegin(const char* folder) { return finish_error(__func__, trace_begin(folder)); }

infinirtError_t infinirtXTraceEnd(void) {
  trace_end();
  return infinirtSuccess;
}

infinirtError_t infinirtXTraceGetLost(unsigned long long* records) {
  if (!records) return finish_error(__func__, fail(infinirtErrorInvalidValue, "records is null"));
  *records = trace_lost();
  return infinirtSuccess;
}

int infinirtXObserved(void) { return observed() != 0; }

void infinirtXRangePush(const char* name) {
  if (!(observed() & kObserveTrace) || !name) return;
  ThreadTrace& trace = observed_thread(thread_state()).trace;
  const uint64_t hash = announce(trace, name);
  uint64_t* record = trace_reserve(trace, 3);
  if (!record) return;
  record[0] = record_head(RecordKind::RangePush, 3);
  record[1] = static_cast<uint64_t>(observed_ticks());
  record[2] = hash;
  trace_commit(trace, 3);
}

void infinirtXRangePop(void) {
  if (!(observed() & kObserveTrace)) return;
  ThreadTrace& trace = observed_thread(thread_state()).trace;
  uint64_t* record = trace_reserve(trace, 2);
  if (!record) return;
  record[0] = record_head(RecordKind::RangePop, 2);
  record[1] = static_cast<uint64_t>(observed_ticks());
  trace_commit(trace, 2);
}

void infinirtXNameNextWork(const char* name) {
  observed_thread(thread_state()).next_name = name && *name ? intern_name(name) : 0;
}

void infinirtXDeclareAccess(const infinirtXAccess* accesses, int count) {
  if (!observed()) return;
  ObservedThread& thread = observed_thread(thread_state());
  thread.access_count = 0;
  for (int i = 0; accesses && i < count && i < 16; ++i) thread.accesses[thread.access_count++] = accesses[i];
}

infinirtError_t infinirtXShareMemory(const void* pointer, size_t bytes) {
  return observe_extension(ExtensionId::ShareMemory, [] { return infinirtSuccess; }, pointer, bytes);
}

infinirtError_t infinirtXSetObserver(const infinirtXObserver* observer) {
  if (!observer) {
    set_observed(kObserveCallbacks, false);
    current_observer.store(nullptr, std::memory_order_release);  // the old one stays: a thread may be in it
    return infinirtSuccess;
  }
  if (observer->structSize < sizeof *observer) {
    return finish_error(__func__, fail(infinirtErrorInvalidValue,
                                       "observer->structSize is %zu and must be %zu; zero the structure, then set it",
                                       observer->structSize, sizeof *observer));
  }
  const infinirtXObserver* none = nullptr;
  const auto* kept = new infinirtXObserver(*observer);
  if (!current_observer.compare_exchange_strong(none, kept, std::memory_order_acq_rel)) {
    delete kept;
    return finish_error(__func__, fail(infinirtErrorAlreadyAcquired,
                                       "there is an observer already; it is taken away by infinirtXSetObserver(NULL)"));
  }
  set_observed(kObserveCallbacks, true);
  return infinirtSuccess;
}

infinirtError_t infinirtXSetStackHook(const char* (*hook)(void)) {
  if (!hook) set_observed(kObserveStacks, false);
  stack_hook.store(hook, std::memory_order_release);
  if (hook) set_observed(kObserveStacks, true);
  return infinirtSuccess;
}

}  // extern "C"
