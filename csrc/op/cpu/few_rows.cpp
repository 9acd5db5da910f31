// Compiled once for each instruction set, each time in a namespace of its own, INFINIOP_LEVEL, with products and sums contracted: how
// exact a matrix product is depends on who computes it in any case.
#include "op/cpu/few_rows.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "op/cpu/bfloat_pairs.h"
#include "op/cpu/buffer.h"
#include "op/cpu/machine.h"
#include "op/cpu/registers.h"
#include "op/cpu/tiled_product.h"
#include "op/narrow.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using Vector = VectorOf<float>::type;
constexpr int kLanes = VectorOf<float>::kLanes, kStep = 2 * kLanes;

// An element type: kStep elements as two vectors of float, in whatever order is the quickest, and single ones. Vectors go through references,
// which every instruction set agrees on.
struct Single {
  using Element = float;
  static constexpr bool kPairs = false;
  static void take(const Element* from, Vector (&to)[2]) {
    to[0] = load_vector(from);
    to[1] = load_vector(from + kLanes);
  }
  static float widen(Element x) { return x; }
  static Element narrow(float x) { return x; }
};

struct Brain {
  using Element = uint16_t;
  static constexpr bool kPairs = true;
  // Of each pair of elements, 32 bits: the first ones, then the second ones.
  static void take(const Element* from, Vector (&to)[2]) {
    using Pairs = VectorOf<uint32_t>::type;
    Pairs pairs;
    __builtin_memcpy(&pairs, from, sizeof pairs);
    const Pairs first = pairs << 16, second = pairs & 0xFFFF0000u;
    __builtin_memcpy(&to[0], &first, sizeof first);
    __builtin_memcpy(&to[1], &second, sizeof second);
  }
  static float widen(Element x) { return from_bfloat16(x); }
  static Element narrow(float x) { return to_bfloat16(x); }
};

struct Half {
  using Element = uint16_t;
  static constexpr bool kPairs = false;
  static void take(const Element* from, Vector (&to)[2]) {
#if defined(__AVX512F__)  // with a mask: of the form without one gcc warns that something is not initialised
    __m256i bits[2];
    __builtin_memcpy(bits, from, sizeof bits);
    const __m512 wide[] = {_mm512_maskz_cvtph_ps(0xFFFF, bits[0]), _mm512_maskz_cvtph_ps(0xFFFF, bits[1])};
    __builtin_memcpy(to, wide, sizeof to);
#elif defined(__F16C__) && defined(__AVX2__)
    __m128i bits[2];
    __builtin_memcpy(bits, from, sizeof bits);
    const __m256 wide[] = {_mm256_cvtph_ps(bits[0]), _mm256_cvtph_ps(bits[1])};
    __builtin_memcpy(to, wide, sizeof to);
#else
    for (int i = 0; i < kStep; ++i) to[i / kLanes][i % kLanes] = from_float16(from[i]);
#endif
  }
  static float widen(Element x) { return from_float16(x); }
  static Element narrow(float x) { return to_float16(x); }
};

// The sums of the lanes of four vectors.
void sum_lanes(const Vector (&vectors)[4], float (&sums)[4]) {
  using Quarter [[gnu::vector_size(16)]] = float;
  using Order [[gnu::vector_size(16)]] = int;
  Quarter held[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    Quarter part[kLanes / 4];
    __builtin_memcpy(part, &vectors[v], sizeof part);
#pragma GCC unroll 2
    for (int half = kLanes / 8; half > 0; half /= 2) {
#pragma GCC unroll 2
      for (int q = 0; q < half; ++q) part[q] += part[q + half];
    }
    held[v] = part[0];
  }
  const Order low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, first = {0, 1, 4, 5}, second = {2, 3, 6, 7};
  const Quarter left = __builtin_shuffle(held[0], held[1], low) + __builtin_shuffle(held[0], held[1], high);
  const Quarter right = __builtin_shuffle(held[2], held[3], low) + __builtin_shuffle(held[2], held[3], high);
  const Quarter all = __builtin_shuffle(left, right, first) + __builtin_shuffle(left, right, second);
  __builtin_memcpy(sums, &all, sizeof all);
}

