// infinirt_ext.h: what does not depend on a backend's inside.
#include "infinirt_ext.h"

#include <dlfcn.h>

#include <atomic>
#include <cstring>
#include <utility>

#include "core/dispatch.h"
#include "core/library_folders.h"
#include "core/log.h"
#include "core/step.h"
#include "core/wait_hooks.h"

namespace infinirt {

namespace {

std::string known_types() {
  std::string names;
  for (int i = 0; i < backend_count(); ++i) names += (i ? ", " : "") + backend_at(i)->name;
  return names;
}

infinirtError_t set_device_type(const char* type) {
  if (auto error = barred()) return error;
  if (!type) return fail(infinirtErrorInvalidValue, "type is null; a device type's name was expected");
  const Backend* current = thread_state().backend;
  if (current && current->name == type) return infinirtSuccess;
  Backend* backend = find_backend(type);
  if (!backend)
    return fail(infinirtErrorInvalidDevice, "type '%s' does not exist; known types: %s", type, known_types().c_str());
  if (backend->device_count(*backend) == 0) {
    return fail(backend->problem_code, "type '%s' has no device: %s", type, backend->problem.c_str());
  }
  choose_backend(thread_state(), backend);
  return infinirtSuccess;
}

infinirtError_t get_support(enum infinirtXSupport* support, const char* type, const char* function) {
  if (!support || !type || !function)
    return fail(infinirtErrorInvalidValue, "support, type and function must not be null");
  Backend* backend = find_backend(type);
  if (!backend)
    return fail(infinirtErrorInvalidDevice, "type '%s' does not exist; known types: %s", type, known_types().c_str());
  backend->device_count(*backend);  // may load a library that knows
  for (size_t i = 0; i < static_cast<size_t>(FunctionId::Count); ++i) {
    if (std::strcmp(kFunctionNames[i], function) == 0) {
      *support = static_cast<infinirtXSupport>(backend->support[i]);
      return infinirtSuccess;
    }
  }
  for (const char* core :
       {"infinirtGetLastError", "infinirtPeekAtLastError", "infinirtGetErrorName", "infinirtGetErrorString"}) {
    if (std::strcmp(core, function) == 0) {
      *support = infinirtXSupportNative;
      return infinirtSuccess;
    }
  }
  return fail(infinirtErrorInvalidValue, "function '%s' is not in infinirt.h", function);
}

infinirtError_t launch_host_func(infinirtStream_t stream, infinirtHostFn_t fn, void* data, infinirtHostFn_t destroy) {
  ThreadState& ts = thread_state();
  infinirtError_t error = barred();
  const Backend* backend = ts.routed = error ? nullptr : route_stream(ts, stream);
  if (backend && backend->extensions.LaunchHostFunc)
    return backend->extensions.LaunchHostFunc(stream, fn, data, destroy);
  if (backend)
    error = fail(infinirtErrorNotSupported, "not supported on device type '%s'", backend->name.c_str());
  else if (!error)
    error = routing_failed(ts);
  if (destroy) destroy(data);
  return error;
}

infinirtError_t launch_step(infinirtStream_t stream, const infinirtXStepInfo* info) {
  if (!info || info->structSize < sizeof *info || !info->run) {
    if (info && info->structSize >= sizeof *info && info->destroy) info->destroy(info->data);
    return fail(infinirtErrorInvalidValue,
                "info, info->run and info->structSize (%zu) must be given; zero the structure, then set them",
                sizeof *info);
  }
  ThreadState& ts = thread_state();
  infinirtError_t error = barred();
  const Backend* backend = ts.routed = error ? nullptr : route_stream(ts, stream);
  if (backend && backend->extensions.LaunchStep) return backend->extensions.LaunchStep(stream, *info);
  if (backend)
    error = fail(infinirtErrorNotSupported, "streams of device type '%s' are the vendor's own and take no steps",
                 backend->name.c_str());
  else if (!error)
    error = routing_failed(ts);
  if (info->destroy) info->destroy(info->data);
  return error;
}

infinirtError_t stream_use(infinirtStream_t stream, const void* pointer, size_t bytes, const char* argument,
                           void** host) {
  if (auto error = barred()) return error;
  if (!argument || !host) return fail(infinirtErrorInvalidValue, "argument and hostPointer must not be null");
  ThreadState& ts = thread_state();
  const Backend* backend = ts.routed = route_stream(ts, stream);
  if (!backend) return routing_failed(ts);
  if (backend->extensions.StreamUse) return backend->extensions.StreamUse(stream, pointer, bytes, argument, host);
  return fail(infinirtErrorNotSupported, "streams of device type '%s' are the vendor's own and take no steps",
              backend->name.c_str());
}

infinirtError_t set_memory_limit(int device, size_t bytes) {
  if (auto error = barred()) return error;
  ThreadState& ts = thread_state();
  auto* backend = const_cast<Backend*>(route_current(ts));
  if (!backend) return routing_failed(ts);
  if (!backend->extensions.SetMemoryLimit) {
    return fail(infinirtErrorNotSupported, "device type '%s' has no settable memory limit", backend->name.c_str());
  }
  return backend->extensions.SetMemoryLimit(*backend, device, bytes);
}

infinirtError_t get_host_address(void** host, const void* pointer) {
  if (auto error = barred()) return error;
  if (!host || !pointer) return fail(infinirtErrorInvalidValue, "hostPointer and devicePointer must not be null");
  auto* backend = const_cast<Backend*>(registry_owner(pointer));
  if (!backend) return fail(infinirtErrorInvalidValue, "devicePointer %p is not memory of this runtime", pointer);
  if (!backend->extensions.GetHostAddress) {
    return fail(infinirtErrorNotSupported, "memory of device type '%s' cannot be reached by the host",
                backend->name.c_str());
  }
  return backend->extensions.GetHostAddress(*backend, pointer, host);
}

infinirtError_t stream_get_device(infinirtStream_t stream, const char** type, int* device) {
  if (auto error = barred()) return error;
  ThreadState& ts = thread_state();
  const Backend* backend = route_stream(ts, stream);
  if (!backend) return routing_failed(ts);
  int ordinal = 0;
  if (auto error = backend->extensions.StreamGetDevice ? backend->extensions.StreamGetDevice(stream, &ordinal)
                                                       : backend->table.StreamGetDevice(stream, &ordinal))
    return error;
  if (type) *type = backend->name.c_str();
  if (device) *device = ordinal;
  return infinirtSuccess;
}

infinirtError_t begin_native(infinirtStream_t stream, void** native) {
  if (auto error = barred()) return error;
  if (!native) return fail(infinirtErrorInvalidValue, "native is null; it must point at where the stream goes");
  ThreadState& ts = thread_state();
  const Backend* backend = route_stream(ts, stream);
  if (!backend) return routing_failed(ts);
  const RoutedScope scope(ts, backend);
  if (backend->native_handles) return *native = stream, infinirtSuccess;
  if (backend->extensions.BeginNative) return backend->extensions.BeginNative(stream, native);
  return fail(infinirtErrorNotSupported, "device type '%s' has no streams of its own", backend->name.c_str());
}

infinirtError_t end_native(infinirtStream_t stream, void* native) {
  if (auto error = barred()) return error;
  ThreadState& ts = thread_state();
  const Backend* backend = route_stream(ts, stream);
  if (!backend) return routing_failed(ts);
  const RoutedScope scope(ts, backend);
  if (backend->native_handles) return infinirtSuccess;
  if (backend->extensions.EndNative) return backend->extensions.EndNative(stream, native);
  return fail(infinirtErrorNotSupported, "device type '%s' has no streams of its own", backend->name.c_str());
}

infinirtError_t pointer_get_native(const void* pointer, void** native) {
  if (auto error = barred()) return error;
  if (!native) return fail(infinirtErrorInvalidValue, "native is null; it must point at where the address goes");
  const Backend* owner = registry_owner(pointer);
  if (!owner) {
    const Backend* foreign = g_hot.native_backend.load(std::memory_order_acquire);
    if (!foreign || !foreign->extensions.OwnsPointer || !foreign->extensions.OwnsPointer(pointer))
      return fail(infinirtErrorInvalidValue, "pointer %p is memory of no device type", pointer);
  }
  const bool differs = owner && owner->extensions.NativeAddress;
  *native = differs ? owner->extensions.NativeAddress(*owner, pointer) : const_cast<void*>(pointer);
  return infinirtSuccess;
}

infinirtError_t graph_keep(infinirtGraph_t graph, void* object, infinirtHostFn_t destroy) {
  ThreadState& ts = thread_state();
  infinirtError_t error = barred();
  const Backend* backend = error ? nullptr : route_handle(ts, graph);
  if (!error && !backend) error = routing_failed(ts);
  if (!error && !destroy) error = fail(infinirtErrorInvalidValue, "destroy is null; what is kept has to end somehow");
  if (error) {
    if (destroy) destroy(object);
    return error;
  }
  const RoutedScope scope(ts, backend);
  infinirtUserObject_t kept = nullptr;
  error = backend->table.UserObjectCreate(&kept, object, destroy, 1, infinirtUserObjectNoDestructorSync);
  if (error) {
    destroy(object);
    return error;
  }
  error = backend->table.GraphRetainUserObject(graph, kept, 1, infinirtGraphUserObjectMove);
  if (error) backend->table.UserObjectRelease(kept, 1);
  return error;
}

infinirtError_t pointer_get_device(const void* pointer, const char** type, int* device) {
  if (auto error = barred()) return error;
  Allocation found;
  if (registry_find(pointer, &found)) {
    if (type) *type = found.backend->name.c_str();
    if (device) *device = found.device;
    return infinirtSuccess;
  }
  const Backend* native = g_hot.native_backend.load(std::memory_order_acquire);
  struct infinirtPointerAttributes attributes = {};
  if (!native || !native->extensions.OwnsPointer || !native->extensions.OwnsPointer(pointer) ||
      native->table.PointerGetAttributes(&attributes, pointer) != infinirtSuccess) {
    return fail(infinirtErrorInvalidValue, "pointer %p is memory that no device type knows", pointer);
  }
  if (type) *type = native->name.c_str();
  if (device) *device = attributes.device;
  return infinirtSuccess;
}

infinirtError_t seed_schedule(uint64_t seed) {
  if (auto error = barred()) return error;
  for (int i = 0; i < backend_count(); ++i) {
    if (auto* seed_one = backend_at(i)->extensions.SeedSchedule) return seed_one(seed);  // engines share one schedule
  }
  return fail(infinirtErrorNotSupported, "no device type has a seeded schedule");
}

infinirtError_t drain(unsigned milliseconds) {
  bool done = true;
  for (int i = 0; i < backend_count(); ++i) {
    Backend* backend = backend_at(i);
    if (backend->extensions.Drain) done &= backend->extensions.Drain(*backend, int64_t{milliseconds} * 1000000);
  }
  return done ? infinirtSuccess : infinirtErrorNotReady;
}

// Runs when the library is loaded: before it nothing resolves, and no handle can exist.
[[gnu::constructor]] void on_load() { handle_arena_initialise(); }

constexpr unsigned kNativeMode =
    0x100;  // in what infinirtXBeginRelaxedCapture returns: there is one in the bits 4 to 7

std::atomic<int> g_expected_waits{0};

bool queue_may_stand_still(const Backend& backend) {
  return backend.calls_may_wait && (g_expected_waits.load(std::memory_order_relaxed) > 0 || backend.calls_may_wait());
}

// Where there is a reason why some call may wait.
[[gnu::noinline]] int call_may_wait(const char* type) {
  const Backend* backend = thread_state().backend;
  if (type && (!backend || backend->name.c_str() != type)) {
    backend = nullptr;
    for (int i = 0; i < backend_count() && !backend; ++i) {
      if (backend_at(i)->name == type) backend = backend_at(i);
    }
  }
  if (!backend) return 1;
  if (queue_may_stand_still(*backend)) return 1;
  if (type) return 0;
  // The vendor's own handles lead to its library from threads of any type.
  const Backend* native = g_hot.native_backend.load(std::memory_order_relaxed);
  return native && native != backend && queue_may_stand_still(*native) ? 1 : 0;
}

}  // namespace

}  // namespace infinirt

