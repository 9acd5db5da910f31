// Compiled once for each instruction set, with INFINIOP_TILES naming the table.
#include "op/cpu/tiles.h"

#include "op/expression.h"

namespace infiniop::cpu {

namespace {

// Of one row: see ReduceTile.
template <class T>
T row_number(double given) {
  if constexpr (T(0.5) != T(0)) {
    return static_cast<T>(given);
  } else {
    return static_cast<T>(__builtin_bit_cast(int64_t, given));
  }
}
template <class T>
double as_row_number(T value) {
  if constexpr (T(0.5) != T(0)) {
    return static_cast<double>(value);
  } else {
    return __builtin_bit_cast(double, static_cast<int64_t>(value));
  }
}

// A 0 that compilers do not know of: what is not a number gets quiet when it is subtracted, and they would leave the subtraction out.
[[maybe_unused]] inline float hidden_zero() {
  float zero = 0.0f;
  asm("" : "+m"(zero));
  return zero;
}

// An attribute; if it is not a number, the one that rounding to BF16 leaves so, whatever its bits were.
[[maybe_unused]] inline float quiet_number(double value) {
  return value != value ? float_of(0x7FC00000u) : number_as<float>(value);
}

#include "infiniop/generated/maps.inc"
#include "infiniop/generated/rows.inc"

template <class Out, class In, Out (*convert)(In)>
void convert_tile(size_t count, void* out, const void* in) {
  auto* to = static_cast<Out*>(out);
  const auto* from = static_cast<const In*>(in);
#pragma GCC ivdep
  for (size_t i = 0; i < count; ++i) to[i] = convert(from[i]);
}

// Reductions, of numbers and of vectors of them: `all` takes in `next`.
struct SumOf {
  template <class T>
  static constexpr T kOfNothing = T(0);
  template <class T>
  static void add(T& all, const T& next) {
    all = static_cast<T>(all + next);
  }
};
struct ProdOf {
  template <class T>
  static constexpr T kOfNothing = T(1);
  template <class T>
  static void add(T& all, const T& next) {
    all = static_cast<T>(all * next);
  }
};
// Comparisons are such that what is not a number comes through.
struct MaxOf {
  template <class T>
  static constexpr T kOfNothing = number_as<T>(-__builtin_huge_val());
  template <class T>
  static void add(T& all, const T& next) {
    all = (all > next) | (all != all) ? all : next;
  }
};
struct MinOf {
  template <class T>
  static constexpr T kOfNothing = number_as<T>(__builtin_huge_val());
  template <class T>
  static void add(T& all, const T& next) {
    all = (all < next) | (all != all) ? all : next;
  }
};

// The second half of the lanes into the first, which has so many bytes.
template <class T, class How, size_t Bytes>
void fold(T* lanes) {
  using Vector [[gnu::vector_size(Bytes)]] = T;
  Vector low, high;
  __builtin_memcpy(&low, lanes, Bytes);
  __builtin_memcpy(&high, lanes + Bytes / sizeof(T), Bytes);
  How::add(low, high);
  __builtin_memcpy(lanes, &low, Bytes);
}

// In four vectors of 64 bytes: as many chains as it takes to hide how long an addition takes. The order depends on the count alone.
template <class T, class How>
double reduce_tile(size_t count, const void* in) {
  const auto* from = static_cast<const T*>(in);
  using Vector [[gnu::vector_size(64)]] = T;
  constexpr size_t kLanes = 64 / sizeof(T), kVectors = 4;
  const Vector nothing = How::template kOfNothing<T> - Vector{};
  Vector held[kVectors] = {nothing, nothing, nothing, nothing};
  size_t i = 0;
  for (; i + kVectors * kLanes <= count; i += kVectors * kLanes) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kVectors; ++v) {
      Vector next;
      __builtin_memcpy(&next, from + i + v * kLanes, sizeof next);
      How::add(held[v], next);
    }
  }
  for (; i + kLanes <= count; i += kLanes) {
    Vector next;
    __builtin_memcpy(&next, from + i, sizeof next);
    How::add(held[0], next);
  }
  How::add(held[0], held[1]);
  How::add(held[2], held[3]);
  How::add(held[0], held[2]);
  T lanes[kLanes];
  __builtin_memcpy(lanes, &held[0], sizeof lanes);
  fold<T, How, 32>(lanes);
  fold<T, How, 16>(lanes);
  for (size_t width = 8 / sizeof(T); width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) How::add(lanes[lane], lanes[lane + width]);
  }
  T rest = How::template kOfNothing<T>;
  for (; i < count; ++i) How::add(rest, from[i]);
  How::add(lanes[0], rest);
  return as_row_number(lanes[0]);
}

