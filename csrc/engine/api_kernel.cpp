// Launches and kernel functions of engine-run backends. Libraries are in library.cpp.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/engine.h"
#include "engine/kernel.h"
#include "engine/scheduler.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

#define REQUIRE_OUTPUT(pointer) \
  if (!(pointer)) return fail(infinirtErrorInvalidValue, "%s is null; it must point at where the result goes", #pointer)

#define RESOLVE_KERNEL(name, func)                                       \
  if (auto device_failed = check_current_device()) return device_failed; \
  Kernel* name##_ptr = resolve_kernel(func);                             \
  if (!name##_ptr) return infinirtErrorInvalidDeviceFunction;            \
  Kernel& name = *name##_ptr

infinirtError_t check_current_device() { return check_device(current_device(thread_state())); }

// How many blocks of the kernel one multiprocessor holds at a time.
int active_blocks(const Kernel& kernel, int block_size, size_t shared_bytes) {
  if (block_size > kernel.max_threads_per_block) return 0;
  if (shared_bytes > kernel.max_dynamic_shared.load(std::memory_order_relaxed)) return 0;
  const auto by_shared = static_cast<int>(kSharedMemoryPerMultiprocessor / (shared_bytes + kReservedSharedMemory));
  return std::min({kMaxBlocksPerMultiprocessor, kMaxThreadsPerMultiprocessor / block_size, by_shared});
}

infinirtError_t check_cooperative(const Kernel& kernel, dim3 grid, dim3 block, size_t shared_bytes) {
  const int per_multiprocessor = active_blocks(kernel, static_cast<int>(block.x * block.y * block.z), shared_bytes);
  const double blocks = double(grid.x) * grid.y * grid.z;
  const int most = per_multiprocessor * worker_limit();
  if (blocks <= most) return infinirtSuccess;
  return fail(
      infinirtErrorCooperativeLaunchTooLarge,
      "gridDim (%u, %u, %u): a cooperative launch runs all its blocks at the same time, and the device holds %d of "
      "kernel '%s'",
      grid.x, grid.y, grid.z, most, kernel.name.c_str());
}

// A computation that takes no longer runs in the thread that launches it, with the help of workers that are awake: waking one and being woken by it costs
// a tenth of this at best.
constexpr uint64_t kRunsInCaller_ns = 50000;

struct LaunchOptions {
  bool cooperative = false;
  infinirtEvent_t events[2] = {};  // recorded after the launch
  int event_flags[2] = {};
};

infinirtError_t read_attribute(const infinirtLaunchAttribute& attribute, LaunchOptions* options) {
  const auto& value = attribute.val;
  switch (attribute.id) {
    // Hints about caches, shares and overlap: a launch that ignores them is still right.
    case infinirtLaunchAttributeIgnore:
    case infinirtLaunchAttributeAccessPolicyWindow:
    case infinirtLaunchAttributeSynchronizationPolicy:
    case infinirtLaunchAttributeClusterSchedulingPolicyPreference:
    case infinirtLaunchAttributeProgrammaticStreamSerialization:
    case infinirtLaunchAttributePriority:
    case infinirtLaunchAttributeMemSyncDomainMap:
    case infinirtLaunchAttributeMemSyncDomain:
    case infinirtLaunchAttributePreferredClusterDimension:
    case infinirtLaunchAttributePreferredSharedMemoryCarveout:
      return infinirtSuccess;
    case infinirtLaunchAttributeCooperative:
      options->cooperative = value.cooperative != 0;
      return infinirtSuccess;
    case infinirtLaunchAttributeClusterDimension:
      if (value.clusterDim.x <= 1 && value.clusterDim.y <= 1 && value.clusterDim.z <= 1) return infinirtSuccess;
      return fail(infinirtErrorNotSupported, "ClusterDimension (%u, %u, %u): this device has no clusters of blocks",
                  value.clusterDim.x, value.clusterDim.y, value.clusterDim.z);
    // Both may come as late as the kernel's end.
    case infinirtLaunchAttributeProgrammaticEvent:
      options->events[0] = value.programmaticEvent.event;
      options->event_flags[0] = value.programmaticEvent.flags;
      return infinirtSuccess;
    case infinirtLaunchAttributeLaunchCompletionEvent:
      options->events[1] = value.launchCompletionEvent.event;
      options->event_flags[1] = value.launchCompletionEvent.flags;
      return infinirtSuccess;
    case infinirtLaunchAttributeDeviceUpdatableKernelNode:
      if (!value.deviceUpdatableKernelNode.deviceUpdatable) return infinirtSuccess;
      return fail(infinirtErrorNotSupported, "DeviceUpdatableKernelNode: kernels of this device cannot change graphs");
  }
  return fail(infinirtErrorInvalidValue, "launch attribute %d is not known", static_cast<int>(attribute.id));
}

infinirtError_t launch(const void* func, dim3 grid, dim3 block, void** args, size_t shared_bytes,
                       infinirtStream_t handle, bool cooperative) {
  ThreadState& ts = thread_state();
  const uint64_t computation_ns = std::exchange(t_computation_ns, 0);
  infinirtError_t error = infinirtSuccess;
  Stream* stream = resolve_stream(ts, handle, &error);
  if (!stream) return error;
  EngineDevice& device = *stream->device;
  const Backend& backend = device.engine->backend;
  if (ts.backend != &backend || ts.device[backend.index] != device.ordinal) {
    return fail(
        infinirtErrorInvalidResourceHandle,
        "stream %p belongs to %s:%d, which is not the current device; a kernel runs on the current device only, so "
        "call infinirtSetDevice first",
        static_cast<void*>(handle), backend.name.c_str(), device.ordinal);
  }
  Work work;
  if ((error = check_launch(*device.engine, func, grid, block, shared_bytes, args, &work))) return error;
  if (cooperative) {
    if ((error = check_cooperative(*work.kernel.kernel, grid, block, shared_bytes))) return error;
    work.kernel.cooperative = true;
  }
  if (computation_ns > 0) {
    const uint64_t blocks = uint64_t{grid.x} * grid.y * grid.z;
    stream->timeline->guess.gives_work();
    work.kernel.block_ns = static_cast<uint32_t>(std::clamp<uint64_t>(computation_ns / blocks, 1, UINT32_MAX));
    if (computation_ns <= kRunsInCaller_ns && try_run_inline(*stream, work, [&] { execute_work(device, work, {}); })) {
      return launch_blocking() ? take_async_error(device) : infinirtSuccess;
    }
  }
  if ((error = keep_arguments(&work))) return error;
  return submit(*stream, work);
}

infinirtError_t set_attribute(Kernel& kernel, enum infinirtFuncAttribute attribute, int value) {
  switch (attribute) {
    case infinirtFuncAttributeMaxDynamicSharedMemorySize:
      if (value < 0 || static_cast<size_t>(value) > kSharedMemoryOptIn) {
        return fail(infinirtErrorInvalidValue, "MaxDynamicSharedMemorySize %d is not 0 to %zu", value,
                    kSharedMemoryOptIn);
      }
      kernel.max_dynamic_shared.store(static_cast<size_t>(value), std::memory_order_relaxed);
      return infinirtSuccess;
    case infinirtFuncAttributePreferredSharedMemoryCarveout:
      if (value < -1 || value > 100) {
        return fail(infinirtErrorInvalidValue, "PreferredSharedMemoryCarveout %d is not -1 to 100", value);
      }
      kernel.shared_carveout.store(value, std::memory_order_relaxed);
      return infinirtSuccess;
    case infinirtFuncAttributeClusterDimMustBeSet:
    case infinirtFuncAttributeRequiredClusterWidth:
    case infinirtFuncAttributeRequiredClusterHeight:
    case infinirtFuncAttributeRequiredClusterDepth:
    case infinirtFuncAttributeNonPortableClusterSizeAllowed:
    case infinirtFuncAttributeClusterSchedulingPolicyPreference:
      return fail(infinirtErrorNotSupported, "attr %d is about clusters of blocks, which this device does not have",
                  static_cast<int>(attribute));
    case infinirtFuncAttributeMax:
      break;
  }
  return fail(infinirtErrorInvalidValue, "attr %d is not an attribute of kernels that can be set",
              static_cast<int>(attribute));
}

infinirtError_t check_block_size(int block_size) {
  if (block_size >= 1) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue, "blockSize %d must be at least 1", block_size);
}

}  // namespace

