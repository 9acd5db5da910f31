// Weights from 4 bits, eight of them in a word; a thread has an element after the other, so that neighbours are written by neighbours.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

__device__ __forceinline__ float nibble(int word, int shift) {
  return static_cast<float>((static_cast<unsigned>(word) >> shift) & 15u);
}

}  // namespace infiniop

extern "C" __global__ void dequantize_awq_elements(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace dequantize_awq;
  const WrittenPlan& plan = a.plan;
  const TensorView &out = plan.tensor[tensor::out], &qweight = plan.tensor[tensor::qweight],
                   &scales = plan.tensor[tensor::scales], &zeros = plan.tensor[tensor::zeros];
  const long long columns = 8 * plan.size[size::w], total = plan.size[size::k] * columns;
  const long long in_group = plan.size[size::k] / plan.size[size::g];
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < total;
       i += static_cast<long long>(gridDim.x) * kThreads) {
    const long long row = i / columns, column = i - row * columns, group = row / in_group;
    // Even columns have the lower half of the word, odd ones the upper.
    const int j = static_cast<int>(column % 8), shift = (j / 2 + j % 2 * 4) * 4;
    const int word = static_cast<const int*>(a.address[tensor::qweight])[row * qweight.stride[0] + column / 8 * qweight.stride[1]];
    const int zero = static_cast<const int*>(a.address[tensor::zeros])[group * zeros.stride[0] + column / 8 * zeros.stride[1]];
    const float scale = widen(static_cast<const X*>(a.address[tensor::scales])[group * scales.stride[0] + column * scales.stride[1]]);
    static_cast<X*>(a.address[tensor::out])[row * out.stride[0] + column * out.stride[1]] =
        Narrow<X>::of((nibble(word, shift) - nibble(zero, shift)) * scale);
  }
}

extern "C" __global__ void dequantize_gptq_elements(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace dequantize_gptq;
  const WrittenPlan& plan = a.plan;
  const TensorView &out = plan.tensor[tensor::out], &qweight = plan.tensor[tensor::qweight], &scales = plan.tensor[tensor::scales],
                   &zeros = plan.tensor[tensor::zeros], &g_idx = plan.tensor[tensor::g_idx];
  const long long columns = plan.size[size::n], total = plan.size[size::k] * columns;
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < total;
       i += static_cast<long long>(gridDim.x) * kThreads) {
    const long long row = i / columns, column = i - row * columns;
    const long long group = static_cast<long long>(static_cast<const Index*>(a.address[tensor::g_idx])[row * g_idx.stride[0]]);
    if (group < 0 || group >= plan.size[size::g]) __trap();
    const int word = static_cast<const int*>(a.address[tensor::qweight])[row / 8 * qweight.stride[0] + column * qweight.stride[1]];
    const int zero = static_cast<const int*>(a.address[tensor::zeros])[group * zeros.stride[0] + column / 8 * zeros.stride[1]];
    const float scale = widen(static_cast<const X*>(a.address[tensor::scales])[group * scales.stride[0] + column * scales.stride[1]]);
    const float number = nibble(word, static_cast<int>(row % 8) * 4) - (nibble(zero, static_cast<int>(column % 8) * 4) + 1.0f);
    static_cast<X*>(a.address[tensor::out])[row * out.stride[0] + column * out.stride[1]] = Narrow<X>::of(number * scale);
  }
}
