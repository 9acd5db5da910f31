// Rows of queries against the keys that they see, block by block, so that no more than a block of scores is ever there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#ifdef __F16C__
#include <immintrin.h>
#endif

#include "op/cpu/buffer.h"
#include "op/cpu/panels.h"
#include "op/cpu/registers.h"
#include "op/cpu/written/attention.h"
#include "op/expression.h"

namespace infiniop::cpu::INFINIOP_LEVEL {
namespace {

// All lanes into the first, half of them at a time: one after the other each would wait for the one before.
template <int Lanes, class C>
inline C sum_of(C (&lanes)[Lanes]) {
  if constexpr (Lanes == 1) {
    return lanes[0];
  } else {
    C half[Lanes / 2];
    for (int l = 0; l < Lanes / 2; ++l) half[l] = lanes[l] + lanes[l + Lanes / 2];
    return sum_of<Lanes / 2>(half);
  }
}
template <int Lanes, class C>
inline C largest_of(C (&lanes)[Lanes]) {
  if constexpr (Lanes == 1) {
    return lanes[0];
  } else {
    C half[Lanes / 2];
    for (int l = 0; l < Lanes / 2; ++l) half[l] = lanes[l] > lanes[l + Lanes / 2] ? lanes[l] : lanes[l + Lanes / 2];
    return largest_of<Lanes / 2>(half);
  }
}

// Eight elements as float, or sixteen. They go through references, which every instruction set agrees on.
using Floats [[gnu::vector_size(32)]] = float;
template <class Vector>
struct BitsOf {
  using Narrow [[gnu::vector_size(16)]] = uint16_t;
  using Wide [[gnu::vector_size(32)]] = uint32_t;
};
#ifdef __AVX512F__
using MostFloats [[gnu::vector_size(64)]] = float;
template <>
struct BitsOf<MostFloats> {
  using Narrow [[gnu::vector_size(32)]] = uint16_t;
  using Wide [[gnu::vector_size(64)]] = uint32_t;
};
#else
using MostFloats = Floats;
#endif

template <class Vector>
inline constexpr int kLanesOf = sizeof(Vector) / sizeof(float);

template <class Vector>
inline void take(const float* from, Vector& to) {
  __builtin_memcpy(&to, from, sizeof to);
}
template <class Vector>
inline void take(const BFloat16* from, Vector& to) {
  typename BitsOf<Vector>::Narrow bits;
  __builtin_memcpy(&bits, from, sizeof bits);
  const auto wide = __builtin_convertvector(bits, typename BitsOf<Vector>::Wide) << 16;
  __builtin_memcpy(&to, &wide, sizeof to);
}
template <class Vector>
inline void take(const Float16* from, Vector& to) {
#ifdef __F16C__
#pragma GCC unroll 2
  for (int i = 0; i < kLanesOf<Vector>; i += 8) {
    __m128i bits;
    __builtin_memcpy(&bits, from + i, sizeof bits);
    const __m256 wide = _mm256_cvtph_ps(bits);
    __builtin_memcpy(reinterpret_cast<char*>(&to) + i * sizeof(float), &wide, sizeof wide);
  }
#else
  for (int i = 0; i < kLanesOf<Vector>; ++i) to[i] = widen(from[i]);
#endif
}

// The sums of the lanes of four vectors.
template <class Vector>
inline void sum_lanes(const Vector (&vectors)[4], float* sums) {
  using Quarter [[gnu::vector_size(16)]] = float;
  using Order [[gnu::vector_size(16)]] = int;
  constexpr int kParts = kLanesOf<Vector> / 4;
  Quarter held[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    Quarter part[kParts];
    __builtin_memcpy(part, &vectors[v], sizeof part);
    held[v] = part[0] + part[1];
    if constexpr (kParts == 4) held[v] += part[2] + part[3];
  }
  const Order low = {0, 4, 1, 5}, high = {2, 6, 3, 7}, first = {0, 1, 4, 5}, second = {2, 3, 6, 7};
  const Quarter left = __builtin_shuffle(held[0], held[1], low) + __builtin_shuffle(held[0], held[1], high);
  const Quarter right = __builtin_shuffle(held[2], held[3], low) + __builtin_shuffle(held[2], held[3], high);
  const Quarter all = __builtin_shuffle(left, right, first) + __builtin_shuffle(left, right, second);
  __builtin_memcpy(sums, &all, sizeof all);
}

inline constexpr int kKeys = 64;  // of a block
inline constexpr int kManyKeys = 256;  // of a block of many queries, whose scores are rows of a product
static_assert(kManyKeys == kPanelDepth && kRows % kStripRows == 0);

template <class T>
class Attention {
 public:
  using C = Wide<T>;

