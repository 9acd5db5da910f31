// Where the first element of a row's order is, on the CPU.
#pragma once

#include "op/cpu/written/ordering.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

// The first of the smallest keys. Runs of elements are looked at as a whole, and again only where there is a smaller one.
template <Order How, class T>
int64_t first_of(const T* row, int64_t step, int64_t count) {
  using Key = KeyOf<T>;
  constexpr int64_t kRun = 2048 / static_cast<int64_t>(sizeof(T));
  Key best = ~Key{0};
  int64_t found = 0;
  for (int64_t first = 0; first < count; first += kRun) {
    const int64_t end = std::min(first + kRun, count);
    Key smallest = ~Key{0};
    if (step == 1) {
      for (int64_t i = first; i < end; ++i) {
        const Key key = ordered_key<How>(row[i]);
        smallest = key < smallest ? key : smallest;
      }
    } else {
      for (int64_t i = first; i < end; ++i) {
        const Key key = ordered_key<How>(row[i * step]);
        smallest = key < smallest ? key : smallest;
      }
    }
    if (!(smallest < best)) continue;
    best = smallest;
    found = first;
    while (ordered_key<How>(row[found * step]) != best) ++found;
  }
  return found;
}

// Every row of `input` to its place in `indices`.
template <Order How>
infinirtError_t find_extremes(const WrittenCall& call, int input, int indices, int64_t count, int64_t first,
                              int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &from = plan.tensor[input], &to = plan.tensor[indices];
  with_real_type(from.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      const T* row = call.at<const T>(input) + row_offset(from, plan, item);
      const int64_t found = first_of<How>(row, from.stride[plan.dim], count);
      write_index(call.address[indices], to.dtype, row_offset(to, plan, item), found);
    }
  });
  return infinirtSuccess;
}

}  // namespace
}  // namespace infiniop::cpu
