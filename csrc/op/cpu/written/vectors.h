// Two vectors that are changed together, pair by pair.
#pragma once

#include "op/cpu/written/indices.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

inline Split split_pairs(const WrittenPlan& plan) { return {(plan.rest + kPiece - 1) / kPiece, 2}; }

// `change` takes references to both elements.
template <class T, class Change>
void change_pairs(const WrittenCall& call, int x, int y, int64_t first, int64_t last, Change change) {
  const TensorView &x_view = call.plan.tensor[x], &y_view = call.plan.tensor[y];
  T *x_first = call.at<T>(x), *y_first = call.at<T>(y);
  const int64_t begin = first * kPiece, end = std::min<int64_t>(call.plan.rest, last * kPiece);
  if (is_run(x_view, 0) && is_run(y_view, 0)) {
#pragma GCC ivdep
    for (int64_t i = begin; i < end; ++i) change(x_first[i], y_first[i]);
    return;
  }
  for (int64_t i = begin; i < end; ++i) {
    change(x_first[offset_of_rest(x_view, i)], y_first[offset_of_rest(y_view, i)]);
  }
}

// x and y become h11 * x + h12 * y and h21 * x + h22 * y.
template <class C>
struct Turn {
  C h11, h12, h21, h22;
  template <class T>
  void operator()(T& x, T& y) const {
    const C before = widen(x), other = widen(y);
    x = narrow<T>(h11 * before + h12 * other);
    y = narrow<T>(h21 * before + h22 * other);
  }
};

}  // namespace
}  // namespace infiniop::cpu
