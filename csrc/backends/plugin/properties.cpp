// What a plugin tells about a device, in the shape of infinirtDeviceProp.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>

#include "backends/plugin/plugin_engine.h"

namespace infinirt::plugin {

namespace {

int clamped(size_t value) { return static_cast<int>(std::min(value, size_t{INT_MAX})); }

// The same in every process for the same plugin and device.
void make_uuid(const std::string& path, int id, infinirtUUID_t* uuid) {
  const std::string seed = path + "/" + std::to_string(id);
  uint64_t halves[2] = {0xcbf29ce484222325ull, 0x9ae16a3b2f90404full};  // FNV-1a with two starting values
  for (uint64_t& half : halves) {
    for (const char c : seed) half = (half ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }
  std::memcpy(uuid->bytes, halves, sizeof uuid->bytes);
  uuid->bytes[6] = static_cast<char>((uuid->bytes[6] & 0x0f) | 0x80);  // version 8: made from data of our own
  uuid->bytes[8] = static_cast<char>((uuid->bytes[8] & 0x3f) | 0x80);
}

}  // namespace

void PluginEngine::properties(int device, struct infinirtDeviceProp* p) {
  std::memset(p, 0, sizeof *p);
  size_t free_bytes = 0;
  memory_info(device, &free_bytes, &p->totalGlobalMem);
  Entry entry(*this, device);
  const infinirtPluginInterface& table = opened_.table;
  const bool usable = !entry.error();
  std::snprintf(p->name, sizeof p->name, "%s%s%s (%s:%d)", probed_.type.c_str(), probed_.sub_type.empty() ? "" : " ",
                probed_.sub_type.c_str(), backend.name.c_str(), device);
  make_uuid(path_, unit(device).handle.id, &p->uuid);
  const size_t capability = usable ? fact(table.get_compute_capability, device) : 0;
  p->major = clamped(capability / 10);
  p->minor = static_cast<int>(capability % 10);
  p->multiProcessorCount = usable ? clamped(asked(table.get_multi_process, device)) : 0;
  p->multiProcessorCount = std::max(p->multiProcessorCount, 1);
  p->maxThreadsPerMultiProcessor = usable ? clamped(asked(table.get_max_threads_per_mp, device)) : 0;
  p->maxThreadsPerBlock = usable ? clamped(asked(table.get_max_threads_per_block, device)) : 0;
  p->maxThreadsDim[0] = p->maxThreadsDim[1] = p->maxThreadsDim[2] = p->maxThreadsPerBlock;
  unsigned grid[3] = {0, 0, 0};
  infinirtPluginDevice_st handle = unit(device).handle;
  if (usable && table.get_max_grid_dim_size && succeeded(table.get_max_grid_dim_size(&handle, &grid))) {
    for (int i = 0; i < 3; ++i) p->maxGridSize[i] = clamped(grid[i]);
  }
  const bool unified = table.unified_memory_allocate && table.unified_memory_deallocate;

  // What the engine brings to every device.
  p->memPitch = (size_t{1} << 31) - 1;
  p->textureAlignment = p->surfaceAlignment = 512;
  p->texturePitchAlignment = 32;
  p->warpSize = 32;
  p->deviceOverlap = p->asyncEngineCount = 1;
  p->canMapHostMemory = 1;
  p->computeMode = infinirtComputeModeDefault;
  p->unifiedAddressing = 1;
  p->streamPrioritiesSupported = 1;
  p->managedMemory = unified;
  p->concurrentManagedAccess = unified;
  p->hostRegisterSupported = 1;
  p->canUseHostPointerForRegisteredMem = 1;
  p->memoryPoolsSupported = 1;
  p->memoryPoolSupportedHandleTypes = infinirtMemHandleTypeNone;
  p->ipcEventSupported = 1;
  // No such bus is known; numbers that nothing else of the process has keep devices apart by bus id.
  p->pciDomainID = 0x100 + backend.index;
  p->pciBusID = device;
}

}  // namespace infinirt::plugin
