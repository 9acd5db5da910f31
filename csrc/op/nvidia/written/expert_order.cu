// Pairs of tokens and experts in the order of experts: blocks count the pairs of a group (an expert's), one block says where groups begin, and
// then blocks write the pairs of theirs, in order. "variant.h" says which operator: INFINIOP_PREPARE_INPUT or INFINIOP_ALIGN_BLOCKS.
// The workspace has of each group how many pairs there are, and behind all of these where it begins.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

constexpr int kBlockThreads = 256;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;

#if defined(INFINIOP_ALIGN_BLOCKS)
using namespace moe_align;
#else
using namespace prepare_moe_input;
#endif

struct Numbers {
  int32_t* at;
  const TensorView& view;

  __device__ __forceinline__ int32_t& operator[](long long i) const { return at[offset_in(view, 0, view.ndim, i)]; }
};

__device__ __forceinline__ Numbers numbers_of(const WrittenArguments& a, int tensor) {
  return {static_cast<int32_t*>(a.address[tensor]), a.plan.tensor[tensor]};
}

__device__ __forceinline__ long long pairs_of(const WrittenArguments& a) { return a.plan.size[size::t] * a.plan.size[size::c]; }

#if defined(INFINIOP_ALIGN_BLOCKS)
// Expert -1 is the first.
__device__ __forceinline__ long long groups_of(const WrittenArguments& a) { return static_cast<long long>(a.attributes[attribute::num_experts]) + 1; }
// -1: the pair is left out.
__device__ __forceinline__ long long group_of(const WrittenArguments& a, long long pair) {
  long long expert = numbers_of(a, tensor::topk_ids)[pair];
  const int32_t* map = static_cast<const int32_t*>(a.address[tensor::expert_map]);
  if (map) {
    expert = expert < 0 ? -1 : map[expert];
    if (expert < 0) return -1;
  }
  return expert >= -1 && expert + 1 < groups_of(a) ? expert + 1 : -1;
}
__device__ __forceinline__ long long room_of(const WrittenArguments& a, long long pairs) {
  const long long block = static_cast<long long>(a.attributes[attribute::block_size]);
  return (pairs + block - 1) / block * block;
}
#else
__device__ __forceinline__ long long groups_of(const WrittenArguments& a) { return static_cast<long long>(a.attributes[attribute::num_experts]); }
__device__ __forceinline__ long long group_of(const WrittenArguments& a, long long pair) {
  const long long expert = numbers_of(a, tensor::topk_ids)[pair];
  return expert >= 0 && expert < groups_of(a) ? expert : -1;
}
__device__ __forceinline__ long long room_of(const WrittenArguments&, long long pairs) { return pairs; }
#endif

__device__ __forceinline__ int32_t* counts(const WrittenArguments& a) { return static_cast<int32_t*>(a.workspace); }
__device__ __forceinline__ int32_t* begins(const WrittenArguments& a) { return counts(a) + groups_of(a); }

// How many of a block's threads before this one have a flag, and in *all how many have.
__device__ __forceinline__ int flags_before(bool flag, int* all) {
  __shared__ int of_warps[kBlockThreads / 32];
  const unsigned lane = threadIdx.x % 32, bits = __ballot_sync(kAllLanes, flag);
  if (lane == 0) of_warps[threadIdx.x / 32] = __popc(bits);
  __syncthreads();
  int before = __popc(bits & ((1u << lane) - 1));
  *all = 0;
  for (unsigned w = 0; w < kBlockThreads / 32; ++w) {
    if (w < threadIdx.x / 32) before += of_warps[w];
    *all += of_warps[w];
  }
  __syncthreads();
  return before;
}

// The sum of what this thread and those before it have, and in *all that of all threads.
__device__ __forceinline__ long long sum_up_to(long long mine, long long* all) {
  __shared__ long long sums[kBlockThreads];
  sums[threadIdx.x] = mine;
  for (unsigned step = 1; step < kBlockThreads; step *= 2) {
    __syncthreads();
    const long long other = threadIdx.x >= step ? sums[threadIdx.x - step] : 0;
    __syncthreads();
    sums[threadIdx.x] += other;
  }
  __syncthreads();
  const long long sum = sums[threadIdx.x];
  *all = sums[kBlockThreads - 1];
  __syncthreads();
  return sum;
}

}  // namespace infiniop