using namespace infinirt;  // NOLINT: the C entry points below are outside the namespace

extern "C" {

infinirtError_t infinirtXSetDeviceType(const char* type) { return finish_error(__func__, set_device_type(type)); }

infinirtError_t infinirtXGetDeviceType(const char** type) {
  ThreadState& ts = thread_state();
  if (auto error = barred()) return finish_error(__func__, error);
  if (!type) return finish_error(__func__, fail(infinirtErrorInvalidValue, "type is null"));
  const Backend* backend = route_current(ts);
  if (!backend) return finish_error(__func__, routing_failed(ts));
  *type = backend->name.c_str();
  return infinirtSuccess;
}

const char* infinirtXGetChosenDeviceType(void) {
  const Backend* chosen = thread_state().backend;
  return chosen ? chosen->name.c_str() : nullptr;
}

infinirtError_t infinirtXEnterDeviceType(const char* type, const char** previous) {
  if (auto error = barred()) return finish_error(__func__, error);
  if (!previous)
    return finish_error(__func__, fail(infinirtErrorInvalidValue, "previous is null; the type goes there"));
  const Backend* before = thread_state().backend;
  *previous = before ? before->name.c_str() : nullptr;
  if (before && *previous == type) return infinirtSuccess;
  return finish_error(__func__, set_device_type(type));
}

void infinirtXLeaveDeviceType(const char* previous) {
  thread_state().backend = previous ? find_backend(previous) : nullptr;
}

// A vendor's library ends what graphs kept on a thread of its own, where it permits no calls and nobody has told this runtime.
int infinirtXCallsArePermitted(void) {
  ThreadState& ts = thread_state();
  if (ts.call_barrier) return 0;
  const Backend* native = g_hot.native_backend.load(std::memory_order_relaxed);
  int device = 0;
  const infinirtError_t error = native ? native->table.GetDevice(&device) : infinirtSuccess;
  if (error && ts.extra) ts.extra->has_pending = false;  // not the program's call
  return error != infinirtErrorNotPermitted;
}

// Engines keep the mode in the thread's state; the library of the backend with native handles has its own.
unsigned int infinirtXBeginRelaxedCapture(const char* type) {
  ThreadState& ts = thread_state();
  const auto own = static_cast<unsigned>(std::exchange(ts.capture_mode, infinirtStreamCaptureModeRelaxed));
  const Backend* native = g_hot.native_backend.load(std::memory_order_relaxed);
  if (!native || ts.call_barrier || (type && type != native->name.c_str() && native->name != type)) return own;
  enum infinirtStreamCaptureMode mode = infinirtStreamCaptureModeRelaxed;
  if (native->table.ThreadExchangeStreamCaptureMode(&mode)) {
    if (ts.extra) ts.extra->has_pending = false;  // not the program's call
    return own;
  }
  return own | kNativeMode | static_cast<unsigned>(mode) << 4;
}

void infinirtXEndRelaxedCapture(unsigned int state) {
  thread_state().capture_mode = static_cast<infinirtStreamCaptureMode>(state & 0xf);
  if (!(state & kNativeMode)) return;
  auto mode = static_cast<infinirtStreamCaptureMode>(state >> 4 & 0xf);
  g_hot.native_backend.load(std::memory_order_relaxed)->table.ThreadExchangeStreamCaptureMode(&mode);
}

infinirtError_t infinirtXGetDeviceTypeCount(int* count) {
  if (!count) return finish_error(__func__, fail(infinirtErrorInvalidValue, "count is null"));
  *count = backend_count();
  return infinirtSuccess;
}

infinirtError_t infinirtXGetDeviceTypeInfo(infinirtXDeviceTypeInfo* info, int index) {
  if (!info) return finish_error(__func__, fail(infinirtErrorInvalidValue, "info is null"));
  const Backend* backend = backend_at(index);
  if (!backend) {
    return finish_error(__func__, fail(infinirtErrorInvalidValue, "index %d is out of range; there are %d device types",
                                       index, backend_count()));
  }
  const int devices = backend->device_count(*backend);  // first: it may find out what the texts say
  *info = {backend->name.c_str(), backend->origin.c_str(), backend->problem.c_str(), devices, backend->is_accelerator};
  return infinirtSuccess;
}

infinirtError_t infinirtXGetDeviceTypeName(const char** name, int* isAccelerator, int index) {
  const Backend* backend = backend_at(index);
  if (!backend || !name) {
    return finish_error(__func__,
                        backend ? fail(infinirtErrorInvalidValue, "name is null")
                                : fail(infinirtErrorInvalidValue, "index %d is out of range; there are %d device types",
                                       index, backend_count()));
  }
  *name = backend->name.c_str();
  if (isAccelerator) *isAccelerator = backend->is_accelerator;
  return infinirtSuccess;
}

const char* infinirtXGetLastErrorMessage(void) { return last_error_message(thread_state()); }

infinirtError_t infinirtXSetLastError(infinirtError_t error, const char* message) {
  return set_last_error(error, message);
}

infinirtError_t infinirtXGetSupport(enum infinirtXSupport* support, const char* type, const char* function) {
  return finish_error(__func__, get_support(support, type, function));
}

infinirtError_t infinirtXLaunchHostFunc(infinirtStream_t stream, infinirtHostFn_t fn, void* userData,
                                        infinirtHostFn_t destroy) {
  const auto call = [&] {
    return finish_error("infinirtXLaunchHostFunc", launch_host_func(stream, fn, userData, destroy));
  };
  return observe_extension(ExtensionId::LaunchHostFunc, call, stream, fn, userData, destroy);
}

infinirtError_t infinirtXLaunchStep(infinirtStream_t stream, const infinirtXStepInfo* info) {
  const auto call = [&] { return finish_error("infinirtXLaunchStep", launch_step(stream, info)); };
  return observe_extension(ExtensionId::LaunchStep, call, stream, info);
}

infinirtError_t infinirtXStreamUse(infinirtStream_t stream, const void* pointer, size_t bytes, const char* argument,
                                   void** hostPointer) {
  return finish_error(__func__, stream_use(stream, pointer, bytes, argument, hostPointer));
}

void infinirtXStepFinish(infinirtXStep_t step) { step_host(step).finish_step(); }

void infinirtXStepFail(infinirtXStep_t step, infinirtError_t error, const char* message) {
  step_host(step).fail_step(error, message);
}

void infinirtXStepParallel(infinirtXStep_t step, long long count, long long grain,
                           void (*body)(long long begin, long long end, void* context), void* context) {
  step_host(step).run_parallel(count, grain, body, context);
}

infinirtError_t infinirtXStreamBeginNative(infinirtStream_t stream, void** native) {
  return finish_error(__func__, begin_native(stream, native));
}

infinirtError_t infinirtXStreamEndNative(infinirtStream_t stream, void* native) {
  return finish_error(__func__, end_native(stream, native));
}

infinirtError_t infinirtXPointerGetNative(const void* pointer, void** native) {
  return finish_error(__func__, pointer_get_native(pointer, native));
}

infinirtError_t infinirtXStreamGetDevice(infinirtStream_t stream, const char** type, int* device) {
  return finish_error(__func__, stream_get_device(stream, type, device));
}

infinirtError_t infinirtXGraphKeep(infinirtGraph_t graph, void* object, infinirtHostFn_t destroy) {
  return finish_error(__func__, graph_keep(graph, object, destroy));
}

infinirtError_t infinirtXPointerGetDevice(const void* pointer, const char** type, int* device) {
  return finish_error(__func__, pointer_get_device(pointer, type, device));
}

infinirtError_t infinirtXSetWaitHooks(void* (*begin)(void), void (*end)(void* state)) {
  if (!begin != !end) return finish_error(__func__, fail(infinirtErrorInvalidValue, "begin and end go together"));
  set_wait_hooks({begin, end});
  return infinirtSuccess;
}

// Language runtimes ask before nearly every call, so what is nearly always the answer takes two loads.
int infinirtXCallMayWait(const char* type) {
  const Backend* backend = thread_state().backend;
  if (g_hot.may_wait.load(std::memory_order_relaxed) == 0 && (type || backend)) return 0;
  return call_may_wait(type);
}

const int* infinirtXSomeCallMayWait(void) {
  static_assert(sizeof g_hot.may_wait == sizeof(int) && std::atomic<int32_t>::is_always_lock_free);
  return reinterpret_cast<const int*>(&g_hot.may_wait);
}

void infinirtXExpectWaits(int change) {
  g_expected_waits.fetch_add(change, std::memory_order_relaxed);
  g_hot.may_wait.fetch_add(change, std::memory_order_relaxed);
}

const char* infinirtXGetLibraryFolder(int index) { return library_folder(index); }

infinirtError_t infinirtXAddLibraryFolder(const char* folder) {
  if (!folder || !*folder) return finish_error(__func__, fail(infinirtErrorInvalidValue, "folder is null or empty"));
  add_library_folder(folder);
  return infinirtSuccess;
}

infinirtError_t infinirtXSetMemoryLimit(int device, size_t bytes) {
  return finish_error(__func__, set_memory_limit(device, bytes));
}

infinirtError_t infinirtXGetHostAddress(void** hostPointer, const void* devicePointer) {
  return finish_error(__func__, get_host_address(hostPointer, devicePointer));
}

infinirtError_t infinirtXSeedSchedule(unsigned long long seed) { return finish_error(__func__, seed_schedule(seed)); }

infinirtError_t infinirtXDrain(unsigned int milliseconds) { return finish_error(__func__, drain(milliseconds)); }

// Looked up in this very library and version: another library of the process may have functions of the same names.
void* infinirtXGetProcAddress(const char* name) {
  if (!name || std::strncmp(name, "infinirt", 8) != 0) return nullptr;
  static void* const self = [] {
    Dl_info info;
    if (!dladdr(reinterpret_cast<void*>(&infinirtXGetProcAddress), &info)) return static_cast<void*>(nullptr);
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  if (!self) return nullptr;
  void* address = dlvsym(self, name, "INFINIRT_1");
  return address ? address : dlsym(self, name);
}

}  // extern "C"
