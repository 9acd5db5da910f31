// Attention on the CPU: some rows of queries against all keys that they see. How it is done stands in attention_rows.h, which is compiled
// once for all operators of this kind.
#pragma once

#include <algorithm>
#include <cstdint>

#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

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

  // Where `count` rows from `first` on lie. Tables are asked once for each page.
  template <class T>
  bool find(int64_t first, int count, const T** place) const {
    int64_t left = 0;  // of the page
    for (int j = 0; j < count; ++j, --left) {
      if (left > 0) {
        place[j] = place[j - 1] + row;
        continue;
      }
      int64_t offset = 0;
      if (!find(first + j, &offset)) return false;
      place[j] = static_cast<const T*>(base) + offset;
      left = table ? page_size - (first + j) % page_size : count;
    }
    return true;
  }
};

inline constexpr int kRows = 192;  // of queries, at a time: what is brought of keys and values serves them all

// One call's rows: each with its query, its result, and how many keys it sees.
struct QueryRows {
  const void* query[kRows];
  void* out[kRows];
  int64_t visible[kRows];
  double slope[kRows];
  int count;
  int64_t query_step, out_step;  // between elements
};

// Of keys with `d` elements and values with `e`, all of this type.
infinirtError_t attend(int dtype, const KeyRows& keys, const KeyRows& values, int64_t d, int64_t e, double scale,
                       const QueryRows& rows);

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

}  // namespace infiniop::cpu::INFINIOP_LEVEL
