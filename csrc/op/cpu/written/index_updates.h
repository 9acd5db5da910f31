// Slices of a tensor that indices name, written over or added to. First the output becomes the input, then one worker after the other
// takes columns of all slices, so that slices that are named twice are met in their order.
#pragma once

#include "op/cpu/written/indices.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

constexpr int64_t kColumns = 512;  // of a slice that an item has

inline Split split_updates(const WrittenPlan& plan, int64_t indices) {
  const int64_t columns = std::min<int64_t>(kColumns, plan.after);
  const int64_t pieces = columns > 0 ? (plan.after + kColumns - 1) / kColumns : 0;
  return {plan.before * pieces, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, columns * indices))};
}

// Elements `begin` to `end` after the dimension, of one slice.
template <class T, class Update>
void update_slice(T* to, const TensorView& output, const T* from, const TensorView& source, bool in_runs, int64_t begin,
                  int64_t end, Update update) {
  if (in_runs) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) update(to[i], from[i]);
    return;
  }
  for (int64_t i = begin; i < end; ++i) update(to[offset_of_after(output, i)], from[offset_of_after(source, i)]);
}

// Slices of one element.
template <class T, class Update>
infinirtError_t update_line(const WrittenCall& call, int idx, int64_t indices, int64_t rows, T* to, int64_t to_step,
                            const T* from, int64_t from_step, Update update) {
  const TensorView& index = call.plan.tensor[idx];
  return with_index_type(index.dtype, [&](auto tag) {
    using Index = typename decltype(tag)::type;
    const Index* numbers = call.at<const Index>(idx);
    for (int64_t j = 0; j < indices; ++j) {
      const int64_t row = numbers[j * index.stride[0]];
      if (is_outside(row, rows)) return refuse_index("index", row, rows);
      update(to[row * to_step], from[j * from_step]);
    }
    return infinirtSuccess;
  });
}

template <class T, class Update>
infinirtError_t update_slices(const WrittenCall& call, int out, int src, int idx, int64_t indices, int64_t rows,
                              int64_t first, int64_t last, Update update) {
  const WrittenPlan& plan = call.plan;
  const TensorView &output = plan.tensor[out], &source = plan.tensor[src], &index = plan.tensor[idx];
  const int64_t pieces = (plan.after + kColumns - 1) / kColumns;
  const bool in_runs = is_run(output, plan.dim + 1) && is_run(source, plan.dim + 1);
  for (int64_t item = first; item < last; ++item) {
    const int64_t before = item / pieces, begin = item % pieces * kColumns;
    const int64_t end = std::min<int64_t>(plan.after, begin + kColumns);
    T* to = call.at<T>(out) + offset_of_rest(output, before);
    const T* from = call.at<const T>(src) + offset_of_rest(source, before);
    if (plan.after == 1) {
      if (auto error = update_line<T>(call, idx, indices, rows, to, output.stride[plan.dim], from,
                                      source.stride[plan.dim], update))
        return error;
      continue;
    }
    for (int64_t j = 0; j < indices; ++j) {
      const int64_t row = integer_at(call.address[idx], index.dtype, j * index.stride[0]);
      if (is_outside(row, rows)) return refuse_index("index", row, rows);
      update_slice(to + row * output.stride[plan.dim], output, from + j * source.stride[plan.dim], source, in_runs,
                   begin, end, update);
    }
  }
  return infinirtSuccess;
}

}  // namespace
}  // namespace infiniop::cpu
