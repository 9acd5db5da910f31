// What losses on the CPU have in common: tiles of numbers, sums of them, and what is made of the sums.
#pragma once

#include <algorithm>

#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

constexpr int64_t kLossTile = 1024;

enum Reduction { kNone, kMean, kSum };

// Elements in the type that is computed in: where they lie, or brought into `tile`.
template <class T, class C>
const C* computed(const T* x, int64_t step, int64_t count, C* tile) {
  if constexpr (__is_same(T, C)) {
    if (step == 1) return x;
  }
  if (step == 1) {
    for (int64_t i = 0; i < count; ++i) tile[i] = widen(x[i]);
  } else {
    for (int64_t i = 0; i < count; ++i) tile[i] = widen(x[i * step]);
  }
  return tile;
}

// Of at most a tile, in 32 lanes.
template <class C>
double sum_of(const C* x, int64_t count) {
  C lanes[32] = {};
  int64_t i = 0;
  for (; i + 32 <= count; i += 32) {
    for (int lane = 0; lane < 32; ++lane) lanes[lane] += x[i + lane];
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] += x[i];
  double sum = 0;
  for (const C lane : lanes) sum += lane;
  return sum;
}

// The last phase: the mean or the sum of what the others left in the workspace.
inline void finish_loss(const WrittenCall& call, int64_t parts, int64_t losses, int reduction) {
  const auto* sums = static_cast<const double*>(call.workspace);
  double sum = 0;
  for (int64_t i = 0; i < parts; ++i) sum += sums[i];
  if (reduction == kMean) sum /= static_cast<double>(losses);
  with_float_type(call.plan.tensor[0].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    *call.at<T>(0) = narrow<T>(static_cast<Wide<T>>(sum));
  });
}

}  // namespace
}  // namespace infiniop::cpu
