// Experts of tokens: a warp for a token. "variant.h" says X, and which operator it is: INFINIOP_ROUTE_TOPKSOFTMAX, _TOPKROUTER,
// _MOE_SOFTMAX, _MOE_SIGMOID or _MOE_GATE.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

constexpr int kWeights = 0, kExperts = 1, kInput = 2, kBias = 3;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;

struct Routing {
  float cap = 0;  // c * tanh(x / c) is taken in place of x; 0: x is
  int groups = 1, best_groups = 1;
  float excluded = 0;  // what elements of other groups count as
  int chosen = 0, shared = 0;
  bool renormalize = false;
  float least_sum = 0, factor = 1, shared_weight = 0;
};

__device__ __forceinline__ Routing routing_of(const WrittenArguments& a) {
  Routing routing;
  const double* given = a.attributes;
#if defined(INFINIOP_ROUTE_TOPKSOFTMAX)
  routing.chosen = static_cast<int>(given[topksoftmax::attribute::topk]);
  routing.renormalize = given[topksoftmax::attribute::norm] != 0;
#elif defined(INFINIOP_ROUTE_TOPKROUTER)
  routing.groups = 8;
  routing.best_groups = 4;
  routing.chosen = static_cast<int>(given[topkrouter::attribute::topk]);
  routing.renormalize = true;
  routing.least_sum = 1e-9f;
  routing.factor = static_cast<float>(given[topkrouter::attribute::routed_scaling_factor]);
#elif defined(INFINIOP_ROUTE_MOE_SOFTMAX)
  routing.cap = static_cast<float>(given[moe_topk_softmax::attribute::moe_softcapping]);
  routing.chosen = static_cast<int>(a.plan.size[moe_topk_softmax::size::k]);
  routing.renormalize = given[moe_topk_softmax::attribute::renormalize] != 0;
#elif defined(INFINIOP_ROUTE_MOE_SIGMOID)
  routing.chosen = static_cast<int>(a.plan.size[moe_topk_sigmoid::size::k]);
  routing.renormalize = given[moe_topk_sigmoid::attribute::renormalize] != 0;
#else
  routing.groups = static_cast<int>(given[moe_fused_gate::attribute::num_expert_group]);
  routing.best_groups = static_cast<int>(given[moe_fused_gate::attribute::topk_group]);
  routing.excluded = -__int_as_float(0x7F800000);
  routing.shared = static_cast<int>(given[moe_fused_gate::attribute::num_fused_shared_experts]);
  routing.chosen = static_cast<int>(a.plan.size[moe_fused_gate::size::k]) - routing.shared;
  routing.renormalize = true;
  const float factor = static_cast<float>(given[moe_fused_gate::attribute::routed_scaling_factor]);
  routing.shared_weight = 1 / factor;
  if (given[moe_fused_gate::attribute::apply_routed_scaling_factor_on_output] != 0) routing.factor = factor;
#endif
  return routing;
}

// In the order of the numbers; what is not a number is the largest, and 0 is nobody's.
__device__ __forceinline__ uint32_t order_key(float x) {
  const uint32_t bits = bits_of(x), magnitude = bits & 0x7FFFFFFFu;
  const uint32_t negative = magnitude == 0 ? 0x80000000u : ~bits;
  return magnitude > 0x7F800000u ? 0xFFFFFFFFu : bits & 0x80000000u ? negative : bits | 0x80000000u;
}
__device__ __forceinline__ float of_key(uint32_t key) { return float_of(key & 0x80000000u ? key ^ 0x80000000u : ~key); }

__device__ __forceinline__ float max_of_warp(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const float other = __shfl_xor_sync(kAllLanes, x, distance);
    x = other > x ? other : x;
  }
  return x;
}
__device__ __forceinline__ float sum_of_warp(float x) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) x += __shfl_xor_sync(kAllLanes, x, distance);
  return x;
}

// The place of the first of the largest keys, which becomes 0.
__device__ __forceinline__ int take_best(uint32_t* keys, int count) {
  const int lane = threadIdx.x % 32;
  uint32_t best = 0;
  int at = 0x7FFFFFFF;
  for (int i = lane; i < count; i += 32) {
    if (keys[i] <= best) continue;
    best = keys[i];
    at = i;
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const uint32_t other = __shfl_xor_sync(kAllLanes, best, distance);
    const int other_at = __shfl_xor_sync(kAllLanes, at, distance);
    if (other > best || (other == best && other_at < at)) {
      best = other;
      at = other_at;
    }
  }
  if (lane == 0 && at < count) keys[at] = 0;
  __syncwarp();
  return at < count ? at : 0;
}

