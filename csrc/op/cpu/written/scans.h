// What all elements of a row up to each one give together, on the CPU: some rows side by side, so that a step of all of them is one of
// vectors.
#pragma once

#include "op/cpu/written/ordering.h"
#include "op/expression.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

inline constexpr int kScanRows = 16, kScanColumns = 64;

// The type that elements are brought into, and summed up in.
template <class T>
struct ScanTypes {
  using Value = Wide<T>;
  using Sum = double;
};
template <>
struct ScanTypes<int32_t> {
  using Value = int32_t;
  using Sum = uint64_t;
};
template <>
struct ScanTypes<int64_t> {
  using Value = int64_t;
  using Sum = uint64_t;
};

template <bool HasIntegers, class Function>
auto with_scan_type(int dtype, Function function) {
  if constexpr (HasIntegers) {
    if (dtype == INFINI_DTYPE_I32) return function(TypeTag<int32_t>{});
    if (dtype == INFINI_DTYPE_I64) return function(TypeTag<int64_t>{});
  }
  return with_float_type(dtype, function);
}

struct ScanWishes {
  bool exclusive = false, reverse = false;
};

// One call's rows, and how they are taken.
template <class T>
struct ScanRows {
  const T* source[kScanRows];
  T* target[kScanRows];
  int64_t count, from_step, to_step;
  bool exclusive;
};

// `Step<T, Rows>` has the state of so many rows: `take(x)` adds an element to each, `give(y)` is what they are then. `are_neighbours`:
// so are the rows' elements in memory, and a step's are read at once.
template <class Step, int Rows, class T>
void scan_rows(const ScanRows<T>& rows, int given, bool are_neighbours) {
  using Value = typename ScanTypes<T>::Value;
  Step step;
  Value tile[kScanColumns][Rows] = {};
  for (int64_t column = 0; column < rows.count; column += kScanColumns) {
    const int64_t columns = std::min<int64_t>(kScanColumns, rows.count - column);
    if (are_neighbours) {
      for (int64_t c = 0; c < columns; ++c) {
        const T* line = rows.source[0] + (column + c) * rows.from_step;
        for (int r = 0; r < Rows; ++r) tile[c][r] = widen(line[r]);
      }
    } else {
      for (int r = 0; r < given; ++r) {
        const T* line = rows.source[r] + column * rows.from_step;
        for (int64_t c = 0; c < columns; ++c) tile[c][r] = widen(line[c * rows.from_step]);
      }
    }
    for (int64_t c = 0; c < columns; ++c) {
      Value x[Rows];
      for (int r = 0; r < Rows; ++r) x[r] = tile[c][r];
      if (rows.exclusive) {
        step.give(tile[c]);
        step.take(x);
      } else {
        step.take(x);
        step.give(tile[c]);
      }
    }
    if (are_neighbours) {
      for (int64_t c = 0; c < columns; ++c) {
        T* line = rows.target[0] + (column + c) * rows.to_step;
        for (int r = 0; r < Rows; ++r) line[r] = narrow<T>(tile[c][r]);
      }
    } else {
      for (int r = 0; r < given; ++r) {
        T* line = rows.target[r] + column * rows.to_step;
        for (int64_t c = 0; c < columns; ++c) line[c * rows.to_step] = narrow<T>(tile[c][r]);
      }
    }
  }
}

// The same element by element, of rows from `first` on: where a step is less work than bringing elements side by side. Their states are
// variables of their own, since what is put together into a vector from single elements waits for them.
template <class Step, int Rows, class T>
void scan_directly(const ScanRows<T>& rows, int first) {
  Step step[Rows];
  const T* source[Rows];
  T* target[Rows];
  for (int r = 0; r < Rows; ++r) {
    source[r] = rows.source[first + r];
    target[r] = rows.target[first + r];
  }
  const int64_t count = rows.count, from_step = rows.from_step, to_step = rows.to_step;
  for (int64_t i = 0; i < count; ++i) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const typename ScanTypes<T>::Value x = widen(source[r][i * from_step]);
      typename ScanTypes<T>::Value y;
      if (rows.exclusive) step[r].give(&y);
      step[r].take(&x);
      if (!rows.exclusive) step[r].give(&y);
      target[r][i * to_step] = narrow<T>(y);
    }
  }
}

