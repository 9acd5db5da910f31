// Products of matrices of 8 bits by the instruction that multiplies bytes and adds four products at once. One of the two has no sign
// there: 128 is added to the numbers of x, and 128 times the sums of the weights are taken away at the end. Sums on the way may wrap
// around; what is left fits.
#pragma once

#if defined(__AVX512F__) && defined(__x86_64__)
#define INFINIOP_VNNI
#include <immintrin.h>

#include <algorithm>
#include <cstdint>

#include "op/cpu/buffer.h"

#define INFINIOP_WITH_VNNI __attribute__((target("avx512vnni")))

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace vnni {

namespace {

constexpr int64_t kMostRows = 192, kMostColumns = 128;  // of one call
constexpr int kPanel = 32, kRows = 12;  // columns and rows that are computed together
constexpr int64_t kDepth = 1024;  // bytes of lines that are brought at a time
constexpr int64_t kFewRows = 4;  // up to so many, weights are multiplied where they lie

// Lines of bytes: `step` from one number to the next, `line` from one line to the next.
struct Lines {
  const int8_t* at;
  int64_t line, step, count;
};

bool is_there() { return __builtin_cpu_supports("avx512vnni"); }

int64_t line_of(int64_t columns) { return (columns + kPanel - 1) / kPanel * kPanel; }

// Numbers k and on of one line, with 128 added, and zeros, which are 128, behind them up to `padded`.
void bring_line(const Lines& x, int64_t row, int64_t k, int64_t depth, int64_t padded, uint8_t* to) {
  const int8_t* from = x.at + row * x.line + k * x.step;
  if (x.step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < depth; ++i) to[i] = static_cast<uint8_t>(from[i] + 128);
  } else {
    for (int64_t i = 0; i < depth; ++i) to[i] = static_cast<uint8_t>(from[i * x.step] + 128);
  }
  for (int64_t i = depth; i < padded; ++i) to[i] = 128;
}

template <int Step>
[[gnu::always_inline]] inline void exchange(__m512i (&lines)[16]) {
  using Order [[gnu::vector_size(64)]] = int32_t;
  Order low, high;
#pragma GCC unroll 16
  for (int lane = 0; lane < 16; ++lane) {
    low[lane] = lane & Step ? lane - Step + 16 : lane;
    high[lane] = lane & Step ? lane + 16 : lane + Step;
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    if (i & Step) continue;
    const auto first = reinterpret_cast<Order>(lines[i]), second = reinterpret_cast<Order>(lines[i + Step]);
    lines[i] = reinterpret_cast<__m512i>(__builtin_shuffle(first, second, low));
    lines[i + Step] = reinterpret_cast<__m512i>(__builtin_shuffle(first, second, high));
  }
}

// Up to 16 lines of 64 bytes as 16 fours of bytes of each, zeros of those that are not there.
void transpose(const int8_t* from, int64_t line, int64_t count, int8_t* to) {
  __m512i lines[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) lines[i] = i < count ? _mm512_loadu_si512(from + i * line) : _mm512_setzero_si512();
  exchange<1>(lines);
  exchange<2>(lines);
  exchange<4>(lines);
  exchange<8>(lines);
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_storeu_si512(to + i * kPanel * 4, lines[i]);
}

// A panel of weights: for each four of the depth, four bytes of each of 32 columns; zeros where there is nothing.
void bring_panel(const Lines& w, int64_t column, int64_t k, int64_t depth, int8_t* to) {
  const int64_t columns = std::min<int64_t>(kPanel, w.count - column);
  int64_t done = 0;
  if (w.step == 1) {
    for (; done + 64 <= depth; done += 64) {
      for (int half = 0; half < 2; ++half) {
        transpose(w.at + (column + half * 16) * w.line + k + done, w.line, columns - half * 16,
                  to + done * kPanel + half * 64);
      }
    }
  }
  for (; done < depth; done += 4) {
    for (int64_t j = 0; j < kPanel; ++j) {
      for (int64_t i = 0; i < 4; ++i) {
        const bool is_there = j < columns && done + i < depth;
        to[done * kPanel + j * 4 + i] =
            is_there ? w.at[(column + j) * w.line + (k + done + i) * w.step] : static_cast<int8_t>(0);
      }
    }
  }
}

// Sums of rows and a panel, added to those that are there, whose rows are `line` apart.
template <int Rows>
INFINIOP_WITH_VNNI [[gnu::noinline]] void multiply_panel(const uint8_t* x, const int8_t* panel, int64_t fours,
                                                         int32_t* sums, int64_t line) {
  __m512i held[Rows][2];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) held[r][0] = held[r][1] = _mm512_setzero_si512();
  for (int64_t i = 0; i < fours; ++i) {
    const __m512i first = _mm512_loadu_si512(panel + i * kPanel * 4);
    const __m512i second = _mm512_loadu_si512(panel + i * kPanel * 4 + 64);
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
      int32_t four;
      __builtin_memcpy(&four, x + r * kDepth + i * 4, sizeof four);
      const __m512i numbers = _mm512_set1_epi32(four);
      held[r][0] = _mm512_dpbusd_epi32(held[r][0], numbers, first);
      held[r][1] = _mm512_dpbusd_epi32(held[r][1], numbers, second);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      int32_t* place = sums + r * line + v * 16;
      _mm512_storeu_si512(place, _mm512_add_epi32(_mm512_loadu_si512(place), held[r][v]));
    }
  }
}

