// Compiled once for each instruction set, with INFINIOP_TILES naming the table.
#include "op/cpu/tiles.h"

#include "op/expression.h"

namespace infiniop::cpu {

namespace {

#include "infiniop/generated/maps.inc"

template <class Out, class In, Out (*convert)(In)>
void convert_tile(size_t count, void* out, const void* in) {
  auto* to = static_cast<Out*>(out);
  const auto* from = static_cast<const In*>(in);
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) to[i] = convert(from[i]);
}

// Four rows by as many columns as stay in registers, written with vectors of 64 bytes, which compilers split as the machine needs.
template <class T>
void multiply_tile(int64_t m, int64_t n, int64_t k, const void* a_data, const void* b_data, void* sum_data) {
  const auto *a = static_cast<const T*>(a_data), *b = static_cast<const T*>(b_data);
  auto* sum = static_cast<T*>(sum_data);
  using Vector [[gnu::vector_size(64)]] = T;
  constexpr int kRows = 4, Columns = 64 / sizeof(T);
  int64_t row = 0;
  for (; row + kRows <= m; row += kRows) {
    int64_t column = 0;
    for (; column + Columns <= n; column += Columns) {
      Vector held[kRows] = {};
      for (int64_t i = 0; i < k; ++i) {
        Vector line;
        __builtin_memcpy(&line, b + i * n + column, sizeof line);
#pragma GCC unroll 4
        for (int r = 0; r < kRows; ++r) held[r] += a[(row + r) * k + i] * line;
      }
      for (int r = 0; r < kRows; ++r) {
        for (int j = 0; j < Columns; ++j) sum[(row + r) * n + column + j] += held[r][j];
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int64_t i = 0; i < k; ++i) {
        const T factor = a[(row + r) * k + i];
        for (int64_t j = column; j < n; ++j) sum[(row + r) * n + j] += factor * b[i * n + j];
      }
    }
  }
  for (; row < m; ++row) {
    for (int64_t i = 0; i < k; ++i) {
      const T factor = a[row * k + i];
      for (int64_t j = 0; j < n; ++j) sum[row * n + j] += factor * b[i * n + j];
    }
  }
}

}  // namespace

extern const Tiles INFINIOP_TILES = {
    {INFINIOP_MAP_ROWS},
    convert_tile<float, uint8_t, from_float8>,
    convert_tile<float, uint16_t, from_float16>,
    convert_tile<float, uint16_t, from_bfloat16>,
    convert_tile<uint8_t, float, to_float8>,
    convert_tile<uint16_t, float, to_float16>,
    convert_tile<uint16_t, float, to_bfloat16>,
    multiply_tile<float>,
    multiply_tile<double>,
};

}  // namespace infiniop::cpu
