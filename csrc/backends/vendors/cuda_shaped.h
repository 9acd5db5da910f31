// A runtime that is CUDA's under another prefix.
#pragma once

#include <vector>

#include "backends/vendors/native.h"

namespace infinirt::vendors {

struct CudaNames {
  const char* prefix;
  struct Renamed {
    const char* cuda;  // without prefix
    const char* name;  // whole
  };
  std::vector<Renamed> renamed;
  // The flag of a stream that does not synchronise with the default stream; 0 where its value is not known to us, and then
  // streams are made without flags.
  unsigned non_blocking;
};

class CudaShaped final : public Native {
 public:
  explicit CudaShaped(CudaNames names) : names_(std::move(names)) {}

  std::vector<Symbol> symbols() override;
  bool has(Ability ability) const override;
  int count_devices(int* count) override { return call_.GetDeviceCount(count); }
  int set_device(int device) override { return call_.SetDevice(device); }
  int wait_for_device() override { return call_.DeviceSynchronize(); }
  int allocate(void** out, size_t bytes) override { return call_.Malloc(out, bytes); }
  int release(void* pointer) override { return call_.Free(pointer); }
  bool works_on_streams() const override { return true; }
  int copy(void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind, void* stream) override;
  int copy_between(void* dst, int dst_device, const void* src, int src_device, size_t bytes, void* stream) override;
  int fill(void* dst, unsigned char value, size_t bytes, void* stream) override;
  int memory_info(size_t* free_bytes, size_t* total_bytes) override {
    return call_.MemGetInfo(free_bytes, total_bytes);
  }
  int host_allocate(void** out, size_t bytes) override { return call_.HostAlloc(out, bytes, 0); }
  int host_release(void* pointer) override { return call_.FreeHost(pointer); }
  int create_stream(void** stream) override;
  int wait_for_stream(void* stream) override { return call_.StreamSynchronize(stream); }
  std::string device_name(int device) override;
  std::string version() override;
  infinirtError_t code_of(int status) const override;
  std::string text_of(int status) override;

 private:
  struct Functions {
#define INFINIRT_VENDOR_FN(NAME, REQUIRED, PARAMETERS) int(*NAME) PARAMETERS = nullptr;
#include "backends/vendors/cuda_functions.inc"
#undef INFINIRT_VENDOR_FN
    const char* (*GetErrorString)(int status) = nullptr;
  };

  std::string name_of(const char* cuda) const;
  int after(int status, void* stream) { return status ? status : call_.StreamSynchronize(stream); }

  CudaNames names_;
  Functions call_;
};

}  // namespace infinirt::vendors