// Keys of the groups that are not among those whose two best are best together become that of `routing.excluded`.
__device__ __forceinline__ void mask_groups(const Routing& routing, uint32_t* keys, uint32_t* sums, int experts) {
  const int lane = threadIdx.x % 32, per_group = experts / routing.groups;
  for (int g = lane; g < routing.groups; g += 32) {
    uint32_t best = 0, second = 0;
    for (int i = 0; i < per_group; ++i) {
      const uint32_t key = keys[g * per_group + i], smaller = key < best ? key : best;
      second = smaller > second ? smaller : second;
      best = key > best ? key : best;
    }
    sums[g] = order_key(of_key(best) + (per_group > 1 ? of_key(second) : 0.0f));
  }
  __syncwarp();
  for (int i = 0; i < routing.best_groups; ++i) take_best(sums, routing.groups);
  const uint32_t excluded = order_key(routing.excluded);
  for (int i = lane; i < experts; i += 32) {
    if (sums[i / per_group] != 0) keys[i] = excluded;
  }
  __syncwarp();
}

// `scores`, `keys` and `sums` are the warp's own memory.
__device__ __forceinline__ void route(const WrittenArguments& a, const Routing& routing, long long token, float* scores, uint32_t* keys,
                                      uint32_t* sums) {
  const TensorView &x = a.plan.tensor[kInput], &bias = a.plan.tensor[kBias], &weights = a.plan.tensor[kWeights], &places = a.plan.tensor[kExperts];
  const int lane = threadIdx.x % 32, experts = static_cast<int>(x.shape[1]), all = routing.chosen + routing.shared;
  const X* row = static_cast<const X*>(a.address[kInput]) + token * x.stride[0];
  float largest = -__int_as_float(0x7F800000);
  for (int i = lane; i < experts; i += 32) {
    float value = widen(row[i * x.stride[1]]);
    if (routing.cap != 0) value = tanhf(value / routing.cap) * routing.cap;
    scores[i] = value;
    largest = value > largest ? value : largest;
  }
#if defined(INFINIOP_ROUTE_TOPKSOFTMAX) || defined(INFINIOP_ROUTE_MOE_SOFTMAX)
  largest = max_of_warp(largest);
  float total = 0;
  for (int i = lane; i < experts; i += 32) {
    scores[i] = expf(scores[i] - largest);
    total += scores[i];
  }
  const float share = 1 / sum_of_warp(total);
  for (int i = lane; i < experts; i += 32) scores[i] *= share;
#else
  for (int i = lane; i < experts; i += 32) {
    const float e = expf(-fabsf(scores[i]));
    scores[i] = (scores[i] < 0 ? e : 1) / (1 + e);
  }
#endif
  const float* added = bias.is_given ? static_cast<const float*>(a.address[kBias]) : nullptr;
  for (int i = lane; i < experts; i += 32) keys[i] = order_key(scores[i] + (added ? added[i * bias.stride[0]] : 0.0f));
  __syncwarp();
  if (routing.groups > 1) mask_groups(routing, keys, sums, experts);
  // Outputs that are not described lie without gaps.
  const long long weight_row = weights.is_given ? weights.stride[0] : all, weight_step = weights.is_given ? weights.stride[1] : 1;
  const long long place_row = places.is_given ? places.stride[0] : all, place_step = places.is_given ? places.stride[1] : 1;
  float* weight = static_cast<float*>(a.address[kWeights]) + token * weight_row;
  int32_t* place = static_cast<int32_t*>(a.address[kExperts]) + token * place_row;
  float sum = routing.least_sum;
  for (int i = 0; i < routing.chosen; ++i) {
    const int expert = take_best(keys, experts);
    sum += scores[expert];
    if (lane != 0) continue;
    place[i * place_step] = expert;
    weight[i * weight_step] = scores[expert];
  }
  __syncwarp();
  if (routing.renormalize) {
    for (int i = lane; i < routing.chosen; i += 32) weight[i * weight_step] = weight[i * weight_step] / sum * routing.factor;
  }
  for (int i = routing.chosen + lane; i < all; i += 32) {
    place[i * place_step] = experts + i - routing.chosen;
    weight[i * weight_step] = routing.shared_weight * routing.factor;
  }
  __syncwarp();
}

}  // namespace infiniop

extern __shared__ __align__(16) char routing_memory[];

extern "C" __global__ void route_tokens(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const Routing routing = routing_of(a);
  const long long tokens = a.plan.tensor[kInput].shape[0], warps = blockDim.x / 32;
  const long long experts = a.plan.tensor[kInput].shape[1], words = 2 * experts + routing.groups;
  float* scores = reinterpret_cast<float*>(routing_memory) + threadIdx.x / 32 * words;
  uint32_t* keys = reinterpret_cast<uint32_t*>(scores + experts);
  for (long long token = blockIdx.x * warps + threadIdx.x / 32; token < tokens; token += gridDim.x * warps) {
    route(a, routing, token, scores, keys, keys + experts);
  }
}
