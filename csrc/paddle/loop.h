// Walking over tensors of one shape, each with strides of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace infinirt::paddle {

// All strides in elements. Stride 0 repeats an element: broadcasting.
template <size_t Tensors>
class Loop {
 public:
  using Offsets = std::array<int64_t, Tensors>;

  Loop(const std::vector<int64_t>& dims, const std::array<std::vector<int64_t>, Tensors>& strides) {
    for (size_t d = 0; d < dims.size(); ++d) {
      Offsets at_d;
      for (size_t t = 0; t < Tensors; ++t) at_d[t] = strides[t][d];
      empty_ = empty_ || dims[d] == 0;
      if (dims[d] != 1) add_dimension(dims[d], at_d);
    }
    if (dims_.empty()) add_dimension(1, Offsets{});
  }

  bool empty() const { return empty_; }

  // Elements from the first that tensor `t` is asked for to the last; no stride may be negative.
  int64_t extent(size_t t) const {
    if (empty_) return 0;
    int64_t last = 0;
    for (size_t d = 0; d < dims_.size(); ++d) last += (dims_[d] - 1) * strides_[d][t];
    return last + 1;
  }

  // Calls row(offsets, count, steps): `count` elements of each tensor, from its offset in its step.
  template <class Row>
  void for_each_row(Row row) const {
    if (empty_) return;
    const size_t outer = dims_.size() - 1;
    std::vector<int64_t> index(outer, 0);
    Offsets offsets{};
    while (true) {
      row(offsets, dims_[outer], strides_[outer]);
      size_t d = outer;
      while (d > 0) {
        --d;
        for (size_t t = 0; t < Tensors; ++t) offsets[t] += strides_[d][t];
        if (++index[d] < dims_[d]) break;
        for (size_t t = 0; t < Tensors; ++t) offsets[t] -= dims_[d] * strides_[d][t];
        index[d] = 0;
        if (d == 0) return;
      }
      if (outer == 0) return;
    }
  }

 private:
  // Two dimensions that every tensor runs through without a jump become one.
  void add_dimension(int64_t size, const Offsets& strides) {
    bool joins = !dims_.empty();
    for (size_t t = 0; joins && t < Tensors; ++t) joins = strides_.back()[t] == size * strides[t];
    if (joins) {
      dims_.back() *= size;
      strides_.back() = strides;
    } else {
      dims_.push_back(size);
      strides_.push_back(strides);
    }
  }

  std::vector<int64_t> dims_;
  std::vector<Offsets> strides_;
  bool empty_ = false;
};

}  // namespace infinirt::paddle
