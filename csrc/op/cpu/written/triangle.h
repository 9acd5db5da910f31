// The part of each matrix on one side of a diagonal; the other is zero.
#pragma once

#include "op/cpu/written/indices.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

inline Split split_rows(int64_t rows, int64_t columns) {
  return {rows, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, columns))};
}

inline infinirtError_t keep_triangle(const WrittenCall& call, int out, int in, int64_t rows, int64_t columns,
                                     int64_t diagonal, bool lower, int64_t first, int64_t last) {
  const TensorView &output = call.plan.tensor[out], &input = call.plan.tensor[in];
  const int row_dim = output.ndim - 2, column_dim = output.ndim - 1;
  const int64_t step_out = output.stride[column_dim], step_in = input.stride[column_dim];
  with_size(element_size(output.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      const int64_t matrix = item / rows, row = item % rows;
      T* to = call.at<T>(out) + offset_of_rest(output, matrix) + row * output.stride[row_dim];
      const T* from = call.at<const T>(in) + offset_of_rest(input, matrix) + row * input.stride[row_dim];
      // The columns that stay.
      const int64_t edge = std::clamp<int64_t>(row + diagonal + (lower ? 1 : 0), 0, columns);
      const int64_t begin = lower ? 0 : edge, end = lower ? edge : columns;
      const bool in_place = to == from && step_out == step_in;
      if (!in_place && end > begin)
        copy_line(to + begin * step_out, step_out, from + begin * step_in, step_in, end - begin);
      for (int64_t i = 0; i < begin; ++i) to[i * step_out] = T{};
      for (int64_t i = end; i < columns; ++i) to[i * step_out] = T{};
    }
  });
  return infinirtSuccess;
}

}  // namespace
}  // namespace infiniop::cpu
