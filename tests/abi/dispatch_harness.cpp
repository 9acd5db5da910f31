// The generated stubs against two recording backends. What the stubs need of the core is defined here, so that this file
// tests the generator and nothing else; the declarations are the core's own.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "core/dispatch.h"
#include "core/endings.h"

namespace infinirt {

constinit thread_local ThreadState t_thread_state{};
constinit HotState g_hot{};

namespace {

Backend backends[2];
HandleSlot slots[4];
int owned_bytes[2][4];  // memory that the registry knows: one array per backend

// What the last table entry saw.
const Backend* called = nullptr;
infinirtStream_t seen_stream = nullptr;
infinirtStream_t seen_source = nullptr;
infinirtStream_t seen_implicit = nullptr;
unsigned long long seen_flags = 0;
infinirtError_t answer = infinirtSuccess;

// What was remembered as a failure.
int finished = 0;
FunctionId finished_function = FunctionId::Count;
bool routing_works = true;

template <int Index>
infinirtError_t record(infinirtStream_t stream) {
  called = &backends[Index];
  seen_stream = stream;
  seen_implicit = thread_state().implicit_stream;
  return answer;
}

template <int Index>
void fill(BackendTable& table) {
  table = unsupported_table();
  table.StreamQuery = [](infinirtStream_t stream) { return record<Index>(stream); };
  table.StreamWaitEvent = [](infinirtStream_t stream, infinirtEvent_t, unsigned) { return record<Index>(stream); };
  table.StreamCopyAttributes = [](infinirtStream_t dst, infinirtStream_t src) {
    seen_source = src;
    return record<Index>(dst);
  };
  table.EventQuery = [](infinirtEvent_t) { return record<Index>(nullptr); };
  table.Memcpy = [](void*, const void*, size_t, infinirtMemcpyKind) { return record<Index>(nullptr); };
  table.Memcpy3D = [](const infinirtMemcpy3DParms*) { return record<Index>(nullptr); };
  table.StreamDestroy = [](infinirtStream_t stream) { return record<Index>(stream); };
  table.DeviceReset = []() { return record<Index>(nullptr); };
  table.Free = [](void*) { return record<Index>(nullptr); };
  table.FreeAsync = [](void*, infinirtStream_t stream) { return record<Index>(stream); };
  table.GetDevice = [](int*) { return record<Index>(nullptr); };
  table.GetDeviceProperties = [](infinirtDeviceProp*, int) { return record<Index>(nullptr); };
  table.LaunchKernelExC = [](const infinirtLaunchConfig_t* config, const void*, void**) {
    return record<Index>(config ? config->stream : nullptr);
  };
  table.GraphInstantiateWithParams = [](infinirtGraphExec_t*, infinirtGraph_t, infinirtGraphInstantiateParams* params) {
    params->result_out = infinirtGraphInstantiateError;
    return record<Index>(params->uploadStream);
  };
  table.GetDriverEntryPoint = [](const char*, void**, unsigned long long flags, infinirtDriverEntryPointQueryResult*) {
    seen_flags = flags;
    return record<Index>(nullptr);
  };
}

}  // namespace

const Backend* current_backend(ThreadState&) { return routing_works ? &backends[0] : nullptr; }
const Backend* route_owned(ThreadState&, const Backend* target, const Backend* source, const void*, const void*) {
  return target ? target : source;
}
const Backend* route_unknown_pointer(ThreadState&, const void*) { return &backends[0]; }
const Backend* backend_of_slot(const HandleSlot& slot) { return &backends[slot.backend]; }
infinirtError_t unsupported_call(FunctionId) { return infinirtErrorNotSupported; }
infinirtError_t enter_slow(ThreadState&, FunctionId function) {
  if (observed()) return infinirtSuccess;
  finished_function = function;
  return infinirtErrorNotPermitted;
}

uint16_t observed_function = 0;
std::vector<unsigned long long> observed_words;
infinirtError_t observed_result = infinirtSuccess;

ObservedCall::ObservedCall(ThreadState& ts, uint16_t function, const unsigned long long* arguments, int count)
    : ts_(ts) {
  observed_function = function;
  observed_words.assign(arguments, arguments + count);
}
infinirtError_t ObservedCall::end(infinirtError_t result) { return observed_result = result; }

const Backend* registry_owner(const void* pointer) {
  for (int i = 0; i < 2; ++i) {
    if (pointer >= owned_bytes[i] && pointer < owned_bytes[i] + 4) return &backends[i];
  }
  return nullptr;
}

infinirtError_t finish_error(ThreadState&, FunctionId function, infinirtError_t error) {
  ++finished;
  finished_function = function;
  return error;
}

infinirtError_t fail(infinirtError_t code, const char*, ...) { return code; }

}  // namespace infinirt