// Narrow elements that lie side by side: some at a time are converted, in vectors, and only sums are one after the other.
template <class Step, int Rows, class T>
void scan_narrow(const ScanRows<T>& rows, int first) {
  using Value = typename ScanTypes<T>::Value;
  Step step[Rows];
  Value tile[Rows][kScanColumns];
  for (int64_t column = 0; column < rows.count; column += kScanColumns) {
    const auto columns = static_cast<int>(std::min<int64_t>(kScanColumns, rows.count - column));
    T raw[kScanColumns] = {};  // whole, so that conversions are loops of a known length
    for (int r = 0; r < Rows; ++r) {
      std::copy_n(rows.source[first + r] + column, columns, raw);
      for (int c = 0; c < kScanColumns; ++c) tile[r][c] = widen(raw[c]);
    }
    for (int c = 0; c < columns; ++c) {
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) {
        const Value x = tile[r][c];
        if (rows.exclusive) step[r].give(&tile[r][c]);
        step[r].take(&x);
        if (!rows.exclusive) step[r].give(&tile[r][c]);
      }
    }
    for (int r = 0; r < Rows; ++r) {
      for (int c = 0; c < kScanColumns; ++c) raw[c] = narrow<T>(tile[r][c]);
      std::copy_n(raw, columns, rows.target[first + r] + column);
    }
  }
}

template <template <class, int> class Step, bool HasIntegers = true>
infinirtError_t scan(const WrittenCall& call, int output, int input, int64_t first, int64_t last,
                     const ScanWishes& wishes = {}) {
  const WrittenPlan& plan = call.plan;
  const TensorView &to = plan.tensor[output], &from = plan.tensor[input];
  with_scan_type<HasIntegers>(from.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    ScanRows<T> rows{};
    rows.count = from.shape[plan.dim];
    rows.from_step = from.stride[plan.dim] * (wishes.reverse ? -1 : 1);
    rows.to_step = to.stride[plan.dim] * (wishes.reverse ? -1 : 1);
    rows.exclusive = wishes.exclusive;
    for (int64_t item = first; item < last; item += kScanRows) {
      const int given = static_cast<int>(std::min<int64_t>(kScanRows, last - item));
      bool are_neighbours = given == kScanRows;
      for (int r = 0; r < given; ++r) {
        rows.source[r] = call.at<const T>(input) + row_offset(from, plan, item + r);
        rows.target[r] = call.at<T>(output) + row_offset(to, plan, item + r);
        if (wishes.reverse) {
          rows.source[r] -= (rows.count - 1) * rows.from_step;
          rows.target[r] -= (rows.count - 1) * rows.to_step;
        }
        are_neighbours = are_neighbours && rows.source[r] == rows.source[0] + r && rows.target[r] == rows.target[0] + r;
      }
      if (Step<T, 1>::kIsCheap && !are_neighbours) {
        int r = 0;
        if constexpr (sizeof(T) == 2) {
          const bool are_side_by_side = rows.from_step == 1 && rows.to_step == 1;
          for (; are_side_by_side && r + 4 <= given; r += 4) scan_narrow<Step<T, 1>, 4>(rows, r);
        }
        for (; r + 4 <= given; r += 4) scan_directly<Step<T, 1>, 4>(rows, r);
        for (; r < given; ++r) scan_directly<Step<T, 1>, 1>(rows, r);
      } else if (given == 1) {
        scan_rows<Step<T, 1>, 1>(rows, given, false);
      } else {
        scan_rows<Step<T, kScanRows>, kScanRows>(rows, given, are_neighbours);
      }
    }
  });
  return infinirtSuccess;
}

// Items are rows; a block has as many as are taken side by side.
inline Split split_scan(const WrittenPlan& plan, int input) {
  const int64_t worth = rows_worth(16384, plan.tensor[input].shape[plan.dim]);
  return {plan.tensor[input].shape[plan.dim] == 0 ? 0 : plan.before * plan.after,
          (worth + kScanRows - 1) / kScanRows * kScanRows};
}

}  // namespace
}  // namespace infiniop::cpu
