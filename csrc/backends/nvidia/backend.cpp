// Device type 'nvidia': every function is NVIDIA's own, and so are the handles.
#include <pthread.h>

#include <mutex>

#include "backends/nvidia/compiler.h"
#include "backends/nvidia/copies.h"
#include "backends/nvidia/cross_events.h"
#include "backends/nvidia/cupti.h"
#include "backends/nvidia/host_function.h"
#include "backends/nvidia/real_library.h"
#include "core/error.h"

namespace infinirt::nvidia {

const BackendTable& call_table();  // generated

namespace {

Backend* g_backend = nullptr;

// What the library lacks stays unsupported.
void fill_table(Backend& backend, const Library& loaded) {
  backend.table = call_table();
  backend.support.fill(Support::Native);
  auto* entries = reinterpret_cast<void**>(&backend.table);
  const auto* missing = reinterpret_cast<void* const*>(&unsupported_table());
  for (FunctionId function : loaded.absent) {
    const auto i = static_cast<size_t>(function);
    entries[i] = missing[i];
    backend.support[i] = Support::Unsupported;
  }
}

int device_count(const Backend&) {
  static std::once_flag once;
  std::call_once(once, [] {
    const Library& loaded = library();
    if (!loaded.path.empty()) {
      fill_table(*g_backend, loaded);
      g_backend->origin = loaded.path + " (CUDA " + std::to_string(loaded.version / 1000) + "." +
                          std::to_string(loaded.version % 1000 / 10) + ")";
    }
    g_backend->problem = loaded.problem;
    g_backend->problem_code = loaded.error;
    if (loaded.devices > 0) trace_gpu(real, g_backend->index, loaded.version);
  });
  return library().devices;
}

// The driver does not survive a fork. A child that did not inherit a started driver may start its own.
void in_forked_child() {
  if (!library_is_loaded() || library().devices == 0) return;
  unlock_cross_events_in_forked_child();
  g_backend->extensions.SnapshotEvent = [](infinirtEvent_t, void**, void**) {
    return fail(g_backend->refusal_code, "%s", g_backend->refusal.c_str());
  };
  g_backend->table = unsupported_table();
  g_backend->refusal_code = infinirtErrorInitializationError;
  g_backend->refusal =
      "the process was forked after CUDA had been started in its parent, and CUDA does not work in such a "
      "child; start the process with spawn or exec, or fork before the first use of a GPU";
}

// While a stream captures, asking for its device would break the capture; it is then taken for the current one.
infinirtError_t stream_get_device(infinirtStream_t stream, int* device) {
  enum infinirtStreamCaptureStatus status = infinirtStreamCaptureStatusNone;
  const bool idle = real.StreamIsCapturing(stream, &status) == infinirtSuccess &&
                    status == infinirtStreamCaptureStatusNone && real.StreamGetDevice;
  return idle ? g_backend->table.StreamGetDevice(stream, device) : g_backend->table.GetDevice(device);
}

bool owns_pointer(const void* pointer) {
  struct infinirtPointerAttributes attributes = {};
  if (!real.PointerGetAttributes || real.PointerGetAttributes(&attributes, pointer) != infinirtSuccess) {
    if (real_get_last_error) real_get_last_error();
    return false;
  }
  return attributes.type != infinirtMemoryTypeUnregistered;
}

Backend* make_backend() {
  auto* backend = new Backend;
  backend->name = "nvidia";
  backend->origin = "NVIDIA's runtime library";
  backend->is_accelerator = true;
  backend->native_handles = true;
  backend->table = unsupported_table();
  backend->device_count = device_count;
  backend->calls_may_wait = [] { return host_functions_pending() || streams_await_cpu(); };
  backend->extensions.LaunchHostFunc = launch_host_func;
  backend->extensions.Compile = compile;
  backend->extensions.StreamGetDevice = stream_get_device;
  backend->extensions.SnapshotEvent = snapshot_event;
  backend->extensions.WaitForSnapshot = wait_for_snapshot;
  backend->extensions.DropSnapshot = drop_snapshot;
  backend->extensions.DropLane = drop_lane;
  backend->extensions.CopyNow = copy_now;
  backend->extensions.WaitForDefaultStream = wait_for_default_stream;
  backend->extensions.OwnsPointer = owns_pointer;
  g_backend = backend;
  pthread_atfork(nullptr, nullptr, in_forked_child);
  return backend;
}

const BuiltinBackend registration(2, make_backend);

}  // namespace

}  // namespace infinirt::nvidia
