// The place of the element whose absolute value is largest or smallest: the first of them, and not-a-number before any.
#pragma once

#include <cmath>

#include "op/cpu/written/indices.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

constexpr int64_t kExtremeParts = 16;

struct Extreme {
  double value;
  int64_t place;  // -1: there is no element
};

inline bool is_better(double value, double than, bool largest) {
  if (than != than) return false;
  return value != value || (largest ? value > than : value < than);
}

inline size_t extreme_workspace(const WrittenPlan&, const double*) { return kExtremeParts * sizeof(Extreme); }

// Phases: parts of the elements on their own, and the best of them.
inline Split split_extreme(const WrittenPlan& plan, int phase) {
  return phase == 0
             ? Split{kExtremeParts, std::clamp<int64_t>(16384 * kExtremeParts / (plan.rest + 1), 1, kExtremeParts)}
             : Split{1, 1};
}

// Whether one element is better than what was found is seldom true: blocks are compared first, which is vectors.
template <class T>
Extreme extreme_of_run(const T* from, int64_t begin, int64_t end, bool largest) {
  constexpr int64_t kBlock = 256;
  Extreme found{0, -1};
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t until = std::min(end, at + kBlock);
    bool any = found.place < 0;
    const auto limit = static_cast<Wide<T>>(found.value);
    for (int64_t i = at; i < until; ++i) {
      const auto value = std::fabs(widen(from[i]));
      any |= largest ? !(value <= limit) : !(value >= limit);
    }
    for (int64_t i = at; any && i < until; ++i) {
      const auto value = static_cast<double>(std::fabs(widen(from[i])));
      if (found.place < 0 || is_better(value, found.value, largest)) found = {value, i};
    }
  }
  return found;
}

template <class T>
Extreme extreme_of_part(const WrittenCall& call, int x, int64_t part, bool largest) {
  const TensorView& view = call.plan.tensor[x];
  const int64_t count = elements_of(view), each = (count + kExtremeParts - 1) / kExtremeParts;
  const int64_t begin = std::min(count, part * each), end = std::min(count, begin + each);
  const T* from = call.at<const T>(x);
  if (is_run(view, 0)) return extreme_of_run(from, begin, end, largest);
  Extreme found{0, -1};
  for (int64_t i = begin; i < end; ++i) {
    const auto value = static_cast<double>(std::fabs(widen(from[offset_in(view, 0, view.ndim, i)])));
    if (found.place < 0 || is_better(value, found.value, largest)) found = {value, i};
  }
  return found;
}

inline infinirtError_t find_extreme(const WrittenCall& call, int x, int result, bool largest, int64_t first,
                                    int64_t last) {
  auto* parts = static_cast<Extreme*>(call.workspace);
  if (call.phase == 0) {
    with_float_type(call.plan.tensor[x].dtype, [&](auto tag) {
      for (int64_t part = first; part < last; ++part) {
        parts[part] = extreme_of_part<typename decltype(tag)::type>(call, x, part, largest);
      }
    });
    return infinirtSuccess;
  }
  Extreme best = parts[0];
  for (int64_t part = 1; part < kExtremeParts; ++part) {
    if (parts[part].place >= 0 && (best.place < 0 || is_better(parts[part].value, best.value, largest)))
      best = parts[part];
  }
  *call.at<int32_t>(result) = static_cast<int32_t>(best.place + 1);
  return infinirtSuccess;
}

}  // namespace
}  // namespace infiniop::cpu