  Attention(const KeyRows& keys, const KeyRows& values, int64_t d, int64_t e, double scale)
      : keys_(keys), values_(values), d_(d), e_(e), scale_(static_cast<C>(scale)) {}

  infinirtError_t run(const QueryRows& rows) {
    if constexpr (sizeof(C) == 4) {
      if (rows.count > kFew && d_ <= kPanelDepth) return run_many(rows);
    }
    const auto floats =
        static_cast<size_t>(rows.count * d_ + kKeys * d_ + kKeys * e_ + rows.count * e_ + rows.count * kKeys);
    auto* memory = reinterpret_cast<C*>(worker_buffer(floats * sizeof(C)));
    if (!memory) return infinirtErrorMemoryAllocation;
    query_ = memory;
    key_ = query_ + rows.count * d_;
    value_ = key_ + kKeys * d_;
    sum_ = value_ + kKeys * e_;
    score_ = sum_ + rows.count * e_;
    int64_t most = 0;
    for (int r = 0; r < rows.count; ++r) {
      most = std::max(most, rows.visible[r]);
      for (int64_t i = 0; i < d_; ++i)
        query_[r * d_ + i] = C(widen(static_cast<const T*>(rows.query[r])[i * rows.query_step])) * scale_;
      largest_[r] = -__builtin_huge_val();
      total_[r] = 0;
      std::fill(sum_ + r * e_, sum_ + (r + 1) * e_, C(0));
    }
    for (int64_t first = 0; first < most; first += kKeys) {
      const auto count = static_cast<int>(std::min<int64_t>(kKeys, most - first));
      if (!multiply(rows, first, count)) return infinirtErrorInvalidValue;
      for (int r = 0; r < rows.count; ++r) soften(rows, r, first, count);
      if (!add_values(rows.count, first, count)) return infinirtErrorInvalidValue;
    }
    for (int r = 0; r < rows.count; ++r) {
      const C factor = factor_of(total_[r]);
      for (int64_t i = 0; i < e_; ++i)
        static_cast<T*>(rows.out[r])[i * rows.out_step] = narrow<T>(sum_[r * e_ + i] * factor);
    }
    return infinirtSuccess;
  }

 private:
  // Few queries use a key as it lies in memory; many have it turned over, so that keys lie side by side.
  static constexpr int kFew = 4;

  static constexpr infiniDtype_t kDtype = __is_same(T, float)      ? INFINI_DTYPE_F32
                                          : __is_same(T, BFloat16) ? INFINI_DTYPE_BF16
                                                                   : INFINI_DTYPE_F16;

