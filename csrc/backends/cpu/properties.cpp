#include "backends/cpu/properties.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "engine/device_uuid.h"
#include "engine/kernel.h"
#include "engine/scheduler.h"

namespace infinirt::cpu {

namespace {

std::string read_model() {
  std::ifstream file("/proc/cpuinfo");
  // "model name" on x86-64; aarch64 kernels give none, or "Model" for the board.
  for (std::string line; std::getline(file, line);) {
    if (line.compare(0, 10, "model name") != 0 && line.compare(0, 5, "Model") != 0) continue;
    const size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return "CPU";
}

long read_number(const char* path) {
  long value = 0;
  std::ifstream(path) >> value;
  return value;
}

int last_level_cache() {
  const long bytes = std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), sysconf(_SC_LEVEL2_CACHE_SIZE));
  return bytes > 0 ? static_cast<int>(std::min(bytes, 1L << 30)) : 8 << 20;
}

// The same in every process on this machine; different between machines, types and devices.
infinirtUUID_t make_uuid(const char* type, int ordinal) {
  static const std::string machine = [] {
    std::string id;
    std::getline(std::ifstream("/etc/machine-id"), id);
    return id.empty() ? read_model() : id;
  }();
  return uuid_from(machine + "/" + type + "/" + std::to_string(ordinal));
}

}  // namespace

void describe_device(const char* type, int ordinal, size_t total_memory, struct infinirtDeviceProp* p) {
  std::memset(p, 0, sizeof *p);
  static const std::string model = read_model();
  std::snprintf(p->name, sizeof p->name, "%.200s (%s:%d)", model.c_str(), type, ordinal);
  p->uuid = make_uuid(type, ordinal);

  p->totalGlobalMem = total_memory;
  static const int cache = last_level_cache();
  p->l2CacheSize = cache;
  static const long clock = read_number("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq");  // kHz
  p->clockRate = static_cast<int>(clock);
  if (p->clockRate == 0) p->clockRate = 1000000;
  p->memoryClockRate = 1600000;  // kHz, and a bus of two 64-bit channels: no interface tells
  p->memoryBusWidth = 128;

  // A block is one call of a C function, so its threads are a number that the kernel interprets as it likes.
  p->warpSize = 32;
  p->maxThreadsPerBlock = kMaxThreadsPerBlock;
  for (int i = 0; i < 3; ++i) {
    p->maxThreadsDim[i] = static_cast<int>(kMaxBlockDim[i]);
    p->maxGridSize[i] = static_cast<int>(kMaxGridDim[i]);
  }
  p->multiProcessorCount = worker_limit();
  p->maxThreadsPerMultiProcessor = kMaxThreadsPerMultiprocessor;
  p->maxBlocksPerMultiProcessor = kMaxBlocksPerMultiprocessor;
  p->sharedMemPerBlock = kSharedMemoryPerBlock;
  p->sharedMemPerBlockOptin = kSharedMemoryOptIn;
  p->sharedMemPerMultiprocessor = kSharedMemoryPerMultiprocessor;
  p->reservedSharedMemPerBlock = kReservedSharedMemory;
  p->regsPerBlock = 65536;
  p->regsPerMultiprocessor = 65536;
  p->totalConstMem = 65536;
  p->memPitch = (size_t{1} << 31) - 1;
  p->textureAlignment = 512;
  p->texturePitchAlignment = 32;
  p->surfaceAlignment = 512;
  p->major = kComputeMajor;
  p->minor = kComputeMinor;
  p->singleToDoublePrecisionPerfRatio = 2;

  p->deviceOverlap = 1;
  p->asyncEngineCount = 2;
  p->concurrentKernels = 1;
  p->integrated = 1;
  p->canMapHostMemory = 1;
  p->computeMode = infinirtComputeModeDefault;
  p->unifiedAddressing = 1;
  p->streamPrioritiesSupported = 1;
  p->globalL1CacheSupported = 1;
  p->localL1CacheSupported = 1;
  p->managedMemory = 1;
  p->concurrentManagedAccess = 1;
  p->directManagedMemAccessFromHost = 1;
  p->pageableMemoryAccess = 1;
  p->pageableMemoryAccessUsesHostPageTables = 1;
  p->hostNativeAtomicSupported = 1;
  p->computePreemptionSupported = 1;
  p->canUseHostPointerForRegisteredMem = 1;
  p->hostRegisterSupported = 1;
  p->hostRegisterReadOnlySupported = 1;
  p->cooperativeLaunch = 1;
  p->memoryPoolsSupported = 1;
  p->memoryPoolSupportedHandleTypes = infinirtMemHandleTypePosixFileDescriptor;
  p->ipcEventSupported = 1;
  p->unifiedFunctionPointers = 1;

  // No such bus; numbers that nothing else on the machine is likely to have keep devices apart by bus id.
  p->pciDomainID = 0;
  p->pciBusID = 0xC0 + ordinal;
  p->pciDeviceID = 0;
}

}  // namespace infinirt::cpu
