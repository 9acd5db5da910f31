// A thread has a head of a token after the other.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using namespace fused_gated_delta_net_gating;

__device__ __forceinline__ float read(const WrittenArguments& a, int tensor, long long row, long long head) {
  const TensorView& view = a.plan.tensor[tensor];
  return widen(static_cast<const X*>(a.address[tensor])[offset_of_rest(view, row) + head * view.stride[view.ndim - 1]]);
}

__device__ __forceinline__ void write(const WrittenArguments& a, int tensor, long long row, long long head, float number) {
  const TensorView& view = a.plan.tensor[tensor];
  static_cast<float*>(a.address[tensor])[offset_of_rest(view, row) + head * view.stride[view.ndim - 1]] = number;
}

}  // namespace infiniop

extern "C" __global__ void gates(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const long long heads = a.plan.size[size::h], total = a.plan.rest * heads;
  const float steepness = static_cast<float>(a.attributes[attribute::beta]), threshold = static_cast<float>(a.attributes[attribute::threshold]);
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < total; i += static_cast<long long>(gridDim.x) * kThreads) {
    const long long row = i / heads, head = i - row * heads;
    const float x = read(a, tensor::a, row, head) + read(a, tensor::dt_bias, 0, head), scaled = steepness * x;
    const float grown = scaled > threshold ? x : infiniop::log1p(infiniop::exp(scaled)) / steepness;
    write(a, tensor::g, row, head, -infiniop::exp(read(a, tensor::A_log, 0, head)) * grown);
    write(a, tensor::beta_output, row, head, sigmoid(read(a, tensor::b, row, head)));
  }
}