using namespace infinirt;

extern "C" infinirtError_t infinirtStreamQuery_ptsz(infinirtStream_t);
extern "C" infinirtError_t infinirtStreamCopyAttributes_ptsz(infinirtStream_t, infinirtStream_t);
extern "C" infinirtError_t infinirtMemcpy_ptds(void*, const void*, size_t, enum infinirtMemcpyKind);
extern "C" infinirtError_t infinirtLaunchKernelExC_ptsz(const infinirtLaunchConfig_t*, const void*, void**);
extern "C" infinirtError_t infinirtGraphInstantiateWithParams_ptsz(infinirtGraphExec_t*, infinirtGraph_t,
                                                                   infinirtGraphInstantiateParams*);
extern "C" infinirtError_t infinirtGetDriverEntryPoint_ptsz(const char*, void**, unsigned long long,
                                                            enum infinirtDriverEntryPointQueryResult*);

#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) {                                           \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                               \
    }                                                             \
  } while (false)

template <class T>
T handle(int slot, uintptr_t generation) {
  return reinterpret_cast<T>(g_hot.handles.base + (generation << kSlotBits) + static_cast<uintptr_t>(slot));
}

// Two live handles, one per backend, and one of the second backend that was destroyed.
void make_handles() {
  g_hot.native_backend = &backends[1];
  g_hot.registered.begin = 0;
  g_hot.registered.end = UINTPTR_MAX;
  g_hot.handles.base = uintptr_t{1} << 45;
  g_hot.handles.slots = slots;
  for (int i = 0; i < 2; ++i) {
    slots[i].tag = static_cast<uint32_t>(HandleKind::Stream) << 16 | 7u;
    slots[i].backend = static_cast<uint8_t>(i);
  }
}

