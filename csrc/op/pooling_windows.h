// The windows of the operators that are pooling, from the numbers that they were made with.
#pragma once

#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/nvidia/written_arguments.h"

namespace infiniop {
namespace {  // NOLINT: one copy for each instruction set

// From attributes that stand side by side, in the order kernel, stride, padding and, where there is one, dilation.
inline Windows windows_at(const double* first, int count, bool has_dilation) {
  Windows windows = {};
  windows.counts_padding = true;
  for (int d = 0; d < 3; ++d) {
    const bool is_given = d >= 3 - count;
    const auto number = [&](int list) { return static_cast<int64_t>(first[list * count + d - (3 - count)]); };
    windows.kernel[d] = is_given ? number(0) : 1;
    windows.stride[d] = is_given && number(1) ? number(1) : windows.kernel[d];
    windows.padding[d] = is_given ? number(2) : 0;
    windows.dilation[d] = is_given && has_dilation ? number(3) : 1;
  }
  return windows;
}

inline Windows shares(const double*) {
  Windows windows = {};
  windows.is_adaptive = true;
  return windows;
}

inline Windows windows_of_avg_pool(const double* attributes) {
  namespace at = avg_pool::attribute;
  Windows windows = windows_at(attributes + at::kernel_size_d, 3, false);
  windows.counts_padding = attributes[at::count_include_pad] != 0;
  windows.divisor = static_cast<int64_t>(attributes[at::divisor_override]);
  return windows;
}
inline Windows windows_of_avg_pool1d(const double* attributes) {
  return windows_at(attributes + avg_pool1d::attribute::kernel_size, 1, false);
}
inline Windows windows_of_avg_pool3d(const double* attributes) {
  return windows_at(attributes + avg_pool3d::attribute::kernel_size_d, 3, false);
}
inline Windows windows_of_max_pool(const double* attributes) {
  static_assert(max_pool::attribute::kernel_size_d == max_pool_indices::attribute::kernel_size_d);
  return windows_at(attributes + max_pool::attribute::kernel_size_d, 3, true);
}

// Tensors of all of them: the output, its indices (-1: there are none), the input.
struct PoolingTensors {
  int y, indices, x;
};

}  // namespace
}  // namespace infiniop

// Calls INFINIOP_POOLING(name, output, indices, input, is_max, windows) for each.
#define INFINIOP_EVERY_POOLING                                                                         \
  INFINIOP_POOLING(avg_pool, tensor::y, -1, tensor::x, false, windows_of_avg_pool)                     \
  INFINIOP_POOLING(avg_pool1d, tensor::output, -1, tensor::input, false, windows_of_avg_pool1d)        \
  INFINIOP_POOLING(avg_pool3d, tensor::y, -1, tensor::x, false, windows_of_avg_pool3d)                 \
  INFINIOP_POOLING(max_pool, tensor::y, -1, tensor::x, true, windows_of_max_pool)                      \
  INFINIOP_POOLING(max_pool_indices, tensor::y, tensor::indices, tensor::x, true, windows_of_max_pool) \
  INFINIOP_POOLING(adaptive_avg_pool, tensor::y, -1, tensor::x, false, shares)                         \
  INFINIOP_POOLING(adaptive_avg_pool1d, tensor::output, -1, tensor::input, false, shares)              \
  INFINIOP_POOLING(adaptive_avg_pool3d, tensor::y, -1, tensor::x, false, shares)                       \
  INFINIOP_POOLING(adaptive_max_pool, tensor::y, -1, tensor::x, true, shares)                          \
  INFINIOP_POOLING(adaptive_max_pool1d, tensor::y, -1, tensor::x, true, shares)                        \
  INFINIOP_POOLING(adaptive_max_pool_indices, tensor::y, tensor::indices, tensor::x, true, shares)
