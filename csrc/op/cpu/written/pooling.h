// Pooling on the CPU, a row of the result at a time: the rows of a window are put together first, element by element, which vectors do;
// then the windows of that one row.
#pragma once

#include <algorithm>
#include <cstdint>

#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

inline constexpr int64_t kPooledColumns = 2048;  // of a row that windows cover, at a time

// What is not a number stays so.
template <class C>
inline C larger(C a, C b) {
  return b > a || b != b ? b : a;
}

template <class T, bool IsMax>
class Pooling {
 public:
  using C = Wide<T>;

  Pooling(const SpatialView& x, const SpatialView& y, const Windows& windows, const T* from, T* to,
          int64_t* indices = nullptr, const SpatialView* index_view = nullptr)
      : x_(x), y_(y), windows_(windows), from_(from), to_(to), indices_(indices), index_view_(index_view) {
    is_whole_ = windows.is_adaptive && !indices && x.size[0] == 1 && x.size[1] == 1;
    for (int d = 0; d < 3; ++d) is_whole_ = is_whole_ && y.size[d] == 1;
  }

  // Of the result: batch, channel, depth and height are one number.
  void run_row(int64_t item) {
    if (is_whole_) return run_whole(item);
    const int64_t h = item % y_.size[1], d = item / y_.size[1] % y_.size[0], image = item / (y_.size[0] * y_.size[1]);
    const int64_t channel = image % y_.channels, batch = image / y_.channels;
    deep_ = window_of(windows_, 0, d, x_.size[0], y_.size[0]);
    high_ = window_of(windows_, 1, h, x_.size[1], y_.size[1]);
    source_ = from_ + batch * x_.batch_stride + channel * x_.channel_stride;
    T* to = to_ + batch * y_.batch_stride + channel * y_.channel_stride + d * y_.stride[0] + h * y_.stride[1];
    if (indices_) {
      const SpatialView& view = *index_view_;
      return find_row(to, indices_ + batch * view.batch_stride + channel * view.channel_stride + d * view.stride[0] +
                              h * view.stride[1]);
    }
    for (int64_t o = 0; o < y_.size[2];) o += run_piece(o, to);
  }

 private:
  static C nothing() { return IsMax ? C(-__builtin_huge_val()) : C(0); }
  static C both(C a, C b) {
    if constexpr (IsMax) return larger(a, b);
    return a + b;
  }
  Window wide(int64_t o) const { return window_of(windows_, 2, o, x_.size[2], y_.size[2]); }

  // One result of a whole row.
  void run_whole(int64_t item) {
    const int64_t channel = item % y_.channels, batch = item / y_.channels;
    const Window all = {0, x_.size[2], 1, x_.size[2]};
    source_ = from_ + batch * x_.batch_stride + channel * x_.channel_stride;
    put(to_ + batch * y_.batch_stride + channel * y_.channel_stride, 0, run_long(all), all.count);
  }

  // As many results from `o` on as fit into the memory for columns; how many that were.
  int64_t run_piece(int64_t o, T* to) {
    const Window first = wide(o);
    if (first.last - first.first > kPooledColumns) {
      put(to, o, run_long(first), first.count);
      return 1;
    }
    int64_t count = std::min<int64_t>(y_.size[2] - o, kPooledColumns);
    while (count > 1 && wide(o + count - 1).last - first.first > kPooledColumns) count = (count + 1) / 2;
    // Windows without elements begin outside.
    const int64_t begin = std::min<int64_t>(first.first, x_.size[2]);
    const int64_t end = std::clamp<int64_t>(wide(o + count - 1).last, begin, x_.size[2]);
    C columns[kPooledColumns];
    put_together(begin, end, columns);
    if (windows_.is_adaptive) {
      for (int64_t i = 0; i < count; ++i) {
        const Window window = wide(o + i);
        put(to, o + i, reduce(columns + window.first - begin, window.last - window.first), window.count);
      }
      return count;
    }
    // Windows that reach over no edge are computed side by side.
    const int64_t stride = windows_.stride[2], padding = windows_.padding[2], step = windows_.dilation[2];
    const int64_t reach = (windows_.kernel[2] - 1) * step + 1;
    const int64_t inner = std::clamp<int64_t>((padding + stride - 1) / stride, o, o + count);
    const int64_t room = x_.size[2] + padding - reach;
    const int64_t outer = std::clamp<int64_t>(room < 0 ? 0 : room / stride + 1, inner, o + count);
    for (int64_t i = o; i < inner; ++i) put_single(to, i, columns, begin);
    C results[kPooledColumns];
    const int64_t width = outer - inner;
    const C* from = columns + (inner * stride - padding - begin);
    for (int64_t i = 0; i < width; ++i) results[i] = nothing();
    for (int64_t k = 0; k < windows_.kernel[2]; ++k) {
      const C* at = from + k * step;
      if (stride == 1) {
        for (int64_t i = 0; i < width; ++i) results[i] = both(results[i], at[i]);
      } else if (stride == 2) {
        for (int64_t i = 0; i < width; ++i) results[i] = both(results[i], at[2 * i]);
      } else {
        for (int64_t i = 0; i < width; ++i) results[i] = both(results[i], at[i * stride]);
      }
    }
    const C over = divisor(windows_.kernel[2]);
    if (y_.stride[2] == 1) {
      for (int64_t i = 0; i < width; ++i) to[inner + i] = narrow<T>(finished(results[i], over));
    } else {
      for (int64_t i = 0; i < width; ++i) to[(inner + i) * y_.stride[2]] = narrow<T>(finished(results[i], over));
    }
    for (int64_t i = outer; i < o + count; ++i) put_single(to, i, columns, begin);
    return count;
  }

