// Cambricon: the CNRT library.
#include <cstring>

#include "backends/vendors/vendor.h"

namespace infinirt::vendors {

namespace {

// cnrt.h of CNToolkit 3
constexpr int kHostToDevice = 0, kDeviceToDevice = 1, kDeviceToHost = 2;  // cnrtMemTransDir_t: not CUDA's order
constexpr int kOutOfMemory = 100100;                                      // cnrtErrorNoMem

class Cambricon final : public Native {
 public:
  std::vector<Symbol> symbols() override {
    const auto slot = [](auto& function) { return reinterpret_cast<void**>(&function); };
    return {{"cnrtGetDeviceCount", slot(count_), true},
            {"cnrtSetDevice", slot(set_), true},
            {"cnrtSyncDevice", slot(wait_), true},
            {"cnrtMalloc", slot(malloc_), true},
            {"cnrtFree", slot(free_), true},
            {"cnrtMemcpy", slot(copy_), true},
            {"cnrtMemcpyPeer", slot(copy_peer_), false},
            {"cnrtMemset", slot(fill_), false},
            {"cnrtMemGetInfo", slot(info_), false},
            {"cnrtHostMalloc", slot(malloc_host_), false},
            {"cnrtFreeHost", slot(free_host_), false},
            {"cnrtQueueCreate", slot(create_queue_), false},
            {"cnrtQueueSync", slot(wait_queue_), false},
            {"cnrtGetDeviceProperties", slot(properties_), false},
            {"cnrtGetErrorStr", slot(text_), false}};
  }

  bool has(Ability ability) const override {
    switch (ability) {
      case Ability::Fill:
        return fill_ != nullptr;
      case Ability::PeerCopy:
        return copy_peer_ != nullptr;
      case Ability::MemoryInfo:
        return info_ != nullptr;
      case Ability::HostMemory:
        return malloc_host_ && free_host_;
      case Ability::Streams:
        return create_queue_ && wait_queue_;
    }
    return false;
  }

  int count_devices(int* count) override {
    unsigned devices = 0;
    const int status = count_(&devices);
    *count = static_cast<int>(devices);
    return status;
  }
  int set_device(int device) override { return set_(device); }
  int wait_for_device() override { return wait_(); }
  int allocate(void** out, size_t bytes) override { return malloc_(out, bytes); }
  int release(void* pointer) override { return free_(pointer); }

  bool works_on_streams() const override { return false; }
  int copy(void* dst, const void* src, size_t bytes, enum infinirtMemcpyKind kind, void*) override {
    return copy_(dst, const_cast<void*>(src), bytes,
                 kind == infinirtMemcpyHostToDevice   ? kHostToDevice
                 : kind == infinirtMemcpyDeviceToHost ? kDeviceToHost
                                                      : kDeviceToDevice);
  }
  int copy_between(void* dst, int dst_device, const void* src, int src_device, size_t bytes, void*) override {
    return copy_peer_(dst, dst_device, const_cast<void*>(src), src_device, bytes);
  }
  int fill(void* dst, unsigned char value, size_t bytes, void*) override { return fill_(dst, value, bytes); }

  int memory_info(size_t* free_bytes, size_t* total_bytes) override { return info_(free_bytes, total_bytes); }
  int host_allocate(void** out, size_t bytes) override { return malloc_host_(out, bytes); }
  int host_release(void* pointer) override { return free_host_(pointer); }
  int create_stream(void** stream) override { return create_queue_(stream); }
  int wait_for_stream(void* stream) override { return wait_queue_(stream); }

  std::string device_name(int device) override {
    struct {
      char name[256];
      char more[3840];  // what a later version may append
    } properties = {};
    return properties_ && properties_(&properties, device) == 0
               ? std::string(properties.name, strnlen(properties.name, 256))
               : std::string();
  }

  infinirtError_t code_of(int status) const override {
    return status == kOutOfMemory ? infinirtErrorMemoryAllocation : infinirtErrorUnknown;
  }
  std::string text_of(int status) override {
    const char* text = text_ ? text_(status) : nullptr;
    return text ? text : "";
  }

 private:
  int (*count_)(unsigned* count) = nullptr;
  int (*set_)(int device) = nullptr;
  int (*wait_)() = nullptr;
  int (*malloc_)(void** pointer, size_t bytes) = nullptr;
  int (*free_)(void* pointer) = nullptr;
  int (*copy_)(void* dst, void* src, size_t bytes, int direction) = nullptr;
  int (*copy_peer_)(void* dst, int dst_device, void* src, int src_device, size_t bytes) = nullptr;
  int (*fill_)(void* dst, int value, size_t bytes) = nullptr;
  int (*info_)(size_t* free_bytes, size_t* total_bytes) = nullptr;
  int (*malloc_host_)(void** pointer, size_t bytes) = nullptr;
  int (*free_host_)(void* pointer) = nullptr;
  int (*create_queue_)(void** queue) = nullptr;
  int (*wait_queue_)(void* queue) = nullptr;
  int (*properties_)(void* properties, int device) = nullptr;
  const char* (*text_)(int status) = nullptr;
};

}  // namespace

Vendor cambricon() {
  return {"cambricon",
          "Cambricon's CNRT",
          "INFINIRT_CAMBRICON_LIBRARY",
          "libcnrt",
          {"libcnrt.so"},
          {{"NEUWARE_HOME", "lib64"}, {nullptr, "/usr/local/neuware/lib64"}},
          false,
          [] { return std::unique_ptr<Native>(new Cambricon); }};
}

}  // namespace infinirt::vendors
