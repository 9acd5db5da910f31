#include "infiniop/generated/written.h"
#include "op/cpu/buffer.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::logdet;

// Items are matrices.
Split split(const WrittenPlan& plan, const double*, int) { return {plan.rest, plan.size[size::n] < 32 ? 16 : 1}; }

// Becomes triangular in `x`, n rows of n, with the largest element of a column as its pivot. The determinant is the product of pivots.
double logarithm_of_determinant(double* x, int64_t n) {
  double sum = 0;
  bool is_negative = false;
  for (int64_t k = 0; k < n; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i) {
      if (__builtin_fabs(x[i * n + k]) > __builtin_fabs(x[best * n + k])) best = i;
    }
    if (best != k) {
      is_negative = !is_negative;
      for (int64_t j = k; j < n; ++j) {
        const double other = x[k * n + j];
        x[k * n + j] = x[best * n + j];
        x[best * n + j] = other;
      }
    }
    const double pivot = x[k * n + k];
    if (pivot == 0) return -__builtin_inf();
    if (pivot < 0) is_negative = !is_negative;
    sum += __builtin_log(__builtin_fabs(pivot));
    const double* row = x + k * n;
    for (int64_t i = k + 1; i < n; ++i) {
      double* other = x + i * n;
      const double factor = other[k] / pivot;
      if (factor == 0) continue;
      for (int64_t j = k + 1; j < n; ++j) other[j] -= factor * row[j];
    }
  }
  return is_negative ? __builtin_nan("") : sum;
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &y = plan.tensor[tensor::y], &x = plan.tensor[tensor::x];
  const int64_t n = plan.size[size::n], row = n > 0 ? x.stride[x.ndim - 2] : 0,
                column = n > 0 ? x.stride[x.ndim - 1] : 0;
  auto* matrix = reinterpret_cast<double*>(worker_buffer(sizeof(double) * static_cast<size_t>(n * n + 1)));
  if (!matrix) return infinirtErrorMemoryAllocation;
  with_float_type(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      const T* from = call.at<const T>(tensor::x) + offset_of_rest(x, item);
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) matrix[i * n + j] = double(widen(from[i * row + j * column]));
      }
      call.at<T>(tensor::y)[offset_of_rest(y, item)] = narrow<T>(Wide<T>(logarithm_of_determinant(matrix, n)));
    }
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel logdet = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
