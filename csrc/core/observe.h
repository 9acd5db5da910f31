// The seam through which tools see calls and work: traces, the log of calls, an observer's callbacks, stacks.
//
// Off, it costs nothing of its own: g_hot.call_hooks, which every stub loads anyway, has a bit for each of them. On, a stub calls its
// second form (generated), which wraps the call in an ObservedCall; engines report work and order.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/hot_state.h"
#include "core/thread_state.h"
#include "infinirt/generated/table.h"
#include "infinirt_observe.h"

namespace infinirt {

// Of g_hot.call_hooks.
inline constexpr uint32_t kHookCount = 0xff;
inline constexpr uint32_t kObserveTrace = 1u << 8;
inline constexpr uint32_t kObserveLog = 1u << 9;
inline constexpr uint32_t kObserveCallbacks = 1u << 10;
inline constexpr uint32_t kObserveStacks = 1u << 11;
inline constexpr uint32_t kObserved = ~kHookCount;

inline uint32_t observed() { return g_hot.call_hooks.load(std::memory_order_relaxed) & kObserved; }
void set_observed(uint32_t bit, bool on);

// The clock of observations: the processor's own counter where it counts evenly, which costs half of what the system's clock does.
int64_t observed_ticks();
int64_t ticks_to_ns(int64_t ticks);  // on the system's monotonic clock; for times that are not long ago

// Functions of infinirt_ext.h that are worth seeing; numbered after those of the table.
enum class ExtensionId : uint16_t {
  LaunchHostFunc = static_cast<uint16_t>(FunctionId::Count),
  LaunchStep,
  CacheAllocate,
  CacheFree,
  CacheRecordStream,
  CacheReserveAllocate,
  CacheReserveDestroy,
  ShareMemory,
  End
};
inline constexpr uint16_t kObservedFunctions = static_cast<uint16_t>(ExtensionId::End);

struct ObservedSignature {
  const char* function;
  const char*
      parameters;  // "dst:p,count:u": name and kind; p pointer or handle, u unsigned, i signed, d dim3, s other structure
  bool creates;  // the first parameter points at what the call makes: a pointer or a handle
  bool enqueues_work;  // on a stream: what a name may be meant for
};
const ObservedSignature& observed_signature(uint16_t function);
extern const ObservedSignature kTableSignatures[kFunctionCount];  // generated

template <class T>
unsigned long long observed_word(const T& value) {
  if constexpr (std::is_same_v<T, dim3>) {
    return value.x | static_cast<unsigned long long>(value.y) << 32 | static_cast<unsigned long long>(value.z) << 48;
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return static_cast<unsigned long long>(value);
  } else {
    unsigned long long word = 0;
    std::memcpy(&word, &value, sizeof value < sizeof word ? sizeof value : sizeof word);
    return word;
  }
}

// What one thread has in the way of observation; made when it is first observed.
struct ObservedThread;

// Around one call. The arguments must outlive it. A call that another call makes is one of its own, inside.
class ObservedCall {
 public:
  ObservedCall(ThreadState& ts, uint16_t function, const unsigned long long* arguments, int count);
  infinirtError_t end(infinirtError_t result);
  ObservedCall(const ObservedCall&) = delete;
  ObservedCall& operator=(const ObservedCall&) = delete;

 private:
  ThreadState& ts_;
  infinirtXCall call_;
  uint64_t outer_;
  const Backend* outer_routed_;
  uint64_t named_;
  const char* outer_stack_;
  uint16_t function_;
  uint32_t observers_;
  int64_t begin_;
};

// A call of infinirt_ext.h: `body` as it is, or with an observer looking on. Arguments are those of the signature.
template <class Body, class... Arguments>
infinirtError_t observe_extension(ExtensionId function, Body&& body, const Arguments&... arguments) {
  if (!observed()) [[likely]]
    return body();
  const unsigned long long words[] = {observed_word(arguments)...};
  ObservedCall call(thread_state(), static_cast<uint16_t>(function), words, static_cast<int>(sizeof...(arguments)));
  return call.end(body());
}

// ---- Work

// What an operation carries from the call that issued it to where it runs; all zero when nothing observed that call.
struct Issued {
  uint64_t call = 0;
  uint64_t name = 0;  // of infinirtXNameNextWork; 0: none
  const char* stack = nullptr;  // of the call
};

// What the calling thread's next operation is issued with. Consumes the name.
Issued issued_now(ThreadState& ts);
// The same for what the runtime puts before the call's own work, which keeps the name that was given to it.
Issued issued_for_runtime(const ThreadState& ts);
// The text of a name, which lives for ever; null for 0.
const char* name_text(uint64_t name);
uint64_t intern_name(const char* text);  // at most 127 bytes of it

struct WorkReport {
  Issued issued;
  uint8_t kind = 0;  // index into work_kind_name
  const char* name = nullptr;  // lives for ever
  uint8_t backend = 0;
  int device = 0;
  uint64_t stream = 0;
  infinirtStream_t handle = nullptr;
  uint64_t order = 0, position = 0;
  uint64_t graph_launch = 0;
  int node = -1;
  int64_t begin = 0, end = 0;  // ticks
  bool in_ns = false;  // a vendor's tracer: they are nanoseconds of the monotonic clock
  infinirtXAccess accesses[2];
  int access_count = 0;
};
const char* work_kind_name(uint8_t kind);
void report_work(const WorkReport& report);
void report_order(uint64_t call, uint64_t later_order, uint64_t later_position, uint64_t earlier_order,
                  uint64_t earlier_position);

// For backends whose work is not the engine's: told when an observed call begins and when it is over.
struct CorrelationHooks {
  void (*begin)(uint64_t call, uint16_t function, const unsigned long long* arguments);
  void (*end)(infinirtError_t result);
};
extern std::atomic<const CorrelationHooks*> g_correlation_hooks;
// ... and that starts and stops with traces. Never removed.
struct TraceHooks {
  void (*begun)();
  void (*ending)();  // the trace still takes reports
};
void add_trace_hooks(const TraceHooks& hooks);

}  // namespace infinirt
