// NVIDIA's library of neural networks, cuDNN 9, found and loaded at run time: as much of its graph API as attention needs. The declarations
// are our own; names and numbers are the library's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "infinirt_ext.h"

namespace infiniop::nvidia {

using DnnHandle = struct DnnHandleType*;
using DnnDescriptor = void*;
using DnnStatus = int;  // 0: success

// Kinds of descriptors.
enum : int {
  kDnnPointwise = 0,
  kDnnConfiguration = 3,  // of an engine
  kDnnHeuristics = 4,
  kDnnPlan = 5,
  kDnnPointwiseOperation = 13,
  kDnnGraph = 15,
  kDnnVariantPack = 16,  // addresses of one execution
  kDnnTensor = 17,
  kDnnMatmul = 18,
  kDnnMatmulOperation = 19,
  kDnnReduction = 21,
  kDnnReductionOperation = 22,
};

// Types of attributes.
enum : int {
  kDnnOfHandle = 0,
  kDnnOfDataType = 1,
  kDnnOfBool = 2,
  kDnnOfInt64 = 3,
  kDnnOfPointer = 6,
  kDnnOfHeuristicMode = 8,
  kDnnOfPointwiseMode = 14,
  kDnnOfDescriptor = 15,
  kDnnOfReductionMode = 18,
};

enum : int { kDnnF32 = 0, kDnnF16 = 2, kDnnI32 = 4, kDnnBF16 = 9, kDnnBool = 11 };  // element types
enum : int {
  kDnnAdd = 0,
  kDnnMultiply = 1,
  kDnnDivide = 6,
  kDnnSubtract = 9,
  kDnnExp = 13,
  kDnnLog = 15,
  kDnnNotLess = 303,
  kDnnIndex = 501,
  kDnnSelect = 601,
};  // modes of pointwise operations
enum : int { kDnnSum = 0, kDnnMax = 3 };  // of reductions
enum : int { kDnnModeA = 3 };  // of heuristics

#define INFINIOP_CUDNN_FUNCTIONS(X)                                                                    \
  X(size_t, GetVersion, (void))                                                                        \
  X(const char*, GetErrorString, (DnnStatus status))                                                   \
  X(DnnStatus, Create, (DnnHandle * handle))                                                           \
  X(DnnStatus, SetStream, (DnnHandle handle, infinirtStream_t stream))                                 \
  X(DnnStatus, BackendCreateDescriptor, (int kind, DnnDescriptor* descriptor))                         \
  X(DnnStatus, BackendDestroyDescriptor, (DnnDescriptor descriptor))                                   \
  X(DnnStatus, BackendSetAttribute,                                                                    \
    (DnnDescriptor descriptor, int attribute, int type, int64_t count, const void* values))            \
  X(DnnStatus, BackendGetAttribute,                                                                    \
    (DnnDescriptor descriptor, int attribute, int type, int64_t wanted, int64_t* count, void* values)) \
  X(DnnStatus, BackendFinalize, (DnnDescriptor descriptor))                                            \
  X(DnnStatus, BackendExecute, (DnnHandle handle, DnnDescriptor plan, DnnDescriptor pack))

struct Cudnn {
  std::string path;
#define X(result, name, parameters) result(*name) parameters = nullptr;
  INFINIOP_CUDNN_FUNCTIONS(X)
#undef X

  // The library's own words, and ours around them, become the last error; success passes.
  infinirtError_t check(DnnStatus status, const char* doing) const;
};

// Looked for once: INFINIOP_CUDNN_LIBRARY, and where cuBLASLt is looked for. Null, without an error: it is not installed, or INFINIOP_CUDNN
// is 0.
const Cudnn* find_cudnn();

// A device's handle, which has one stream at a time: whoever uses it holds the mutex.
struct DnnContext {
  std::mutex mutex;
  DnnHandle handle = nullptr;
};

// The thread's current device's, made on first use and kept; null: the library cannot make one.
DnnContext* find_dnn_context(const Cudnn& library);

}  // namespace infiniop::nvidia
