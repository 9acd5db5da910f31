// Compiled for AVX512-BF16, as bfloat_weights.cpp alone is, too: with the compiler's attribute for such functions among others, gcc 12 contracts no
// products and sums in all of their file. Includes nothing that has inline functions, which machines without these instructions could be given.
#include "op/cpu/bfloat_pairs.h"

#ifdef INFINIOP_PAIRS
#include <immintrin.h>

#include "op/cpu/few_rows.h"
#include "op/narrow.h"

namespace infiniop::cpu {

namespace {

constexpr int kLanes = 16, kStep = 2 * kLanes;

__m512bh pairs_at(const void* lanes) { return reinterpret_cast<__m512bh>(_mm512_loadu_si512(lanes)); }

// Rows of a times a panel, all sums in registers.
template <int Rows>
[[gnu::always_inline]] inline void multiply_lines(const float* a, const float* panel, int64_t lines,
                                                  __m512 (&held)[Rows][2]) {
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
}

template <int Rows>
void multiply_panel(const float* a, const float* panel, int64_t lines, float* sums, int64_t row, bool adds) {
  __m512 held[Rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    held[r][0] = held[r][1] = _mm512_setzero_ps();
    __builtin_prefetch(sums + r * row, 1);
    __builtin_prefetch(sums + r * row + kPairColumns - 1, 1);
  }
  multiply_lines<Rows>(a, panel, lines, held);
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

template <int Rows>
void round_panel(const float* a, const float* panel, int64_t lines, const float* sums, uint16_t* c, int64_t row) {
  __m512 held[Rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    held[r][0] = held[r][1] = _mm512_setzero_ps();
    __builtin_prefetch(c + r * row, 1);
    __builtin_prefetch(c + r * row + kPairColumns - 1, 1);
  }
  multiply_lines<Rows>(a, panel, lines, held);
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    if (sums) {
      held[r][0] = _mm512_add_ps(held[r][0], _mm512_loadu_ps(sums + r * kPairColumns));
      held[r][1] = _mm512_add_ps(held[r][1], _mm512_loadu_ps(sums + r * kPairColumns + kLanes));
    }
    _mm512_storeu_si512(c + r * row, reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(held[r][1], held[r][0])));
  }
}

float sum_lanes(__m512 lanes) {
  using Quarter [[gnu::vector_size(16)]] = float;
  Quarter part[4];
  __builtin_memcpy(part, &lanes, sizeof part);
  const Quarter held = (part[0] + part[2]) + (part[1] + part[3]);
  return (held[0] + held[2]) + (held[1] + held[3]);
}

// Some rows of a times some rows of b: sums of pairs along both.
template <int Rows, int Columns>
void multiply_some(const FewRows& p, int64_t column) {
  const auto* a = static_cast<const uint16_t*>(p.a);
  const auto* b = static_cast<const uint16_t*>(p.b) + column * p.b_row;
  __m512 held[Rows][Columns];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) held[r][j] = _mm512_setzero_ps();
  }
  const auto add = [&](auto bring, int64_t i) {
    __m512bh weights[Columns];
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) {
      weights[j] = bring(b + j * p.b_row + i);
      // The same place of the rows that come next: short rows beside one another are no pattern that processors see by themselves.
      __builtin_prefetch(b + (Columns + j) * p.b_row + i, 0, 2);
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const __m512bh line = bring(a + r * p.a_row + i);
#pragma GCC unroll 8
      for (int j = 0; j < Columns; ++j) held[r][j] = _mm512_dpbf16_ps(held[r][j], line, weights[j]);
    }
  };
  int64_t i = 0;
  for (; i + kStep <= p.depth; i += kStep) add([](const uint16_t* from) { return pairs_at(from); }, i);
  if (i < p.depth) {
    const __mmask32 there = (uint32_t{1} << (p.depth - i)) - 1;
    add([there](const uint16_t* from) { return reinterpret_cast<__m512bh>(_mm512_maskz_loadu_epi16(there, from)); }, i);
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) {
      const int64_t place = r * p.c_row + (column + j) * p.c_column;
      float sum = p.alpha * sum_lanes(held[r][j]);
      if (p.float_c) {
        float& c = static_cast<float*>(p.c)[place];
        c = p.beta != 0 ? sum + p.beta * c : sum;
      } else {
        uint16_t& c = static_cast<uint16_t*>(p.c)[place];
        if (p.beta != 0) sum += p.beta * from_bfloat16(c);
        c = to_bfloat16(sum);
      }
    }
  }
}

template <int Rows>
void multiply_rows(const FewRows& p) {
  constexpr int kColumns = Rows == 1 ? 8 : Rows <= 5 ? 4 : 3;
  int64_t column = 0;
  for (; column + kColumns <= p.columns; column += kColumns) multiply_some<Rows, kColumns>(p, column);
  for (; column < p.columns; ++column) multiply_some<Rows, 1>(p, column);
}

}  // namespace

void multiply_few_pairs(const FewRows& p) {
  using Multiply = void (*)(const FewRows&);
  static constexpr Multiply all[kMostFewRows] = {multiply_rows<1>, multiply_rows<2>, multiply_rows<3>,
                                                 multiply_rows<4>, multiply_rows<5>, multiply_rows<6>,
                                                 multiply_rows<7>, multiply_rows<8>};
  all[p.rows - 1](p);
}

MultiplyPairs multiply_pairs_of(int64_t rows) {
  static constexpr MultiplyPairs all[kMostPairRows] = {
      multiply_panel<1>, multiply_panel<2>,  multiply_panel<3>,  multiply_panel<4>,
      multiply_panel<5>, multiply_panel<6>,  multiply_panel<7>,  multiply_panel<8>,
      multiply_panel<9>, multiply_panel<10>, multiply_panel<11>, multiply_panel<12>,
  };
  return all[rows - 1];
}

RoundPairs round_pairs_of(int64_t rows) {
  static constexpr RoundPairs all[kMostPairRows] = {
      round_panel<1>, round_panel<2>, round_panel<3>, round_panel<4>,  round_panel<5>,  round_panel<6>,
      round_panel<7>, round_panel<8>, round_panel<9>, round_panel<10>, round_panel<11>, round_panel<12>,
  };
  return all[rows - 1];
}

}  // namespace infiniop::cpu
#endif