// The sum of BF16: of each pair of elements, 32 bits, the first ones and the second ones are vectors of floats as they are.
double sum_bfloat(size_t count, const void* in) {
  using Pairs [[gnu::vector_size(64)]] = uint32_t;
  using Vector [[gnu::vector_size(64)]] = float;
  const auto* from = static_cast<const uint16_t*>(in);
  Vector held[4] = {};
  size_t i = 0;
  for (; i + 64 <= count; i += 64) {
#pragma GCC unroll 2
    for (size_t v = 0; v < 2; ++v) {
      Pairs pairs;
      __builtin_memcpy(&pairs, from + i + 32 * v, sizeof pairs);
      const Pairs first = pairs << 16, second = pairs & 0xFFFF0000u;
      Vector next[2];
      __builtin_memcpy(&next[0], &first, sizeof first);
      __builtin_memcpy(&next[1], &second, sizeof second);
      held[2 * v] += next[0];
      held[2 * v + 1] += next[1];
    }
  }
  const Vector all = (held[0] + held[1]) + (held[2] + held[3]);
  float lanes[16];
  __builtin_memcpy(lanes, &all, sizeof lanes);
  for (size_t width = 8; width > 0; width /= 2) {
    for (size_t lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  float rest = 0;
  for (; i < count; ++i) rest += from_bfloat16(from[i]);
  return static_cast<double>(lanes[0] + rest);
}

// A reduction of a row of few floats: one vector is enough, and its lanes are folded where they are.
template <class T, class How>
[[gnu::always_inline]] inline T reduce_short(size_t count, const T* from) {
  static_assert(sizeof(T) == 4);
  using Vector [[gnu::vector_size(64)]] = T;
  using Order [[gnu::vector_size(64)]] = int32_t;
  constexpr size_t kLanes = 16, kFew = 64;
  if (count > kFew) return static_cast<T>(reduce_tile<T, How>(count, from));
  Vector held = How::template kOfNothing<T> - Vector{};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Vector next;
    __builtin_memcpy(&next, from + i, sizeof next);
    How::add(held, next);
  }
  const Order by_8 = {8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7};
  const Order by_4 = {4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3};
  const Order by_2 = {2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1};
  const Order by_1 = {1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0};
  How::add(held, __builtin_shuffle(held, by_8));
  How::add(held, __builtin_shuffle(held, by_4));
  How::add(held, __builtin_shuffle(held, by_2));
  How::add(held, __builtin_shuffle(held, by_1));
  T all = held[0], rest = How::template kOfNothing<T>;
  if (i == count) return all;
  for (; i < count; ++i) How::add(rest, from[i]);
  How::add(all, rest);
  return all;
}

#include "infiniop/generated/short_rows.inc"

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

void fill_lines(size_t bytes, void* out, const void* line) {
  using Line [[gnu::vector_size(kFillLine)]] = char;
  Line held;
  __builtin_memcpy(&held, line, sizeof held);
  auto* to = static_cast<char*>(out);
  size_t at = 0;
  for (; at + kFillLine <= bytes; at += kFillLine) __builtin_memcpy(to + at, &held, sizeof held);
  __builtin_memcpy(to + at, line, bytes - at);
}

void copy_rows(int64_t rows, size_t bytes, char* to, int64_t to_step, const char* from, int64_t from_step) {
  using Half [[gnu::vector_size(32)]] = char;
  for (int64_t row = 0; row < rows; ++row, to += to_step, from += from_step) {
    size_t at = 0;
    for (; at + 64 <= bytes; at += 64) {
      Half first, second;
      __builtin_memcpy(&first, from + at, 32);
      __builtin_memcpy(&second, from + at + 32, 32);
      __builtin_memcpy(to + at, &first, 32);
      __builtin_memcpy(to + at + 32, &second, 32);
    }
    if (at != bytes) __builtin_memcpy(to + at, from + at, bytes - at);
  }
}

}  // namespace

// Of the types that rows are computed in.
#define INFINIOP_REDUCE(how)                                                        \
  {reduce_tile<float, how>,   reduce_tile<double, how>,  nullptr, nullptr, nullptr, \
   reduce_tile<int64_t, how>, reduce_tile<uint8_t, how>, nullptr, nullptr, reduce_tile<uint64_t, how>}

extern const Tiles INFINIOP_TILES = {
    {INFINIOP_MAP_ROWS},
    {INFINIOP_NARROW_ROW},
    {INFINIOP_BFLOAT_ROW},
    {INFINIOP_ROW_LOOPS},
    {INFINIOP_SHORT_ROWS},
    {INFINIOP_REDUCE(SumOf), INFINIOP_REDUCE(MaxOf), INFINIOP_REDUCE(MinOf), INFINIOP_REDUCE(ProdOf)},
    sum_bfloat,
    convert_tile<float, uint8_t, from_float8>,
    convert_tile<float, uint16_t, from_float16>,
    convert_tile<float, uint16_t, from_bfloat16>,
    convert_tile<uint8_t, float, to_float8>,
    convert_tile<uint16_t, float, to_float16>,
    convert_tile<uint16_t, float, to_bfloat16>,
    multiply_tile<float>,
    multiply_tile<double>,
    fill_lines,
    copy_rows,
};

}  // namespace infiniop::cpu
