// Kunlunxin: the XPU runtime (XRE).
#include <cstdint>
#include <cstdlib>

#include "backends/vendors/vendor.h"

namespace infinirt::vendors {

namespace {

// xpu/runtime.h, xpu/defs.h
constexpr int kDeviceToHost = 0, kHostToDevice = 1, kDeviceToDevice = 2;  // XPUMemcpyKind: not CUDA's order
constexpr int kMainMemory = 0;                                            // XPU_MEM_MAIN
constexpr int kOutOfMemory = 705, kNoHostMemory = 706;                    // XPUERR_NOMEM, XPUERR_NOCPUMEM

class Kunlun final : public Native {
 public:
  std::vector<Symbol> symbols() override {
    const auto slot = [](auto& function) { return reinterpret_cast<void**>(&function); };
    return {{"xpu_device_count", slot(count_), true},
            {"xpu_set_device", slot(set_), true},
            {"xpu_wait", slot(wait_), true},
            {"xpu_malloc", slot(malloc_), true},
            {"xpu_free", slot(free_), true},
            {"xpu_memcpy", slot(copy_), true},
            {"xpu_memcpy_peer", slot(copy_peer_), false},
            {"xpu_host_alloc", slot(malloc_host_), false},
            {"xpu_host_free", slot(free_host_), false},
            {"xpu_stream_create", slot(create_stream_), false},
            {"xpu_get_runtime_version", slot(version_), false}};
  }

  bool has(Ability ability) const override {
    switch (ability) {
      case Ability::Fill:
      case Ability::MemoryInfo:
        return false;
      case Ability::PeerCopy:
        return copy_peer_ != nullptr;
      case Ability::HostMemory:
        return malloc_host_ && free_host_;
      case Ability::Streams:
        return create_stream_ != nullptr;
    }
    return false;
  }

  int count_devices(int* count) override { return count_(count); }
  int set_device(int device) override { return set_(device); }
  int wait_for_device() override { return wait_(nullptr); }  // the default stream only: nothing waits for all
  int allocate(void** out, size_t bytes) override { return malloc_(out, bytes, kMainMemory); }
  int release(void* pointer) override { return free_(pointer); }

  bool works_on_streams() const override { return false; }
  int copy(void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind, void*) override {
    const int status = copy_(dst, src, bytes,
                             kind == infinirtMemcpyHostToDevice   ? kHostToDevice
                             : kind == infinirtMemcpyDeviceToHost ? kDeviceToHost
                                                                  : kDeviceToDevice);
    // Whether a copy inside the device is complete on return its reference does not say.
    return status || kind != infinirtMemcpyDeviceToDevice ? status : wait_(nullptr);
  }
  int copy_between(void* dst, int dst_device, const void* src, int src_device, size_t bytes, void*) override {
    const int status = copy_peer_(dst_device, dst, src_device, src, bytes);
    return status ? status : wait_(nullptr);
  }
  int fill(void*, unsigned char, size_t, void*) override { return -1; }

  int memory_info(size_t*, size_t*) override { return -1; }
  int host_allocate(void** out, size_t bytes) override { return malloc_host_(out, bytes, 0); }
  int host_release(void* pointer) override { return free_host_(pointer); }
  int create_stream(void** stream) override { return create_stream_(stream); }
  int wait_for_stream(void* stream) override { return wait_(stream); }

  std::string version() override {
    uint32_t major = 0, minor = 0;
    return version_ && version_(&major, &minor) == 0 ? std::to_string(major) + "." + std::to_string(minor)
                                                     : std::string();
  }

  // Failures are negative; the error is the absolute value.
  infinirtError_t code_of(int status) const override {
    const int error = std::abs(status);
    return error == kOutOfMemory || error == kNoHostMemory ? infinirtErrorMemoryAllocation : infinirtErrorUnknown;
  }
  std::string text_of(int) override { return {}; }  // xpu_strerror is no symbol: it is in the header alone

 private:
  int (*count_)(int* count) = nullptr;
  int (*set_)(int device) = nullptr;
  int (*wait_)(void* stream) = nullptr;
  int (*malloc_)(void** pointer, uint64_t bytes, int kind) = nullptr;
  int (*free_)(void* pointer) = nullptr;
  int (*copy_)(void* dst, const void* src, uint64_t bytes, int kind) = nullptr;
  int (*copy_peer_)(int dst_device, void* dst, int src_device, const void* src, uint64_t bytes) = nullptr;
  int (*malloc_host_)(void** pointer, uint64_t bytes, unsigned flags) = nullptr;
  int (*free_host_)(void* pointer) = nullptr;
  int (*create_stream_)(void** stream) = nullptr;
  int (*version_)(uint32_t* major, uint32_t* minor) = nullptr;
};

}  // namespace

Vendor kunlun() {
  return {"kunlun",
          "Kunlunxin's XPU runtime (XRE)",
          "INFINIRT_KUNLUN_LIBRARY",
          "libxpurt",
          {"libxpurt.so", "libxpurt.so.2", "libxpurt.so.1"},
          {{nullptr, "/opt/xre/so"}},
          false,
          [] { return std::unique_ptr<Native>(new Kunlun); }};
}

}  // namespace infinirt::vendors