using Multiply = void (*)(const uint8_t*, const int8_t*, int64_t, int32_t*, int64_t);
constexpr Multiply kMultiply[kRows] = {multiply_panel<1>, multiply_panel<2>,  multiply_panel<3>,  multiply_panel<4>,
                                       multiply_panel<5>, multiply_panel<6>,  multiply_panel<7>,  multiply_panel<8>,
                                       multiply_panel<9>, multiply_panel<10>, multiply_panel<11>, multiply_panel<12>};

// A few rows times lines of weights where they lie: memory is all that costs. Sums have `line` columns.
template <int Rows>
INFINIOP_WITH_VNNI void multiply_lines(const uint8_t* x, int64_t padded, const Lines& w, int64_t depth, int32_t* sums,
                                       int64_t line) {
  constexpr int kColumns = 4;
  const __m512i shift = _mm512_set1_epi8(static_cast<char>(128));
  for (int64_t c = 0; c < w.count; c += kColumns) {
    const int8_t* from[kColumns];
    for (int j = 0; j < kColumns; ++j) from[j] = w.at + std::min(c + j, w.count - 1) * w.line;
    __m512i held[Rows][kColumns], much[kColumns];
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
      much[j] = _mm512_setzero_si512();
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) held[r][j] = _mm512_setzero_si512();
    }
    for (int64_t i = 0; i < depth; i += 64) {
      const __mmask64 there = depth - i >= 64 ? ~__mmask64{0} : (__mmask64{1} << (depth - i)) - 1;
#pragma GCC unroll 4
      for (int j = 0; j < kColumns; ++j) {
        const __m512i weights = _mm512_maskz_loadu_epi8(there, from[j] + i);
        __builtin_prefetch(from[j] + kColumns * w.line + i, 0, 2);
        much[j] = _mm512_dpbusd_epi32(much[j], shift, weights);
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) {
          held[r][j] = _mm512_dpbusd_epi32(held[r][j], _mm512_loadu_si512(x + r * padded + i), weights);
        }
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < kColumns; ++j) {
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        int32_t lanes[16], sum = 0;
        _mm512_storeu_si512(lanes, _mm512_sub_epi32(held[r][j], much[j]));
        for (const int32_t lane : lanes) sum += lane;
        if (c + j < w.count) sums[r * line + c + j] = sum;
      }
    }
  }
}

const int32_t* multiply_few(const Lines& x, const Lines& w, int64_t depth) {
  const int64_t padded = (depth + 63) / 64 * 64, line = line_of(w.count);
  char* memory = worker_buffer(static_cast<size_t>(x.count * (padded + line * 4)));
  if (!memory) return nullptr;
  auto* sums = reinterpret_cast<int32_t*>(memory);
  auto* rows = reinterpret_cast<uint8_t*>(sums + x.count * line);
  for (int64_t r = 0; r < x.count; ++r) bring_line(x, r, 0, depth, padded, rows + r * padded);
  constexpr decltype(&multiply_lines<1>) kAll[kFewRows] = {multiply_lines<1>, multiply_lines<2>, multiply_lines<3>,
                                                           multiply_lines<4>};
  kAll[x.count - 1](rows, padded, w, depth, sums, line);
  return sums;
}

// x times weights, whose lines are columns: sums of 32 bits, line_of(columns) from row to row, in memory that is this thread's until its
// next call; null: there is none.
const int32_t* multiply(const Lines& x, const Lines& w, int64_t depth) {
  if (x.count <= kFewRows && w.step == 1) return multiply_few(x, w, depth);
  const int64_t line = line_of(w.count), panels = line / kPanel;
  const int64_t panel = kDepth * kPanel;
  const int64_t bytes = x.count * line * 4 + panels * panel + (kRows + 1) * kDepth + line * 4;
  auto* memory = worker_buffer(static_cast<size_t>(bytes));
  if (!memory) return nullptr;
  auto* sums = reinterpret_cast<int32_t*>(memory);
  auto* much = sums + x.count * line;
  auto* weights = reinterpret_cast<int8_t*>(much + line);
  auto* strip = reinterpret_cast<uint8_t*>(weights + panels * panel);
  uint8_t* shift = strip + kRows * kDepth;
  std::fill(sums, much + line, 0);
  std::fill(shift, shift + kDepth, static_cast<uint8_t>(128));
  for (int64_t k = 0; k < depth; k += kDepth) {
    const int64_t some = std::min(kDepth, depth - k), fours = (some + 3) / 4;
    for (int64_t j = 0; j < panels; ++j) {
      bring_panel(w, j * kPanel, k, some, weights + j * panel);
      kMultiply[0](shift, weights + j * panel, fours, much + j * kPanel, line);
    }
    for (int64_t row = 0; row < x.count; row += kRows) {
      const int64_t rows = std::min<int64_t>(kRows, x.count - row);
      for (int64_t r = 0; r < rows; ++r) bring_line(x, row + r, k, some, fours * 4, strip + r * kDepth);
      for (int64_t j = 0; j < panels; ++j) {
        kMultiply[rows - 1](strip, weights + j * panel, fours, sums + row * line + j * kPanel, line);
      }
    }
  }
  for (int64_t r = 0; r < x.count; ++r) {
#pragma GCC ivdep
    for (int64_t c = 0; c < line; ++c) sums[r * line + c] -= much[c];
  }
  return sums;
}

}  // namespace

}  // namespace vnni

}  // namespace infiniop::cpu::INFINIOP_LEVEL

#endif