  // Many rows: scores and sums are matrix products, of panels that blocks of keys and values are brought into.
  infinirtError_t run_many(const QueryRows& rows) {
    const int64_t values_wide = (e_ + kPanelColumns - 1) / kPanelColumns * kPanelColumns;
    const int64_t floats = rows.count * (kPanelDepth + values_wide) + kManyKeys * (d_ + values_wide) +
                           kStripRows * (kManyKeys + kPanelColumns);
    auto* memory = reinterpret_cast<float*>(worker_buffer(static_cast<size_t>(floats) * sizeof(float)));
    if (!memory) return infinirtErrorMemoryAllocation;
    float *query = memory, *score = query + rows.count * kPanelDepth, *tile = score + kStripRows * kManyKeys,
          *key = tile + kStripRows * kPanelColumns, *value = key + kManyKeys * d_,
          *sum = value + kManyKeys * values_wide;
    int64_t most = 0;
    for (int r = 0; r < rows.count; ++r) {
      most = std::max(most, rows.visible[r]);
      const T* from = static_cast<const T*>(rows.query[r]);
      float* to = query + r * kPanelDepth;
      if (rows.query_step == 1) {
        for (int64_t i = 0; i < d_; ++i) to[i] = widen(from[i]) * scale_;
      } else {
        for (int64_t i = 0; i < d_; ++i) to[i] = widen(from[i * rows.query_step]) * scale_;
      }
      largest_[r] = -__builtin_huge_valf();
      total_[r] = 0;
    }
    std::fill(sum, sum + rows.count * values_wide, 0.0f);
    for (int64_t first = 0; first < most; first += kManyKeys) {
      const auto count = static_cast<int>(std::min<int64_t>(kManyKeys, most - first));
      const T* place[kManyKeys];
      if (!keys_.find(first, count, place)) return infinirtErrorInvalidValue;
      bring_columns(kDtype, reinterpret_cast<const void* const*>(place), count, keys_.column, d_, key);
      if (!values_.find(first, count, place)) return infinirtErrorInvalidValue;
      bring_lines(kDtype, reinterpret_cast<const void* const*>(place), count, values_.column, e_, kManyKeys, value);
      for (int strip = 0; strip < rows.count; strip += kStripRows) {
        const int strip_rows = std::min(kStripRows, rows.count - strip);
        int seen = 0;  // by any of these
        for (int r = strip; r < strip + strip_rows; ++r) {
          seen = std::max(seen, static_cast<int>(std::clamp<int64_t>(rows.visible[r] - first, 0, count)));
        }
        if (seen == 0) continue;
        for (int j = 0; j < seen; j += kPanelColumns) {
          multiply_strip(strip_rows, query + strip * kPanelDepth, key + j * d_, d_, tile);
          for (int r = 0; r < strip_rows; ++r) {
            std::copy_n(tile + r * kPanelColumns, kPanelColumns, score + r * kManyKeys + j);
          }
        }
        float before[kStripRows];
        for (int r = 0; r < strip_rows; ++r) {
          before[r] = soften_many(rows, strip + r, first, seen, score + r * kManyKeys);
        }
        for (int64_t j = 0; j < values_wide; j += kPanelColumns) {
          multiply_strip(strip_rows, score, value + j * kManyKeys, seen, tile);
          for (int r = 0; r < strip_rows; ++r) {
            float* to = sum + (strip + r) * values_wide + j;
            const float* from = tile + r * kPanelColumns;
            for (int i = 0; i < kPanelColumns; ++i) to[i] = multiply_add(to[i], before[r], from[i]);
          }
        }
      }
    }
    for (int r = 0; r < rows.count; ++r) {
      const float factor = factor_of(total_[r]), *from = sum + r * values_wide;
      T* to = static_cast<T*>(rows.out[r]);
      if (rows.out_step == 1) {
        for (int64_t i = 0; i < e_; ++i) to[i] = narrow<T>(from[i] * factor);
      } else {
        for (int64_t i = 0; i < e_; ++i) to[i * rows.out_step] = narrow<T>(from[i] * factor);
      }
    }
    return infinirtSuccess;
  }

  static C factor_of(C total) { return total > C(0) ? C(1) / total : total == C(0) ? C(0) : total; }

  // The largest of every 16th score; false: one of them is not a number. Compilers make no vectors of this by themselves.
  static bool find_largest(const float* score, int count, float (&largest)[16]) {
    constexpr int kLanes = VectorOf<float>::kLanes, kParts = 16 / kLanes;
    Vector<float> most[kParts];
    Vector<int> strange[kParts] = {};
#pragma GCC unroll 4
    for (auto& each : most) each = Vector<float>{} - __builtin_huge_valf();
    for (int j = 0; j < count; j += 16) {
#pragma GCC unroll 4
      for (int p = 0; p < kParts; ++p) {
        const Vector<float> x = load_vector(score + j + p * kLanes);
        most[p] = x > most[p] ? x : most[p];
        strange[p] |= x != x;
      }
    }
    __builtin_memcpy(largest, most, sizeof most);
    int found[16], any = 0;
    __builtin_memcpy(found, strange, sizeof strange);
    for (const int each : found) any |= each;
    return any == 0;
  }

