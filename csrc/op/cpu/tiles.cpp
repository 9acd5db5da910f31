// Compiled once for each instruction set, with INFINIOP_TILES naming the table.
#include "op/cpu/tiles.h"

#include <type_traits>
#include <utility>

#include "op/cpu/registers.h"
#include "op/cpu/turn.h"
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

// Two BF16 as they lie in memory, at any address that one may have.
typedef uint32_t BfloatPair __attribute__((may_alias, aligned(2)));
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first of a pair is its lower half");
[[maybe_unused]] inline float first_bfloat16(uint32_t pair) { return float_of(pair << 16); }
[[maybe_unused]] inline float second_bfloat16(uint32_t pair) { return float_of(pair & 0xFFFF0000u); }
[[maybe_unused]] inline uint32_t bfloat_pair(float first, float second) {
  return round_bfloats(first) >> 16 | (round_bfloats(second) & 0xFFFF0000u);
}

// An attribute; if it is not a number, the one that rounding to BF16 leaves so, whatever its bits were.
[[maybe_unused]] inline float quiet_number(double value) {
  return value != value ? float_of(0x7FC00000u) : number_as<float>(value);
}

#include "infiniop/generated/maps.inc"

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
// Comparisons are such that what is not a number comes through, and in `better` that it does not.
struct MaxOf {
  template <class T>
  static T better(const T& all, const T& next) {
    return next > all ? next : all;
  }
  template <class T>
  static constexpr T kOfNothing = number_as<T>(-__builtin_huge_val());
  template <class T>
  static void add(T& all, const T& next) {
    all = (all > next) | (all != all) ? all : next;
  }
};
struct MinOf {
  template <class T>
  static T better(const T& all, const T& next) {
    return next < all ? next : all;
  }
  template <class T>
  static constexpr T kOfNothing = number_as<T>(__builtin_huge_val());
  template <class T>
  static void add(T& all, const T& next) {
    all = (all < next) | (all != all) ? all : next;
  }
};

template <class How>
constexpr bool kIsExtreme = std::is_same_v<How, MaxOf> || std::is_same_v<How, MinOf>;
template <class How>
struct BetterOf {
  template <class T>
  static void add(T& all, const T& next) {
    all = How::better(all, next);
  }
};

// 64 bytes in as many vectors as the instruction set needs for them: compilers keep larger ones than its own in memory. Results do not depend on how many
// there are.
constexpr int kParts = 64 / kVectorBytes;
template <class T>
struct Line {
  static constexpr size_t kLanes = 64 / sizeof(T);
  Vector<T> part[kParts];

  static Line of(T value) {
    Line line;
#pragma GCC unroll 4
    for (auto& each : line.part) each = value - Vector<T>{};
    return line;
  }
  template <class How>
  void add(const Line& next) {
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) How::add(part[p], next.part[p]);
  }
  template <class How>
  void add(const T* from) {
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) How::add(part[p], load_vector(from + p * VectorOf<T>::kLanes));
  }
  // The upper half of the lanes into the lower one, until there is one.
  template <class How>
  T fold() {
    if constexpr (kParts == 4) {
      How::add(part[0], part[2]);
      How::add(part[1], part[3]);
    }
    if constexpr (kParts >= 2) How::add(part[0], part[1]);
    return fold_lanes<How>(part[0], std::make_integer_sequence<int, VectorOf<T>::kLanes>());
  }

 private:
  // All lanes are added to those half of a row of them away, which is as quick as the first half alone.
  template <class How, int... Lane>
  static T fold_lanes(Vector<T> held, std::integer_sequence<int, Lane...>) {
    using Index = std::conditional_t<sizeof(T) == 8, int64_t, std::conditional_t<sizeof(T) == 4, int32_t, int8_t>>;
    constexpr int kCount = sizeof...(Lane);
    const auto fold_by = [&]<int Distance>(std::integral_constant<int, Distance>) {
      if constexpr (Distance < kCount && Distance > 0) {
        const Vector<Index> order = {static_cast<Index>((Lane + Distance) % kCount)...};
        How::add(held, __builtin_shuffle(held, order));
      }
    };
    fold_by(std::integral_constant<int, 32>());
    fold_by(std::integral_constant<int, 16>());
    fold_by(std::integral_constant<int, 8>());
    fold_by(std::integral_constant<int, 4>());
    fold_by(std::integral_constant<int, 2>());
    fold_by(std::integral_constant<int, 1>());
    return held[0];
  }
};

