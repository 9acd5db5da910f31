// What we use of the C interface to PaddlePaddle's kernels. Found at run time in the process that PaddlePaddle runs in;
// declared here in our own words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "infinirt_plugin.h"

namespace infinirt::paddle {

// PaddlePaddle's objects, opaque.
struct KernelContext;
struct DeviceContext;
struct Tensor;
struct Scalar;

using DataType = enum infinirtPluginDataType;
using PhiStatus = enum infinirtPluginStatus;
inline constexpr int kAnyLayout = 0;

enum class ArgumentType : int { Tensor = 1, Int64 = 8, Scalar = 10, IntArray = 11, DataType = 12, ListInt64 = 17 };

struct List {
  size_t size;
  void* data;
};

// Both functions of a kernel: `function` gets everything in a context, `variadic` gets a device context, then inputs, attributes
// and outputs as arguments, each by its address.
struct PhiFunctions {
  void (*PD_RegisterPhiKernel)(const char* kernel, const char* device_type, DataType type, int layout, size_t inputs,
                               ArgumentType* input_types, size_t attributes, ArgumentType* attribute_types,
                               size_t outputs, ArgumentType* output_types,
                               void (*define_arguments)(const void* key, void* kernel),
                               void (*function)(KernelContext*), void* variadic);
  DeviceContext* (*PD_KernelContextGetDeviceContext)(KernelContext*);
  Tensor* (*PD_KernelContextInputAt)(KernelContext*, size_t);
  Tensor* (*PD_KernelContextOutputAt)(KernelContext*, size_t);
  int64_t (*PD_KernelContextInt64AttrAt)(KernelContext*, size_t);
  List (*PD_KernelContextListInt64AttrAt)(KernelContext*, size_t);
  Scalar* (*PD_KernelContextScalarAttrAt)(KernelContext*, size_t);
  List (*PD_ListInt64Attr)(void*);
  infinirtPluginStream_t (*PD_DeviceContextGetStream)(const DeviceContext*, PhiStatus*);
  void* (*PD_DeviceContextAllocateTensor)(const DeviceContext*, Tensor*, size_t, DataType, PhiStatus*);
  DataType (*PD_TensorGetPDDataType)(const Tensor*, PhiStatus*);
  void* (*PD_TensorGetDataPointer)(const Tensor*, PhiStatus*);
  int64_t (*PD_TensorGetElementCount)(const Tensor*, PhiStatus*);
  int64_t (*PD_TensorGetNumDims)(const Tensor*, PhiStatus*);
  int64_t (*PD_TensorGetDim)(const Tensor*, size_t, PhiStatus*);
  int64_t (*PD_TensorGetNumStrides)(const Tensor*, PhiStatus*);
  int64_t (*PD_TensorGetStride)(const Tensor*, size_t, PhiStatus*);
  void (*PD_TensorSetDims)(Tensor*, int64_t, const int64_t*, PhiStatus*);
  void (*PD_TensorSetStrides)(Tensor*, int64_t, const int64_t*, PhiStatus*);
  void (*PD_TensorSetOffset)(Tensor*, int64_t, PhiStatus*);
  bool (*PD_ScalarGetBoolData)(Scalar*);
  int64_t (*PD_ScalarGetInt64Data)(Scalar*);
  double (*PD_ScalarGetFloat64Data)(Scalar*);
};

// Finds them all, once; false when one is missing.
bool find_phi();
// After find_phi() was true.
const PhiFunctions& phi();

using Sizes = std::vector<int64_t>;

// In elements, row by row without gaps.
Sizes contiguous_strides(const Sizes& dims);

Sizes dims_of(const Tensor* tensor);
Sizes strides_of(const Tensor* tensor);  // in elements
DataType type_of(const Tensor* tensor);
void* data_of(const Tensor* tensor);  // a device address
size_t bytes_of(DataType type);

// These raise std::runtime_error, which PaddlePaddle hands to its user.
infinirtPluginStream_t stream_of_context(const DeviceContext* context);
void* allocate(const DeviceContext* context, Tensor* tensor, DataType type);
void set_strides(Tensor* tensor, const Sizes& strides);
void set_dims(Tensor* tensor, const Sizes& dims);
void set_offset(Tensor* tensor, int64_t bytes);

}  // namespace infinirt::paddle