void test_routes() {
  const auto stream_of_1 = handle<infinirtStream_t>(1, 7);
  const auto event_of_1 = handle<infinirtEvent_t>(1, 7);
  const auto foreign = reinterpret_cast<infinirtStream_t>(0x7000);
  int host = 0;

  CHECK(infinirtStreamQuery(nullptr) == infinirtSuccess && called == &backends[0]);
  CHECK(infinirtStreamQuery(infinirtStreamPerThread) == infinirtSuccess && called == &backends[0]);
  CHECK(infinirtStreamQuery(stream_of_1) == infinirtSuccess && called == &backends[1] && seen_stream == stream_of_1);
  CHECK(infinirtStreamQuery(foreign) == infinirtSuccess && called == &backends[1]);
  CHECK(infinirtStreamQuery(handle<infinirtStream_t>(1, 6)) == infinirtSuccess && called == &backends[0]);
  CHECK(infinirtEventQuery(event_of_1) == infinirtSuccess && called == &backends[1]);

  // A predefined stream names no backend, so the second argument does.
  CHECK(infinirtStreamWaitEvent(nullptr, event_of_1, 0) == infinirtSuccess && called == &backends[1]);
  CHECK(infinirtStreamWaitEvent(handle<infinirtStream_t>(0, 7), event_of_1, 0) == infinirtSuccess);
  CHECK(called == &backends[0]);
  CHECK(infinirtFreeAsync(owned_bytes[1], nullptr) == infinirtSuccess && called == &backends[1]);

  CHECK(infinirtFree(owned_bytes[1] + 1) == infinirtSuccess && called == &backends[1]);
  CHECK(infinirtFree(nullptr) == infinirtSuccess && called == &backends[0]);
  CHECK(infinirtMemcpy(owned_bytes[1], &host, 4, infinirtMemcpyDefault) == infinirtSuccess && called == &backends[1]);
  CHECK(infinirtMemcpy(&host, owned_bytes[1], 4, infinirtMemcpyDefault) == infinirtSuccess && called == &backends[1]);
  CHECK(infinirtMemcpy(&host, &host, 4, infinirtMemcpyDefault) == infinirtSuccess && called == &backends[0]);

  infinirtMemcpy3DParms copy = {};
  copy.srcPtr.ptr = owned_bytes[1];
  CHECK(infinirtMemcpy3D(&copy) == infinirtSuccess && called == &backends[1]);
  CHECK(infinirtMemcpy3D(nullptr) == infinirtSuccess && called == &backends[0]);

  infinirtLaunchConfig_t config = {};
  config.stream = stream_of_1;
  CHECK(infinirtLaunchKernelExC(&config, nullptr, nullptr) == infinirtSuccess && called == &backends[1]);
  CHECK(infinirtLaunchKernelExC(nullptr, nullptr, nullptr) == infinirtSuccess && called == &backends[0]);

  called = nullptr;
  CHECK(infinirtGetDeviceProperties_v2(nullptr, 0) == infinirtSuccess && called == &backends[0]);
}

void test_failures() {
  const int before = finished;
  answer = infinirtErrorInvalidValue;
  CHECK(infinirtGetDevice(nullptr) == infinirtErrorInvalidValue);
  CHECK(finished == before + 1 && finished_function == FunctionId::GetDevice);
  answer = infinirtSuccess;
  CHECK(infinirtMalloc(nullptr, 1) == infinirtErrorNotSupported && finished_function == FunctionId::Malloc);

  ThreadState& ts = thread_state();
  const Backend* chosen = ts.backend;
  ts.backend = nullptr;
  routing_works = false;
  CHECK(infinirtGetDevice(nullptr) == infinirtErrorInitializationError && finished_function == FunctionId::GetDevice);
  routing_works = true;
  ts.backend = chosen;

  // Barred threads do not reach the backend.
  called = nullptr;
  ts.call_barrier = 1;
  CHECK(infinirtStreamQuery(nullptr) == infinirtErrorNotPermitted && !called);
  CHECK(finished_function == FunctionId::StreamQuery);
  ts.call_barrier = 0;
  g_hot.call_hooks = 1;
  CHECK(infinirtStreamQuery(nullptr) == infinirtErrorNotPermitted && !called);
  g_hot.call_hooks = kObserveTrace;  // the call happens as ever, and is seen
  int host = 0;
  CHECK(infinirtMemcpy(owned_bytes[1], &host, 4, infinirtMemcpyDefault) == infinirtSuccess && called == &backends[1]);
  CHECK(observed_function == static_cast<uint16_t>(FunctionId::Memcpy) && observed_result == infinirtSuccess);
  CHECK((observed_words == std::vector<unsigned long long>{reinterpret_cast<uintptr_t>(owned_bytes[1]),
                                                           reinterpret_cast<uintptr_t>(&host), 4,
                                                           infinirtMemcpyDefault}));
  g_hot.call_hooks = 0;
}

