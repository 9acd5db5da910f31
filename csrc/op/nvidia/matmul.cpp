#include "op/nvidia/matmul.h"

namespace infiniop::nvidia {

namespace {

int type_of(infiniDtype_t dtype) {
  switch (dtype) {
    case INFINI_DTYPE_F64:
      return kLtF64;
    case INFINI_DTYPE_F16:
      return kLtF16;
    case INFINI_DTYPE_BF16:
      return kLtBF16;
    default:
      return kLtF32;
  }
}

}  // namespace

Matmul::~Matmul() {
  if (matmul_) library_.MatmulDescDestroy(matmul_);
  for (LtLayout layout : {first_, second_, result_}) {
    if (layout) library_.MatrixLayoutDestroy(layout);
  }
}

infinirtError_t Matmul::make_layout(LtLayout* layout, int type, int64_t rows, int64_t columns, int64_t leading,
                                    int64_t batch, int64_t batch_stride) {
  if (auto error = library_.check(library_.MatrixLayoutCreate(layout, type, static_cast<uint64_t>(rows),
                                                              static_cast<uint64_t>(columns), leading),
                                  "describing a matrix")) {
    return error;
  }
  if (batch == 1) return infinirtSuccess;
  const auto count = static_cast<int32_t>(batch);
  if (auto error = library_.check(library_.MatrixLayoutSetAttribute(*layout, kLtLayoutBatchCount, &count, sizeof count),
                                  "setting the number of matrices")) {
    return error;
  }
  return library_.check(
      library_.MatrixLayoutSetAttribute(*layout, kLtLayoutBatchStride, &batch_stride, sizeof batch_stride),
      "setting the distance of matrices");
}

infinirtError_t Matmul::describe(const Product& p, infiniDtype_t dtype) {
  if (p.batch > INT32_MAX) {
    infinirtXSetLastError(infinirtErrorNotSupported, "cuBLASLt multiplies at most 2147483647 matrices in one call");
    return infinirtErrorNotSupported;
  }
  const int type = type_of(dtype);
  doubles_ = dtype == INFINI_DTYPE_F64;
  const int scale = doubles_ ? kLtF64 : kLtF32;
  if (auto error = library_.check(library_.MatmulDescCreate(&matmul_, doubles_ ? kLtComputeF64 : kLtComputeF32, scale),
                                  "describing a product")) {
    return error;
  }
  const Major a = major_of(p.m, p.k, p.a), b = major_of(p.k, p.n, p.b), c = major_of(p.m, p.n, p.c);
  const int32_t first = b.transposed ? kLtTransposed : kLtAsIs, second = a.transposed ? kLtTransposed : kLtAsIs;
  if (auto error = library_.check(library_.MatmulDescSetAttribute(matmul_, kLtMatmulTransA, &first, sizeof first),
                                  "setting an operation")) {
    return error;
  }
  if (auto error = library_.check(library_.MatmulDescSetAttribute(matmul_, kLtMatmulTransB, &second, sizeof second),
                                  "setting an operation")) {
    return error;
  }
  // Sizes as they lie in memory, in columns.
  const int64_t b_rows = b.transposed ? p.k : p.n, b_columns = b.transposed ? p.n : p.k;
  const int64_t a_rows = a.transposed ? p.m : p.k, a_columns = a.transposed ? p.k : p.m;
  if (auto error = make_layout(&first_, type, b_rows, b_columns, b.leading, p.batch, p.b.batch_stride)) return error;
  if (auto error = make_layout(&second_, type, a_rows, a_columns, a.leading, p.batch, p.a.batch_stride)) return error;
  return make_layout(&result_, type, p.n, p.m, c.leading, p.batch, p.c.batch_stride);
}

infinirtError_t Matmul::propose(LtHandle handle, size_t most_workspace, uint32_t alignment, int most,
                                std::vector<LtHeuristic>* proposals) const {
  LtPreference preference = nullptr;
  if (auto error = library_.check(library_.MatmulPreferenceCreate(&preference), "making preferences")) return error;
  const uint64_t most_bytes = most_workspace;
  LtStatus status =
      library_.MatmulPreferenceSetAttribute(preference, kLtPreferMostWorkspace, &most_bytes, sizeof most_bytes);
  for (int operand = 0; status == 0 && operand < 4; ++operand) {
    status = library_.MatmulPreferenceSetAttribute(preference, kLtPreferAlignmentOfA + operand, &alignment,
                                                   sizeof alignment);
  }
  int found = 0;
  proposals->assign(static_cast<size_t>(most), {});
  if (status == 0) {
    status = library_.MatmulAlgoGetHeuristic(handle, matmul_, first_, second_, result_, result_, preference, most,
                                             proposals->data(), &found);
  }
  library_.MatmulPreferenceDestroy(preference);
  proposals->resize(static_cast<size_t>(status == 0 ? found : 0));
  LtStatus refused = 0;
  std::erase_if(*proposals, [&](const LtHeuristic& proposal) {
    if (proposal.state != 0) refused = proposal.state;
    return proposal.state != 0;
  });
  constexpr LtStatus kNotSupported = 15;
  if (status == 0 && proposals->empty()) status = refused != 0 ? refused : kNotSupported;
  return library_.check(status, "choosing an algorithm");
}

infinirtError_t Matmul::enqueue(LtHandle handle, const LtHeuristic& chosen, double alpha, double beta, void* c,
                                const void* a, const void* b, void* workspace, infinirtStream_t stream) const {
  const auto single_alpha = static_cast<float>(alpha), single_beta = static_cast<float>(beta);
  const void* factors[2] = {&single_alpha, &single_beta};
  if (doubles_) factors[0] = &alpha, factors[1] = &beta;
  return library_.check(library_.Matmul(handle, matmul_, factors[0], b, first_, a, second_, factors[1], c, result_, c,
                                        result_, &chosen.algorithm, workspace, chosen.workspace_size, stream),
                        "enqueueing a product");
}

}  // namespace infiniop::nvidia
