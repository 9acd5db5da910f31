// Experts of tokens. Of few pairs of a token and an expert a warp multiplies a row of weights at a time, and reads it for its pair alone. Many
// are put in the experts' order first, so that a tile of weights serves 64 of them.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

constexpr int kTile = 64;   // pairs, and rows of weights
constexpr int kDepth = 16;  // columns of both that are in shared memory at a time

namespace moe = fused_moe;

// Parts of the workspace.
struct Parts {
  int *first, *order;      // of each expert its first pair in order, and one more; pairs in the experts' order
  float *hidden, *result;  // of each pair: between the two products, and after them
  long long pairs;

  __device__ __forceinline__ explicit Parts(const WrittenArguments& a) {
    pairs = a.plan.size[moe::size::t] * a.plan.size[moe::size::k];
    first = static_cast<int*>(a.workspace);
    order = first + a.plan.size[moe::size::e] + 1;
    hidden = reinterpret_cast<float*>(order + pairs);
    result = hidden + pairs * a.plan.size[moe::size::i];
  }
};

__device__ __forceinline__ long long expert_of(const WrittenArguments& a, long long pair) {
  const TensorView& view = a.plan.tensor[moe::tensor::token_selected_experts];
  const long long chosen = a.plan.size[moe::size::k];
  const long long offset = pair / chosen * view.stride[0] + pair % chosen * view.stride[1];
  return static_cast<long long>(static_cast<const Index*>(a.address[moe::tensor::token_selected_experts])[offset]);
}
__device__ __forceinline__ bool is_here(const WrittenArguments& a, long long expert) {
  return expert >= 0 && expert < a.plan.size[moe::size::e];
}

__device__ __forceinline__ float silu(float x) { return x / (1.0f + infiniop::exp(-x)); }

__device__ __forceinline__ float between(float gate, float up, int activation) {
  if (activation == 0) return silu(gate);
  if (activation == 1) return silu(gate) * up;
  return 4.0f * infiniop::tanh(gate / 4.0f) / (1.0f + infiniop::exp(-gate)) * 25.0f * infiniop::tanh(up / 25.0f);
}

__device__ __forceinline__ float bias_of(const WrittenArguments& a, int tensor, long long expert, long long row) {
  const TensorView& view = a.plan.tensor[tensor];
  if (!view.is_given) return 0.0f;
  return static_cast<float>(widen(static_cast<const X*>(a.address[tensor])[expert * view.stride[0] + row * view.stride[1]]));
}


// Whether rows of eight elements may be read at once.
__device__ __forceinline__ bool is_wide(const X* row, long long step, long long length) {
  return step == 1 && length % 8 == 0 && reinterpret_cast<unsigned long long>(row) % (8 * sizeof(X)) == 0;
}

// The product of a row of weights and a row of elements; all lanes of the warp get it.
template <class Element>
__device__ __forceinline__ float warp_dot(const X* weights, long long weights_step, const Element* row, long long row_step, long long length) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float sum = 0.0f;
  const bool row_is_wide = row_step == 1 && reinterpret_cast<unsigned long long>(row) % (8 * sizeof(X)) == 0;
  if (is_wide(weights, weights_step, length) && row_is_wide) {
    for (long long i = 8 * lane; i < length; i += 8 * 32) {
      const Pack<X, 8> some = *reinterpret_cast<const Pack<X, 8>*>(weights + i);
#pragma unroll
      for (int j = 0; j < 8; ++j) sum += static_cast<float>(widen(some.at[j])) * static_cast<float>(widen(row[i + j]));
    }
  } else {
    for (long long i = lane; i < length; i += 32) {
      sum += static_cast<float>(widen(weights[i * weights_step])) * static_cast<float>(widen(row[i * row_step]));
    }
  }
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, distance);
  return sum;
}

// Rows of one of the two products that stand side by side in shared memory, with columns in front: [column][row].
using Side = float[kDepth][kTile + 4];

// 64 rows from `at(row)` on, each with elements `step` apart; what is outside is 0.
template <class Element, class At>
__device__ __forceinline__ void load(Side& to, long long rows, long long k, long long depth, long long step, At at) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kDepth; i += kThreads) {
    const int row = i / kDepth, column = i % kDepth;
    const Element* from = row < rows && k + column < depth ? at(row) + (k + column) * step : nullptr;
    to[column][row] = from ? static_cast<float>(widen(*from)) : 0.0f;
  }
}

// A thread has 4 x 4 of a tile: pairs down, rows of weights across.
__device__ __forceinline__ void add_products(const Side& left, const Side& right, float (&sums)[4][4]) {
  const int across = static_cast<int>(threadIdx.x) % 16, down = static_cast<int>(threadIdx.x) / 16;
#pragma unroll
  for (int k = 0; k < kDepth; ++k) {
    float x[4], w[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      x[i] = left[k][down + 16 * i];
      w[i] = right[k][across + 16 * i];
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) sums[i][j] += x[i] * w[j];
    }
  }
}