extern "C" __global__ void count_pairs(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  for (long long group = blockIdx.x; group < groups_of(a); group += gridDim.x) {
    long long mine = 0, all;
    for (long long pair = threadIdx.x; pair < pairs_of(a); pair += kBlockThreads) mine += group_of(a, pair) == group;
    sum_up_to(mine, &all);
    if (threadIdx.x == 0) counts(a)[group] = static_cast<int32_t>(all);
  }
}

// One block: as many groups at a time as it has threads.
extern "C" __global__ void place_groups(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const long long groups = groups_of(a);
  long long done = 0;
#if defined(INFINIOP_PREPARE_INPUT)
  constexpr long long kScaleRows = 128;
  const bool has_scales = a.plan.tensor[tensor::blockscale_offsets].is_given;
  const Numbers offsets = numbers_of(a, tensor::expert_offsets), scales = numbers_of(a, tensor::blockscale_offsets);
  const Numbers first = numbers_of(a, tensor::problem_sizes1), second = numbers_of(a, tensor::problem_sizes2);
  const int32_t n = static_cast<int32_t>(a.attributes[attribute::n]), k = static_cast<int32_t>(a.attributes[attribute::k]);
  long long scales_done = 0;
#endif
  for (long long base = 0; base < groups; base += kBlockThreads) {
    const long long group = base + threadIdx.x, count = group < groups ? counts(a)[group] : 0;
    long long all;
    const long long begin = done + sum_up_to(room_of(a, count), &all) - room_of(a, count);
    if (group < groups) begins(a)[group] = static_cast<int32_t>(begin);
    done += all;
#if defined(INFINIOP_PREPARE_INPUT)
    const long long room = (count + kScaleRows - 1) / kScaleRows * kScaleRows, scale_begin = scales_done + sum_up_to(room, &all) - room;
    scales_done += all;
    if (group < groups) {
      offsets[group] = static_cast<int32_t>(begin);
      if (has_scales) scales[group] = static_cast<int32_t>(scale_begin);
      first[3 * group] = second[3 * group] = static_cast<int32_t>(count);
      first[3 * group + 1] = 2 * n;
      first[3 * group + 2] = second[3 * group + 1] = k;
      second[3 * group + 2] = n;
    }
#endif
  }
  if (threadIdx.x != 0) return;
#if defined(INFINIOP_PREPARE_INPUT)
  offsets[groups] = static_cast<int32_t>(done);
  if (has_scales) scales[groups] = static_cast<int32_t>(scales_done);
#else
  numbers_of(a, tensor::num_tokens_post_padded)[0] = static_cast<int32_t>(done);
#endif
}

extern "C" __global__ void place_pairs(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  for (long long group = blockIdx.x; group < groups_of(a); group += gridDim.x) {
    const long long count = counts(a)[group], begin = begins(a)[group];
#if defined(INFINIOP_ALIGN_BLOCKS)
    const long long block = static_cast<long long>(a.attributes[attribute::block_size]);
    const Numbers owners = numbers_of(a, tensor::expert_ids), tokens = numbers_of(a, tensor::sorted_token_ids);
    for (long long i = threadIdx.x; i < room_of(a, count) / block; i += kBlockThreads) owners[begin / block + i] = static_cast<int32_t>(group - 1);
#else
    const Numbers sources = numbers_of(a, tensor::input_permutation), places = numbers_of(a, tensor::output_permutation);
#endif
    long long done = 0;
    for (long long base = 0; base < pairs_of(a) && done < count; base += kBlockThreads) {
      const long long pair = base + threadIdx.x;
      const bool is_own = pair < pairs_of(a) && group_of(a, pair) == group;
      int all;
      const long long row = begin + done + flags_before(is_own, &all);
      done += all;
      if (!is_own) continue;
#if defined(INFINIOP_ALIGN_BLOCKS)
      tokens[row] = static_cast<int32_t>(pair);
#else
      sources[row] = static_cast<int32_t>(pair / a.plan.size[size::c]);
      places[pair] = static_cast<int32_t>(row);
#endif
    }
  }
}

extern "C" __global__ void pad_blocks(const __grid_constant__ infiniop::WrittenArguments a) {
#if defined(INFINIOP_ALIGN_BLOCKS)
  using namespace infiniop;
  const Numbers tokens = numbers_of(a, tensor::sorted_token_ids);
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; i < a.plan.size[size::s]; i += threads) tokens[i] = static_cast<int32_t>(pairs_of(a));
#endif
}
