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

// `Step<T>` has the state of kScanRows rows: `take(x)` adds an element to each, `give(y)` is what they are then.
template <template <class> class Step, bool HasIntegers = true>
infinirtError_t scan(const WrittenCall& call, int output, int input, int64_t first, int64_t last,
                     const ScanWishes& wishes = {}) {
  const WrittenPlan& plan = call.plan;
  const TensorView &to = plan.tensor[output], &from = plan.tensor[input];
  const int64_t count = from.shape[plan.dim];
  const int64_t to_step = to.stride[plan.dim] * (wishes.reverse ? -1 : 1),
                from_step = from.stride[plan.dim] * (wishes.reverse ? -1 : 1);
  with_scan_type<HasIntegers>(from.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Value = typename ScanTypes<T>::Value;
    for (int64_t item = first; item < last; item += kScanRows) {
      const int rows = static_cast<int>(std::min<int64_t>(kScanRows, last - item));
      const T* source[kScanRows];
      T* target[kScanRows];
      bool are_neighbours = rows == kScanRows;
      for (int r = 0; r < rows; ++r) {
        source[r] = call.at<const T>(input) + row_offset(from, plan, item + r);
        target[r] = call.at<T>(output) + row_offset(to, plan, item + r);
        if (wishes.reverse) {
          source[r] -= (count - 1) * from_step;
          target[r] -= (count - 1) * to_step;
        }
        are_neighbours = are_neighbours && source[r] == source[0] + r && target[r] == target[0] + r;
      }
      Step<T> step;
      Value tile[kScanColumns][kScanRows] = {};
      for (int64_t column = 0; column < count; column += kScanColumns) {
        const int64_t columns = std::min<int64_t>(kScanColumns, count - column);
        if (are_neighbours) {
          for (int64_t c = 0; c < columns; ++c) {
            const T* line = source[0] + (column + c) * from_step;
            for (int r = 0; r < kScanRows; ++r) tile[c][r] = widen(line[r]);
          }
        } else {
          for (int r = 0; r < rows; ++r) {
            const T* line = source[r] + column * from_step;
            for (int64_t c = 0; c < columns; ++c) tile[c][r] = widen(line[c * from_step]);
          }
        }
        for (int64_t c = 0; c < columns; ++c) {
          Value x[kScanRows];
          for (int r = 0; r < kScanRows; ++r) x[r] = tile[c][r];
          if (wishes.exclusive) {
            step.give(tile[c]);
            step.take(x);
          } else {
            step.take(x);
            step.give(tile[c]);
          }
        }
        if (are_neighbours) {
          for (int64_t c = 0; c < columns; ++c) {
            T* line = target[0] + (column + c) * to_step;
            for (int r = 0; r < kScanRows; ++r) line[r] = narrow<T>(tile[c][r]);
          }
        } else {
          for (int r = 0; r < rows; ++r) {
            T* line = target[r] + column * to_step;
            for (int64_t c = 0; c < columns; ++c) line[c * to_step] = narrow<T>(tile[c][r]);
          }
        }
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
