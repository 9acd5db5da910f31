// What tiles of BF16 are multiplied with: panels of 32 columns, in whose lines each column has a lane of two elements of the depth. Behind the last
// column and the end of the depth are zeros, up to whole tiles.
#pragma once

#ifdef INFINIOP_TILE_REGISTERS
#include <immintrin.h>

#include <cstdint>

#include "op/cpu/bfloat_tiles.h"
#include "op/cpu/turn.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

inline int64_t whole(int64_t count, int64_t part) { return (count + part - 1) / part * part; }

// Lanes for so much depth.
inline int64_t lines_for(int64_t depth) { return whole((depth + 1) / 2, kTileLanes); }

// The first 32 elements, `step` apart, of which `count` are there.
[[gnu::always_inline]] inline __m512i lanes_at(const uint16_t* from, int64_t step, int64_t count) {
  constexpr int64_t kElements = 2 * kTileLanes;
  if (step == 1 && count >= kElements) return _mm512_loadu_si512(from);
  const int64_t some = count < kElements ? count : kElements;
  if (step == 1) return _mm512_maskz_loadu_epi16((__mmask32{1} << some) - 1, from);
  uint16_t elements[kElements] = {};
  for (int64_t i = 0; i < some; ++i) elements[i] = from[i * step];
  return _mm512_loadu_si512(elements);
}

// Columns that lie along memory, or have `step` between their elements: `at(j)` is where column j begins. Panels begin `panel_step` floats after
// each other.
template <class At>
void columns_as_panels(const At& at, int64_t columns, int64_t step, int64_t depth, int64_t panel_step, float* to) {
  using Lanes [[gnu::vector_size(64)]] = int32_t;
  const int64_t lines = lines_for(depth);
  for (int64_t first = 0; first < whole(columns, kTileColumns); first += kTileLanes) {
    float* panel = to + first / kTileColumns * panel_step + first % kTileColumns;
    for (int64_t i = 0; i < lines; i += kTileLanes) {
      Lanes rows[kTileLanes];
#pragma GCC unroll 16
      for (int r = 0; r < kTileLanes; ++r) {
        const bool is_there = first + r < columns;
        rows[r] = reinterpret_cast<Lanes>(is_there ? lanes_at(at(first + r) + 2 * i * step, step, depth - 2 * i)
                                                   : _mm512_setzero_si512());
      }
      turn<Lanes>(rows);
#pragma GCC unroll 16
      for (int r = 0; r < kTileLanes; ++r) {
        _mm512_storeu_si512(panel + (i + r) * kTileColumns, reinterpret_cast<__m512i>(rows[r]));
      }
    }
  }
}

// Lines that lie along memory, or have `step` between their elements: `at(i)` is where line i begins. False: an element is infinite or not a number.
template <class At>
bool lines_as_panels(const At& at, int64_t columns, int64_t step, int64_t depth, int64_t panel_step, float* to) {
  constexpr int64_t kAhead = 12;  // lines are in pages of their own, and those of the next ones nobody foresees
  uint16_t order[2][2 * kTileLanes];
  for (uint16_t i = 0; i < 2 * kTileLanes; ++i) {
    for (uint16_t half = 0; half < 2; ++half) {
      order[half][i] = static_cast<uint16_t>(half * kTileLanes + i / 2 + i % 2 * 2 * kTileLanes);
    }
  }
  const __m512i low = _mm512_loadu_si512(order[0]), high = _mm512_loadu_si512(order[1]);
  const __m512i sizes = _mm512_set1_epi16(0x7FFF);
  __m512i largest = _mm512_setzero_si512();
  for (int64_t i = 0; i < 2 * lines_for(depth); i += 2) {
    for (int64_t column = 0; column < whole(columns, kTileColumns); column += kTileColumns) {
      const auto line = [&](int64_t number) {
        if (number >= depth) return _mm512_setzero_si512();
        return lanes_at(at(number) + column * step, step, columns - column);
      };
      if (i + kAhead + 1 < depth) {
        __builtin_prefetch(at(i + kAhead) + column * step);
        __builtin_prefetch(at(i + kAhead + 1) + column * step);
      }
      const __m512i upper = line(i), lower = line(i + 1);
      largest = _mm512_max_epu16(largest, _mm512_and_si512(upper, sizes));
      largest = _mm512_max_epu16(largest, _mm512_and_si512(lower, sizes));
      float* pair = to + column / kTileColumns * panel_step + i / 2 * kTileColumns;
      _mm512_storeu_si512(pair, _mm512_permutex2var_epi16(upper, low, lower));
      _mm512_storeu_si512(pair + kTileLanes, _mm512_permutex2var_epi16(upper, high, lower));
    }
  }
  return _mm512_cmpge_epu16_mask(largest, _mm512_set1_epi16(0x7F80)) == 0;
}

}  // namespace
}  // namespace infiniop::cpu
#endif
