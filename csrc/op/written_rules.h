// What the rules of written operators ask of shapes that their patterns leave open.
#pragma once

#include <cstring>
#include <initializer_list>

#include "op/written.h"

namespace infiniop {

// The number of a text; -1: it is none of them.
inline double number_of(const char* text, std::initializer_list<const char*> texts) {
  double number = 0;
  for (const char* each : texts) {
    if (text && std::strcmp(text, each) == 0) return number;
    ++number;
  }
  return -1;
}

// Whether `dim`, which counts from the last dimension where it is negative, is one of the tensor's. One without dimensions has one here.
inline bool has_dim(const WrittenPlan& plan, int tensor, int64_t dim) {
  const int64_t dims = plan.tensor[tensor].ndim > 0 ? plan.tensor[tensor].ndim : 1;
  return dim >= -dims && dim < dims;
}

// Whether both have as many dimensions, and the first is nowhere larger than the second but in dimension `except`.
inline bool lies_within(const WrittenPlan& plan, int first, int second, int64_t except) {
  const TensorView &small = plan.tensor[first], &large = plan.tensor[second];
  if (small.ndim != large.ndim) return false;
  for (int d = 0; d < small.ndim; ++d) {
    if (d != except && small.shape[d] > large.shape[d]) return false;
  }
  return true;
}
inline bool lies_within(const WrittenPlan& plan, int first, int second) {
  return lies_within(plan, first, second, plan.tensor[first].ndim);
}
// `dim` of a tensor, counted from the first dimension.
inline int64_t from_first(const WrittenPlan& plan, int tensor, int64_t dim) {
  return dim < 0 ? dim + plan.tensor[tensor].ndim : dim;
}

}  // namespace infiniop
