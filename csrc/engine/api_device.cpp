// Device functions of engine-run backends.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "engine/capture.h"
#include "engine/engine.h"
#include "engine/event.h"
#include "engine/memory.h"
#include "engine/pool.h"
#include "engine/stream.h"

namespace infinirt {

namespace {

constexpr int kVersion = 12090;  // the CUDA Runtime API version that the C API follows

infinirtError_t null_argument(const char* name) {
  return fail(infinirtErrorInvalidValue, "%s is null; it must point at where the result goes", name);
}

#define REQUIRE_OUTPUT(pointer) \
  if (!(pointer)) return null_argument(#pointer)

// Devices are numbered from 0; the message stands already when the device is null.
infinirtError_t device_error(const Engine& engine) {
  return engine.devices.empty() ? infinirtErrorNoDevice : infinirtErrorInvalidDevice;
}

constexpr unsigned kScheduleFlags =
    infinirtDeviceScheduleSpin | infinirtDeviceScheduleYield | infinirtDeviceScheduleBlockingSync;
constexpr unsigned kDeviceFlags = kScheduleFlags | infinirtDeviceMapHost | infinirtDeviceLmemResizeToMax |
                                  infinirtDeviceSyncMemops | 0x40;  // nameless, but a GPU was measured to accept it

infinirtError_t check_device_flags(unsigned flags) {
  const unsigned policy = flags & kScheduleFlags;
  if ((flags & ~kDeviceFlags) || (policy & (policy - 1))) {
    return fail(infinirtErrorInvalidValue,
                "flags 0x%x: at most one of ScheduleSpin, ScheduleYield and ScheduleBlockingSync, "
                "with MapHost, LmemResizeToMax and SyncMemops, are allowed",
                flags);
  }
  return infinirtSuccess;
}

size_t default_limit(enum infinirtLimit limit) {
  switch (limit) {
    case infinirtLimitStackSize:
      return 1024;
    case infinirtLimitPrintfFifoSize:
      return size_t{1} << 20;
    case infinirtLimitMallocHeapSize:
      return size_t{8} << 20;
    case infinirtLimitDevRuntimeSyncDepth:
      return 2;
    case infinirtLimitDevRuntimePendingLaunchCount:
      return 2048;
    case infinirtLimitMaxL2FetchGranularity:
      return 64;
    case infinirtLimitPersistingL2CacheSize:
      return 0;
  }
  return 0;
}

bool known_limit(enum infinirtLimit limit) {
  return limit >= infinirtLimitStackSize && limit <= infinirtLimitPersistingL2CacheSize;
}

void bus_id(const infinirtDeviceProp& p, char* text, size_t size) {
  std::snprintf(text, size, "%04X:%02X:%02X.0", static_cast<unsigned>(p.pciDomainID), static_cast<unsigned>(p.pciBusID),
                static_cast<unsigned>(p.pciDeviceID));
}

}  // namespace

namespace engine_api {

infinirtError_t GetDeviceCount(int* count) {
  REQUIRE_OUTPUT(count);
  const Engine& engine = current_engine(thread_state());
  *count = static_cast<int>(engine.devices.size());
  if (*count > 0) return infinirtSuccess;
  return fail(infinirtErrorNoDevice, "device type '%s' has no device: %s", engine.backend.name.c_str(),
              engine.backend.problem.c_str());
}

infinirtError_t SetDevice(int device) {
  ThreadState& ts = thread_state();
  Engine& engine = current_engine(ts);
  if (!device_at(engine, device, "device")) return device_error(engine);
  ts.device[engine.backend.index] = device;
  return infinirtSuccess;
}

infinirtError_t GetDevice(int* device) {
  REQUIRE_OUTPUT(device);
  ThreadState& ts = thread_state();
  *device = ts.device[ts.backend->index];
  return infinirtSuccess;
}

infinirtError_t DeviceSynchronize() {
  ThreadState& ts = thread_state();
  EngineDevice& device = current_device(ts);
  if (auto error = check_device(device)) return error;
  if (auto error = check_capture_device_sync(ts, device)) return error;
  infinirtError_t error = synchronize_device(device);
  if (error == infinirtSuccess) error = device.engine->wait_for_others(device.ordinal);
  pools_after_synchronize(device);
  if (error == infinirtSuccess && (error = device.engine->verify_memory(device.ordinal, nullptr))) {
    ThreadExtra& extra = thread_extra(ts);  // damaged memory is the device's failure from now on, not this call's alone
    report_async_error(device, error, extra.has_pending ? extra.pending_message.c_str() : error_text(error));
  }
  return error;
}

infinirtError_t DeviceReset() {
  ThreadState& ts = thread_state();
  EngineDevice& device = current_device(ts);
  if (auto error = check_capture_unsafe(ts)) return error;
  // Queued work is skipped, running work is waited for, then everything goes.
  int healthy = 0;
  device.sticky_error.compare_exchange_strong(healthy, static_cast<int>(infinirtErrorLaunchFailure));
  (void)synchronize_device(device);
  destroy_all_streams(device);
  destroy_all_events(device);
  release_device_memory(device);
  device.peers.store(0);
  device.flags.store(0);
  for (auto& limit : device.limits) limit.store(0);
  {
    std::lock_guard guard(device.mutex);
    device.async_message.clear();
    device.async_error.store(0);
    device.sticky_error.store(0);
  }
  thread_extra(ts).has_pending = false;
  return infinirtSuccess;
}

infinirtError_t GetDeviceProperties(struct infinirtDeviceProp* prop, int device) {
  REQUIRE_OUTPUT(prop);
  Engine& engine = current_engine(thread_state());
  if (!device_at(engine, device, "device")) return device_error(engine);
  std::memset(prop, 0, sizeof *prop);
  engine.properties(device, prop);
  return infinirtSuccess;
}

infinirtError_t DeviceGetAttribute(int* value, enum infinirtDeviceAttr attr, int device) {
  REQUIRE_OUTPUT(value);
  Engine& engine = current_engine(thread_state());
  if (!device_at(engine, device, "device")) return device_error(engine);
  if (engine.attribute(device, attr, value)) return infinirtSuccess;
  return fail(infinirtErrorInvalidValue, "attr %d is not a device attribute", static_cast<int>(attr));
}

infinirtError_t DeviceGetPCIBusId(char* pciBusId, int len, int device) {
  REQUIRE_OUTPUT(pciBusId);
  Engine& engine = current_engine(thread_state());
  if (!device_at(engine, device, "device")) return device_error(engine);
  infinirtDeviceProp properties{};
  engine.properties(device, &properties);
  char text[32];
  bus_id(properties, text, sizeof text);
  if (len <= static_cast<int>(std::strlen(text))) {
    return fail(infinirtErrorInvalidValue, "len %d is too short for '%s'; 13 bytes are needed", len, text);
  }
  std::strcpy(pciBusId, text);
  return infinirtSuccess;
}

infinirtError_t DeviceGetByPCIBusId(int* device, const char* pciBusId) {
  REQUIRE_OUTPUT(device);
  if (!pciBusId) return fail(infinirtErrorInvalidValue, "pciBusId is null");
  unsigned domain = 0, bus = 0, slot = 0;
  if (std::sscanf(pciBusId, "%x:%x:%x", &domain, &bus, &slot) != 3) {
    domain = 0;
    if (std::sscanf(pciBusId, "%x:%x", &bus, &slot) != 2) {
      return fail(infinirtErrorInvalidValue, "pciBusId '%s' is not of the form domain:bus:device.function", pciBusId);
    }
  }
  Engine& engine = current_engine(thread_state());
  for (const auto& d : engine.devices) {
    infinirtDeviceProp p{};
    engine.properties(d->ordinal, &p);
    if (static_cast<unsigned>(p.pciDomainID) == domain && static_cast<unsigned>(p.pciBusID) == bus &&
        static_cast<unsigned>(p.pciDeviceID) == slot) {
      *device = d->ordinal;
      return infinirtSuccess;
    }
  }
  return fail(infinirtErrorInvalidDevice, "no device of type '%s' has the bus id '%s'", engine.backend.name.c_str(),
              pciBusId);
}

infinirtError_t DeviceGetStreamPriorityRange(int* leastPriority, int* greatestPriority) {
  if (leastPriority) *leastPriority = 0;
  if (greatestPriority) *greatestPriority = 1 - kUrgencyLevels;
  return infinirtSuccess;
}

infinirtError_t DeviceCanAccessPeer(int* canAccessPeer, int device, int peerDevice) {
  REQUIRE_OUTPUT(canAccessPeer);
  Engine& engine = current_engine(thread_state());
  if (!device_at(engine, device, "device") || !device_at(engine, peerDevice, "peerDevice")) return device_error(engine);
  *canAccessPeer = device != peerDevice;
  return infinirtSuccess;
}

infinirtError_t DeviceEnablePeerAccess(int peerDevice, unsigned int flags) {
  ThreadState& ts = thread_state();
  EngineDevice& device = current_device(ts);
  if (!device_at(*device.engine, peerDevice, "peerDevice")) return device_error(*device.engine);
  if (flags != 0) return fail(infinirtErrorInvalidValue, "flags 0x%x must be 0", flags);
  if (peerDevice == device.ordinal) {
    return fail(infinirtErrorPeerAccessUnsupported,
                "peerDevice %d is the current device; a device is no peer of itself", peerDevice);
  }
  const uint64_t bit = uint64_t{1} << peerDevice;
  if (device.peers.fetch_or(bit) & bit) {
    return fail(infinirtErrorPeerAccessAlreadyEnabled, "access from device %d to peerDevice %d is enabled already",
                device.ordinal, peerDevice);
  }
  return infinirtSuccess;
}

infinirtError_t DeviceDisablePeerAccess(int peerDevice) {
  EngineDevice& device = current_device(thread_state());
  if (!device_at(*device.engine, peerDevice, "peerDevice")) return device_error(*device.engine);
  const uint64_t bit = uint64_t{1} << peerDevice;
  if (!(device.peers.fetch_and(~bit) & bit)) {
    return fail(infinirtErrorPeerAccessNotEnabled, "access from device %d to peerDevice %d is not enabled",
                device.ordinal, peerDevice);
  }
  return infinirtSuccess;
}

infinirtError_t DeviceGetP2PAttribute(int* value, enum infinirtDeviceP2PAttr attr, int srcDevice, int dstDevice) {
  REQUIRE_OUTPUT(value);
  Engine& engine = current_engine(thread_state());
  if (!device_at(engine, srcDevice, "srcDevice") || !device_at(engine, dstDevice, "dstDevice"))
    return device_error(engine);
  if (srcDevice == dstDevice) return fail(infinirtErrorInvalidDevice, "srcDevice and dstDevice are both %d", srcDevice);
  switch (attr) {
    case infinirtDevP2PAttrPerformanceRank:
      *value = 0;
      return infinirtSuccess;
    case infinirtDevP2PAttrAccessSupported:
    case infinirtDevP2PAttrNativeAtomicSupported:
      *value = 1;
      return infinirtSuccess;
    case infinirtDevP2PAttrCudaArrayAccessSupported:
      *value = 0;
      return infinirtSuccess;
  }
  return fail(infinirtErrorInvalidValue, "attr %d is not a peer attribute", static_cast<int>(attr));
}

infinirtError_t DriverGetVersion(int* driverVersion) {
  REQUIRE_OUTPUT(driverVersion);
  *driverVersion = kVersion;
  return infinirtSuccess;
}

infinirtError_t RuntimeGetVersion(int* runtimeVersion) {
  REQUIRE_OUTPUT(runtimeVersion);
  *runtimeVersion = kVersion;
  return infinirtSuccess;
}

infinirtError_t SetDeviceFlags(unsigned int flags) {
  if (auto error = check_device_flags(flags)) return error;
  current_device(thread_state()).flags.store(flags | infinirtDeviceMapHost);
  return infinirtSuccess;
}

infinirtError_t GetDeviceFlags(unsigned int* flags) {
  REQUIRE_OUTPUT(flags);
  *flags = current_device(thread_state()).flags.load() | infinirtDeviceMapHost;
  return infinirtSuccess;
}

infinirtError_t InitDevice(int device, unsigned int deviceFlags, unsigned int flags) {
  Engine& engine = current_engine(thread_state());
  EngineDevice* target = device_at(engine, device, "device");
  if (!target) return device_error(engine);
  if (flags & ~infinirtInitDeviceFlagsAreValid)
    return fail(infinirtErrorInvalidValue, "flags 0x%x: only InitDeviceFlagsAreValid is allowed", flags);
  if (flags & infinirtInitDeviceFlagsAreValid) {
    if (auto error = check_device_flags(deviceFlags)) return error;
    target->flags.store(deviceFlags | infinirtDeviceMapHost);
  }
  return infinirtSuccess;
}

// The device that meets most of what is asked: enough memory, then at least the compute capability, then the first.
infinirtError_t ChooseDevice(int* device, const struct infinirtDeviceProp* prop) {
  REQUIRE_OUTPUT(device);
  if (!prop) return fail(infinirtErrorInvalidValue, "prop is null; it describes the device wanted");
  Engine& engine = current_engine(thread_state());
  if (engine.devices.empty()) return device_at(engine, 0, "device"), infinirtErrorNoDevice;
  int best = 0, best_score = -1;
  for (const auto& d : engine.devices) {
    infinirtDeviceProp p{};
    engine.properties(d->ordinal, &p);
    const int score = (p.totalGlobalMem >= prop->totalGlobalMem) * 4 +
                      (p.major * 100 + p.minor >= prop->major * 100 + prop->minor) * 2 +
                      (p.multiProcessorCount >= prop->multiProcessorCount);
    if (score > best_score) best = d->ordinal, best_score = score;
  }
  *device = best;
  return infinirtSuccess;
}

// CUDA tries the listed devices in order; here every device is usable, so the first one becomes current.
infinirtError_t SetValidDevices(int* device_arr, int len) {
  ThreadState& ts = thread_state();
  Engine& engine = current_engine(ts);
  if (len < 0 || (len > 0 && !device_arr))
    return fail(infinirtErrorInvalidValue, "device_arr and len %d do not describe a list", len);
  for (int i = 0; i < len; ++i) {
    if (!device_at(engine, device_arr[i], "device_arr entry")) return device_error(engine);
  }
  if (len > 0) ts.device[engine.backend.index] = device_arr[0];
  return infinirtSuccess;
}

infinirtError_t DeviceGetLimit(size_t* pValue, enum infinirtLimit limit) {
  REQUIRE_OUTPUT(pValue);
  if (!known_limit(limit))
    return fail(infinirtErrorUnsupportedLimit, "limit %d is not one of infinirtLimit", static_cast<int>(limit));
  const size_t value = current_device(thread_state()).limits[limit].load();
  *pValue = value ? value : default_limit(limit);
  return infinirtSuccess;
}

infinirtError_t DeviceSetLimit(enum infinirtLimit limit, size_t value) {
  if (auto error = check_capture_unsafe(thread_state())) return error;
  if (!known_limit(limit))
    return fail(infinirtErrorUnsupportedLimit, "limit %d is not one of infinirtLimit", static_cast<int>(limit));
  current_device(thread_state()).limits[limit].store(value);
  return infinirtSuccess;
}

infinirtError_t DeviceGetCacheConfig(enum infinirtFuncCache* pCacheConfig) {
  REQUIRE_OUTPUT(pCacheConfig);
  *pCacheConfig = infinirtFuncCachePreferNone;
  return infinirtSuccess;
}

infinirtError_t DeviceSetCacheConfig(enum infinirtFuncCache cacheConfig) {
  if (cacheConfig < infinirtFuncCachePreferNone || cacheConfig > infinirtFuncCachePreferEqual) {
    return fail(infinirtErrorInvalidValue, "cacheConfig %d is not one of infinirtFuncCache",
                static_cast<int>(cacheConfig));
  }
  return infinirtSuccess;  // a hint; there is no cache to divide
}

infinirtError_t CtxResetPersistingL2Cache() { return check_device(current_device(thread_state())); }

// There is no driver API below an engine-run device: every symbol is reported as not found, as CUDA reports it.
infinirtError_t GetDriverEntryPoint(const char* symbol, void** funcPtr, unsigned long long,
                                    enum infinirtDriverEntryPointQueryResult* driverStatus) {
  REQUIRE_OUTPUT(funcPtr);
  if (!symbol) return fail(infinirtErrorInvalidValue, "symbol is null");
  *funcPtr = nullptr;
  if (driverStatus) {
    *driverStatus = infinirtDriverEntryPointSymbolNotFound;
    return infinirtSuccess;
  }
  return fail(infinirtErrorSymbolNotFound, "symbol '%s': device type '%s' has no driver API", symbol,
              current_engine(thread_state()).backend.name.c_str());
}

infinirtError_t GetDriverEntryPointByVersion(const char* symbol, void** funcPtr, unsigned int, unsigned long long flags,
                                             enum infinirtDriverEntryPointQueryResult* driverStatus) {
  return GetDriverEntryPoint(symbol, funcPtr, flags, driverStatus);
}

infinirtError_t ProfilerStart() { return check_device(current_device(thread_state())); }
infinirtError_t ProfilerStop() { return check_device(current_device(thread_state())); }

}  // namespace engine_api

infinirtError_t engine_quiet_device_synchronize() {
  ThreadState& ts = thread_state();
  EngineDevice& device = current_device(ts);
  if (auto error = check_capture_device_sync(ts, device)) return error;
  wait_for_device(device);
  return infinirtSuccess;
}

}  // namespace infinirt
