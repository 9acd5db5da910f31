// The numbers of the elements that are not 0, in their order: blocks count theirs, one block adds the counts up, and then each knows where
// its own begin. A thread has kEach elements side by side.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using namespace true_places;

__device__ __forceinline__ long long* counts(const WrittenArguments& a) { return static_cast<long long*>(a.workspace); }

// The truth of a thread's elements, as bits.
__device__ __forceinline__ unsigned truths(const WrittenArguments& a, long long begin) {
  const TensorView& input = a.plan.tensor[tensor::input];
  const X* from = static_cast<const X*>(a.address[tensor::input]);
  const long long total = a.plan.size[size::n];
  unsigned bits = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const long long item = begin + i;
    if (item >= total) break;
    const bool is_true = widen(from[kSideBySide ? item : offset_in(input, 0, input.ndim, item)]) != 0;
    bits |= static_cast<unsigned>(is_true) << i;
  }
  return bits;
}

// How many of a block's threads before this one have, and in *all how many all have.
__device__ __forceinline__ int before(int mine, int* all) {
  __shared__ int of_warps[kThreadsOfBlock / 32];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  int sum = mine;
  for (int step = 1; step < 32; step *= 2) {
    const int other = __shfl_up_sync(~0u, sum, static_cast<unsigned>(step));
    if (lane >= step) sum += other;
  }
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();
  int earlier = 0;
  *all = 0;
  for (int w = 0; w < kThreadsOfBlock / 32; ++w) {
    if (w < warp) earlier += of_warps[w];
    *all += of_warps[w];
  }
  return earlier + sum - mine;
}

__device__ __forceinline__ long long first_of_thread() { return (blockIdx.x * static_cast<long long>(kThreadsOfBlock) + threadIdx.x) * kEach; }

__device__ __forceinline__ void count_blocks(const WrittenArguments& a) {
  int all;
  before(__popc(truths(a, first_of_thread())), &all);
  if (threadIdx.x == 0) counts(a)[blockIdx.x] = all;
}

// One block: as many counts at a time as it has threads.
__device__ __forceinline__ void add_up(const WrittenArguments& a) {
  __shared__ long long sums[kThreadsOfBlock];
  const long long per_block = static_cast<long long>(kThreadsOfBlock) * kEach, blocks = (a.plan.size[size::n] + per_block - 1) / per_block;
  long long done = 0;
  for (long long base = 0; base < blocks; base += kThreadsOfBlock) {
    const long long at = base + threadIdx.x, mine = at < blocks ? counts(a)[at] : 0;
    sums[threadIdx.x] = mine;
    for (int step = 1; step < kThreadsOfBlock; step *= 2) {
      __syncthreads();
      const long long other = static_cast<int>(threadIdx.x) >= step ? sums[threadIdx.x - step] : 0;
      __syncthreads();
      sums[threadIdx.x] += other;
    }
    __syncthreads();
    if (at < blocks) counts(a)[at] = done + sums[threadIdx.x] - mine;
    done += sums[kThreadsOfBlock - 1];
    __syncthreads();
  }
  if (threadIdx.x == 0) *static_cast<long long*>(a.address[tensor::count]) = done;
}

__device__ __forceinline__ void write_places(const WrittenArguments& a) {
  const long long begin = first_of_thread(), step = a.plan.tensor[tensor::places].stride[0];
  unsigned bits = truths(a, begin);
  int all;
  long long at = counts(a)[blockIdx.x] + before(__popc(bits), &all);
  for (; bits; bits &= bits - 1, ++at) static_cast<long long*>(a.address[tensor::places])[at * step] = begin + __ffs(static_cast<int>(bits)) - 1;
}

}  // namespace infiniop

extern "C" __global__ void count_blocks(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::count_blocks(a); }
extern "C" __global__ void add_up(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::add_up(a); }
extern "C" __global__ void write_places(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::write_places(a); }
