// Products with few rows: a warp takes one row of the large matrix, 16 bytes of it in each thread at a time, and multiplies it with all rows
// of the small one, which the first-level cache holds. "variant.h" names the element type, X, and how many rows there are, kRows.
#include <cstdint>

#include "op/narrow.h"
#include "op/nvidia/elements.h"

#include "variant.h"

namespace infiniop {

constexpr int kWidth = 16 / sizeof(X);
constexpr int kAhead = 4;  // pieces that a thread waits for at once

using Piece = Pack<X, kWidth>;

__device__ __forceinline__ Piece piece_at(const X* row, long long piece) { return reinterpret_cast<const Piece*>(row)[piece]; }

__device__ __forceinline__ void add_products(const Piece& weights, const X* a, long long a_row, long long piece, float (&sums)[kRows]) {
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const Piece line = piece_at(a + r * a_row, piece);
#pragma unroll
    for (int i = 0; i < kWidth; ++i) sums[r] = fmaf(widen(weights.at[i]), widen(line.at[i]), sums[r]);
  }
}

}  // namespace infiniop

// c[r, j] = alpha * (a[r, :] . b[j, :]) + beta * c[r, j], for each of gridDim.y products. Strides count elements.
extern "C" __global__ void multiply_few_rows(void* c_memory, const void* a_memory, const void* b_memory, long long columns, long long pieces,
                                             long long a_row, long long b_row, long long c_row, long long c_column, long long a_batch,
                                             long long b_batch, long long c_batch, float alpha, float beta) {
  using namespace infiniop;
  const unsigned lane = threadIdx.x % 32;
  const long long column = blockIdx.x * static_cast<long long>(kThreads / 32) + threadIdx.x / 32;
  if (column >= columns) return;  // the whole warp
  const X* a = static_cast<const X*>(a_memory) + blockIdx.y * a_batch;
  const X* b = static_cast<const X*>(b_memory) + blockIdx.y * b_batch + column * b_row;
  float sums[kRows] = {};
  long long piece = lane;
  for (; piece + 32 * (kAhead - 1) < pieces; piece += 32 * kAhead) {
    Piece weights[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) weights[u] = piece_at(b, piece + 32 * u);
#pragma unroll
    for (int u = 0; u < kAhead; ++u) add_products(weights[u], a, a_row, piece + 32 * u, sums);
  }
  for (; piece < pieces; piece += 32) add_products(piece_at(b, piece), a, a_row, piece, sums);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) sums[r] += __shfl_xor_sync(0xFFFFFFFFu, sums[r], distance);
  }
  if (lane != 0) return;
  X* c = static_cast<X*>(c_memory) + blockIdx.y * c_batch + column * c_column;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    float result = alpha * sums[r];
    if (beta != 0) result += beta * widen(c[r * c_row]);
    c[r * c_row] = Narrow<X>::of(result);
  }
}