  // Scores of the first `count` keys of a block become weights, 0 where the row does not see a key. What its sums so far are worth then.
  float soften_many(const QueryRows& rows, int r, int64_t first, int count, float* score) {
    constexpr int kLanes = 16;
    constexpr float kNothing = -__builtin_huge_valf();
    const auto seen = static_cast<int>(std::clamp<int64_t>(rows.visible[r] - first, 0, count));
    if (seen == 0) {
      std::fill(score, score + count, 0.0f);
      return 1.0f;
    }
    if (rows.slope[r] != 0) {
      for (int j = 0; j < seen; ++j)
        score[j] += static_cast<float>(rows.slope[r] * double(first + j - rows.visible[r] + 1));
    }
    // In whole vectors: what is not seen is the smallest there is, and weighs nothing.
    const int end = (count + kLanes - 1) / kLanes * kLanes;
    std::fill(score + seen, score + end, kNothing);
    float most[kLanes], totals[kLanes] = {};
    const bool is_number = find_largest(score, end, most) && largest_[r] == largest_[r];
    const float here = largest_of<kLanes>(most);
    const float largest = is_number ? (here > largest_[r] ? here : largest_[r]) : __builtin_nanf("");
    const float from = largest == kNothing ? 0.0f : largest;  // all of them -inf: there is nothing to weigh by
    for (int j = 0; j < end; j += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        const float weight = exp_of_negative(score[j + l] - from);
        score[j + l] = weight;
        totals[l] += weight;
      }
    }
    if (largest != largest) std::fill(score + seen, score + end, 0.0f);
    const float before = largest_[r] == kNothing ? 0.0f : exp(largest_[r] - from);
    total_[r] = total_[r] * before + sum_of<kLanes>(totals);
    largest_[r] = largest;
    return before;
  }

  // Whether few queries take rows of keys and values as they lie, eight elements at a time.
  bool is_quick() const {
    return sizeof(C) == 4 && keys_.column == 1 && values_.column == 1 && d_ % 8 == 0 && e_ % 8 == 0;
  }

  // Calls `function` with the number of rows, 1 to kFew, as a constant.
  template <class Function>
  static void with_rows(int rows, const Function& function) {
    if (rows == 1) return function(std::integral_constant<int, 1>());
    if (rows == 2) return function(std::integral_constant<int, 2>());
    if (rows == 3) return function(std::integral_constant<int, 3>());
    function(std::integral_constant<int, 4>());
  }

  // Whether elements come in vectors of the widest kind.
  bool is_widest() const { return d_ % kLanesOf<MostFloats> == 0 && e_ % kLanesOf<MostFloats> == 0; }

  template <int Rows, class Vector>
  void multiply_quick(const T* const* key, int count) {
    constexpr int kLanes = kLanesOf<Vector>;
    for (int j = 0; j < count; j += 4) {
      const T* four[4];  // the last one again where there are less
      for (int l = 0; l < 4; ++l) four[l] = key[std::min(j + l, count - 1)];
      Vector held[Rows][4];
#pragma GCC unroll 16
      for (int s = 0; s < 4 * Rows; ++s) held[s / 4][s % 4] = Vector{};
      for (int64_t i = 0; i < d_; i += kLanes) {
        Vector line[4];
#pragma GCC unroll 4
        for (int l = 0; l < 4; ++l) take(four[l] + i, line[l]);
#pragma GCC unroll 4
        for (int r = 0; r < Rows; ++r) {
          Vector query;
          __builtin_memcpy(&query, query_ + r * d_ + i, sizeof query);
#pragma GCC unroll 4
          for (int l = 0; l < 4; ++l) held[r][l] += query * line[l];
        }
      }
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) sum_lanes(held[r], score_ + r * kKeys + j);
    }
  }

  // What a query does not see is not read into its result, whatever it is.
  template <int Rows, int Wide, class Vector>
  void add_quick(const T* const* value, int count, int64_t begin) {
    Vector sums[Rows][Wide];
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) __builtin_memcpy(sums[r], sum_ + r * e_ + begin, sizeof sums[r]);
    for (int j = 0; j < count; ++j) {
      Vector line[Wide];
#pragma GCC unroll 4
      for (int w = 0; w < Wide; ++w) take(value[j] + begin + kLanesOf<Vector> * w, line[w]);
#pragma GCC unroll 4
      for (int r = 0; r < Rows; ++r) {
        const float weight = score_[r * kKeys + j];
        if (weight == 0) continue;
#pragma GCC unroll 4
        for (int w = 0; w < Wide; ++w) sums[r][w] += weight * line[w];
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < Rows; ++r) __builtin_memcpy(sum_ + r * e_ + begin, sums[r], sizeof sums[r]);
  }

  template <int Rows, class Vector>
  void add_all_quick(const T* const* value, int count) {
    constexpr int kLanes = kLanesOf<Vector>;
    int64_t begin = 0;
    for (; begin + 4 * kLanes <= e_; begin += 4 * kLanes) add_quick<Rows, 4, Vector>(value, count, begin);
    for (; begin < e_; begin += kLanes) add_quick<Rows, 1, Vector>(value, count, begin);
  }

