// Elements of tensors of one shape, in runs: as many one after the other as lie at one distance in each tensor.
#pragma once

#include <algorithm>
#include <cstdint>

#include "op/nvidia/written_arguments.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

template <int Tensors>
struct Run {
  int64_t first;  // its first element's number
  int64_t count;
  int64_t offset[Tensors], step[Tensors];  // in elements
};

// The distance of neighbours where all elements lie at one; 0: they do not.
inline int64_t one_step(const TensorView& view) {
  int64_t step = 0, next = 0;
  for (int d = view.ndim - 1; d >= 0; --d) {
    if (view.shape[d] == 1) continue;
    if (step != 0 && view.stride[d] != next) return 0;
    if (step == 0) step = view.stride[d];
    next = view.stride[d] * view.shape[d];
  }
  return step;
}

// Elements `first` to `last` of tensors of one shape.
template <int Tensors, class Function>
void each_run(const TensorView* const (&views)[Tensors], int64_t first, int64_t last, Function function) {
  const int last_dim = views[0]->ndim - 1;
  bool is_one = true;
  for (int t = 0; t < Tensors; ++t) is_one = is_one && one_step(*views[t]) != 0;
  const int64_t length = is_one || last_dim < 0 ? last : views[0]->shape[last_dim];
  for (int64_t at = first; at < last;) {
    Run<Tensors> run;
    run.first = at;
    run.count = std::min(last - at, length - at % std::max<int64_t>(1, length));
    if (run.count <= 0) return;
    for (int t = 0; t < Tensors; ++t) {
      run.offset[t] = offset_in(*views[t], 0, views[t]->ndim, at);
      run.step[t] = is_one ? one_step(*views[t]) : last_dim < 0 ? 1 : views[t]->stride[last_dim];
    }
    function(run);
    at += run.count;
  }
}

inline int64_t elements_of(const TensorView& view) {
  int64_t count = 1;
  for (int d = 0; d < view.ndim; ++d) count *= view.shape[d];
  return count;
}

// The view repeated to the shape of another one, whose last dimensions it has.
inline TensorView repeated(const TensorView& view, const TensorView& like) {
  TensorView result = like;
  const int missing = like.ndim - view.ndim;
  for (int d = 0; d < like.ndim; ++d) result.stride[d] = d < missing ? 0 : view.stride[d - missing];
  return result;
}

}  // namespace
}  // namespace infiniop::cpu
