#include "backends/nvidia/driver_calls.h"

#include <type_traits>

#include "backends/nvidia/retired_handles.h"

namespace infinirt::nvidia {

namespace {

infinirtError_t LibraryGetKernel(infinirtKernel_t* kernel, infinirtLibrary_t library, const char* name) {
  const infinirtError_t error = runtime_library.LibraryGetKernel(kernel, library, name);
  if (error == infinirtSuccess) direct::kernel_slot(*kernel).store(*kernel, std::memory_order_relaxed);
  return error;
}

// ---- the current device
// The library's own costs as much when nothing changes. It must be called when anything else has made another context current
// on this thread, and that is what is asked first.

struct LastSet {
  void* context;  // that was current afterwards; null: never set
  int device;
};
constinit thread_local LastSet t_last_set [[gnu::tls_model("initial-exec")]] = {nullptr, 0};

[[gnu::hot, gnu::aligned(64)]] infinirtError_t SetDevice(int device) {
  void* current = nullptr;
  LastSet& last = t_last_set;
  if (last.context && last.device == device && driver.CtxGetCurrent(&current) == infinirtSuccess &&
      current == last.context) {
    return infinirtSuccess;
  }
  const infinirtError_t error = runtime_library.SetDevice(device);
  current = nullptr;
  if (error == infinirtSuccess && driver.CtxGetCurrent(&current) == infinirtSuccess) last = {current, device};
  return error;
}

infinirtError_t DeviceReset() {
  t_last_set = {};  // the next call starts the device again
  forget_retired_handles();
  return runtime_library.DeviceReset();
}

}  // namespace

constinit Driver driver;

std::atomic<const void*> direct::known_kernels[1024];

void use_driver_directly(BackendTable& table) {
  Driver found;
  bool all = true;
  auto find = [&](auto*& entry, const char* name) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(driver_function(name));
    all = all && entry;
  };
  find(found.CtxGetCurrent, "cuCtxGetCurrent");
  find(found.StreamQuery, "cuStreamQuery");
  find(found.StreamSynchronize, "cuStreamSynchronize");
  find(found.StreamIsCapturing, "cuStreamIsCapturing");
  find(found.StreamWaitEvent, "cuStreamWaitEvent");
  find(found.EventRecord, "cuEventRecord");
  find(found.EventQuery, "cuEventQuery");
  find(found.EventSynchronize, "cuEventSynchronize");
  find(found.MemAlloc, "cuMemAlloc_v2");
  find(found.MemFree, "cuMemFree_v2");
  find(found.MemAllocAsync, "cuMemAllocAsync");
  find(found.MemFreeAsync, "cuMemFreeAsync");
  find(found.MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  find(found.MemsetD8Async, "cuMemsetD8Async");
  find(found.LaunchKernelEx, "cuLaunchKernelEx");
  find(found.GraphLaunch, "cuGraphLaunch");
  if (!all) return;
  driver = found;
#define DIRECT(name, function) \
  if (table.name) table.name = function
  DIRECT(StreamQuery, direct::StreamQuery);
  DIRECT(StreamSynchronize, direct::StreamSynchronize);
  DIRECT(StreamIsCapturing, direct::StreamIsCapturing);
  DIRECT(StreamWaitEvent, direct::StreamWaitEvent);
  DIRECT(EventRecord, direct::EventRecord);
  DIRECT(EventQuery, direct::EventQuery);
  DIRECT(EventSynchronize, direct::EventSynchronize);
  DIRECT(Malloc, direct::Malloc);
  DIRECT(Free, direct::Free);
  DIRECT(MallocAsync, direct::MallocAsync);
  DIRECT(FreeAsync, direct::FreeAsync);
  DIRECT(MemcpyAsync, direct::MemcpyAsync);
  DIRECT(MemsetAsync, direct::MemsetAsync);
  DIRECT(LibraryGetKernel, LibraryGetKernel);
  DIRECT(LaunchKernel, direct::LaunchKernel);
  DIRECT(GraphLaunch, direct::GraphLaunch);
  DIRECT(SetDevice, SetDevice);
  DIRECT(DeviceReset, DeviceReset);
#undef DIRECT
}

}  // namespace infinirt::nvidia
