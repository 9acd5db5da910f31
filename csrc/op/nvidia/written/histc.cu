// How many elements lie in each of bins of one width. The range of the elements is found where none is given (as two numbers that sort as
// integers do), counts are added up in the workspace, and then converted. The workspace: smallest, largest, counts.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using namespace histc;

__device__ __forceinline__ Count first_item() { return blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; }
__device__ __forceinline__ Count step() { return static_cast<Count>(gridDim.x) * blockDim.x; }
__device__ __forceinline__ unsigned long long* words(const WrittenArguments& a) { return static_cast<unsigned long long*>(a.workspace); }

__device__ __forceinline__ Count elements_of(const TensorView& x) {
  Count count = 1;
  for (int d = 0; d < x.ndim; ++d) count *= static_cast<Count>(x.shape[d]);
  return count;
}

__device__ __forceinline__ double element(const WrittenArguments& a, Count item) {
  const TensorView& x = a.plan.tensor[tensor::x];
  return static_cast<double>(widen(static_cast<const X*>(a.address[tensor::x])[offset_as<Count>(x, 0, x.ndim, item)]));
}

// Integers without a sign in the order of the numbers.
__device__ __forceinline__ unsigned long long sorted(double value) {
  const long long bits = __double_as_longlong(value);
  return static_cast<unsigned long long>(bits) ^ (bits < 0 ? ~0ull : 1ull << 63);
}
__device__ __forceinline__ double unsorted(unsigned long long bits) {
  return __longlong_as_double(static_cast<long long>(bits ^ (bits >> 63 ? 1ull << 63 : ~0ull)));
}

__device__ __forceinline__ void clear(const WrittenArguments& a) {
  const long long bins = a.plan.size[size::bins];
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < bins + 2; i += static_cast<long long>(gridDim.x) * blockDim.x) {
    words(a)[i] = i == 0 ? ~0ull : 0ull;
  }
}

__device__ __forceinline__ void find_range(const WrittenArguments& a) {
  const Count total = elements_of(a.plan.tensor[tensor::x]);
  unsigned long long low = ~0ull, high = 0;
  for (Count item = first_item(); item < total; item += step()) {
    const double value = element(a, item);
    if (value != value) continue;
    const unsigned long long bits = sorted(value);
    low = bits < low ? bits : low;
    high = bits > high ? bits : high;
  }
  for (int lane = 16; lane > 0; lane /= 2) {
    const unsigned long long other_low = __shfl_xor_sync(~0u, low, lane), other_high = __shfl_xor_sync(~0u, high, lane);
    low = other_low < low ? other_low : low;
    high = other_high > high ? other_high : high;
  }
  if (threadIdx.x % 32 == 0) {
    atomicMin(words(a), low);
    atomicMax(words(a) + 1, high);
  }
}

__device__ __forceinline__ void count(const WrittenArguments& a) {
  const long long bins = a.plan.size[size::bins];
  double low = a.attributes[attribute::min_val], high = a.attributes[attribute::max_val];
  if (low == high && words(a)[0] <= words(a)[1]) {
    low = unsorted(words(a)[0]);
    high = unsorted(words(a)[1]);
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  const double scale = static_cast<double>(bins) / (high - low);
  extern __shared__ unsigned in_block[];  // counts of this block, where there is room
  if (kShared) {
    for (long long i = threadIdx.x; i < bins; i += blockDim.x) in_block[i] = 0;
    __syncthreads();
  }
  const Count total = elements_of(a.plan.tensor[tensor::x]);
  for (Count item = first_item(); item < total; item += step()) {
    const double value = element(a, item);
    if (!(value >= low && value <= high)) continue;
    const long long place = static_cast<long long>((value - low) * scale), bin = place < bins ? place : bins - 1;
    if (kShared) {
      atomicAdd(in_block + bin, 1u);
    } else {
      atomicAdd(words(a) + 2 + bin, 1ull);
    }
  }
  if (kShared) {
    __syncthreads();
    for (long long i = threadIdx.x; i < bins; i += blockDim.x) {
      if (in_block[i]) atomicAdd(words(a) + 2 + i, static_cast<unsigned long long>(in_block[i]));
    }
  }
}

__device__ __forceinline__ void convert(const WrittenArguments& a) {
  using C = decltype(widen(X{}));
  const TensorView& y = a.plan.tensor[tensor::y];
  const long long bins = a.plan.size[size::bins];
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < bins; i += static_cast<long long>(gridDim.x) * blockDim.x) {
    static_cast<X*>(a.address[tensor::y])[i * y.stride[0]] = Narrow<X>::of(static_cast<C>(words(a)[2 + i]));
  }
}

}  // namespace infiniop

extern "C" __global__ void clear_counts(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::clear(a); }
extern "C" __global__ void find_range(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::find_range(a); }
extern "C" __global__ void count_elements(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::count(a); }
extern "C" __global__ void convert_counts(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::convert(a); }