// Four lines of 64 bytes: as many chains as it takes to hide how long an addition takes.
template <class T>
struct Lines {
  static constexpr size_t kCount = 4, kStep = kCount * Line<T>::kLanes;
  Line<T> line[kCount];

  template <class How>
  T fold() {
    line[0].template add<How>(line[1]);
    line[2].template add<How>(line[3]);
    line[0].template add<How>(line[2]);
    return line[0].template fold<How>();
  }
};

// The largest or the smallest of floats. Comparing without a thought of what is not a number is one instruction, and keeping such a one beside it two that
// nothing waits for.
template <class T, class How>
T extreme_of(size_t count, const T* from) {
  using Better = BetterOf<How>;
  constexpr size_t kLanes = Line<T>::kLanes;
  const auto nothing = Line<T>::of(How::template kOfNothing<T>);
  Lines<T> held = {{nothing, nothing, nothing, nothing}};
  Line<T> no_number = {};
  const auto add_line = [&](Line<T>& line, size_t at) {
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) {
      const auto next = load_vector(from + at + p * VectorOf<T>::kLanes);
      Better::add(line.part[p], next);
      no_number.part[p] = next != next ? next : no_number.part[p];
    }
  };
  size_t i = 0;
  for (; i + Lines<T>::kStep <= count; i += Lines<T>::kStep) {
#pragma GCC unroll 4
    for (size_t l = 0; l < Lines<T>::kCount; ++l) add_line(held.line[l], i + l * kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) add_line(held.line[0], i);
  T all = held.template fold<Better>(), rest = How::template kOfNothing<T>;
  for (; i < count; ++i) How::add(rest, from[i]);
  How::add(all, rest);
  const T strange = no_number.template fold<SumOf>();
  return strange != strange ? strange : all;
}

// The order depends on the count alone.
template <class T, class How>
double reduce_tile(size_t count, const void* in) {
  const auto* from = static_cast<const T*>(in);
  if constexpr (kIsExtreme<How> && std::is_floating_point_v<T>) return as_row_number(extreme_of<T, How>(count, from));
  constexpr size_t kLanes = Line<T>::kLanes;
  const auto nothing = Line<T>::of(How::template kOfNothing<T>);
  Lines<T> held = {{nothing, nothing, nothing, nothing}};
  size_t i = 0;
  for (; i + Lines<T>::kStep <= count; i += Lines<T>::kStep) {
#pragma GCC unroll 4
    for (size_t l = 0; l < Lines<T>::kCount; ++l) held.line[l].template add<How>(from + i + l * kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) held.line[0].template add<How>(from + i);
  T all = held.template fold<How>(), rest = How::template kOfNothing<T>;
  for (; i < count; ++i) How::add(rest, from[i]);
  How::add(all, rest);
  return as_row_number(all);
}

// The sum of what `term` makes of an element of each of `from`, where that is arithmetic that vectors have, too. As if the terms of a tile had been written
// down, and reduced after that.
template <class T, class Term, class... From>
double sum_terms(size_t count, Term term, const From*... from) {
  constexpr size_t kLanes = Line<T>::kLanes;
  Lines<T> held = {};
  const auto add_line = [&](Line<T>& line, size_t at) {
#pragma GCC unroll 4
    for (int p = 0; p < kParts; ++p) line.part[p] += term(load_vector(from + at + p * VectorOf<T>::kLanes)...);
  };
  size_t i = 0;
  for (; i + Lines<T>::kStep <= count; i += Lines<T>::kStep) {
#pragma GCC unroll 4
    for (size_t l = 0; l < Lines<T>::kCount; ++l) add_line(held.line[l], i + l * kLanes);
  }
  for (; i + kLanes <= count; i += kLanes) add_line(held.line[0], i);
  T rest = 0;
  for (; i < count; ++i) rest += term(from[i]...);
  return as_row_number<T>(held.template fold<SumOf>() + rest);
}

#include "infiniop/generated/rows.inc"

// The sum of BF16: of each pair of elements, 32 bits, the first ones and the second ones are vectors of floats as they are.
double sum_bfloat(size_t count, const void* in) {
  const auto* from = static_cast<const uint16_t*>(in);
  constexpr int kPairs = VectorOf<uint32_t>::kLanes;
  Line<float> held[4] = {};
  size_t i = 0;
  for (; i + 64 <= count; i += 64) {
#pragma GCC unroll 2
    for (size_t l = 0; l < 2; ++l) {
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) {
        Vector<uint32_t> pairs;
        __builtin_memcpy(&pairs, from + i + 32 * l + 2 * kPairs * p, sizeof pairs);
        held[2 * l].part[p] += reinterpret_cast<Vector<float>>(pairs << 16);
        held[2 * l + 1].part[p] += reinterpret_cast<Vector<float>>(pairs & 0xFFFF0000u);
      }
    }
  }
  held[0].add<SumOf>(held[1]);
  held[2].add<SumOf>(held[3]);
  held[0].add<SumOf>(held[2]);
  const float all = held[0].fold<SumOf>();
  float rest = 0;
  for (; i < count; ++i) rest += from_bfloat16(from[i]);
  return static_cast<double>(all + rest);
}