  // columns[i] of all rows that a window has.
  void put_together(int64_t begin, int64_t end, C* columns) const {
    const int64_t count = end - begin, step = x_.stride[2];
    bool is_first = true;
    for (int64_t d = deep_.first; d < deep_.last; d += deep_.step) {
      for (int64_t h = high_.first; h < high_.last; h += high_.step) {
        const T* row = source_ + d * x_.stride[0] + h * x_.stride[1] + begin * step;
        if (step == 1 && is_first) {
          for (int64_t i = 0; i < count; ++i) columns[i] = both(nothing(), C(widen(row[i])));
        } else if (step == 1) {
          for (int64_t i = 0; i < count; ++i) columns[i] = both(columns[i], C(widen(row[i])));
        } else {
          for (int64_t i = 0; i < count; ++i) {
            columns[i] = both(is_first ? nothing() : columns[i], C(widen(row[i * step])));
          }
        }
        is_first = false;
      }
    }
    if (is_first) std::fill_n(columns, count, nothing());
  }

  // Of all of them, in lanes that vectors can hold.
  static C reduce(const C* from, int64_t count) {
    constexpr int kLanes = 16;
    C result = nothing();
    int64_t i = 0;
    if (count >= 2 * kLanes) {
      C lanes[kLanes];
      for (int l = 0; l < kLanes; ++l) lanes[l] = from[l];
      for (i = kLanes; i + kLanes <= count; i += kLanes) {
        for (int l = 0; l < kLanes; ++l) lanes[l] = both(lanes[l], from[i + l]);
      }
      for (int l = 0; l < kLanes; ++l) result = both(result, lanes[l]);
    }
    for (; i < count; ++i) result = both(result, from[i]);
    return result;
  }

  // A window with more columns than there is memory for.
  C run_long(const Window& window) const {
    C result = nothing(), columns[kPooledColumns];
    const int64_t piece = kPooledColumns / window.step * window.step;
    for (int64_t at = window.first; at < window.last; at += std::max<int64_t>(piece, window.step)) {
      const int64_t end = std::min<int64_t>(window.last, at + std::max<int64_t>(piece, 1));
      put_together(at, end, columns);
      if (window.step == 1) {
        result = both(result, reduce(columns, end - at));
      } else {
        for (int64_t i = at; i < end; i += window.step) result = both(result, columns[i - at]);
      }
    }
    return result;
  }

  void put_single(T* to, int64_t o, const C* columns, int64_t begin) const {
    const Window window = wide(o);
    C result = nothing();
    for (int64_t i = window.first; i < window.last; i += window.step) result = both(result, columns[i - begin]);
    put(to, o, result, window.count);
  }

  C divisor(int64_t count) const {
    return windows_.divisor ? C(windows_.divisor) : C(deep_.count) * C(high_.count) * C(count);
  }
  static C finished(C value, C over) {
    if constexpr (IsMax) return value;
    return value / over;
  }
  void put(T* to, int64_t o, C value, int64_t count) const {
    to[o * y_.stride[2]] = narrow<T>(finished(value, divisor(count)));
  }

  // The first of the largest elements, or the last that is not a number.
  void find_row(T* to, int64_t* indices) const {
    for (int64_t o = 0; o < y_.size[2]; ++o) {
      const Window window = wide(o);
      C best = nothing();
      int64_t place = (deep_.first * x_.size[1] + high_.first) * x_.size[2] + window.first;
      for (int64_t d = deep_.first; d < deep_.last; d += deep_.step) {
        for (int64_t h = high_.first; h < high_.last; h += high_.step) {
          const T* row = source_ + d * x_.stride[0] + h * x_.stride[1];
          for (int64_t w = window.first; w < window.last; w += window.step) {
            const C value = C(widen(row[w * x_.stride[2]]));
            if (!(value > best || value != value)) continue;
            best = value;
            place = (d * x_.size[1] + h) * x_.size[2] + w;
          }
        }
      }
      to[o * y_.stride[2]] = narrow<T>(best);
      indices[o * index_view_->stride[2]] = place;
    }
  }

  const SpatialView &x_, &y_;
  const Windows& windows_;
  const T* from_;
  T* to_;
  int64_t* indices_;
  const SpatialView* index_view_;
  Window deep_ = {0, 1, 1, 1}, high_ = {0, 1, 1, 1};
  bool is_whole_;
  const T* source_ = nullptr;
};

// Where one result has all elements of two dimensions that are one in memory, they are one: a long row instead of many short ones.
inline SpatialView merged(SpatialView x, const SpatialView& y, const Windows& windows) {
  for (int d = 1; d >= 0 && windows.is_adaptive; --d) {
    if (y.size[d] != 1 || y.size[2] != 1 || x.stride[d] != x.stride[2] * x.size[2]) break;
    x.size[2] *= x.size[d];
    x.size[d] = 1;
  }
  return x;
}

// Rows of the result, and how many are worth a block.
inline Split split_rows(const SpatialView& x, const SpatialView& y) {
  const int64_t rows = y.batch * y.channels * y.size[0] * y.size[1];
  const int64_t elements = std::max<int64_t>(
      1, y.batch * y.channels * std::max(x.size[0] * x.size[1] * x.size[2], y.size[0] * y.size[1] * y.size[2]));
  return {y.size[2] == 0 ? 0 : rows, std::max<int64_t>(1, rows * 16384 / elements)};
}

}  // namespace
}  // namespace infiniop::cpu
