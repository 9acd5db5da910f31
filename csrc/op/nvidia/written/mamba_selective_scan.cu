// A thread has a channel of a sequence, its state in registers, and takes one token after the other. "variant.h" says X and kStates.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using namespace mamba_selective_scan;

__device__ __forceinline__ float number(const WrittenArguments& a, int tensor, long long sequence, long long token, long long place) {
  const TensorView& view = a.plan.tensor[tensor];
  return static_cast<float>(widen(static_cast<const X*>(a.address[tensor])[sequence * view.stride[0] + token * view.stride[1] + place * view.stride[2]]));
}

__device__ __forceinline__ float of_channel(const WrittenArguments& a, int tensor, long long channel) {
  return static_cast<float>(widen(static_cast<const X*>(a.address[tensor])[channel * a.plan.tensor[tensor].stride[0]]));
}

}  // namespace infiniop

extern "C" __global__ void scan_channels(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const WrittenPlan& plan = a.plan;
  const TensorView &state = plan.tensor[tensor::state], &a_log = plan.tensor[tensor::a_log], &out = plan.tensor[tensor::out];
  const long long channels = plan.size[size::i], total = plan.size[size::n] * channels;
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long item = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; item < total; item += threads) {
    const long long sequence = item / channels, channel = item - sequence * channels;
    const X* rates = static_cast<const X*>(a.address[tensor::a_log]) + channel * a_log.stride[0];
    float* kept = static_cast<float*>(a.address[tensor::state]) + sequence * state.stride[0] + channel * state.stride[1];
    float s[kStates], rate[kStates];
#pragma unroll
    for (int i = 0; i < kStates; ++i) {
      rate[i] = -infiniop::exp(static_cast<float>(widen(rates[i * a_log.stride[1]])));
      s[i] = kept[i * state.stride[2]];
    }
    const float bias = of_channel(a, tensor::dt_bias, channel), d = of_channel(a, tensor::d, channel);
    for (long long token = 0; token < plan.size[size::t]; ++token) {
      const float x = number(a, tensor::x, sequence, token, channel), raw = number(a, tensor::dt, sequence, token, channel) + bias;
      const float step = raw > 20.f ? raw : infiniop::log1p(infiniop::exp(raw)), added = step * x;
      float sum = 0.f;
#pragma unroll
      for (int i = 0; i < kStates; ++i) {
        s[i] = infiniop::exp(rate[i] * step) * s[i] + added * number(a, tensor::b, sequence, token, i);
        sum += s[i] * number(a, tensor::c, sequence, token, i);
      }
      const float gate = number(a, tensor::gate, sequence, token, channel);
      static_cast<X*>(a.address[tensor::out])[sequence * out.stride[0] + token * out.stride[1] + channel * out.stride[2]] =
          Narrow<X>::of((sum + x * d) * gate * sigmoid(gate));
    }
#pragma unroll
    for (int i = 0; i < kStates; ++i) kept[i * state.stride[2]] = s[i];
  }
}
