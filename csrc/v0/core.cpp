#include "core.h"

#include <cstdint>
#include <cstring>

#include "infinirt_ext.h"

namespace infinirt::v0::core {

namespace {

// Only infinirtX names are imported. A reference to an aligned name could be bound to whichever library of the process
// happens to define it first, in either generation's shape.
struct Functions {
#define INFINIRT_V0_CORE_FUNCTION(name) decltype(&infinirt##name) name;
#include "core_functions.inc"
#undef INFINIRT_V0_CORE_FUNCTION
};

const Functions& functions() {
  static const Functions found = [] {
    Functions f;
#define INFINIRT_V0_CORE_FUNCTION(name) \
  f.name = reinterpret_cast<decltype(f.name)>(infinirtXGetProcAddress("infinirt" #name));
#include "core_functions.inc"
#undef INFINIRT_V0_CORE_FUNCTION
    return f;
  }();
  return found;
}

template <class... Parameters, class... Arguments>
Error call(infinirtError_t (*Functions::*entry)(Parameters...), Arguments... arguments) {
  auto* function = functions().*entry;
  // Only when a core library of an older release was found in place of ours.
  if (!function) return infinirtErrorSymbolNotFound;
  return function(arguments...);
}

auto stream_of(void* handle) { return static_cast<infinirtStream_t>(handle); }
auto event_of(void* handle) { return static_cast<infinirtEvent_t>(handle); }
auto graph_of(void* handle) { return static_cast<infinirtGraph_t>(handle); }
auto exec_of(void* handle) { return static_cast<infinirtGraphExec_t>(handle); }
auto kind_of(int kind) { return static_cast<infinirtMemcpyKind>(kind); }

// Calls a function whose first argument receives a handle, and hands the handle on without its type.
template <class Handle, class... Parameters, class... Arguments>
Error create(infinirtError_t (*Functions::*entry)(Handle*, Parameters...), void** result, Arguments... arguments) {
  Handle handle{};
  const Error error = call(entry, &handle, arguments...);
  if (!error) *result = handle;
  return error;
}

}  // namespace

static_assert(kSuccess == infinirtSuccess && kNotReady == infinirtErrorNotReady);
static_assert(kDirectionFromPointers == infinirtMemcpyDefault);

const char* last_error_message() { return infinirtXGetLastErrorMessage(); }

Error set_device_type(const char* type) { return infinirtXSetDeviceType(type); }
Error get_device_type(const char** type) { return infinirtXGetDeviceType(type); }

bool find_device_type(const char* type, int* devices) {
  *devices = 0;
  int types = 0;
  if (infinirtXGetDeviceTypeCount(&types)) return false;
  for (int i = 0; i < types; ++i) {
    infinirtXDeviceTypeInfo info{};
    if (infinirtXGetDeviceTypeInfo(&info, i) || std::strcmp(info.name, type) != 0) continue;
    *devices = info.deviceCount;
    return true;
  }
  return false;
}

Error set_device(int device) { return call(&Functions::SetDevice, device); }
Error get_device(int* device) { return call(&Functions::GetDevice, device); }
Error device_synchronize() { return call(&Functions::DeviceSynchronize); }
Error memory_info(size_t* free_bytes, size_t* total_bytes) {
  return call(&Functions::MemGetInfo, free_bytes, total_bytes);
}

size_t default_pool_reserved_bytes(int device) {
  infinirtMemPool_t pool = nullptr;
  uint64_t reserved = 0;
  if (call(&Functions::DeviceGetDefaultMemPool, &pool, device)) return 0;
  return call(&Functions::MemPoolGetAttribute, pool, infinirtMemPoolAttrReservedMemCurrent, &reserved) ? 0 : reserved;
}

Error stream_create(void** stream) { return create(&Functions::StreamCreate, stream); }
Error stream_destroy(void* stream) { return call(&Functions::StreamDestroy, stream_of(stream)); }
Error stream_synchronize(void* stream) { return call(&Functions::StreamSynchronize, stream_of(stream)); }

Error stream_settle(void* stream) {
  infinirtStreamCaptureMode mode = infinirtStreamCaptureModeRelaxed;
  if (const Error error = call(&Functions::ThreadExchangeStreamCaptureMode, &mode)) return error;
  const Error waited = stream_synchronize(stream);
  const Error restored = call(&Functions::ThreadExchangeStreamCaptureMode, &mode);
  return waited ? waited : restored;
}

Error stream_wait_event(void* stream, void* event) {
  return call(&Functions::StreamWaitEvent, stream_of(stream), event_of(event), infinirtEventWaitDefault);
}
Error stream_begin_capture(void* stream, int mode) {
  return call(&Functions::StreamBeginCapture, stream_of(stream), static_cast<infinirtStreamCaptureMode>(mode));
}

Error stream_end_capture(void* stream, void** graph) {
  infinirtGraph_t captured = nullptr;
  const Error error = call(&Functions::StreamEndCapture, stream_of(stream), &captured);
  *graph = captured;
  return error;
}

Error stream_is_capturing(void* stream, bool* capturing) {
  infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  const Error error = call(&Functions::StreamIsCapturing, stream_of(stream), &status);
  *capturing = status != infinirtStreamCaptureStatusNone;
  return error;
}

Error event_create(void** event, bool timing, bool blocking_sync) {
  const unsigned flags = (timing ? 0u : infinirtEventDisableTiming) | (blocking_sync ? infinirtEventBlockingSync : 0u);
  return create(&Functions::EventCreateWithFlags, event, flags);
}
Error event_record(void* event, void* stream) {
  return call(&Functions::EventRecord, event_of(event), stream_of(stream));
}
Error event_query(void* event) { return call(&Functions::EventQuery, event_of(event)); }
Error event_synchronize(void* event) { return call(&Functions::EventSynchronize, event_of(event)); }
Error event_destroy(void* event) { return call(&Functions::EventDestroy, event_of(event)); }
Error event_elapsed_time(float* milliseconds, void* start, void* end) {
  return call(&Functions::EventElapsedTime, milliseconds, event_of(start), event_of(end));
}

Error allocate(void** pointer, size_t size) { return call(&Functions::Malloc, pointer, size); }
Error allocate_host(void** pointer, size_t size) { return call(&Functions::MallocHost, pointer, size); }
Error allocate_async(void** pointer, size_t size, void* stream) {
  return call(&Functions::MallocAsync, pointer, size, stream_of(stream));
}
Error release(void* pointer) { return call(&Functions::Free, pointer); }
Error release_host(void* pointer) { return call(&Functions::FreeHost, pointer); }
Error release_async(void* pointer, void* stream) { return call(&Functions::FreeAsync, pointer, stream_of(stream)); }

Error memory_of(const void* pointer, Memory* memory) {
  infinirtPointerAttributes attributes{};
  const Error error = call(&Functions::PointerGetAttributes, &attributes, pointer);
  *memory = attributes.type == infinirtMemoryTypeUnregistered ? Memory::NotOurs
            : attributes.type == infinirtMemoryTypeHost       ? Memory::PinnedHost
                                                              : Memory::Device;
  return error;
}

Error copy(void* dst, const void* src, size_t size, int kind) {
  return call(&Functions::Memcpy, dst, src, size, kind_of(kind));
}
Error copy_async(void* dst, const void* src, size_t size, int kind, void* stream) {
  return call(&Functions::MemcpyAsync, dst, src, size, kind_of(kind), stream_of(stream));
}
Error set(void* pointer, int value, size_t count) { return call(&Functions::Memset, pointer, value, count); }
Error set_async(void* pointer, int value, size_t count, void* stream) {
  return call(&Functions::MemsetAsync, pointer, value, count, stream_of(stream));
}

Error graph_destroy(void* graph) { return call(&Functions::GraphDestroy, graph_of(graph)); }

Error graph_instantiate(void** exec, void* graph, void** error_node) {
  infinirtGraphInstantiateParams parameters{};
  const Error error = create(&Functions::GraphInstantiateWithParams, exec, graph_of(graph), &parameters);
  *error_node = error ? parameters.errNode_out : nullptr;
  return error;
}

Error graph_exec_destroy(void* exec) { return call(&Functions::GraphExecDestroy, exec_of(exec)); }
Error graph_launch(void* exec, void* stream) { return call(&Functions::GraphLaunch, exec_of(exec), stream_of(stream)); }

}  // namespace infinirt::v0::core