// The expert and the pairs of a tile, by its number among all experts' tiles.
struct Tile {
  long long expert = -1, begin = 0, pairs = 0;

  __device__ __forceinline__ Tile(const Parts& parts, long long experts, long long number) {
    for (long long e = 0; e < experts; ++e) {
      const long long from = parts.first[e], count = parts.first[e + 1] - from, tiles = (count + kTile - 1) / kTile;
      if (number < tiles) {
        expert = e;
        begin = from + number * kTile;
        pairs = count - number * kTile < kTile ? count - number * kTile : kTile;
        return;
      }
      number -= tiles;
    }
  }
};

}  // namespace infiniop

// One block.
extern "C" __global__ void route_pairs(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const Parts parts(a);
  const long long experts = a.plan.size[moe::size::e];
  for (long long e = threadIdx.x; e <= experts; e += kThreads) parts.first[e] = 0;
  __syncthreads();
  for (long long pair = threadIdx.x; pair < parts.pairs; pair += kThreads) {
    const long long expert = expert_of(a, pair);
    if (is_here(a, expert)) atomicAdd(&parts.first[expert + 1], 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (long long e = 0; e < experts; ++e) parts.first[e + 1] += parts.first[e];
  }
  __syncthreads();
  // Pairs of an expert come in any order: each has a sum of its own.
  for (long long pair = threadIdx.x; pair < parts.pairs; pair += kThreads) {
    const long long expert = expert_of(a, pair);
    if (is_here(a, expert)) parts.order[atomicAdd(&parts.first[expert], 1)] = static_cast<int>(pair);
  }
  __syncthreads();
  // Each beginning has become the next one's.
  if (threadIdx.x == 0) {
    for (long long e = experts; e > 0; --e) parts.first[e] = parts.first[e - 1];
    parts.first[0] = 0;
  }
}

extern "C" __global__ void first_by_warps(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const Parts parts(a);
  const WrittenPlan& plan = a.plan;
  const TensorView &input = plan.tensor[moe::tensor::input], &w1 = plan.tensor[moe::tensor::w1];
  const long long inner = plan.size[moe::size::i], width = plan.size[moe::size::h];
  const int activation = static_cast<int>(a.attributes[moe::attribute::activation]);
  const long long number = static_cast<long long>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (number >= parts.pairs * inner) return;
  const long long pair = number / inner, row = number % inner, expert = expert_of(a, pair);
  if (!is_here(a, expert)) return;
  const X* x = static_cast<const X*>(a.address[moe::tensor::input]) + pair / plan.size[moe::size::k] * input.stride[0];
  const X* weights = static_cast<const X*>(a.address[moe::tensor::w1]) + expert * w1.stride[0] + row * w1.stride[1];
  const float gate = warp_dot(weights, w1.stride[2], x, input.stride[1], width) + bias_of(a, moe::tensor::b1, expert, row);
  float up = 0.0f;
  if (activation != 0) {
    up = warp_dot(weights + inner * w1.stride[1], w1.stride[2], x, input.stride[1], width) + bias_of(a, moe::tensor::b1, expert, inner + row);
  }
  if (threadIdx.x % 32 == 0) parts.hidden[pair * inner + row] = between(gate, up, activation);
}

extern "C" __global__ void second_by_warps(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const Parts parts(a);
  const WrittenPlan& plan = a.plan;
  const TensorView& w2 = plan.tensor[moe::tensor::w2];
  const long long inner = plan.size[moe::size::i], width = plan.size[moe::size::h];
  const long long number = static_cast<long long>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (number >= parts.pairs * width) return;
  const long long pair = number / width, row = number % width, expert = expert_of(a, pair);
  if (!is_here(a, expert)) return;
  const X* weights = static_cast<const X*>(a.address[moe::tensor::w2]) + expert * w2.stride[0] + row * w2.stride[1];
  const float sum = warp_dot(weights, w2.stride[2], parts.hidden + pair * inner, 1, inner) + bias_of(a, moe::tensor::b2, expert, row);
  if (threadIdx.x % 32 == 0) parts.result[pair * width + row] = sum;
}

extern "C" __global__ void first_by_tiles(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const Parts parts(a);
  const WrittenPlan& plan = a.plan;
  const TensorView &input = plan.tensor[moe::tensor::input], &w1 = plan.tensor[moe::tensor::w1];
  const long long inner = plan.size[moe::size::i], width = plan.size[moe::size::h], chosen = plan.size[moe::size::k];
  const int activation = static_cast<int>(a.attributes[moe::attribute::activation]);
  const long long row = static_cast<long long>(blockIdx.x) * kTile;
  const long long rows = inner - row < kTile ? inner - row : kTile;
  __shared__ Side left, right, second;
  const int across = static_cast<int>(threadIdx.x) % 16, down = static_cast<int>(threadIdx.x) / 16;
  for (long long number = blockIdx.y;; number += gridDim.y) {
    const Tile tile(parts, plan.size[moe::size::e], number);
    if (tile.expert < 0) return;
    const X* weights = static_cast<const X*>(a.address[moe::tensor::w1]) + tile.expert * w1.stride[0] + row * w1.stride[1];
    float gates[4][4] = {}, ups[4][4] = {};
    for (long long k = 0; k < width; k += kDepth) {
      load<X>(left, tile.pairs, k, width, input.stride[1], [&](int r) {
        return static_cast<const X*>(a.address[moe::tensor::input]) + parts.order[tile.begin + r] / chosen * input.stride[0];
      });
      load<X>(right, rows, k, width, w1.stride[2], [&](int r) { return weights + r * w1.stride[1]; });
      if (activation != 0) load<X>(second, rows, k, width, w1.stride[2], [&](int r) { return weights + (inner + r) * w1.stride[1]; });
      __syncthreads();
      add_products(left, right, gates);
      if (activation != 0) add_products(left, second, ups);
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const long long r = down + 16 * i, c = across + 16 * j;
        if (r >= tile.pairs || c >= rows) continue;
        const float gate = gates[i][j] + bias_of(a, moe::tensor::b1, tile.expert, row + c);
        const float up = activation == 0 ? 0.0f : ups[i][j] + bias_of(a, moe::tensor::b1, tile.expert, inner + row + c);
        parts.hidden[(tile.begin + r) * inner + row + c] = between(gate, up, activation);
      }
    }
  }
}