// Whether there are registers for what is taken of several rows of b, besides the sums; else it is used as soon as it is there, and rows of a are
// read again for each row of b.
constexpr bool kKeepsWeights = kVectorRegisters >= 32;

// Some rows of `a`, as Type::take() gives them, `a_row` apart, times some rows of b.
template <class Type, int Rows, int Columns>
void multiply_some(const FewRows& p, const float* a, int64_t a_row, int64_t column) {
  using Element = typename Type::Element;
  const Element* b = static_cast<const Element*>(p.b) + column * p.b_row;
  constexpr int kSums = Rows * Columns;
  Vector held[(kSums + 3) / 4][4];
#pragma GCC unroll 16
  for (int s = 0; s < (kSums + 3) / 4 * 4; ++s) held[s / 4][s % 4] = Vector{};
  int64_t i = 0;
  for (; i + kStep <= p.depth; i += kStep) {
    Vector weights[Columns][2];
#pragma GCC unroll 8
    for (int j = 0; j < Columns; ++j) {
      Type::take(b + j * p.b_row + i, weights[j]);
      // The same place of the rows that come next: short rows beside one another are no pattern that processors see by themselves.
      const auto* next = reinterpret_cast<const char*>(b + (Columns + j) * p.b_row + i);
#pragma GCC unroll 2
      for (size_t line = 0; line < kStep * sizeof(Element); line += 64) __builtin_prefetch(next + line, 0, 2);
      if constexpr (!kKeepsWeights) {
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
          for (int v = 0; v < 2; ++v) {
            held[(r * Columns + j) / 4][(r * Columns + j) % 4] +=
                load_vector(a + r * a_row + i + v * kLanes) * weights[j][v];
          }
        }
      }
    }
    if constexpr (kKeepsWeights) {
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
          const Vector line = load_vector(a + r * a_row + i + v * kLanes);
#pragma GCC unroll 8
          for (int j = 0; j < Columns; ++j) {
            held[(r * Columns + j) / 4][(r * Columns + j) % 4] += line * weights[j][v];
          }
        }
      }
    }
  }
  float sums[(kSums + 3) / 4][4];
#pragma GCC unroll 4
  for (int s = 0; s < (kSums + 3) / 4; ++s) sum_lanes(held[s], sums[s]);
  for (int r = 0; r < Rows; ++r) {
    for (int j = 0; j < Columns; ++j) {
      float sum = sums[(r * Columns + j) / 4][(r * Columns + j) % 4];
      for (int64_t rest = i; rest < p.depth; ++rest) sum += a[r * a_row + rest] * Type::widen(b[j * p.b_row + rest]);
      const int64_t place = r * p.c_row + (column + j) * p.c_column;
      sum *= p.alpha;
      if (p.float_c) {
        float& c = static_cast<float*>(p.c)[place];
        c = p.beta != 0 ? sum + p.beta * c : sum;
      } else {
        Element& c = static_cast<Element*>(p.c)[place];
        if (p.beta != 0) sum += p.beta * Type::widen(c);
        c = Type::narrow(sum);
      }
    }
  }
}

// As many rows of b at a time as keep enough sums in registers to hide how long one takes.
constexpr int rows_at_a_time(int rows_of_a) {
  if (rows_of_a == 1) return 8;
  if (kKeepsWeights) return rows_of_a <= 5 ? 4 : 3;
  return rows_of_a == 2 ? 5 : 12 / rows_of_a;
}

template <class Type, int Rows>
void multiply_rows(const FewRows& p, const float* a, int64_t a_row) {
  constexpr int kColumns = rows_at_a_time(Rows);
  int64_t column = 0;
  for (; column + kColumns <= p.columns; column += kColumns) multiply_some<Type, Rows, kColumns>(p, a, a_row, column);
  for (; column < p.columns; ++column) multiply_some<Type, Rows, 1>(p, a, a_row, column);
}

