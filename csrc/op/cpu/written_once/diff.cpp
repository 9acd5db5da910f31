#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::diff;

// Items are places along the dimension, for each place before it.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.before * plan.size[size::left], std::max<int64_t>(1, 16384 / std::max<int64_t>(1, plan.after))};
}

// Differences of differences are sums with the binomial coefficients of alternating sign.
template <class C>
struct Coefficients {
  static constexpr int kMost = 64;
  int order;
  C at[kMost + 1];

  explicit Coefficients(int n) : order(n) {
    double value = 1;
    for (int k = 0; k <= n; ++k) {
      at[n - k] =
          k % 2 ? C(0) - static_cast<C>(static_cast<int64_t>(value)) : static_cast<C>(static_cast<int64_t>(value));
      value = value * (n - k) / (k + 1);
    }
  }
};

template <class T, class C>
void differences(T* y, int64_t y_step, const T* x, int64_t x_step, int64_t apart, int64_t count,
                 const Coefficients<C>& coefficients) {
  if (coefficients.order == 1 && y_step == 1 && x_step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) y[i] = narrow<T>(static_cast<C>(widen(x[i + apart]) - widen(x[i])));
    return;
  }
  for (int64_t i = 0; i < count; ++i) {
    C sum = 0;
    for (int k = 0; k <= coefficients.order; ++k) {
      sum = static_cast<C>(sum + coefficients.at[k] * widen(x[i * x_step + k * apart]));
    }
    y[i * y_step] = narrow<T>(sum);
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &y = plan.tensor[tensor::y], &x = plan.tensor[tensor::x];
  const int64_t left = plan.size[size::left], step_y = y.stride[plan.dim], step_x = x.stride[plan.dim];
  const int last_dim = y.ndim - 1;
  with_number_type(y.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Coefficients<Wide<T>> coefficients(static_cast<int>(call.attributes[attribute::n]));
    while (first < last) {
      const int64_t before = first / left, begin = first % left, count = std::min(left - begin, last - first);
      T* to = call.at<T>(tensor::y) + offset_of_rest(y, before) + begin * step_y;
      const T* from = call.at<const T>(tensor::x) + offset_of_rest(x, before) + begin * step_x;
      if (y.after_dims == 0) {
        differences(to, step_y, from, step_x, step_x, count, coefficients);
      } else {
        const int64_t line = y.shape[last_dim];
        for (int64_t j = 0; j < count; ++j) {
          for (int64_t i = 0; i < plan.after; i += line) {
            differences(to + j * step_y + offset_of_after(y, i), y.stride[last_dim],
                        from + j * step_x + offset_of_after(x, i), x.stride[last_dim], step_x, line, coefficients);
          }
        }
      }
      first += count;
    }
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel diff = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
