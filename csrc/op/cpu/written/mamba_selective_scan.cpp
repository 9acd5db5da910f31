#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"
#include "op/expression.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::mamba_selective_scan;

constexpr int64_t kMostStates = 256;  // as the schema says

// Items are channels of sequences.
Split split(const WrittenPlan& plan, const double*, int) {
  const int64_t work = plan.size[size::t] * plan.size[size::s];
  return {plan.size[size::n] * plan.size[size::i], std::max<int64_t>(1, 8192 / std::max<int64_t>(1, work))};
}

template <class T>
void bring(float* to, const T* from, int64_t step, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(widen(from[i * step]));
}

template <class T>
void run_channels(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const int64_t channels = plan.size[size::i], states = plan.size[size::s], tokens = plan.size[size::t];
  const TensorView& state = plan.tensor[tensor::state];
  // A number of a token: x, dt, gate.
  const auto number = [&](int tensor, int64_t sequence, int64_t token, int64_t channel) {
    const TensorView& view = plan.tensor[tensor];
    return static_cast<float>(
        widen(call.at<const T>(tensor)[sequence * view.stride[0] + token * view.stride[1] + channel * view.stride[2]]));
  };
  const auto of_channel = [&](int tensor, int64_t channel) {
    return static_cast<float>(widen(call.at<const T>(tensor)[channel * plan.tensor[tensor].stride[0]]));
  };
  // What all channels of a token share: b, c.
  const auto shared = [&](int tensor, int64_t sequence, int64_t token, float* to) {
    const TensorView& view = plan.tensor[tensor];
    bring(to, call.at<const T>(tensor) + sequence * view.stride[0] + token * view.stride[1], view.stride[2], states);
  };
  float s[kMostStates], rate[kMostStates], b[kMostStates], c[kMostStates], terms[kMostStates];
  for (int64_t item = first; item < last; ++item) {
    const int64_t sequence = item / channels, channel = item % channels;
    const TensorView& a_log = plan.tensor[tensor::a_log];
    bring(rate, call.at<const T>(tensor::a_log) + channel * a_log.stride[0], a_log.stride[1], states);
    for (int64_t i = 0; i < states; ++i) rate[i] = -exp(rate[i]);
    float* kept = call.at<float>(tensor::state) + sequence * state.stride[0] + channel * state.stride[1];
    for (int64_t i = 0; i < states; ++i) s[i] = kept[i * state.stride[2]];
    const float bias = of_channel(tensor::dt_bias, channel), d = of_channel(tensor::d, channel);
    for (int64_t token = 0; token < tokens; ++token) {
      const float x = number(tensor::x, sequence, token, channel);
      const float raw = number(tensor::dt, sequence, token, channel) + bias;
      const float step = raw > 20.f ? raw : log1p(exp(raw));
      shared(tensor::b, sequence, token, b);
      shared(tensor::c, sequence, token, c);
      const float added = step * x;
      for (int64_t i = 0; i < states; ++i) terms[i] = exp(rate[i] * step);
      for (int64_t i = 0; i < states; ++i) {
        s[i] = terms[i] * s[i] + added * b[i];
        terms[i] = s[i] * c[i];
      }
      float sum = 0;
      for (int64_t i = 0; i < states; ++i) sum += terms[i];
      const float gate = number(tensor::gate, sequence, token, channel);
      const TensorView& out = plan.tensor[tensor::out];
      call.at<T>(tensor::out)[sequence * out.stride[0] + token * out.stride[1] + channel * out.stride[2]] =
          narrow<T>((sum + x * d) * gate * sigmoid(gate));
    }
    for (int64_t i = 0; i < states; ++i) kept[i * state.stride[2]] = s[i];
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  with_float_type(call.plan.tensor[tensor::x].dtype,
                  [&](auto tag) { run_channels<typename decltype(tag)::type>(call, first, last); });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel mamba_selective_scan = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