namespace engine_api {

infinirtError_t LaunchKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                             infinirtStream_t stream) {
  return launch(func, gridDim, blockDim, args, sharedMem, stream, false);
}

infinirtError_t LaunchCooperativeKernel(const void* func, dim3 gridDim, dim3 blockDim, void** args, size_t sharedMem,
                                        infinirtStream_t stream) {
  return launch(func, gridDim, blockDim, args, sharedMem, stream, true);
}

infinirtError_t LaunchKernelExC(const infinirtLaunchConfig_t* config, const void* func, void** args) {
  if (!config) return fail(infinirtErrorInvalidValue, "config is null");
  if (config->numAttrs > 0 && !config->attrs) {
    return fail(infinirtErrorInvalidValue, "config->attrs is null, but numAttrs is %u", config->numAttrs);
  }
  LaunchOptions options;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    if (auto error = read_attribute(config->attrs[i], &options)) return error;
  }
  if (auto error = launch(func, config->gridDim, config->blockDim, args, config->dynamicSmemBytes, config->stream,
                          options.cooperative)) {
    return error;
  }
  for (int i = 0; i < 2; ++i) {
    if (!options.events[i]) continue;
    const auto flags = static_cast<unsigned>(options.event_flags[i]);
    if (auto error = EventRecordWithFlags(options.events[i], config->stream, flags)) return error;
  }
  return infinirtSuccess;
}

