#include "backends/nvidia/driver_calls.h"

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "backends/nvidia/real_library.h"
#include "backends/nvidia/retired_handles.h"

namespace infinirt::nvidia {

namespace {

BackendTable runtime;  // what the entries were

struct Driver {
  int (*CtxGetCurrent)(void** context);
  int (*StreamQuery)(infinirtStream_t);
  int (*StreamSynchronize)(infinirtStream_t);
  int (*StreamIsCapturing)(infinirtStream_t, enum infinirtStreamCaptureStatus*);
  int (*StreamWaitEvent)(infinirtStream_t, infinirtEvent_t, unsigned);
  int (*EventRecord)(infinirtEvent_t, infinirtStream_t);
  int (*EventQuery)(infinirtEvent_t);
  int (*EventSynchronize)(infinirtEvent_t);
  int (*MemAlloc)(uint64_t* address, size_t);
  int (*MemFree)(uint64_t address);
  int (*MemAllocAsync)(uint64_t* address, size_t, infinirtStream_t);
  int (*MemFreeAsync)(uint64_t address, infinirtStream_t);
  int (*MemcpyDtoDAsync)(uint64_t dst, uint64_t src, size_t, infinirtStream_t);
  int (*MemsetD8Async)(uint64_t address, unsigned char value, size_t, infinirtStream_t);
  int (*LaunchKernel)(const void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                      infinirtStream_t, void** params, void** extra);
  int (*GraphLaunch)(infinirtGraphExec_t, infinirtStream_t);
};
Driver driver;

// The predefined streams mean the current context's, and a thread may not have one yet.
bool is_created(infinirtStream_t stream) { return reinterpret_cast<uintptr_t>(stream) > 2; }

// Whether the driver's answer stands. If it does not, nothing has happened yet: no context is current, it was reset, or the
// driver is not started. Other errors are not asked about again: the first answer may have broken a capture, and the second
// would say that.
bool is_final(int code) {
  return code != infinirtErrorDeviceUninitialized && code != infinirtErrorInitializationError &&
         code != infinirtErrorCudartUnloading && code != infinirtErrorContextIsDestroyed;
}

infinirtError_t as_error(int code) { return static_cast<infinirtError_t>(code); }

infinirtError_t StreamQuery(infinirtStream_t stream) {
  if (is_created(stream)) {
    if (const int code = driver.StreamQuery(stream); is_final(code)) return as_error(code);
  }
  return runtime.StreamQuery(stream);
}

infinirtError_t StreamSynchronize(infinirtStream_t stream) {
  if (is_created(stream)) {
    if (const int code = driver.StreamSynchronize(stream); is_final(code)) return as_error(code);
  }
  return runtime.StreamSynchronize(stream);
}

infinirtError_t StreamIsCapturing(infinirtStream_t stream, enum infinirtStreamCaptureStatus* status) {
  if (is_created(stream) && status) {
    if (const int code = driver.StreamIsCapturing(stream, status); is_final(code)) return as_error(code);
  }
  return runtime.StreamIsCapturing(stream, status);
}

infinirtError_t StreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event, unsigned int flags) {
  if (is_created(stream) && event) {
    if (const int code = driver.StreamWaitEvent(stream, event, flags); is_final(code)) return as_error(code);
  }
  return runtime.StreamWaitEvent(stream, event, flags);
}

infinirtError_t EventRecord(infinirtEvent_t event, infinirtStream_t stream) {
  if (is_created(stream) && event) {
    if (const int code = driver.EventRecord(event, stream); is_final(code)) return as_error(code);
  }
  return runtime.EventRecord(event, stream);
}

infinirtError_t EventQuery(infinirtEvent_t event) {
  if (event) {
    if (const int code = driver.EventQuery(event); is_final(code)) return as_error(code);
  }
  return runtime.EventQuery(event);
}

infinirtError_t EventSynchronize(infinirtEvent_t event) {
  if (event) {
    if (const int code = driver.EventSynchronize(event); is_final(code)) return as_error(code);
  }
  return runtime.EventSynchronize(event);
}

infinirtError_t Malloc(void** devPtr, size_t size) {
  if (devPtr && size) {
    uint64_t address = 0;
    if (const int code = driver.MemAlloc(&address, size); is_final(code)) {
      if (code == infinirtSuccess) *devPtr = reinterpret_cast<void*>(address);
      return as_error(code);
    }
  }
  return runtime.Malloc(devPtr, size);
}

infinirtError_t Free(void* devPtr) {
  if (devPtr) {
    if (const int code = driver.MemFree(reinterpret_cast<uintptr_t>(devPtr)); is_final(code)) return as_error(code);
  }
  return runtime.Free(devPtr);
}

infinirtError_t MallocAsync(void** devPtr, size_t size, infinirtStream_t stream) {
  if (is_created(stream) && devPtr && size) {
    uint64_t address = 0;
    if (const int code = driver.MemAllocAsync(&address, size, stream); is_final(code)) {
      if (code == infinirtSuccess) *devPtr = reinterpret_cast<void*>(address);
      return as_error(code);
    }
  }
  return runtime.MallocAsync(devPtr, size, stream);
}

infinirtError_t FreeAsync(void* devPtr, infinirtStream_t stream) {
  if (is_created(stream) && devPtr) {
    if (const int code = driver.MemFreeAsync(reinterpret_cast<uintptr_t>(devPtr), stream); is_final(code))
      return as_error(code);
  }
  return runtime.FreeAsync(devPtr, stream);
}

// The runtime library has its own rules for memory that is not the device's, for no bytes at all and for more than there can
// be.
bool is_size(size_t count) { return count - 1 < static_cast<size_t>(PTRDIFF_MAX); }

infinirtError_t MemcpyAsync(void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind,
                            infinirtStream_t stream) {
  if (kind == infinirtMemcpyDeviceToDevice && is_created(stream) && is_size(count)) {
    const int code =
        driver.MemcpyDtoDAsync(reinterpret_cast<uintptr_t>(dst), reinterpret_cast<uintptr_t>(src), count, stream);
    if (is_final(code) && code != infinirtErrorInvalidValue) return as_error(code);
  }
  return runtime.MemcpyAsync(dst, src, count, kind, stream);
}

infinirtError_t MemsetAsync(void* devPtr, int value, size_t count, infinirtStream_t stream) {
  if (is_created(stream) && is_size(count)) {
    const int code =
        driver.MemsetD8Async(reinterpret_cast<uintptr_t>(devPtr), static_cast<unsigned char>(value), count, stream);
    if (is_final(code) && code != infinirtErrorInvalidValue) return as_error(code);
  }
  if (count > static_cast<size_t>(PTRDIFF_MAX)) return infinirtErrorInvalidValue;  // neither of them looks
  return runtime.MemsetAsync(devPtr, value, count, stream);
}

// ---- kernels
// A kernel from a library is the driver's own handle; one that a program was linked with is an address that only the runtime
// library can translate. The ones that are known to be handles are remembered. One that is forgotten takes the longer way.

std::atomic<const void*> known_kernels[1024];

std::atomic<const void*>& kernel_slot(const void* kernel) {
  return known_kernels[(reinterpret_cast<uintptr_t>(kernel) >> 4) * 0x9e3779b97f4a7c15ull >> 54];
}

infinirtError_t LibraryGetKernel(infinirtKernel_t* kernel, infinirtLibrary_t library, const char* name) {
  const infinirtError_t error = runtime.LibraryGetKernel(kernel, library, name);
  if (error == infinirtSuccess) kernel_slot(*kernel).store(*kernel, std::memory_order_relaxed);
  return error;
}

// What the driver calls an invalid value and the runtime library an invalid configuration.
bool is_possible(dim3 grid, dim3 block) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  return grid.x && grid.y && grid.z && threads && grid.x <= INT32_MAX && grid.y <= 65535 && grid.z <= 65535 &&
         threads <= 1024 && block.z <= 64;
}

