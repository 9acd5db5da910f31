// Compiled for AVX512-BF16, as the only file: with the compiler's attribute for such functions among others, gcc 12 contracts no products and sums
// in all of their file. Includes nothing that has inline functions, which machines without these instructions could be given.
#include "op/cpu/bfloat_pairs.h"

#ifdef __AVX512BF16__
#include <immintrin.h>

namespace infiniop::cpu {

namespace {

constexpr int kLanes = 16;

__m512bh pairs_at(const float* lanes) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(lanes)); }

template <int Rows>
void multiply_panel(const float* a, const float* panel, int64_t lines, float* sums, int64_t row, bool adds) {
  __m512 held[Rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    held[r][0] = held[r][1] = _mm512_setzero_ps();
    __builtin_prefetch(sums + r * row, 1);
    __builtin_prefetch(sums + r * row + kPairColumns - 1, 1);
  }
  for (int64_t i = 0; i < lines; ++i) {
    const float* line = panel + i * kPairColumns;
    const __m512bh first = pairs_at(line), second = pairs_at(line + kLanes);
    __builtin_prefetch(line + 16 * kPairColumns);
    __builtin_prefetch(line + 16 * kPairColumns + kLanes);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      int32_t pair;
      __builtin_memcpy(&pair, a + r * kPairDepth + i, sizeof pair);
      const auto factor = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
      held[r][0] = _mm512_dpbf16_ps(held[r][0], first, factor);
      held[r][1] = _mm512_dpbf16_ps(held[r][1], second, factor);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      float* to = sums + r * row + half * kLanes;
      if (adds) held[r][half] = _mm512_add_ps(held[r][half], _mm512_loadu_ps(to));
      _mm512_storeu_ps(to, held[r][half]);
    }
  }
}

}  // namespace

MultiplyPairs multiply_pairs_of(int64_t rows) {
  static constexpr MultiplyPairs all[kMostPairRows] = {
      multiply_panel<1>, multiply_panel<2>,  multiply_panel<3>,  multiply_panel<4>,
      multiply_panel<5>, multiply_panel<6>,  multiply_panel<7>,  multiply_panel<8>,
      multiply_panel<9>, multiply_panel<10>, multiply_panel<11>, multiply_panel<12>,
  };
  return all[rows - 1];
}

}  // namespace infiniop::cpu
#endif
