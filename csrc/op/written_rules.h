// What the rules of written operators ask of shapes that their patterns leave open.
#pragma once

#include "op/written.h"

namespace infiniop {

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

inline bool has_one_element(const WrittenPlan& plan, int tensor) {
  for (int d = 0; d < plan.tensor[tensor].ndim; ++d) {
    if (plan.tensor[tensor].shape[d] != 1) return false;
  }
  return true;
}

inline bool has_elements(const WrittenPlan& plan, int tensor, int64_t count) {
  int64_t elements = 1;
  for (int d = 0; d < plan.tensor[tensor].ndim; ++d) elements *= plan.tensor[tensor].shape[d];
  return elements == count;
}

// Whether it has three numbers for each of `count`, one after the other or in rows.
inline bool has_threes(const WrittenPlan& plan, int tensor, int64_t count) {
  const TensorView& view = plan.tensor[tensor];
  return (view.ndim == 1 && view.shape[0] == 3 * count) ||
         (view.ndim == 2 && view.shape[0] == count && view.shape[1] == 3);
}

// Whether the first tensor, repeated as broadcasting does, has the second one's shape.
inline bool broadcasts_to(const WrittenPlan& plan, int first, int second) {
  const TensorView &from = plan.tensor[first], &to = plan.tensor[second];
  if (from.ndim > to.ndim) return false;
  for (int d = 0; d < from.ndim; ++d) {
    const long long size = from.shape[d];
    if (size != 1 && size != to.shape[to.ndim - from.ndim + d]) return false;
  }
  return true;
}

// Whether the last dimension of both inputs has one size, and the output the other dimensions of the first, then of the second.
inline bool is_inner(const WrittenPlan& plan, int output, int first, int second) {
  const TensorView &out = plan.tensor[output], &a = plan.tensor[first], &b = plan.tensor[second];
  if (a.ndim < 1 || b.ndim < 1 || a.shape[a.ndim - 1] != b.shape[b.ndim - 1]) return false;
  if (out.ndim != a.ndim + b.ndim - 2) return false;
  for (int d = 0; d < out.ndim; ++d) {
    if (out.shape[d] != (d < a.ndim - 1 ? a.shape[d] : b.shape[d - (a.ndim - 1)])) return false;
  }
  return true;
}

// Whether each dimension of the output has the product of the two inputs' sizes, aligned at the last one.
inline bool is_kron(const WrittenPlan& plan, int output, int first, int second) {
  const TensorView &out = plan.tensor[output], &a = plan.tensor[first], &b = plan.tensor[second];
  if (out.ndim != (a.ndim > b.ndim ? a.ndim : b.ndim)) return false;
  for (int d = 1; d <= out.ndim; ++d) {
    const long long one = d <= a.ndim ? a.shape[a.ndim - d] : 1, other = d <= b.ndim ? b.shape[b.ndim - d] : 1;
    if (out.shape[out.ndim - d] != one * other) return false;
  }
  return true;
}

// Numbers of elements before and after those of each of the last dimensions, of `bytes` bytes as int.
struct Pads {
  const WrittenPlan& plan;
  int out, in;
  const double* pad;
  int64_t bytes;

  int first() const { return plan.tensor[in].ndim - static_cast<int>(bytes / 8); }
  int64_t before(int d) const { return d < first() ? 0 : static_cast<int64_t>(pad[2 * (d - first())]); }
  int64_t after(int d) const { return d < first() ? 0 : static_cast<int64_t>(pad[2 * (d - first()) + 1]); }

  bool is_list() const { return bytes >= 0 && bytes % 8 == 0 && bytes / 8 <= plan.tensor[in].ndim; }
  bool fit() const {
    const TensorView &y = plan.tensor[out], &x = plan.tensor[in];
    if (y.ndim != x.ndim) return false;
    for (int d = 0; d < y.ndim; ++d) {
      if (y.shape[d] != x.shape[d] + before(d) + after(d)) return false;
    }
    return true;
  }
  // No more than `less` fewer than there are elements to take them from, of an input that has some.
  bool are_at_most(int64_t less) const {
    for (int d = 0; d < plan.tensor[in].ndim; ++d) {
      const int64_t most = plan.tensor[in].shape[d] - less;
      if ((before(d) > 0 && before(d) > most) || (after(d) > 0 && after(d) > most)) return false;
    }
    return true;
  }
  bool have_a_source() const {
    for (int d = 0; d < plan.tensor[in].ndim; ++d) {
      if (plan.tensor[in].shape[d] == 0 && (before(d) > 0 || after(d) > 0)) return false;
    }
    return true;
  }
};

}  // namespace infiniop
