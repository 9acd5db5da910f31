// Numbers from 4 bits with a scale for each 32: a thread has two of them, a byte.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

constexpr int kGroup = 32;

// The magnitudes are 0, 0.5, 1, 1.5, 2, 3, 4, 6.
__device__ __forceinline__ float number_of(unsigned code) {
  const unsigned exponent = code >> 1 & 3, fraction = code & 1;
  const float magnitude = exponent == 0 ? 0.5f * static_cast<float>(fraction) : float_of((exponent + 126u) << 23 | fraction << 22);
  return code & 8 ? -magnitude : magnitude;
}

__device__ __forceinline__ float scale_of(unsigned exponent) {
  return exponent == 255 ? float_of(0x7FC00000u) : float_of(exponent == 0 ? 0x00400000u : exponent << 23);
}

}  // namespace infiniop

extern "C" __global__ void dequantize_mxfp4_bytes(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace mxfp4_dequantize;
  const TensorView &out = a.plan.tensor[tensor::out], &packed = a.plan.tensor[tensor::packed], &scales = a.plan.tensor[tensor::scales];
  const long long bytes = a.plan.size[size::s] * (kGroup / 2), total = a.plan.rest * bytes;
  const long long out_step = out.stride[out.ndim - 1];
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < total; i += static_cast<long long>(gridDim.x) * kThreads) {
    const long long row = i / bytes, place = i - row * bytes;
    const unsigned both = static_cast<const uint8_t*>(a.address[tensor::packed])[offset_of_rest(packed, row) + place * packed.stride[packed.ndim - 1]];
    const float scale = scale_of(static_cast<const uint8_t*>(
        a.address[tensor::scales])[offset_of_rest(scales, row) + place / (kGroup / 2) * scales.stride[scales.ndim - 1]]);
    X* to = static_cast<X*>(a.address[tensor::out]) + offset_of_rest(out, row) + 2 * place * out_step;
    to[0] = Narrow<X>::of(number_of(both & 15) * scale);
    to[out_step] = Narrow<X>::of(number_of(both >> 4) * scale);
  }
}
