// NVIDIA's library of matrix products, cuBLASLt 12 or 13, found and loaded at run time. The declarations are our own; names, numbers and
// layouts are the library's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "infinirt_ext.h"

namespace infiniop::nvidia {

using LtHandle = struct LtHandleType*;
using LtMatmul = struct LtMatmulType*;  // what is to be computed
using LtLayout = struct LtLayoutType*;  // how a matrix lies
using LtPreference = struct LtPreferenceType*;  // what an algorithm may need
using LtStatus = int;  // 0: success

struct LtAlgorithm {
  uint64_t data[8];
};
struct LtHeuristic {
  LtAlgorithm algorithm;
  size_t workspace_size;
  LtStatus state;
  float waves;
  int reserved[4];
};

enum : int { kLtF32 = 0, kLtF64 = 1, kLtF16 = 2, kLtBF16 = 14 };  // element types
enum : int { kLtComputeF32 = 68, kLtComputeF64 = 70 };  // what is summed up in; float is not shortened to TF32
enum : int { kLtAsIs = 0, kLtTransposed = 1 };  // operations
enum : int { kLtMatmulTransA = 3, kLtMatmulTransB = 4 };  // attributes of LtMatmul: int32_t
enum : int { kLtLayoutBatchCount = 5, kLtLayoutBatchStride = 6 };  // of LtLayout: int32_t, int64_t
enum : int {
  kLtPreferMostWorkspace = 1,
  kLtPreferAlignmentOfA = 5
};  // of LtPreference: uint64_t, uint32_t; B, C, D follow

#define INFINIOP_CUBLASLT_FUNCTIONS(X)                                                                                \
  X(size_t, GetVersion, (void))                                                                                       \
  X(const char*, GetStatusString, (LtStatus status))                                                                  \
  X(LtStatus, Create, (LtHandle * handle))                                                                            \
  X(LtStatus, MatmulDescCreate, (LtMatmul * matmul, int compute_type, int scale_type))                                \
  X(LtStatus, MatmulDescDestroy, (LtMatmul matmul))                                                                   \
  X(LtStatus, MatmulDescSetAttribute, (LtMatmul matmul, int attribute, const void* value, size_t size))               \
  X(LtStatus, MatrixLayoutCreate, (LtLayout * layout, int type, uint64_t rows, uint64_t columns, int64_t leading))    \
  X(LtStatus, MatrixLayoutDestroy, (LtLayout layout))                                                                 \
  X(LtStatus, MatrixLayoutSetAttribute, (LtLayout layout, int attribute, const void* value, size_t size))             \
  X(LtStatus, MatmulPreferenceCreate, (LtPreference * preference))                                                    \
  X(LtStatus, MatmulPreferenceDestroy, (LtPreference preference))                                                     \
  X(LtStatus, MatmulPreferenceSetAttribute, (LtPreference preference, int attribute, const void* value, size_t size)) \
  X(LtStatus, MatmulAlgoGetHeuristic,                                                                                 \
    (LtHandle handle, LtMatmul matmul, LtLayout a, LtLayout b, LtLayout c, LtLayout d, LtPreference preference,       \
     int wanted, LtHeuristic* results, int* found))                                                                   \
  X(LtStatus, Matmul,                                                                                                 \
    (LtHandle handle, LtMatmul matmul, const void* alpha, const void* a, LtLayout a_layout, const void* b,            \
     LtLayout b_layout, const void* beta, const void* c, LtLayout c_layout, void* d, LtLayout d_layout,               \
     const LtAlgorithm* algorithm, void* workspace, size_t workspace_size, infinirtStream_t stream))

struct CublasLt {
  std::string path;
#define X(result, name, parameters) result(*name) parameters = nullptr;
  INFINIOP_CUBLASLT_FUNCTIONS(X)
#undef X

  // The library's own words, and ours around them, become the last error; success passes.
  infinirtError_t check(LtStatus status, const char* doing) const;
};

// Looked for once it is needed, until it is found: INFINIOP_CUBLASLT_LIBRARY, a copy that the process has, beside the CUDA runtime in use,
// NVIDIA's wheels, a toolkit, the system. Null: the last error says what was tried.
const CublasLt* find_cublaslt();

// The thread's current device's, made on first use and kept.
infinirtError_t find_lt_handle(const CublasLt& library, LtHandle* handle);

}  // namespace infiniop::nvidia
