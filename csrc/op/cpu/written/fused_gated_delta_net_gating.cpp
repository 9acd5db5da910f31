#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"
#include "op/expression.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::fused_gated_delta_net_gating;

constexpr int64_t kTile = 256;

// Items are rows of heads.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.rest, std::max<int64_t>(1, 4096 / std::max<int64_t>(1, int64_t{plan.size[size::h]}))};
}

template <class T>
void bring(float* to, const T* from, int64_t step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = widen(from[i * step]);
}

template <class T>
void run_rows(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const auto last_step = [&](int tensor) { return plan.tensor[tensor].stride[plan.tensor[tensor].ndim - 1]; };
  const auto row_of = [&](int tensor, int64_t row) { return offset_of_rest(plan.tensor[tensor], row); };
  const auto steepness = static_cast<float>(call.attributes[attribute::beta]);
  const auto threshold = static_cast<float>(call.attributes[attribute::threshold]);
  float decay[kTile], bias[kTile], a[kTile], b[kTile];
  for (int64_t head = 0; head < plan.size[size::h]; head += kTile) {
    const int64_t some = std::min<int64_t>(kTile, plan.size[size::h] - head);
    const auto from = [&](int tensor, int64_t offset, float* to) {
      const int64_t step = last_step(tensor);
      bring(to, call.at<const T>(tensor) + offset + head * step, step, some);
    };
    from(tensor::A_log, 0, decay);
    from(tensor::dt_bias, 0, bias);
    for (int64_t i = 0; i < some; ++i) decay[i] = -exp(decay[i]);
    for (int64_t row = first; row < last; ++row) {
      from(tensor::a, row_of(tensor::a, row), a);
      from(tensor::b, row_of(tensor::b, row), b);
      for (int64_t i = 0; i < some; ++i) {
        const float x = a[i] + bias[i], scaled = steepness * x;
        const float grown = log1p(exp(scaled > threshold ? threshold : scaled)) / steepness;
        a[i] = decay[i] * (scaled > threshold ? x : grown);
      }
      for (int64_t i = 0; i < some; ++i) b[i] = sigmoid(b[i]);
      float* g = call.at<float>(tensor::g) + row_of(tensor::g, row) + head * last_step(tensor::g);
      float* beta = call.at<float>(tensor::beta_output) + row_of(tensor::beta_output, row) +
                    head * last_step(tensor::beta_output);
      for (int64_t i = 0; i < some; ++i) g[i * last_step(tensor::g)] = a[i];
      for (int64_t i = 0; i < some; ++i) beta[i * last_step(tensor::beta_output)] = b[i];
    }
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  with_float_type(call.plan.tensor[tensor::a].dtype,
                  [&](auto tag) { run_rows<typename decltype(tag)::type>(call, first, last); });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel fused_gated_delta_net_gating = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
