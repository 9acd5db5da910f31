// The CPU as a device: primitives on memory of its own, everything else by the engine.
#pragma once

#include <vector>

#include "backends/cpu/memory.h"
#include "backends/cpu/share.h"
#include "engine/engine.h"

namespace infinirt::cpu {

class CpuEngine final : public Engine {
 public:
  CpuEngine(std::vector<int> ordinals, std::string problem);

  infinirtError_t allocate(int device, size_t size, MemoryKind kind, unsigned flags, void** out) override;
  void release(int device, void* pointer, size_t size, MemoryKind kind) override;
  void memory_info(int device, size_t* free_bytes, size_t* total_bytes) override;
  infinirtError_t copy(const CopyWork& work) override;
  infinirtError_t fill(const FillWork& work) override;
  infinirtError_t run_kernel(const KernelWork& work, int device) override;
  void properties(int device, struct infinirtDeviceProp* properties) override;
  // Such a copy takes less time than waking a worker for it.
  size_t inline_limit() const override { return size_t{64} << 10; }

  bool in_device_range(const void* pointer) const override { return memory_.in_device_range(pointer); }
  void* host_address(const void* pointer) const override { return memory_.backing(pointer); }
  infinirtError_t set_memory_limit(int device, size_t bytes) override { return memory_.set_limit(device, bytes); }
  infinirtError_t verify_memory(int device, const void* pointer) override { return memory_.verify(device, pointer); }

  bool shares_memory() const override { return true; }
  infinirtError_t share(int, void* base, size_t size, SharedRange* range) override {
    return shared_.share(base, size, range);
  }
  infinirtError_t share_into(int, void* base, size_t size, int file, size_t offset) override {
    return shared_.share_into(base, size, file, offset);
  }
  infinirtError_t map_shared(int device, int file, size_t offset, size_t size, void** out) override {
    return shared_.map(device, file, offset, size, out);
  }
  void unmap_shared(int device, void* pointer, size_t size) override { shared_.unmap(device, pointer, size); }

 private:
  std::vector<int> ordinals_;  // physical numbers, for names that stay the same whatever is visible
  MemoryManager memory_;
  SharedMemory shared_{memory_};
};

}  // namespace infinirt::cpu
