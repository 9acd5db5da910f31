#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::rope;

constexpr int64_t kMostPairs = 512;  // that are brought into the computed type at a time

// Items are positions: all heads of one share their angles.
Split split(const WrittenPlan& plan, const double*, int) {
  const int64_t elements = plan.size[size::h] * plan.size[size::d];
  return {plan.rest * plan.size[size::s], std::max<int64_t>(1, 16384 / std::max<int64_t>(1, elements))};
}

// `gap` is the distance between the two elements of a pair, `step` that between pairs.
template <class T, class C>
void turn(T* y, const T* x, int64_t y_step, int64_t x_step, int64_t y_gap, int64_t x_gap, const C* sin, const C* cos,
          int64_t pairs) {
  const auto one = [&](int64_t i) {
    const C first = C(widen(x[i * x_step])), second = C(widen(x[i * x_step + x_gap]));
    y[i * y_step] = narrow<T>(first * cos[i] - second * sin[i]);
    y[i * y_step + y_gap] = narrow<T>(first * sin[i] + second * cos[i]);
  };
  if (x_step == 1 && y_step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; ++i) {
      const C first = C(widen(x[i])), second = C(widen(x[i + x_gap]));
      y[i] = narrow<T>(first * cos[i] - second * sin[i]);
      y[i + y_gap] = narrow<T>(first * sin[i] + second * cos[i]);
    }
  } else if (x_step == 2 && y_step == 2 && x_gap == 1 && y_gap == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < pairs; ++i) {
      const C first = C(widen(x[2 * i])), second = C(widen(x[2 * i + 1]));
      y[2 * i] = narrow<T>(first * cos[i] - second * sin[i]);
      y[2 * i + 1] = narrow<T>(first * sin[i] + second * cos[i]);
    }
  } else {
    for (int64_t i = 0; i < pairs; ++i) one(i);
  }
}

template <class C>
void read_table(const WrittenCall& call, int t, int64_t row, int64_t first, int64_t count, C* out) {
  const TensorView& view = call.plan.tensor[t];
  with_float_type(view.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = call.at<const T>(t) + row * view.stride[0] + first * view.stride[1];
    for (int64_t i = 0; i < count; ++i) out[i] = C(widen(from[i * view.stride[1]]));
  });
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &y = plan.tensor[tensor::y], &x = plan.tensor[tensor::x], &ids = plan.tensor[tensor::pos_ids];
  const int64_t positions = plan.size[size::s], heads = plan.size[size::h], half = plan.size[size::d] / 2;
  const bool neighbours = call.attributes[attribute::algo] == 0;
  const int64_t y_last = y.stride[y.ndim - 1], x_last = x.stride[x.ndim - 1];
  const int64_t y_step = neighbours ? 2 * y_last : y_last, x_step = neighbours ? 2 * x_last : x_last;
  const int64_t y_gap = neighbours ? y_last : half * y_last, x_gap = neighbours ? x_last : half * x_last;
  return with_float_type(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    C sin[kMostPairs], cos[kMostPairs];
    for (int64_t item = first; item < last; ++item) {
      const int64_t rest = item / positions, s = item % positions;
      const int64_t at = offset_of_rest(ids, rest) + s * ids.stride[ids.ndim - 1];
      const int64_t position = integer_at(call.address[tensor::pos_ids], ids.dtype, at);
      if (position < 0 || position >= plan.size[size::m]) return refuse_index("pos_ids", position, plan.size[size::m]);
      T* to = call.at<T>(tensor::y) + offset_of_rest(y, rest) + s * y.stride[y.ndim - 3];
      const T* from = call.at<const T>(tensor::x) + offset_of_rest(x, rest) + s * x.stride[x.ndim - 3];
      for (int64_t pair = 0; pair < half; pair += kMostPairs) {
        const int64_t pairs = std::min(kMostPairs, half - pair);
        read_table(call, tensor::sin_table, position, pair, pairs, sin);
        read_table(call, tensor::cos_table, position, pair, pairs, cos);
        for (int64_t h = 0; h < heads; ++h) {
          turn(to + h * y.stride[y.ndim - 2] + pair * y_step, from + h * x.stride[x.ndim - 2] + pair * x_step, y_step,
               x_step, y_gap, x_gap, sin, cos, pairs);
        }
      }
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel rope = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
