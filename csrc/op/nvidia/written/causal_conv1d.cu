// A convolution along the tokens of each sequence: a thread has a channel of a token; and then one of a sequence's state.
// "variant.h" says X, and the types of indices: Ends, Initial, Final.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using namespace causal_conv1d;

__device__ __forceinline__ long long sequences(const WrittenPlan& plan) {
  return plan.tensor[tensor::cu_seqlens].is_given ? plan.size[size::q] - 1 : plan.size[size::b];
}
// The first token of sequence `i`; of `sequences()` what comes behind all.
__device__ __forceinline__ long long begin_of(const WrittenArguments& a, long long i) {
  const TensorView& ends = a.plan.tensor[tensor::cu_seqlens];
  if (!ends.is_given) return i * a.plan.size[size::t];
  return static_cast<long long>(static_cast<const Ends*>(a.address[tensor::cu_seqlens])[i * ends.stride[0]]);
}
// The last one that does not begin behind it; -1: none.
__device__ __forceinline__ long long sequence_of(const WrittenArguments& a, long long token) {
  const long long count = sequences(a.plan);
  if (!a.plan.tensor[tensor::cu_seqlens].is_given) return token / a.plan.size[size::t];
  long long low = 0, high = count;
  while (low < high) {
    const long long middle = low + (high - low) / 2;
    if (begin_of(a, middle + 1) > token) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low < count && begin_of(a, low) <= token ? low : -1;
}
template <class Index>
__device__ __forceinline__ long long state_of(const WrittenArguments& a, int tensor, long long sequence) {
  const TensorView& view = a.plan.tensor[tensor];
  if (!view.is_given) return sequence;
  const long long slot = static_cast<long long>(static_cast<const Index*>(a.address[tensor])[sequence * view.stride[0]]);
  if (slot < 0 || slot >= a.plan.size[size::pool]) __trap();
  return slot;
}

// What is at `place` of a sequence, which begins with the state where that is negative.
__device__ __forceinline__ X seen(const WrittenArguments& a, long long begin, long long place, long long slot, long long channel) {
  const TensorView &qkv = a.plan.tensor[tensor::qkv], &state = a.plan.tensor[tensor::conv_state];
  if (place >= 0) return static_cast<const X*>(a.address[tensor::qkv])[offset_in(qkv, 0, 2, begin + place) + channel * qkv.stride[2]];
  const long long column = place + a.plan.size[size::s];
  return static_cast<const X*>(a.address[tensor::conv_state])[slot * state.stride[0] + channel * state.stride[1] + column * state.stride[2]];
}

}  // namespace infiniop

extern "C" __global__ void convolve_tokens(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const WrittenPlan& plan = a.plan;
  const TensorView &out = plan.tensor[tensor::out], &weight = plan.tensor[tensor::weight], &bias = plan.tensor[tensor::bias];
  const long long channels = plan.size[size::c], taps = plan.size[size::k], total = plan.size[size::b] * plan.size[size::t] * channels;
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long item = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; item < total; item += threads) {
    const long long token = item / channels, channel = item - token * channels, sequence = sequence_of(a, token);
    if (sequence < 0) continue;
    const long long begin = begin_of(a, sequence), slot = state_of<Initial>(a, tensor::initial_state_indices, sequence);
    if (begin < 0) __trap();
    float sum = bias.is_given ? static_cast<float>(widen(static_cast<const X*>(a.address[tensor::bias])[channel * bias.stride[0]])) : 0.f;
    const X* weights = static_cast<const X*>(a.address[tensor::weight]) + channel * weight.stride[0];
    for (long long tap = 0; tap < taps; ++tap) {
      sum += static_cast<float>(widen(weights[tap * weight.stride[2]])) * static_cast<float>(widen(seen(a, begin, token - begin - taps + 1 + tap, slot, channel)));
    }
    static_cast<X*>(a.address[tensor::out])[offset_in(out, 0, 2, token) + channel * out.stride[2]] = Narrow<X>::of(sum);
  }
}

// In the order of columns, so that a state may be the one that it comes from.
extern "C" __global__ void keep_states(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const WrittenPlan& plan = a.plan;
  const bool in_pool = plan.tensor[tensor::final_state_indices].is_given;
  const int target = in_pool ? tensor::conv_state : tensor::final_conv_state;
  const TensorView& states = plan.tensor[target];
  const long long channels = plan.size[size::c], total = sequences(plan) * channels;
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long item = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; item < total; item += threads) {
    const long long sequence = item / channels, channel = item - sequence * channels;
    const long long begin = begin_of(a, sequence), length = begin_of(a, sequence + 1) - begin;
    if (begin < 0 || length < 0 || begin + length > plan.size[size::b] * plan.size[size::t]) __trap();
    const long long slot = state_of<Initial>(a, tensor::initial_state_indices, sequence);
    const long long to_slot = in_pool ? state_of<Final>(a, tensor::final_state_indices, sequence) : sequence;
    X* to = static_cast<X*>(a.address[target]) + to_slot * states.stride[0] + channel * states.stride[1];
    for (long long column = 0; column < plan.size[size::s]; ++column) {
      to[column * states.stride[2]] = seen(a, begin, length - plan.size[size::s] + column, slot, channel);
    }
  }
}
