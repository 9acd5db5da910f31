// Numbers of 8 bits with a scale, of rows and of whole tensors, and back. The order of additions and products is the CPU's, so that
// the numbers are the same.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

constexpr int kHighest = 0x7FFFFFFF;
constexpr int kInfinity = 0x7F800000;

// What numbers reach from and to, as integers in their order; of symmetric ranges the largest magnitude alone. Not-a-number does not count.
struct Range {
  int low, high;

  __device__ __forceinline__ void take(float x, bool is_symmetric) {
    const int bits = static_cast<int>(bits_of(x));
    if ((bits & kHighest) > kInfinity) return;
    const int order = is_symmetric ? bits & kHighest : bits ^ ((bits >> 31) & kHighest);
    low = min(low, order);
    high = max(high, order);
  }
  __device__ __forceinline__ void join(Range other) {
    low = min(low, other.low);
    high = max(high, other.high);
  }
  static __device__ __forceinline__ float number(int order) {
    return float_of(static_cast<uint32_t>(order ^ ((order >> 31) & kHighest)));
  }
};

struct Scale {
  float scale, zero;

  static __device__ __forceinline__ Scale of(Range range, bool is_symmetric) {
    const bool any = range.high >= range.low;
    if (is_symmetric) return {at_least(__fdiv_rn(any ? Range::number(range.high) : 0.0f, 127.0f)), 0.0f};
    const float low = any ? Range::number(range.low) : 0.0f, high = any ? Range::number(range.high) : 0.0f;
    const float scale = at_least(__fdiv_rn(high - low, 255.0f));
    return {scale, -low * __fdiv_rn(1.0f, scale) - 128.0f};
  }
  static __device__ __forceinline__ float at_least(float scale) { return scale > 1e-8f ? scale : 1e-8f; }
};

// Every thread of a block of kThreads gets what all have.
__device__ __forceinline__ Range joined(Range mine) {
  __shared__ Range shared[kThreads];
  __syncthreads();  // an earlier call may still be read
  shared[threadIdx.x] = mine;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (static_cast<int>(threadIdx.x) < half) shared[threadIdx.x].join(shared[threadIdx.x + half]);
    __syncthreads();
  }
  return shared[0];
}

__device__ __forceinline__ int8_t quantised(float x, float inverse, float zero, float lowest) {
  float number = x * inverse + zero;
  number = number == number ? number : 0.0f;
  number = number > lowest ? number : lowest;
  number = number < 127.0f ? number : 127.0f;
  return static_cast<int8_t>(__float2int_rn(number));
}

}  // namespace infiniop

// A block has a row after the other.
extern "C" __global__ void quantise_rows(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace per_channel_quant_int8;
  const WrittenPlan& plan = a.plan;
  const TensorView &packed = plan.tensor[tensor::x_packed], &scales = plan.tensor[tensor::x_scale],
                   &zeros = plan.tensor[tensor::x_zero], &x = plan.tensor[tensor::x];
  const bool is_symmetric = !zeros.is_given;
  const long long columns = plan.size[size::k], x_step = x.stride[x.ndim - 1], to_step = packed.stride[packed.ndim - 1];
  for (long long row = blockIdx.x; row < plan.rest; row += gridDim.x) {
    const X* from = static_cast<const X*>(a.address[tensor::x]) + offset_of_rest(x, row);
    Range range = {kHighest, -kHighest};
    for (long long i = threadIdx.x; i < columns; i += kThreads) range.take(widen(from[i * x_step]), is_symmetric);
    const Scale scale = Scale::of(joined(range), is_symmetric);
    if (threadIdx.x == 0) {
      static_cast<float*>(a.address[tensor::x_scale])[offset_of_rest(scales, row)] = scale.scale;
      if (!is_symmetric) static_cast<float*>(a.address[tensor::x_zero])[offset_of_rest(zeros, row)] = scale.zero;
    }
    int8_t* to = static_cast<int8_t*>(a.address[tensor::x_packed]) + offset_of_rest(packed, row);
    const float inverse = __fdiv_rn(1.0f, scale.scale), lowest = is_symmetric ? -127.0f : -128.0f;
    for (long long i = threadIdx.x; i < columns; i += kThreads) {
      to[i * to_step] = quantised(widen(from[i * x_step]), inverse, scale.zero, lowest);
    }
  }
}

// Of a whole tensor: each block leaves its range in the workspace.
extern "C" __global__ void find_ranges(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace per_tensor_quant_int8;
  const TensorView& x = a.plan.tensor[tensor::x];
  const bool is_symmetric = !a.plan.tensor[tensor::x_zero].is_given;
  Range range = {kHighest, -kHighest};
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < a.plan.rest;
       i += static_cast<long long>(gridDim.x) * kThreads) {
    range.take(widen(static_cast<const X*>(a.address[tensor::x])[offset_of_rest(x, i)]), is_symmetric);
  }
  range = joined(range);
  if (threadIdx.x == 0) static_cast<Range*>(a.workspace)[blockIdx.x] = range;
}

// One block.
extern "C" __global__ void settle_scale(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace per_tensor_quant_int8;
  const bool is_symmetric = !a.plan.tensor[tensor::x_zero].is_given;
  Range range = {kHighest, -kHighest};
  for (int i = static_cast<int>(threadIdx.x); i < kRanges; i += kThreads) range.join(static_cast<const Range*>(a.workspace)[i]);
  const Scale scale = Scale::of(joined(range), is_symmetric);
  if (threadIdx.x != 0) return;
  *static_cast<float*>(a.address[tensor::x_scale]) = scale.scale;
  if (!is_symmetric) *static_cast<float*>(a.address[tensor::x_zero]) = scale.zero;
}

extern "C" __global__ void quantise_elements(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace per_tensor_quant_int8;
  const TensorView &packed = a.plan.tensor[tensor::x_packed], &x = a.plan.tensor[tensor::x];
  const bool is_symmetric = !a.plan.tensor[tensor::x_zero].is_given;
  const float inverse = __fdiv_rn(1.0f, *static_cast<const float*>(a.address[tensor::x_scale]));
  const float zero = is_symmetric ? 0.0f : *static_cast<const float*>(a.address[tensor::x_zero]);
  const float lowest = is_symmetric ? -127.0f : -128.0f;
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < a.plan.rest;
       i += static_cast<long long>(gridDim.x) * kThreads) {
    const float number = widen(static_cast<const X*>(a.address[tensor::x])[offset_of_rest(x, i)]);
    static_cast<int8_t*>(a.address[tensor::x_packed])[offset_of_rest(packed, i)] = quantised(number, inverse, zero, lowest);
  }
}

extern "C" __global__ void widen_elements(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace per_tensor_dequant_int8;
  const TensorView &x = a.plan.tensor[tensor::x], &packed = a.plan.tensor[tensor::x_packed];
  const float scale = *static_cast<const float*>(a.address[tensor::x_scale]);
  const float zero = a.plan.tensor[tensor::x_zero].is_given ? *static_cast<const float*>(a.address[tensor::x_zero]) : 0.0f;
  for (long long i = blockIdx.x * static_cast<long long>(kThreads) + threadIdx.x; i < a.plan.rest;
       i += static_cast<long long>(gridDim.x) * kThreads) {
    const float number = static_cast<float>(static_cast<const int8_t*>(a.address[tensor::x_packed])[offset_of_rest(packed, i)]);
    static_cast<X*>(a.address[tensor::x])[offset_of_rest(x, i)] = Narrow<X>::of((number - zero) * scale);
  }
}