extern "C" __global__ void second_by_tiles(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const Parts parts(a);
  const WrittenPlan& plan = a.plan;
  const TensorView& w2 = plan.tensor[moe::tensor::w2];
  const long long inner = plan.size[moe::size::i], width = plan.size[moe::size::h];
  const long long row = static_cast<long long>(blockIdx.x) * kTile;
  const long long rows = width - row < kTile ? width - row : kTile;
  __shared__ Side left, right;
  const int across = static_cast<int>(threadIdx.x) % 16, down = static_cast<int>(threadIdx.x) / 16;
  for (long long number = blockIdx.y;; number += gridDim.y) {
    const Tile tile(parts, plan.size[moe::size::e], number);
    if (tile.expert < 0) return;
    const X* weights = static_cast<const X*>(a.address[moe::tensor::w2]) + tile.expert * w2.stride[0] + row * w2.stride[1];
    float sums[4][4] = {};
    for (long long k = 0; k < inner; k += kDepth) {
      load<float>(left, tile.pairs, k, inner, 1, [&](int r) { return static_cast<const float*>(parts.hidden + (tile.begin + r) * inner); });
      load<X>(right, rows, k, inner, w2.stride[2], [&](int r) { return weights + r * w2.stride[1]; });
      __syncthreads();
      add_products(left, right, sums);
      __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const long long r = down + 16 * i, c = across + 16 * j;
        if (r >= tile.pairs || c >= rows) continue;
        parts.result[parts.order[tile.begin + r] * width + row + c] = sums[i][j] + bias_of(a, moe::tensor::b2, tile.expert, row + c);
      }
    }
  }
}

// What the experts of each token gave, with their scales.
extern "C" __global__ void add_experts(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const Parts parts(a);
  const WrittenPlan& plan = a.plan;
  const TensorView &scales = plan.tensor[moe::tensor::token_final_scales], &out = plan.tensor[moe::tensor::out];
  const long long width = plan.size[moe::size::h], chosen = plan.size[moe::size::k], total = plan.size[moe::size::t] * width;
  const long long step = static_cast<long long>(gridDim.x) * kThreads;
  for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < total; i += step) {
    const long long token = i / width, column = i % width;
    float sum = 0.0f;
    for (long long k = 0; k < chosen; ++k) {
      const long long pair = token * chosen + k;
      if (!is_here(a, expert_of(a, pair))) continue;
      const float scale = static_cast<const float*>(a.address[moe::tensor::token_final_scales])[token * scales.stride[0] + k * scales.stride[1]];
      sum += scale * parts.result[pair * width + column];
    }
    static_cast<X*>(a.address[moe::tensor::out])[token * out.stride[0] + column * out.stride[1]] = Narrow<X>::of(sum);
  }
}

extern "C" __global__ void sum_experts(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace moe_sum;
  const WrittenPlan& plan = a.plan;
  const TensorView &input = plan.tensor[tensor::input], &output = plan.tensor[tensor::output];
  const long long width = plan.size[size::h], total = plan.size[size::t] * width;
  const long long step = static_cast<long long>(gridDim.x) * kThreads;
  for (long long i = static_cast<long long>(blockIdx.x) * kThreads + threadIdx.x; i < total; i += step) {
    const long long token = i / width, column = i % width;
    const X* from = static_cast<const X*>(a.address[tensor::input]) + token * input.stride[0] + column * input.stride[2];
    float sum = 0.0f;
    for (long long k = 0; k < plan.size[size::k]; ++k) sum += static_cast<float>(widen(from[k * input.stride[1]]));
    static_cast<X*>(a.address[tensor::output])[token * output.stride[0] + column * output.stride[1]] = Narrow<X>::of(sum);
  }
}
