// Our declarations against NVIDIA's own: numbers, sizes, and the parameters' sizes of every function.
// Headers of narrow types that NVIDIA's includes, which need another package; only their names occur.
#define __CUDA_FP16_H__
#define __CUDA_BF16_H__
struct __half;
struct __nv_bfloat16;

#include <cublasLt.h>

#include "op/nvidia/cublaslt.h"

using namespace infiniop::nvidia;

template <class A, class B>
struct Same;
template <class R, class... A, class S, class... B>
struct Same<R (*)(A...), S (*)(B...)> {
  static constexpr bool same() {
    constexpr size_t ours[] = {sizeof(A)..., 0}, theirs[] = {sizeof(B)..., 0};
    if (sizeof...(A) != sizeof...(B) || sizeof(R) != sizeof(S)) return false;
    for (size_t i = 0; i < sizeof...(A); ++i) {
      if (ours[i] != theirs[i]) return false;
    }
    return true;
  }
};

#define X(result, name, parameters) \
  static_assert(Same<decltype(CublasLt::name), decltype(&cublasLt##name)>::same(), #name);
INFINIOP_CUBLASLT_FUNCTIONS(X)
#undef X

static_assert(sizeof(LtHeuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(LtHeuristic, workspace_size) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(LtHeuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(kLtF32 == CUDA_R_32F && kLtF64 == CUDA_R_64F && kLtF16 == CUDA_R_16F && kLtBF16 == CUDA_R_16BF);
static_assert(kLtComputeF32 == CUBLAS_COMPUTE_32F && kLtComputeF64 == CUBLAS_COMPUTE_64F);
static_assert(kLtAsIs == CUBLAS_OP_N && kLtTransposed == CUBLAS_OP_T);
static_assert(kLtMatmulTransA == CUBLASLT_MATMUL_DESC_TRANSA && kLtMatmulTransB == CUBLASLT_MATMUL_DESC_TRANSB);
static_assert(kLtLayoutBatchCount == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
static_assert(kLtLayoutBatchStride == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
static_assert(kLtPreferMostWorkspace == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(kLtPreferAlignmentOfA == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
static_assert(kLtPreferAlignmentOfA + 3 == CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