  bool multiply(const QueryRows& rows, int64_t first, int count) {
    const bool few = rows.count <= kFew;
    if constexpr (sizeof(C) == 4) {
      if (few && is_quick()) {
        const T* place[kKeys];
        if (!keys_.find(first, count, place)) return false;
        with_rows(rows.count, [&](auto number) {
          is_widest() ? multiply_quick<number, MostFloats>(place, count) : multiply_quick<number, Floats>(place, count);
        });
        return true;
      }
    }
    for (int j = 0; j < count; ++j) {
      int64_t offset = 0;
      if (!keys_.find(first + j, &offset)) return false;
      const T* key = static_cast<const T*>(keys_.base) + offset;
      if (few) {
        for (int r = 0; r < rows.count; ++r) score_[r * kKeys + j] = dot(query_ + r * d_, key);
      } else {
        for (int64_t i = 0; i < d_; ++i) key_[i * kKeys + j] = C(widen(key[i * keys_.column]));
      }
    }
    if (few) return true;
    for (int j = count; j < kKeys; ++j) {
      for (int64_t i = 0; i < d_; ++i) key_[i * kKeys + j] = 0;
    }
    int r = 0;
    for (; r + 4 <= rows.count; r += 4) multiply_rows<4>(r);
    for (; r < rows.count; ++r) multiply_rows<1>(r);
    return true;
  }

