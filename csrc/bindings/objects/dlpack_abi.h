// The binary layout of DLPack 0.x ("dltensor") and 1.x ("dltensor_versioned") capsules.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infinirt::objects::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kExtension = 12, kCudaManaged = 13 };

inline constexpr uint8_t kUnsigned = 1;
inline constexpr uint32_t kMajor = 1, kMinor = 0;
inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2;

struct Device {
  int32_t type;
  int32_t id;
};

struct DataType {
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: compact, rows first
  uint64_t byte_offset;
};

struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

struct ManagedVersioned {
  uint32_t major, minor;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  Tensor tensor;
};

static_assert(sizeof(Tensor) == 48 && sizeof(Managed) == 64 && sizeof(ManagedVersioned) == 80);
static_assert(offsetof(ManagedVersioned, tensor) == 32 && offsetof(ManagedVersioned, flags) == 24);

}  // namespace infinirt::objects::dlpack
