// A block has a head of a sequence, and a thread a column of its state, in registers; tokens come one after the other, and what all columns need of one
// lies in shared memory. "variant.h" says X and kSize.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using namespace rwkv5_wkv;

__device__ __forceinline__ float of_token(const WrittenArguments& a, int tensor, long long sequence, long long token, long long place) {
  const TensorView& view = a.plan.tensor[tensor];
  return static_cast<float>(widen(static_cast<const X*>(a.address[tensor])[sequence * view.stride[0] + token * view.stride[1] + place * view.stride[2]]));
}

__device__ __forceinline__ float of_head(const WrittenArguments& a, int tensor, long long head, long long place) {
  const TensorView& view = a.plan.tensor[tensor];
  return static_cast<float>(widen(static_cast<const X*>(a.address[tensor])[head * view.stride[0] + place * view.stride[1]]));
}

}  // namespace infiniop

extern "C" __global__ void wkv_heads(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  __shared__ float r[kSize], k[kSize], decay[kSize], bonus[kSize];
  const WrittenPlan& plan = a.plan;
  const TensorView &state = plan.tensor[tensor::state], &out = plan.tensor[tensor::out];
  const long long heads = plan.size[size::h];
  const int j = static_cast<int>(threadIdx.x);
  for (long long item = blockIdx.x; item < plan.size[size::b] * heads; item += gridDim.x) {
    const long long sequence = item / heads, head = item - sequence * heads;
    float* kept = static_cast<float*>(a.address[tensor::state]) + sequence * state.stride[0] + head * state.stride[1] + j * state.stride[3];
    float s[kSize];
    __syncthreads();  // an earlier head may still be read
    if (j < kSize) {
      decay[j] = infiniop::exp(-infiniop::exp(of_head(a, tensor::time_decay, head, j)));
      bonus[j] = of_head(a, tensor::time_faaaa, head, j);
#pragma unroll
      for (int i = 0; i < kSize; ++i) s[i] = kept[i * state.stride[2]];
    }
    for (long long token = 0; token < plan.size[size::t]; ++token) {
      __syncthreads();
      float v = 0.f, sum = 0.f;
      if (j < kSize) {
        r[j] = of_token(a, tensor::receptance, sequence, token, head * kSize + j);
        k[j] = of_token(a, tensor::key, sequence, token, head * kSize + j);
        v = of_token(a, tensor::value, sequence, token, head * kSize + j);
      }
      __syncthreads();
      if (j >= kSize) continue;
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        const float both = k[i] * v;
        sum += r[i] * (bonus[i] * both + s[i]);
        s[i] = both + decay[i] * s[i];
      }
      static_cast<X*>(a.address[tensor::out])[sequence * out.stride[0] + token * out.stride[1] + (head * kSize + j) * out.stride[2]] = Narrow<X>::of(sum);
    }
    if (j < kSize) {
#pragma unroll
      for (int i = 0; i < kSize; ++i) kept[i * state.stride[2]] = s[i];
    }
  }
}