  C dot(const C* query, const T* key) const {
    constexpr int kLanes = 32;
    C lanes[kLanes] = {};
    int64_t i = 0;
    if (keys_.column == 1) {
      for (; i + kLanes <= d_; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) lanes[l] = multiply_add(query[i + l], C(widen(key[i + l])), lanes[l]);
      }
    }
    C sum = sum_of<kLanes>(lanes);
    for (; i < d_; ++i) sum += query[i] * C(widen(key[i * keys_.column]));
    return sum;
  }

  template <int Rows>
  void multiply_rows(int first) {
    C sums[Rows][kKeys] = {};
    const C* query = query_ + first * d_;
    for (int64_t i = 0; i < d_; ++i) {
      const C* key = key_ + i * kKeys;
      for (int r = 0; r < Rows; ++r) {
        const C factor = query[r * d_ + i];
        for (int j = 0; j < kKeys; ++j) sums[r][j] = multiply_add(factor, key[j], sums[r][j]);
      }
    }
    for (int r = 0; r < Rows; ++r) std::copy(sums[r], sums[r] + kKeys, score_ + (first + r) * kKeys);
  }

  // Scores become weights, and what was summed up is put in relation to the largest score so far.
  void soften(const QueryRows& rows, int r, int64_t first, int count) {
    C* score = score_ + r * kKeys;
    if constexpr (sizeof(C) == 4) {
      const float before = soften_many(rows, r, first, count, score);
      for (int64_t i = 0; before != 1 && i < e_; ++i) sum_[r * e_ + i] *= before;
      return;
    }
    const auto seen = static_cast<int>(std::clamp<int64_t>(rows.visible[r] - first, 0, count));
    if (rows.slope[r] != 0) {
      for (int j = 0; j < seen; ++j) score[j] += C(rows.slope[r] * double(first + j - rows.visible[r] + 1));
    }
    if (seen == 0) {
      std::fill(score, score + kKeys, C(0));
      return;
    }
    // All kKeys of them, so that these are loops of vectors: what is not seen is the smallest there is, and weighs nothing.
    constexpr int kLanes = 16;
    std::fill(score + seen, score + kKeys, -C(__builtin_huge_val()));
    C most[kLanes], totals[kLanes] = {};
    bool strange[kLanes] = {};
    std::fill(most, most + kLanes, largest_[r]);
    for (int j = 0; j < kKeys; j += kLanes) {
      for (int l = 0; l < kLanes; ++l) {
        most[l] = score[j + l] > most[l] ? score[j + l] : most[l];
        strange[l] |= score[j + l] != score[j + l];
      }
    }
    bool is_number = largest_[r] == largest_[r];
    for (int l = 0; l < kLanes; ++l) is_number = is_number && !strange[l];
    const C largest = is_number ? largest_of<kLanes>(most) : C(__builtin_nan(""));
    // All of them -inf: there is nothing to weigh by.
    const C from = largest == -C(__builtin_huge_val()) ? C(0) : largest;
    for (int j = 0; j < kKeys; ++j) score[j] = exp(score[j] - from);
    std::fill(score + seen, score + kKeys, C(0));
    for (int j = 0; j < kKeys; j += kLanes) {
      for (int l = 0; l < kLanes; ++l) totals[l] += score[j + l];
    }
    const C total = sum_of<kLanes>(totals);
    const C before = largest_[r] == -C(__builtin_huge_val()) ? C(0) : exp(largest_[r] - from);
    if (before != C(1)) {
      for (int64_t i = 0; i < e_; ++i) sum_[r * e_ + i] *= before;
    }
    total_[r] = total_[r] * before + total;
    largest_[r] = largest;
  }

  bool add_values(int rows, int64_t first, int count) {
    const bool few = rows <= kFew;
    const T* place[kKeys];
    if constexpr (sizeof(C) == 4) {
      if (few && is_quick()) {
        if (!values_.find(first, count, place)) return false;
        with_rows(rows, [&](auto number) {
          is_widest() ? add_all_quick<number, MostFloats>(place, count) : add_all_quick<number, Floats>(place, count);
        });
        return true;
      }
    }
    for (int j = 0; j < count; ++j) {
      int64_t offset = 0;
      if (!values_.find(first + j, &offset)) return false;
      const T* value = place[j] = static_cast<const T*>(values_.base) + offset;
      if (few) continue;
      if (values_.column == 1) {
        for (int64_t i = 0; i < e_; ++i) value_[j * e_ + i] = C(widen(value[i]));
      } else {
        for (int64_t i = 0; i < e_; ++i) value_[j * e_ + i] = C(widen(value[i * values_.column]));
      }
    }
    int r = 0;
    for (; few && r < rows; ++r) add_places(sum_ + r * e_, score_ + r * kKeys, place, count);
    for (; r + 4 <= rows; r += 4) add_rows<4>(r, count);
    for (; r < rows; ++r) add_rows<1>(r, count);
    return true;
  }

  // Values from where they lie. What a query does not see is not read into its result, whatever it is.
  void add_places(C* sum, const C* weight, const T* const* place, int count) const {
    constexpr int kWide = 32;
    int64_t begin = 0;
    for (; values_.column == 1 && begin + kWide <= e_; begin += kWide) {
      C sums[kWide];
      std::copy_n(sum + begin, kWide, sums);
      for (int j = 0; j < count; ++j) {
        if (weight[j] == C(0)) continue;
        const T* value = place[j] + begin;
        for (int i = 0; i < kWide; ++i) sums[i] = multiply_add(weight[j], C(widen(value[i])), sums[i]);
      }
      std::copy_n(sums, kWide, sum + begin);
    }
    for (int j = 0; j < count && begin < e_; ++j) {
      if (weight[j] == C(0)) continue;
      for (int64_t i = begin; i < e_; ++i) {
        sum[i] = multiply_add(weight[j], C(widen(place[j][i * values_.column])), sum[i]);
      }
    }
  }

  template <int Rows>
  void add_rows(int first, int count) {
    constexpr int kWide = 64;
    for (int64_t begin = 0; begin < e_; begin += kWide) {
      C sums[Rows][kWide];
      const auto wide = static_cast<int>(std::min<int64_t>(kWide, e_ - begin));
      if (wide == kWide) {
        for (int r = 0; r < Rows; ++r) std::copy_n(sum_ + (first + r) * e_ + begin, kWide, sums[r]);
        for (int j = 0; j < count; ++j) {
          const C* value = value_ + j * e_ + begin;
          for (int r = 0; r < Rows; ++r) {
            const C weight = score_[(first + r) * kKeys + j];
            for (int i = 0; i < kWide; ++i) sums[r][i] = multiply_add(weight, value[i], sums[r][i]);
          }
        }
        for (int r = 0; r < Rows; ++r) std::copy_n(sums[r], kWide, sum_ + (first + r) * e_ + begin);
        continue;
      }
      for (int r = 0; r < Rows; ++r) {
        C* sum = sum_ + (first + r) * e_ + begin;
        for (int j = 0; j < count; ++j) {
          const C* value = value_ + j * e_ + begin;
          const C weight = score_[(first + r) * kKeys + j];
          for (int i = 0; i < wide; ++i) sum[i] = multiply_add(weight, value[i], sum[i]);
        }
      }
    }
  }

  KeyRows keys_, values_;
  int64_t d_, e_;
  C scale_;
  C *query_ = nullptr, *key_ = nullptr, *value_ = nullptr, *sum_ = nullptr, *score_ = nullptr;
  C largest_[kRows], total_[kRows];
};

}  // namespace
}  // namespace infiniop::cpu::INFINIOP_LEVEL