// Lines of b, four at a time, into the sums of all columns: `sums` has a row for each of a, p.columns long.
template <class Type, int Rows>
void add_lines(const FewRows& p, const float* a, float* sums) {
  using Element = typename Type::Element;
  constexpr int kLines = 4;
  const auto* b = static_cast<const Element*>(p.b);
  int64_t i = 0;
  for (; i + kLines <= p.depth; i += kLines) {
    const Element* line = b + i * p.b_row;
    int64_t j = 0;
    for (; j + kStep <= p.columns; j += kStep) {
      Vector taken[kLines][2];
#pragma GCC unroll 4
      for (int l = 0; l < kLines; ++l) {
        Type::take(line + l * p.b_row + j, taken[l]);
        const auto* next = reinterpret_cast<const char*>(line + (kLines + l) * p.b_row + j);
        __builtin_prefetch(next, 0, 2);
        if (sizeof(Element) > 2) __builtin_prefetch(next + 64, 0, 2);
      }
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < 2; ++v) {
          Vector sum;
          float* place = sums + r * p.columns + j + v * kLanes;
          __builtin_memcpy(&sum, place, sizeof sum);
#pragma GCC unroll 4
          for (int l = 0; l < kLines; ++l) sum += a[r * p.depth + i + l] * taken[l][v];
          __builtin_memcpy(place, &sum, sizeof sum);
        }
      }
    }
    for (; j < p.columns; ++j) {
      for (int r = 0; r < Rows; ++r) {
        for (int l = 0; l < kLines; ++l)
          sums[r * p.columns + j] += a[r * p.depth + i + l] * Type::widen(line[l * p.b_row + j]);
      }
    }
  }
  for (; i < p.depth; ++i) {
    for (int r = 0; r < Rows; ++r) {
      // In the order in which Type::take() leaves elements.
      int64_t j = 0;
      for (; j + kStep <= p.columns; j += kStep) {
        Vector taken[2];
        Type::take(b + i * p.b_row + j, taken);
        for (int v = 0; v < 2; ++v) {
          for (int lane = 0; lane < kLanes; ++lane)
            sums[r * p.columns + j + v * kLanes + lane] += a[r * p.depth + i] * taken[v][lane];
        }
      }
      for (; j < p.columns; ++j) sums[r * p.columns + j] += a[r * p.depth + i] * Type::widen(b[i * p.b_row + j]);
    }
  }
}

// Which column the sum at a place belongs to: of pairs, Brain::take() gives the first ones, then the second ones.
template <class Type>
int64_t column_of(int64_t place, int64_t columns) {
  if constexpr (!Type::kPairs) return place;
  const int64_t group = place / kStep * kStep, at = place - group;
  if (group + kStep > columns) return place;
  return group + 2 * (at % kLanes) + at / kLanes;
}

template <class Type>
bool multiply_across(const FewRows& p) {
  using Element = typename Type::Element;
  const int64_t rows = p.rows;
  auto* a = reinterpret_cast<float*>(worker_buffer(sizeof(float) * static_cast<size_t>(rows * (p.depth + p.columns))));
  if (!a) return false;
  float* sums = a + rows * p.depth;
  const auto* from = static_cast<const Element*>(p.a);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t i = 0; i < p.depth; ++i) a[r * p.depth + i] = Type::widen(from[r * p.a_row + i]);
  }
  for (int64_t i = 0; i < rows * p.columns; ++i) sums[i] = 0;
  using Add = void (*)(const FewRows&, const float*, float*);
  static constexpr Add all[] = {add_lines<Type, 1>, add_lines<Type, 2>, add_lines<Type, 3>, add_lines<Type, 4>,
                                add_lines<Type, 5>, add_lines<Type, 6>, add_lines<Type, 7>, add_lines<Type, 8>};
  all[rows - 1](p, a, sums);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t place = 0; place < p.columns; ++place) {
      Element* c = static_cast<Element*>(p.c) + r * p.c_row + column_of<Type>(place, p.columns) * p.c_column;
      float sum = p.alpha * sums[r * p.columns + place];
      if (p.beta != 0) sum += p.beta * Type::widen(*c);
      *c = Type::narrow(sum);
    }
  }
  return true;
}

