// States that go from token to token: a warp has kRows rows of one head's state in its registers, each lane every 32nd column of them, and takes the
// tokens of a sequence one after the other. "variant.h" says X, the types Gate, Share, Ends, Initial and Final, kParts (columns of a lane) and which
// operator: INFINIOP_CHUNKS or not.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

constexpr int kRows = 4, kWarps = 4;  // of a warp; of a block
constexpr unsigned kAllLanes = 0xFFFFFFFFu;

#if defined(INFINIOP_CHUNKS)
using namespace chunk_gated_delta_rule;

__device__ __forceinline__ long long requests_of(const WrittenArguments& a) {
  return a.plan.tensor[tensor::cu_seqlens].is_given ? a.plan.size[size::c] - 1 : a.plan.size[size::b];
}
__device__ __forceinline__ long long begin_of(const WrittenArguments& a, long long request) {
  const TensorView& ends = a.plan.tensor[tensor::cu_seqlens];
  if (!ends.is_given) return request * a.plan.size[size::t];
  return static_cast<long long>(static_cast<const Ends*>(a.address[tensor::cu_seqlens])[request * ends.stride[0]]);
}
#else
using namespace recurrent_gated_delta_rule;

__device__ __forceinline__ long long requests_of(const WrittenArguments& a) { return a.plan.size[size::b]; }
__device__ __forceinline__ long long begin_of(const WrittenArguments& a, long long request) { return request * a.plan.size[size::t]; }
#endif

template <class Index>
__device__ __forceinline__ long long slot_of(const WrittenArguments& a, int tensor, long long request) {
  const TensorView& view = a.plan.tensor[tensor];
  if (!view.is_given) return request;
  const long long slot = static_cast<long long>(static_cast<const Index*>(a.address[tensor])[request * view.stride[0]]);
  if (slot < 0 || slot >= a.plan.size[size::pool]) __trap();
  return slot;
}

__device__ __forceinline__ float sum_of_lanes(float mine) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) mine += __shfl_xor_sync(kAllLanes, mine, distance);
  return mine;
}

// A lane's part of a head, of queries or keys, with the norm 1 if that is wished.
__device__ __forceinline__ void bring_head(const WrittenArguments& a, int tensor, long long token, long long head, bool normal, float* to) {
  const TensorView& view = a.plan.tensor[tensor];
  const X* from = static_cast<const X*>(a.address[tensor]) + offset_in(view, 0, 2, token) + head * view.stride[2];
  float sum = 0.f;
#pragma unroll
  for (int p = 0; p < kParts; ++p) {
    const long long column = threadIdx.x % 32 + 32 * p;
    to[p] = column < a.plan.size[size::dk] ? static_cast<float>(widen(from[column * view.stride[3]])) : 0.f;
    sum += to[p] * to[p];
  }
  if (!normal) return;  // for all lanes
  const float factor = rsqrt(sum_of_lanes(sum) + 1e-6f);
#pragma unroll
  for (int p = 0; p < kParts; ++p) to[p] *= factor;
}

template <class T>
__device__ __forceinline__ float gate_at(const WrittenArguments& a, int tensor, long long token, long long head) {
  const TensorView& view = a.plan.tensor[tensor];
  return static_cast<float>(widen(static_cast<const T*>(a.address[tensor])[offset_in(view, 0, 2, token) + head * view.stride[2]]));
}

__device__ __forceinline__ void run_rows(const WrittenArguments& a, long long request, long long head, long long first_row) {
  const WrittenPlan& plan = a.plan;
  const long long rows = plan.size[size::dv], columns = plan.size[size::dk];
  const long long begin = begin_of(a, request), end = begin_of(a, request + 1);
  if (begin < 0 || end < begin || end > plan.size[size::b] * plan.size[size::t]) __trap();
  const bool in_pool = plan.tensor[tensor::final_state_indices].is_given, normal = a.attributes[attribute::use_qk_l2norm] != 0;
  const long long slot = slot_of<Initial>(a, tensor::initial_state_indices, request);
  const long long to_slot = in_pool ? slot_of<Final>(a, tensor::final_state_indices, request) : request;
  const long long key_head = head / (plan.size[size::hv] / plan.size[size::hk]);
  const float scale = rsqrt(static_cast<float>(columns));
  const TensorView &states = plan.tensor[tensor::initial_state], &v = plan.tensor[tensor::v], &out = plan.tensor[tensor::out];
  const unsigned lane = threadIdx.x % 32;
  float state[kRows][kParts];
  const X* from = static_cast<const X*>(a.address[tensor::initial_state]) + slot * states.stride[0] + head * states.stride[1];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      const long long row = first_row + r, column = lane + 32 * p;
      const bool is_there = row < rows && column < columns;
      state[r][p] = is_there ? static_cast<float>(widen(from[row * states.stride[2] + column * states.stride[3]])) : 0.f;
    }
  }
  for (long long token = begin; token < end; ++token) {
    float query[kParts], key[kParts];
    bring_head(a, tensor::q, token, key_head, normal, query);
    bring_head(a, tensor::k, token, key_head, normal, key);
    const float decay = infiniop::exp(gate_at<Gate>(a, tensor::g, token, head)), share = gate_at<Share>(a, tensor::beta, token, head);
    const X* value = static_cast<const X*>(a.address[tensor::v]) + offset_in(v, 0, 2, token) + head * v.stride[2];
    X* to = static_cast<X*>(a.address[tensor::out]) + offset_in(out, 0, 2, token) + head * out.stride[2];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      const long long row = first_row + r;
      float known = 0.f;
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        state[r][p] *= decay;
        known += state[r][p] * key[p];
      }
      const float wanted = row < rows ? static_cast<float>(widen(value[row * v.stride[3]])) : 0.f;
      const float off = (wanted - sum_of_lanes(known)) * share;
      float given = 0.f;
#pragma unroll
      for (int p = 0; p < kParts; ++p) {
        state[r][p] += off * key[p];
        given += state[r][p] * query[p];
      }
      given = sum_of_lanes(given) * scale;
      if (lane == 0 && row < rows) to[row * out.stride[3]] = Narrow<X>::of(given);
    }
  }
  const int target = in_pool ? tensor::initial_state : tensor::final_state;
  const TensorView& kept = plan.tensor[target];
  if (!in_pool && !kept.is_given) return;
  X* to = static_cast<X*>(a.address[target]) + to_slot * kept.stride[0] + head * kept.stride[1];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int p = 0; p < kParts; ++p) {
      const long long row = first_row + r, column = lane + 32 * p;
      if (row < rows && column < columns) to[row * kept.stride[2] + column * kept.stride[3]] = Narrow<X>::of(state[r][p]);
    }
  }
}

}  // namespace infiniop

extern "C" __global__ void gated_delta_rows(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const long long heads = a.plan.size[size::hv], pieces = (a.plan.size[size::dv] + kRows - 1) / kRows;
  const long long total = requests_of(a) * heads * pieces, warps = static_cast<long long>(gridDim.x) * kWarps;
  for (long long item = blockIdx.x * static_cast<long long>(kWarps) + threadIdx.x / 32; item < total; item += warps) {
    const long long owner = item / pieces;
    run_rows(a, owner / heads, owner % heads, (item - owner * pieces) * kRows);
  }
}