// A reduction of a row of few floats: one vector is enough, and its lanes are folded where they are.
template <class T, class How>
[[gnu::always_inline]] inline T reduce_short(size_t count, const T* from) {
  static_assert(sizeof(T) == 4);
  constexpr size_t kLanes = Line<T>::kLanes, kFew = 64;
  if constexpr (kIsExtreme<How>) return extreme_of<T, How>(count, from);
  if (count > kFew) return static_cast<T>(reduce_tile<T, How>(count, from));
  auto held = Line<T>::of(How::template kOfNothing<T>);
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) held.template add<How>(from + i);
  T all = held.template fold<How>(), rest = How::template kOfNothing<T>;
  if (i == count) return all;
  for (; i < count; ++i) How::add(rest, from[i]);
  How::add(all, rest);
  return all;
}

// Asks for a row that comes later, and for the place of the results of one that is computed with: of rows one after the other in memory each step would
// either wait for it or compute. Always inline: gcc takes a function that only asks for memory for one without effect.
[[gnu::always_inline]] inline void ask_for_row(const float* next, float* to, size_t length) {
  constexpr size_t kLine = 64 / sizeof(float);
  for (size_t i = 0; i < length; i += kLine) {
    __builtin_prefetch(next + i, 0, 2);
    __builtin_prefetch(to + i, 1, 2);
  }
}

#include "infiniop/generated/short_rows.inc"