infinirtError_t LaunchKernel(const void* func, dim3 grid, dim3 block, void** args, size_t shared,
                             infinirtStream_t stream) {
  if (kernel_slot(func).load(std::memory_order_relaxed) == func && func && is_possible(grid, block) &&
      shared <= UINT16_MAX) {
    const int code = driver.LaunchKernel(func, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                         static_cast<unsigned>(shared), stream, args, nullptr);
    if (is_final(code)) return as_error(code);
  }
  return runtime.LaunchKernel(func, grid, block, args, shared, stream);
}

infinirtError_t GraphLaunch(infinirtGraphExec_t graphExec, infinirtStream_t stream) {
  if (is_created(stream) && graphExec) {
    if (const int code = driver.GraphLaunch(graphExec, stream); is_final(code)) return as_error(code);
  }
  return runtime.GraphLaunch(graphExec, stream);
}

// ---- the current device
// The library's own costs as much when nothing changes. It must be called when anything else has made another context current
// on this thread, and that is what is asked first.

struct LastSet {
  void* context;  // that was current afterwards; null: never set
  int device;
};
constinit thread_local LastSet t_last_set [[gnu::tls_model("initial-exec")]] = {nullptr, 0};

infinirtError_t SetDevice(int device) {
  void* current = nullptr;
  LastSet& last = t_last_set;
  if (last.context && last.device == device && driver.CtxGetCurrent(&current) == infinirtSuccess &&
      current == last.context) {
    return infinirtSuccess;
  }
  const infinirtError_t error = runtime.SetDevice(device);
  current = nullptr;
  if (error == infinirtSuccess && driver.CtxGetCurrent(&current) == infinirtSuccess) last = {current, device};
  return error;
}

