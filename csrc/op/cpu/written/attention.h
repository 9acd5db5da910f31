// Attention on the CPU: some rows of queries against all keys that they see, block by block, so that no more than a block of scores is
// ever there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "op/cpu/buffer.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"
#include "op/expression.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

// Rows of keys or values of one head: one after the other, or in pages that a table names.
struct KeyRows {
  const void* base;
  int64_t row, column;  // strides, in elements
  const void* table = nullptr;
  int table_type = 0;
  int64_t table_step = 0, page_size = 1, page_stride = 0, pages = 0;

  // False: the table names a page that there is not.
  bool find(int64_t number, int64_t* offset) const {
    *offset = number * row;
    if (!table) return true;
    const int64_t page = integer_at(table, table_type, number / page_size * table_step);
    *offset = page * page_stride + number % page_size * row;
    return page >= 0 && page < pages;
  }
};

inline constexpr int kRows = 16;  // of queries, at a time
inline constexpr int kKeys = 64;  // of a block

// One call's rows: each with its query, its result, and how many keys it sees.
template <class T>
struct QueryRows {
  const T* query[kRows];
  T* out[kRows];
  int64_t visible[kRows];
  double slope[kRows];
  int count;
  int64_t query_step, out_step;  // between elements
};

template <class T>
class Attention {
 public:
  using C = Wide<T>;

  Attention(const KeyRows& keys, const KeyRows& values, int64_t d, int64_t e, double scale)
      : keys_(keys), values_(values), d_(d), e_(e), scale_(static_cast<C>(scale)) {}

  infinirtError_t run(const QueryRows<T>& rows) {
    const auto floats = static_cast<size_t>(kRows * d_ + kKeys * d_ + kKeys * e_ + kRows * e_ + kRows * kKeys);
    auto* memory = reinterpret_cast<C*>(worker_buffer(floats * sizeof(C)));
    if (!memory) return infinirtErrorMemoryAllocation;
    query_ = memory;
    key_ = query_ + kRows * d_;
    value_ = key_ + kKeys * d_;
    sum_ = value_ + kKeys * e_;
    score_ = sum_ + kRows * e_;
    int64_t most = 0;
    for (int r = 0; r < rows.count; ++r) {
      most = std::max(most, rows.visible[r]);
      for (int64_t i = 0; i < d_; ++i) query_[r * d_ + i] = C(widen(rows.query[r][i * rows.query_step])) * scale_;
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
      const C factor = total_[r] > C(0) ? C(1) / total_[r] : total_[r] == C(0) ? C(0) : total_[r];
      for (int64_t i = 0; i < e_; ++i) rows.out[r][i * rows.out_step] = narrow<T>(sum_[r * e_ + i] * factor);
    }
    return infinirtSuccess;
  }

 private:
  // Few queries use a key as it lies in memory; many have it turned over, so that keys lie side by side.
  static constexpr int kFew = 3;

  bool multiply(const QueryRows<T>& rows, int64_t first, int count) {
    const bool few = rows.count <= kFew;
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
    C sum = 0;
    for (int l = 0; l < kLanes; ++l) sum += lanes[l];
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
  void soften(const QueryRows<T>& rows, int r, int64_t first, int count) {
    C* score = score_ + r * kKeys;
    const auto seen = static_cast<int>(std::clamp<int64_t>(rows.visible[r] - first, 0, count));
    if (rows.slope[r] != 0) {
      for (int j = 0; j < seen; ++j) score[j] += C(rows.slope[r] * double(first + j - rows.visible[r] + 1));
    }
    C largest = largest_[r];
    bool is_number = true;
    for (int j = 0; j < seen; ++j) {
      largest = score[j] > largest ? score[j] : largest;
      is_number = is_number && score[j] == score[j];
    }
    if (!is_number) largest = C(__builtin_nan(""));
    if (seen == 0) {
      std::fill(score, score + kKeys, C(0));
      return;
    }
    // All of them -inf: there is nothing to weigh by.
    const C from = largest == -C(__builtin_huge_val()) ? C(0) : largest;
    for (int j = 0; j < seen; ++j) score[j] = exp(score[j] - from);
    std::fill(score + seen, score + kKeys, C(0));
    C total = 0;
    for (int j = 0; j < seen; ++j) total += score[j];
    const C before = largest_[r] == -C(__builtin_huge_val()) ? C(0) : exp(largest_[r] - from);
    if (before != C(1)) {
      for (int64_t i = 0; i < e_; ++i) sum_[r * e_ + i] *= before;
    }
    total_[r] = total_[r] * before + total;
    largest_[r] = largest;
  }

  bool add_values(int rows, int64_t first, int count) {
    const bool few = rows <= kFew;
    for (int j = 0; j < count; ++j) {
      int64_t offset = 0;
      if (!values_.find(first + j, &offset)) return false;
      const T* value = static_cast<const T*>(values_.base) + offset;
      if (few) {
        for (int r = 0; r < rows; ++r) add_value(sum_ + r * e_, score_[r * kKeys + j], value);
      } else if (values_.column == 1) {
        for (int64_t i = 0; i < e_; ++i) value_[j * e_ + i] = C(widen(value[i]));
      } else {
        for (int64_t i = 0; i < e_; ++i) value_[j * e_ + i] = C(widen(value[i * values_.column]));
      }
    }
    if (few) return true;
    int r = 0;
    for (; r + 4 <= rows; r += 4) add_rows<4>(r, count);
    for (; r < rows; ++r) add_rows<1>(r, count);
    return true;
  }

  void add_value(C* sum, C weight, const T* value) const {
    if (weight == C(0)) return;  // what a query does not see is not read into its result, whatever it is
    if (values_.column == 1) {
#pragma GCC ivdep
      for (int64_t i = 0; i < e_; ++i) sum[i] = multiply_add(weight, C(widen(value[i])), sum[i]);
    } else {
      for (int64_t i = 0; i < e_; ++i) sum[i] = multiply_add(weight, C(widen(value[i * values_.column])), sum[i]);
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

// Rows of queries of one head of keys: heads that share it change fastest, so that what is read of it serves them all.
struct HeadRows {
  int64_t group, queries;

  int64_t rows() const { return group * queries; }
  int64_t tiles() const { return (rows() + kRows - 1) / kRows; }
};

// About 20 microseconds: so many tiles of so much work.
inline int64_t fewest_tiles(int64_t keys, int64_t d, int64_t e) {
  return std::max<int64_t>(1, 200000 / std::max<int64_t>(1, kRows * keys * (d + e)));
}

}  // namespace
}  // namespace infiniop::cpu
