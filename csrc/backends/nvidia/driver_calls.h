// The calls that programs make most go straight to the driver, past NVIDIA's runtime library, which would call the same
// driver function behind a layer of its own.
//
// A call that the driver refuses because the thread has no context yet is the runtime library's, which makes it one; so are those
// whose errors the two call by different names. All other answers are the same in both.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backends/nvidia/real_library.h"

namespace infinirt::nvidia {

// As the driver has it.
struct LaunchConfig {
  dim3 grid;
  dim3 block;
  unsigned shared;
  infinirtStream_t stream;
  void* attributes;
  unsigned attribute_count;
};
static_assert(sizeof(LaunchConfig) == 56 && offsetof(LaunchConfig, stream) == 32);

// Stands for a function that was not found.
template <class... Argument>
int leave_to_runtime_library(Argument...) {
  return infinirtErrorDeviceUninitialized;
}

// Until use_driver_directly() has found them all, entries that leave the call to the runtime library.
struct Driver {
  int (*CtxGetCurrent)(void** context) = leave_to_runtime_library;
  int (*StreamQuery)(infinirtStream_t) = leave_to_runtime_library;
  int (*StreamSynchronize)(infinirtStream_t) = leave_to_runtime_library;
  int (*StreamIsCapturing)(infinirtStream_t, enum infinirtStreamCaptureStatus*) = leave_to_runtime_library;
  int (*StreamWaitEvent)(infinirtStream_t, infinirtEvent_t, unsigned) = leave_to_runtime_library;
  int (*EventRecord)(infinirtEvent_t, infinirtStream_t) = leave_to_runtime_library;
  int (*EventQuery)(infinirtEvent_t) = leave_to_runtime_library;
  int (*EventSynchronize)(infinirtEvent_t) = leave_to_runtime_library;
  int (*MemAlloc)(uint64_t* address, size_t) = leave_to_runtime_library;
  int (*MemFree)(uint64_t address) = leave_to_runtime_library;
  int (*MemAllocAsync)(uint64_t* address, size_t, infinirtStream_t) = leave_to_runtime_library;
  int (*MemFreeAsync)(uint64_t address, infinirtStream_t) = leave_to_runtime_library;
  int (*MemcpyDtoDAsync)(uint64_t dst, uint64_t src, size_t, infinirtStream_t) = leave_to_runtime_library;
  int (*MemsetD8Async)(uint64_t address, unsigned char value, size_t, infinirtStream_t) = leave_to_runtime_library;
  int (*LaunchKernelEx)(const LaunchConfig*, const void* kernel, void** params,
                        void** extra) = leave_to_runtime_library;
  int (*GraphLaunch)(infinirtGraphExec_t, infinirtStream_t) = leave_to_runtime_library;
};
extern Driver driver;

// Looks the driver's functions up and puts those below into the table.
void use_driver_directly(BackendTable& table);

// Inline: the table's functions (nvidia_calls.cpp) are the only layer around the driver's then.
namespace direct {

// The predefined streams mean the current context's, and a thread may not have one yet.
inline bool is_created(infinirtStream_t stream) { return reinterpret_cast<uintptr_t>(stream) > 2; }

// Whether the driver's answer stands. If it does not, nothing has happened yet: no context is current, it was reset, or the
// driver is not started. Other errors are not asked about again: the first answer may have broken a capture, and the second
// would say that.
inline bool is_final(int code) {
  if (code == infinirtSuccess) [[likely]]
    return true;
  return code != infinirtErrorDeviceUninitialized && code != infinirtErrorInitializationError &&
         code != infinirtErrorCudartUnloading && code != infinirtErrorContextIsDestroyed;
}

inline infinirtError_t as_error(int code) { return static_cast<infinirtError_t>(code); }

inline infinirtError_t StreamQuery(infinirtStream_t stream) {
  if (is_created(stream)) {
    if (const int code = driver.StreamQuery(stream); is_final(code)) return as_error(code);
  }
  return runtime_library.StreamQuery(stream);
}

// Without a look first, which would cost half of it and find most streams done: a wait has pools give back what they hold.
inline infinirtError_t StreamSynchronize(infinirtStream_t stream) {
  if (is_created(stream)) {
    if (const int code = driver.StreamSynchronize(stream); is_final(code)) return as_error(code);
  }
  return runtime_library.StreamSynchronize(stream);
}

inline infinirtError_t StreamIsCapturing(infinirtStream_t stream, enum infinirtStreamCaptureStatus* status) {
  if (is_created(stream) && status) {
    if (const int code = driver.StreamIsCapturing(stream, status); is_final(code)) return as_error(code);
  }
  return runtime_library.StreamIsCapturing(stream, status);
}

inline infinirtError_t StreamWaitEvent(infinirtStream_t stream, infinirtEvent_t event, unsigned int flags) {
  if (is_created(stream) && event) {
    if (const int code = driver.StreamWaitEvent(stream, event, flags); is_final(code)) return as_error(code);
  }
  return runtime_library.StreamWaitEvent(stream, event, flags);
}

inline infinirtError_t EventRecord(infinirtEvent_t event, infinirtStream_t stream) {
  if (is_created(stream) && event) {
    if (const int code = driver.EventRecord(event, stream); is_final(code)) return as_error(code);
  }
  return runtime_library.EventRecord(event, stream);
}

inline infinirtError_t EventQuery(infinirtEvent_t event) {
  if (event) {
    if (const int code = driver.EventQuery(event); is_final(code)) return as_error(code);
  }
  return runtime_library.EventQuery(event);
}

inline infinirtError_t EventSynchronize(infinirtEvent_t event) {
  if (event) {
    if (const int code = driver.EventSynchronize(event); is_final(code)) return as_error(code);
  }
  return runtime_library.EventSynchronize(event);
}

inline infinirtError_t Malloc(void** devPtr, size_t size) {
  if (devPtr && size) {
    uint64_t address = 0;
    if (const int code = driver.MemAlloc(&address, size); is_final(code)) {
      if (code == infinirtSuccess) *devPtr = reinterpret_cast<void*>(address);
      return as_error(code);
    }
  }
  return runtime_library.Malloc(devPtr, size);
}

inline infinirtError_t Free(void* devPtr) {
  if (devPtr) {
    if (const int code = driver.MemFree(reinterpret_cast<uintptr_t>(devPtr)); is_final(code)) return as_error(code);
  }
  return runtime_library.Free(devPtr);
}

inline infinirtError_t MallocAsync(void** devPtr, size_t size, infinirtStream_t stream) {
  if (is_created(stream) && devPtr && size) {
    uint64_t address = 0;
    if (const int code = driver.MemAllocAsync(&address, size, stream); is_final(code)) {
      if (code == infinirtSuccess) *devPtr = reinterpret_cast<void*>(address);
      return as_error(code);
    }
  }
  return runtime_library.MallocAsync(devPtr, size, stream);
}

inline infinirtError_t FreeAsync(void* devPtr, infinirtStream_t stream) {
  if (is_created(stream) && devPtr) {
    if (const int code = driver.MemFreeAsync(reinterpret_cast<uintptr_t>(devPtr), stream); is_final(code))
      return as_error(code);
  }
  return runtime_library.FreeAsync(devPtr, stream);
}

// The runtime library has its own rules for memory that is not the device's, for no bytes at all and for more than there can
// be.
inline bool is_size(size_t count) { return count - 1 < static_cast<size_t>(PTRDIFF_MAX); }

inline infinirtError_t MemcpyAsync(void* dst, const void* src, size_t count, enum infinirtMemcpyKind kind,
                                   infinirtStream_t stream) {
  if (kind == infinirtMemcpyDeviceToDevice && is_created(stream) && is_size(count)) {
    const int code =
        driver.MemcpyDtoDAsync(reinterpret_cast<uintptr_t>(dst), reinterpret_cast<uintptr_t>(src), count, stream);
    if (is_final(code) && code != infinirtErrorInvalidValue) return as_error(code);
  }
  return runtime_library.MemcpyAsync(dst, src, count, kind, stream);
}

inline infinirtError_t MemsetAsync(void* devPtr, int value, size_t count, infinirtStream_t stream) {
  if (is_created(stream) && is_size(count)) {
    const int code =
        driver.MemsetD8Async(reinterpret_cast<uintptr_t>(devPtr), static_cast<unsigned char>(value), count, stream);
    if (is_final(code) && code != infinirtErrorInvalidValue) return as_error(code);
  }
  if (count > static_cast<size_t>(PTRDIFF_MAX)) return infinirtErrorInvalidValue;  // neither of them looks
  return runtime_library.MemsetAsync(devPtr, value, count, stream);
}

// A kernel from a library is the driver's own handle; one that a program was linked with is an address that only the runtime
// library can translate. The ones that are known to be handles are remembered. One that is forgotten takes the longer way.

extern std::atomic<const void*> known_kernels[1024];

inline std::atomic<const void*>& kernel_slot(const void* kernel) {
  return known_kernels[(reinterpret_cast<uintptr_t>(kernel) >> 4) * 0x9e3779b97f4a7c15ull >> 54];
}

// What the driver calls an invalid value and the runtime library an invalid configuration.
inline bool is_possible(dim3 grid, dim3 block) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  return grid.x && grid.y && grid.z && threads && grid.x <= INT32_MAX && grid.y <= 65535 && grid.z <= 65535 &&
         threads <= 1024 && block.z <= 64;
}

inline infinirtError_t LaunchKernel(const void* func, dim3 grid, dim3 block, void** args, size_t shared,
                                    infinirtStream_t stream) {
  if (kernel_slot(func).load(std::memory_order_relaxed) == func && func && is_possible(grid, block) &&
      shared <= UINT16_MAX) {
    // Without attributes it does what cuLaunchKernel does, and is some 10 to 60 ns faster (H200, CUDA 13.0).
    const LaunchConfig config = {grid, block, static_cast<unsigned>(shared), stream, nullptr, 0};
    const int code = driver.LaunchKernelEx(&config, func, args, nullptr);
    if (is_final(code)) return as_error(code);
  }
  return runtime_library.LaunchKernel(func, grid, block, args, shared, stream);
}

inline infinirtError_t GraphLaunch(infinirtGraphExec_t graphExec, infinirtStream_t stream) {
  if (is_created(stream) && graphExec) {
    if (const int code = driver.GraphLaunch(graphExec, stream); is_final(code)) return as_error(code);
  }
  return runtime_library.GraphLaunch(graphExec, stream);
}

}  // namespace direct

}  // namespace infinirt::nvidia