infinirtError_t FuncGetAttributes(struct infinirtFuncAttributes* attr, const void* func) {
  REQUIRE_OUTPUT(attr);
  RESOLVE_KERNEL(kernel, func);
  *attr = {};
  attr->maxThreadsPerBlock = kernel.max_threads_per_block;
  attr->numRegs = 32;
  struct infinirtDeviceProp properties;
  EngineDevice& device = current_device(thread_state());
  device.engine->properties(device.ordinal, &properties);
  attr->ptxVersion = attr->binaryVersion = properties.major * 10 + properties.minor;
  attr->maxDynamicSharedSizeBytes = static_cast<int>(kernel.max_dynamic_shared.load(std::memory_order_relaxed));
  attr->preferredShmemCarveout = kernel.shared_carveout.load(std::memory_order_relaxed);
  return infinirtSuccess;
}

infinirtError_t FuncSetAttribute(const void* func, enum infinirtFuncAttribute attr, int value) {
  RESOLVE_KERNEL(kernel, func);
  return set_attribute(kernel, attr, value);
}

infinirtError_t FuncSetCacheConfig(const void* func, enum infinirtFuncCache cacheConfig) {
  if (cacheConfig < infinirtFuncCachePreferNone || cacheConfig > infinirtFuncCachePreferEqual) {
    return fail(infinirtErrorInvalidValue, "cacheConfig %d is not an infinirtFuncCache", static_cast<int>(cacheConfig));
  }
  RESOLVE_KERNEL(kernel, func);
  (void)kernel;  // a hint, about hardware that is not there
  return infinirtSuccess;
}

infinirtError_t FuncGetName(const char** name, const void* func) {
  REQUIRE_OUTPUT(name);
  RESOLVE_KERNEL(kernel, func);
  *name = kernel.name.c_str();
  return infinirtSuccess;
}

infinirtError_t FuncGetParamInfo(const void* func, size_t paramIndex, size_t* paramOffset, size_t* paramSize) {
  REQUIRE_OUTPUT(paramOffset);
  RESOLVE_KERNEL(kernel, func);
  if (paramIndex >= kernel.sizes.size()) {
    return fail(infinirtErrorInvalidValue, "paramIndex %zu: kernel '%s' has %zu parameters", paramIndex,
                kernel.name.c_str(), kernel.sizes.size());
  }
  *paramOffset = kernel.offsets[paramIndex];
  if (paramSize) *paramSize = kernel.sizes[paramIndex];
  return infinirtSuccess;
}

infinirtError_t GetKernel(infinirtKernel_t* kernelPtr, const void* entryFuncAddr) {
  REQUIRE_OUTPUT(kernelPtr);
  RESOLVE_KERNEL(kernel, entryFuncAddr);
  *kernelPtr = kernel.handle;
  return infinirtSuccess;
}

// Devices of one engine do not differ in what a kernel can do, so a setting for one is a setting for all.
infinirtError_t KernelSetAttributeForDevice(infinirtKernel_t kernel, enum infinirtFuncAttribute attr, int value,
                                            int device) {
  if (!device_at(current_engine(thread_state()), device, "device")) return infinirtErrorInvalidDevice;
  RESOLVE_KERNEL(resolved, kernel);
  return set_attribute(resolved, attr, value);
}

infinirtError_t OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, const void* func, int blockSize,
                                                                   size_t dynamicSMemSize, unsigned int flags) {
  REQUIRE_OUTPUT(numBlocks);
  if (flags & ~static_cast<unsigned>(infinirtOccupancyDisableCachingOverride)) {
    return fail(infinirtErrorInvalidValue, "flags 0x%x: only infinirtOccupancyDisableCachingOverride is allowed",
                flags);
  }
  if (auto error = check_block_size(blockSize)) return error;
  RESOLVE_KERNEL(kernel, func);
  *numBlocks = active_blocks(kernel, blockSize, dynamicSMemSize);
  return infinirtSuccess;
}

infinirtError_t OccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, const void* func, int blockSize,
                                                          size_t dynamicSMemSize) {
  return OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize, dynamicSMemSize, 0);
}

infinirtError_t OccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, const void* func, int numBlocks,
                                                      int blockSize) {
  REQUIRE_OUTPUT(dynamicSmemSize);
  if (auto error = check_block_size(blockSize)) return error;
  RESOLVE_KERNEL(kernel, func);
  const int most = active_blocks(kernel, blockSize, 0);
  if (numBlocks < 1 || numBlocks > most) {
    return fail(infinirtErrorInvalidValue, "numBlocks %d: 1 to %d blocks of %d threads fit on a multiprocessor",
                numBlocks, most, blockSize);
  }
  *dynamicSmemSize = std::min(kSharedMemoryPerMultiprocessor / static_cast<size_t>(numBlocks) - kReservedSharedMemory,
                              kernel.max_dynamic_shared.load(std::memory_order_relaxed));
  return infinirtSuccess;
}

}  // namespace engine_api

}  // namespace infinirt