// Four rows by as many columns as stay in registers.
template <class T>
void multiply_tile(int64_t m, int64_t n, int64_t k, const void* a_data, const void* b_data, void* sum_data) {
  const auto *a = static_cast<const T*>(a_data), *b = static_cast<const T*>(b_data);
  auto* sum = static_cast<T*>(sum_data);
  constexpr int kRows = 4, kLanes = VectorOf<T>::kLanes, kVectors = kParts, kColumns = kVectors * kLanes;
  int64_t row = 0;
  for (; row + kRows <= m; row += kRows) {
    int64_t column = 0;
    for (; column + kColumns <= n; column += kColumns) {
      Vector<T> held[kRows][kVectors] = {};
      for (int64_t i = 0; i < k; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          const Vector<T> line = load_vector(b + i * n + column + v * kLanes);
#pragma GCC unroll 4
          for (int r = 0; r < kRows; ++r) held[r][v] += a[(row + r) * k + i] * line;
        }
      }
      for (int r = 0; r < kRows; ++r) {
        for (int j = 0; j < kColumns; ++j) sum[(row + r) * n + column + j] += held[r][j / kLanes][j % kLanes];
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

void fill_lines(size_t bytes, void* out, const void* line, bool asks) {
  constexpr size_t kAhead = 1024;
  Vector<char> held[kFillLine / kVectorBytes];
  __builtin_memcpy(held, line, sizeof held);
  auto* to = static_cast<char*>(out);
  const auto put_line = [&](size_t at) {
#pragma GCC unroll 4
    for (size_t v = 0; v < kFillLine / kVectorBytes; ++v)
      __builtin_memcpy(to + at + v * kVectorBytes, &held[v], kVectorBytes);
  };
  size_t at = 0;
  if (asks && bytes > kAhead) {
    for (; at + kFillLine <= bytes - kAhead; at += kFillLine) {
      __builtin_prefetch(to + at + kAhead, 1);
      put_line(at);
    }
  } else {
    // Four lines at a time: on AMD's Zen 5 a tenth faster than one by one, where memory is what takes time.
    for (; at + 4 * kFillLine <= bytes; at += 4 * kFillLine) {
      put_line(at);
      put_line(at + kFillLine);
      put_line(at + 2 * kFillLine);
      put_line(at + 3 * kFillLine);
    }
  }
  for (; at + kFillLine <= bytes; at += kFillLine) put_line(at);
  __builtin_memcpy(to + at, line, bytes - at);
}

// Always inline, so that lengths that are known are.
[[gnu::always_inline]] inline void copy_row(char* to, const char* from, size_t bytes) {
  using Half [[gnu::vector_size(32)]] = char;
  size_t at = 0;
#pragma GCC unroll 8
  for (; at + 64 <= bytes; at += 64) {
    Half first, second;
    __builtin_memcpy(&first, from + at, 32);
    __builtin_memcpy(&second, from + at + 32, 32);
    __builtin_memcpy(to + at, &first, 32);
    __builtin_memcpy(to + at + 32, &second, 32);
  }
  if (at != bytes) __builtin_memcpy(to + at, from + at, bytes - at);
}

void copy_rows(const RowsToCopy& rows) {
  const RowsToCopy r = rows;  // which nothing that is written can change
  const auto copy = [&](size_t bytes) __attribute__((always_inline)) {
    for (int64_t plane = 0; plane < r.planes; ++plane) {
      char* to = r.to + plane * r.to_plane;
      const char* from = r.from + plane * r.from_plane;
      for (int64_t row = 0; row < r.rows; ++row, to += r.to_step, from += r.from_step) copy_row(to, from, bytes);
    }
  };
  // The heads of most models.
  switch (r.bytes) {
    case 128:
      return copy(128);
    case 256:
      return copy(256);
    case 512:
      return copy(512);
    default:
      return copy(r.bytes);
  }
}

// Turned side by side first, and each line at once to where it belongs: where distances are powers of two all of them share the same few places of the
// cache, and would leave it half written.
template <class Element>
void turn_squares(int64_t squares, char* to, int64_t to_step, const char* from, int64_t from_step) {
  constexpr int kSize = sizeof(Element), kSide = kSquareRow / kSize, kCount = 16 / kSize;
  using Part [[gnu::vector_size(16)]] = Element;
  alignas(64) char turned[kSide][kSquareRow];
  for (int64_t square = 0; square < squares; ++square, to += kSquareRow, from += kSide * from_step) {
    for (int i = 0; i < kSide; i += kCount) {
      for (int j = 0; j < kSide; j += kCount) {
        Part rows[kCount];
#pragma GCC unroll 16
        for (int r = 0; r < kCount; ++r) __builtin_memcpy(&rows[r], from + (i + r) * from_step + j * kSize, 16);
        turn<Part>(rows);
#pragma GCC unroll 16
        for (int c = 0; c < kCount; ++c) __builtin_memcpy(turned[j + c] + i * kSize, &rows[c], 16);
      }
    }
    for (int j = 0; j < kSide; ++j) copy_row(to + j * to_step, turned[j], kSquareRow);
  }
}

}  // namespace

// Of the types that rows are computed in.
#define INFINIOP_REDUCE(how)                                                        \
  {reduce_tile<float, how>,   reduce_tile<double, how>,  nullptr, nullptr, nullptr, \
   reduce_tile<int64_t, how>, reduce_tile<uint8_t, how>, nullptr, nullptr, reduce_tile<uint64_t, how>}

extern const Tiles INFINIOP_TILES = {
    {INFINIOP_MAP_ROWS},
    {INFINIOP_FLOAT16_ROW},
    {INFINIOP_BFLOAT16_ROW},
    {INFINIOP_BFLOAT_PAIRS_ROW},
    {INFINIOP_ROW_LOOPS},
    {INFINIOP_ROW_TO_BFLOAT_LOOPS},
    {INFINIOP_ROW_SUMS},
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
    turn_squares<uint16_t>,
    turn_squares<uint32_t>,
};

}  // namespace infiniop::cpu
