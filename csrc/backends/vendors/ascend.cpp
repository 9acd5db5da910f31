// Huawei Ascend: AscendCL's runtime functions (aclrt).
#include <cstdint>

#include "backends/vendors/vendor.h"

namespace infinirt::vendors {

namespace {

// acl_rt.h, acl_base.h, rt_error_codes.h
constexpr int kHostToDevice = 1, kDeviceToHost = 2, kDeviceToDevice = 3;  // aclrtMemcpyKind
constexpr int kHugeFirst = 0;                                             // ACL_MEM_MALLOC_HUGE_FIRST
constexpr int kDeviceMemory = 1;                                          // ACL_HBM_MEM of aclrtMemAttr
constexpr int kStartedAlready = 100002;                                   // ACL_ERROR_REPEAT_INITIALIZE
constexpr int kOutOfMemory = 207001;                                      // ACL_ERROR_RT_MEMORY_ALLOCATION
constexpr int kBadAlloc = 200000;                                         // ACL_ERROR_BAD_ALLOC

class Ascend final : public Native {
 public:
  std::vector<Symbol> symbols() override {
    const auto slot = [](auto& function) { return reinterpret_cast<void**>(&function); };
    return {{"aclInit", slot(init_), true},
            {"aclrtGetDeviceCount", slot(count_), true},
            {"aclrtSetDevice", slot(set_), true},
            {"aclrtSynchronizeDevice", slot(wait_), true},
            {"aclrtMalloc", slot(malloc_), true},
            {"aclrtFree", slot(free_), true},
            {"aclrtMemcpy", slot(copy_), true},
            {"aclrtMemset", slot(fill_), false},
            {"aclrtGetMemInfo", slot(info_), false},
            {"aclrtMallocHost", slot(malloc_host_), false},
            {"aclrtFreeHost", slot(free_host_), false},
            {"aclrtCreateStream", slot(create_stream_), false},
            {"aclrtSynchronizeStream", slot(wait_stream_), false},
            {"aclrtGetSocName", slot(name_), false},
            {"aclGetRecentErrMsg", slot(text_), false}};
  }

  bool has(Ability ability) const override {
    switch (ability) {
      case Ability::Fill:
        return fill_ != nullptr;
      case Ability::PeerCopy:
        return false;
      case Ability::MemoryInfo:
        return info_ != nullptr;
      case Ability::HostMemory:
        return malloc_host_ && free_host_;
      case Ability::Streams:
        return create_stream_ && wait_stream_;
    }
    return false;
  }

  // Others in the process, PyTorch's Ascend plugin for one, may have been first. Nobody calls aclFinalize: it would end theirs.
  int start() override {
    const int status = init_(nullptr);
    return status == kStartedAlready ? 0 : status;
  }

  int count_devices(int* count) override {
    uint32_t devices = 0;
    const int status = count_(&devices);
    *count = static_cast<int>(devices);
    return status;
  }

  int set_device(int device) override { return set_(device); }
  int wait_for_device() override { return wait_(); }
  int allocate(void** out, size_t bytes) override { return malloc_(out, bytes, kHugeFirst); }
  int release(void* pointer) override { return free_(pointer); }

  // The asynchronous copies want page-locked host memory and device addresses aligned to 64 bytes; these want neither.
  bool works_on_streams() const override { return false; }
  int copy(void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind, void*) override {
    return copy_(dst, bytes, src, bytes,
                 kind == infinirtMemcpyHostToDevice   ? kHostToDevice
                 : kind == infinirtMemcpyDeviceToHost ? kDeviceToHost
                                                      : kDeviceToDevice);
  }
  int copy_between(void*, int, const void*, int, size_t, void*) override { return -1; }
  int fill(void* dst, unsigned char value, size_t bytes, void*) override { return fill_(dst, bytes, value, bytes); }

  int memory_info(size_t* free_bytes, size_t* total_bytes) override {
    return info_(kDeviceMemory, free_bytes, total_bytes);
  }
  int host_allocate(void** out, size_t bytes) override { return malloc_host_(out, bytes); }
  int host_release(void* pointer) override { return free_host_(pointer); }
  int create_stream(void** stream) override { return create_stream_(stream); }
  int wait_for_stream(void* stream) override { return wait_stream_(stream); }

  std::string device_name(int) override {
    const char* name = name_ ? name_() : nullptr;
    return name ? name : "";
  }

  infinirtError_t code_of(int status) const override {
    return status == kOutOfMemory || status == kBadAlloc ? infinirtErrorMemoryAllocation : infinirtErrorUnknown;
  }
  std::string text_of(int) override {
    const char* text = text_ ? text_() : nullptr;
    return text ? text : "";
  }

 private:
  int (*init_)(const char* configuration) = nullptr;
  int (*count_)(uint32_t* count) = nullptr;
  int (*set_)(int32_t device) = nullptr;
  int (*wait_)() = nullptr;
  int (*malloc_)(void** pointer, size_t bytes, int policy) = nullptr;
  int (*free_)(void* pointer) = nullptr;
  int (*copy_)(void* dst, size_t room, const void* src, size_t bytes, int kind) = nullptr;
  int (*fill_)(void* dst, size_t room, int32_t value, size_t bytes) = nullptr;
  int (*info_)(int attribute, size_t* free_bytes, size_t* total_bytes) = nullptr;
  int (*malloc_host_)(void** pointer, size_t bytes) = nullptr;
  int (*free_host_)(void* pointer) = nullptr;
  int (*create_stream_)(void** stream) = nullptr;
  int (*wait_stream_)(void* stream) = nullptr;
  const char* (*name_)() = nullptr;
  const char* (*text_)() = nullptr;
};

}  // namespace

Vendor ascend() {
  return {"ascend",
          "Huawei's AscendCL runtime (CANN)",
          "INFINIRT_ASCEND_LIBRARY",
          "libascendcl",
          {"libascendcl.so"},
          {{"ASCEND_HOME_PATH", "lib64"}, {nullptr, "/usr/local/Ascend/ascend-toolkit/latest/lib64"}},
          false,
          [] { return std::unique_ptr<Native>(new Ascend); }};
}

}  // namespace infinirt::vendors
