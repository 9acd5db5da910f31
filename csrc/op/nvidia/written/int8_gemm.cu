// Products of matrices of 8 bits: a block has 64 x 64 of the result, a thread 4 x 4, and both matrices come through shared memory as words of
// four numbers along k, of which one instruction makes four products and adds them.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

constexpr int kTile = 64;  // rows and columns of the result
constexpr int kWords = 16;  // of each line, at a time
constexpr int kPad = kWords + 1;  // so that lines begin in different banks

// The word of numbers k to k + 3 of a line; what is outside is 0.
__device__ __forceinline__ int word_at(const int8_t* line, long long step, long long k, long long depth) {
  unsigned word = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (k + i < depth) word |= static_cast<unsigned>(static_cast<uint8_t>(line[(k + i) * step])) << (8 * i);
  }
  return static_cast<int>(word);
}

// 64 lines from `first` on into shared memory. Neighbouring threads take neighbouring words of a line, or neighbouring lines where it is
// these that lie side by side.
template <bool AlongLines>
__device__ __forceinline__ void load(int (&to)[kTile][kPad], const int8_t* from, long long line_step, long long step, long long first,
                                     long long lines, long long k, long long depth) {
  for (int i = static_cast<int>(threadIdx.x); i < kTile * kWords; i += kThreads) {
    const int line = AlongLines ? i / kWords : i % kTile, word = AlongLines ? i % kWords : i / kTile;
    to[line][word] = first + line < lines ? word_at(from + (first + line) * line_step, step, k + 4 * word, depth) : 0;
  }
}

}  // namespace infiniop

extern "C" __global__ void multiply_tiles(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  using namespace int8_gemm;
  const WrittenPlan& plan = a.plan;
  const TensorView &out = plan.tensor[tensor::out], &bias = plan.tensor[tensor::bias], &x = plan.tensor[tensor::x],
                   &x_scale = plan.tensor[tensor::x_scale], &weights = plan.tensor[tensor::weights],
                   &weights_scale = plan.tensor[tensor::weights_scale];
  const long long m = plan.size[size::m], n = plan.size[size::n], depth = plan.size[size::k];
  const long long across = (n + kTile - 1) / kTile;
  const long long row = blockIdx.x / across * kTile, column = blockIdx.x % across * kTile;
  __shared__ int left[kTile][kPad], right[kTile][kPad];
  const int across_thread = static_cast<int>(threadIdx.x) % 16, down_thread = static_cast<int>(threadIdx.x) / 16;
  int sums[4][4] = {};
  for (long long k = 0; k < depth; k += 4 * kWords) {
    load<true>(left, static_cast<const int8_t*>(a.address[tensor::x]), x.stride[0], x.stride[1], row, m, k, depth);
    load<kWeightsAlongK>(right, static_cast<const int8_t*>(a.address[tensor::weights]), weights.stride[1], weights.stride[0], column, n, k,
                         depth);
    __syncthreads();
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      int down[4], over[4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        down[i] = left[down_thread + 16 * i][word];
        over[i] = right[across_thread + 16 * i][word];
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) sums[i][j] = __dp4a(down[i], over[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const long long r = row + down_thread + 16 * i;
    if (r >= m) continue;
    const float scale = static_cast<const float*>(a.address[tensor::x_scale])[r * x_scale.stride[0]];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const long long c = column + across_thread + 16 * j;
      if (c >= n) continue;
      const float other = static_cast<const float*>(a.address[tensor::weights_scale])[c * weights_scale.stride[0]];
      const float added = bias.is_given ? widen(static_cast<const X*>(a.address[tensor::bias])[c * bias.stride[0]]) : 0.0f;
      static_cast<X*>(a.address[tensor::out])[r * out.stride[0] + c * out.stride[1]] =
          Narrow<X>::of(scale * other * static_cast<float>(sums[i][j]) + added);
    }
  }
}