// A row of floats in the order in which Type::take() leaves elements.
template <class Type>
void put_in_order(const float* from, int64_t depth, float* to) {
  int64_t i = 0;
  for (; Type::kPairs && i + kStep <= depth; i += kStep) {
    for (int lane = 0; lane < kLanes; ++lane) to[i + lane] = from[i + 2 * lane];
    for (int lane = 0; lane < kLanes; ++lane) to[i + kLanes + lane] = from[i + 2 * lane + 1];
  }
  for (; i < depth; ++i) to[i] = from[i];
}

template <class Type>
bool multiply(const FewRows& p) {
  if (p.across) return multiply_across<Type>(p);
  using Multiply = void (*)(const FewRows&, const float*, int64_t);
  static constexpr Multiply all[] = {multiply_rows<Type, 1>, multiply_rows<Type, 2>, multiply_rows<Type, 3>,
                                     multiply_rows<Type, 4>, multiply_rows<Type, 5>, multiply_rows<Type, 6>,
                                     multiply_rows<Type, 7>, multiply_rows<Type, 8>};
  const auto* from = static_cast<const typename Type::Element*>(p.a);
  if constexpr (sizeof(typename Type::Element) == sizeof(float)) {
    all[p.rows - 1](p, from, p.a_row);
  } else {
    auto* a = reinterpret_cast<float*>(worker_buffer(sizeof(float) * static_cast<size_t>(p.rows * p.depth)));
    if (!a) return false;
    for (int64_t r = 0; r < p.rows; ++r) {
      if (p.float_a) {
        put_in_order<Type>(static_cast<const float*>(p.a) + r * p.a_row, p.depth, a + r * p.depth);
        continue;
      }
      int64_t i = 0;
      for (; i + kStep <= p.depth; i += kStep) {
        Vector taken[2];
        Type::take(from + r * p.a_row + i, taken);
        __builtin_memcpy(a + r * p.depth + i, taken, sizeof taken);
      }
      for (; i < p.depth; ++i) a[r * p.depth + i] = Type::widen(from[r * p.a_row + i]);
    }
    all[p.rows - 1](p, a, p.depth);
  }
  return true;
}

#ifdef INFINIOP_TILE_REGISTERS
// With fewer, memory is all that costs in any case.
constexpr int64_t kFewestTileRows = 2;
#endif

#ifdef INFINIOP_PAIRS
bool multiply_pairs(const FewRows& p) {
  if (!p.float_a) return multiply_few_pairs(p), true;
  auto* a = reinterpret_cast<uint16_t*>(worker_buffer(sizeof(uint16_t) * static_cast<size_t>(p.rows * p.depth)));
  if (!a) return false;
  for (int64_t r = 0; r < p.rows; ++r) {
    const float* from = static_cast<const float*>(p.a) + r * p.a_row;
    for (int64_t i = 0; i < p.depth; ++i) a[r * p.depth + i] = to_bfloat16(from[i]);
  }
  FewRows rounded = p;
  rounded.a = a;
  rounded.a_row = p.depth;
  rounded.float_a = false;
  multiply_few_pairs(rounded);
  return true;
}
#endif

}  // namespace

const MultiplyFewRows multiply_few_rows = [](const FewRows& p) {
  if (p.dtype == INFINI_DTYPE_F32) return multiply<Single>(p);
#ifdef INFINIOP_PAIRS
#ifdef INFINIOP_TILE_REGISTERS
  if (p.dtype == INFINI_DTYPE_BF16 && !p.across && p.rows >= kFewestTileRows && p.float_a == p.float_c &&
      multiplies_tiles()) {
    return multiply_tiled({p.dtype, p.float_a, p.rows, p.columns, p.depth, p.a, p.b, p.c, p.a_row, 1, 1, p.b_row,
                           p.c_row, p.c_column, p.alpha, p.beta});
  }
#endif
  if (p.dtype == INFINI_DTYPE_BF16 && !p.across && multiplies_pairs()) return multiply_pairs(p);
#endif
  return p.dtype == INFINI_DTYPE_BF16 ? multiply<Brain>(p) : multiply<Half>(p);
};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