infinirtError_t DeviceReset() {
  t_last_set = {};  // the next call starts the device again
  forget_retired_handles();
  return runtime.DeviceReset();
}

}  // namespace

void use_driver_directly(BackendTable& table) {
  bool found = true;
  auto find = [&](auto*& entry, const char* name) {
    entry = reinterpret_cast<std::remove_reference_t<decltype(entry)>>(driver_function(name));
    found = found && entry;
  };
  find(driver.CtxGetCurrent, "cuCtxGetCurrent");
  find(driver.StreamQuery, "cuStreamQuery");
  find(driver.StreamSynchronize, "cuStreamSynchronize");
  find(driver.StreamIsCapturing, "cuStreamIsCapturing");
  find(driver.StreamWaitEvent, "cuStreamWaitEvent");
  find(driver.EventRecord, "cuEventRecord");
  find(driver.EventQuery, "cuEventQuery");
  find(driver.EventSynchronize, "cuEventSynchronize");
  find(driver.MemAlloc, "cuMemAlloc_v2");
  find(driver.MemFree, "cuMemFree_v2");
  find(driver.MemAllocAsync, "cuMemAllocAsync");
  find(driver.MemFreeAsync, "cuMemFreeAsync");
  find(driver.MemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  find(driver.MemsetD8Async, "cuMemsetD8Async");
  find(driver.LaunchKernel, "cuLaunchKernel");
  find(driver.GraphLaunch, "cuGraphLaunch");
  if (!found) return;
  runtime = table;
#define DIRECT(name) \
  if (table.name) table.name = name
  DIRECT(StreamQuery);
  DIRECT(StreamSynchronize);
  DIRECT(StreamIsCapturing);
  DIRECT(StreamWaitEvent);
  DIRECT(EventRecord);
  DIRECT(EventQuery);
  DIRECT(EventSynchronize);
  DIRECT(Malloc);
  DIRECT(Free);
  DIRECT(MallocAsync);
  DIRECT(FreeAsync);
  DIRECT(MemcpyAsync);
  DIRECT(MemsetAsync);
  DIRECT(LibraryGetKernel);
  DIRECT(LaunchKernel);
  DIRECT(GraphLaunch);
  DIRECT(SetDevice);
  DIRECT(DeviceReset);
#undef DIRECT
}

}  // namespace infinirt::nvidia
