// What a plugin tells about a device, in the shape of infinirtDeviceProp.
#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>

#include "backends/plugin/plugin_engine.h"

namespace infinirt::plugin {

namespace {

int clamped(size_t value) { return static_cast<int>(std::min(value, size_t{INT_MAX})); }

}  // namespace

void PluginEngine::properties(int device, struct infinirtDeviceProp* p) {
  // The same in every process for the same plugin and device.
  describe_emulated(device, path_ + "/" + std::to_string(unit(device).handle.id), p);
  Entry entry(*this, device);
  const infinirtPluginInterface& table = opened_.table;
  const bool usable = !entry.error();
  std::snprintf(p->name, sizeof p->name, "%s%s%s (%s:%d)", probed_.type.c_str(), probed_.sub_type.empty() ? "" : " ",
                probed_.sub_type.c_str(), backend.name.c_str(), device);
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
  p->managedMemory = p->concurrentManagedAccess = unified;
}

}  // namespace infinirt::plugin
