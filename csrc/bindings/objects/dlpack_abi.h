// The binary layout of DLPack 0.x ("dltensor") and 1.x ("dltensor_versioned") capsules, and of the table of functions by
// which DLPack 1.3 exchanges tensors without a call into Python.
#pragma once

#include <cstddef>
#include <cstdint>

namespace infinirt::objects::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kExtension = 12, kCudaManaged = 13 };

inline constexpr uint8_t kUnsigned = 1;
inline constexpr uint32_t kMajor = 1, kMinor = 3;
inline constexpr uint64_t kReadOnly = 1, kIsCopied = 2, kIsPadded = 4;

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
  int64_t* strides;  // in elements; null, before 1.2: compact, rows first
  uint64_t byte_offset;
};

struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

struct Version {
  uint32_t major, minor;
};

struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  uint64_t flags;
  Tensor tensor;
};

struct ExchangeHeader {
  Version version;
  const ExchangeHeader* previous;  // of an older major version; null: there is none
};

inline constexpr const char* kExchangeName = "dlpack_exchange_api";

/// What a type's __dlpack_c_exchange_api__ points to. All functions return 0, or -1 after saying why: the first by
/// `set_error`, since it may be called without the interpreter's lock, the others by a Python exception. None of them makes
/// the host wait for a device.
struct Exchange {
  ExchangeHeader header;
  /// A new tensor of the prototype's device, type and shape.
  int (*allocate)(Tensor* prototype, ManagedVersioned** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*from_object)(void* object, ManagedVersioned** out);
  /// Takes the tensor over if it succeeds.
  int (*to_object)(ManagedVersioned* tensor, void** object);
  /// Fills in a tensor that is valid until the caller returns. May be null.
  int (*borrow_from_object)(void* object, Tensor* out);
  /// The stream on which what was exchanged is used.
  int (*current_work_stream)(DeviceType type, int32_t id, void** stream);
};

static_assert(sizeof(Tensor) == 48 && sizeof(Managed) == 64 && sizeof(ManagedVersioned) == 80);
static_assert(offsetof(ManagedVersioned, tensor) == 32 && offsetof(ManagedVersioned, flags) == 24);
static_assert(sizeof(ExchangeHeader) == 16 && sizeof(Exchange) == 56);

}  // namespace infinirt::objects::dlpack