void test_per_thread_forms() {
  const auto mine = handle<infinirtStream_t>(0, 7);
  CHECK(infinirtStreamQuery(nullptr) == infinirtSuccess && seen_stream == nullptr);
  CHECK(infinirtStreamQuery_ptsz(nullptr) == infinirtSuccess && seen_stream == infinirtStreamPerThread);
  CHECK(infinirtStreamQuery_ptsz(infinirtStreamLegacy) == infinirtSuccess && seen_stream == infinirtStreamLegacy);
  CHECK(infinirtStreamQuery_ptsz(mine) == infinirtSuccess && seen_stream == mine);
  CHECK(infinirtStreamCopyAttributes_ptsz(mine, nullptr) == infinirtSuccess);
  CHECK(seen_stream == mine && seen_source == infinirtStreamPerThread);

  CHECK(infinirtMemcpy(nullptr, nullptr, 0, infinirtMemcpyDefault) == infinirtSuccess && !seen_implicit);
  CHECK(infinirtMemcpy_ptds(nullptr, nullptr, 0, infinirtMemcpyDefault) == infinirtSuccess);
  CHECK(seen_implicit == infinirtStreamPerThread && !thread_state().implicit_stream);

  infinirtLaunchConfig_t config = {};
  CHECK(infinirtLaunchKernelExC_ptsz(&config, nullptr, nullptr) == infinirtSuccess);
  CHECK(seen_stream == infinirtStreamPerThread && !config.stream);
  CHECK(infinirtLaunchKernelExC_ptsz(nullptr, nullptr, nullptr) == infinirtSuccess && !seen_stream);

  // Results come back, the caller's own stream does not change.
  infinirtGraphInstantiateParams params = {};
  CHECK(infinirtGraphInstantiateWithParams_ptsz(nullptr, nullptr, &params) == infinirtSuccess);
  CHECK(seen_stream == infinirtStreamPerThread && !params.uploadStream);
  CHECK(params.result_out == infinirtGraphInstantiateError);

  CHECK(infinirtGetDriverEntryPoint_ptsz("f", nullptr, infinirtEnableDefault, nullptr) == infinirtSuccess);
  CHECK(seen_flags == infinirtEnablePerThreadDefaultStream);
  CHECK(infinirtGetDriverEntryPoint_ptsz("f", nullptr, infinirtEnableLegacyStream, nullptr) == infinirtSuccess);
  CHECK(seen_flags == infinirtEnableLegacyStream);
}

// Caches hear of what ends before it ends, and keep their memory.
const Backend* ended_on = nullptr;
infinirtStream_t ended = nullptr;
int resets = 0;
const int kept = 0;

void test_endings() {
  static constexpr EndingListener listener{[](const Backend& backend, infinirtStream_t stream) {
                                             CHECK(!called);
                                             ended_on = &backend;
                                             ended = stream;
                                           },
                                           [](const Backend&, int) { ++resets; },
                                           [](const void* pointer) { return pointer == &kept; }};
  const auto stream_of_1 = handle<infinirtStream_t>(1, 7);
  called = nullptr;
  CHECK(infinirtStreamDestroy(stream_of_1) == infinirtSuccess && !ended_on);
  g_ending_listener = &listener;
  called = nullptr;
  CHECK(infinirtStreamDestroy(stream_of_1) == infinirtSuccess && called == &backends[1]);
  CHECK(ended_on == &backends[1] && ended == stream_of_1);
  CHECK(infinirtDeviceReset() == infinirtSuccess && resets == 1);
  auto* memory = const_cast<int*>(&kept);
  for (const FunctionId function : {FunctionId::Free, FunctionId::FreeAsync, FunctionId::FreeHost}) {
    called = nullptr;
    const infinirtError_t error = function == FunctionId::Free        ? infinirtFree(memory)
                                  : function == FunctionId::FreeAsync ? infinirtFreeAsync(memory, nullptr)
                                                                      : infinirtFreeHost(memory);
    CHECK(error == infinirtErrorInvalidValue && !called && finished_function == function);
  }
  int other = 0;
  CHECK(infinirtFree(&other) == infinirtSuccess && called);
}

int main() {
  make_handles();
  fill<0>(backends[0].table);
  fill<1>(backends[1].table);
  backends[1].index = 1;
  thread_state().backend = &backends[0];
  test_routes();
  test_failures();
  test_per_thread_forms();
  test_endings();
  std::puts("dispatch: all as expected");
}
