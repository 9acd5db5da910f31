// Other sizes of what lies in space, a row of the result at a time: the rows that it is made of are put together first, element by
// element; then each element of the result takes its neighbours from that one row.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/cpu/buffer.h"
#include "op/cpu/written/pooling.h"
#include "op/resizing_choice.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

constexpr int kMostRows = 16;  // that a row is made of

// The neighbours of each element of a row: `count` for each, those of the first tap first.
template <class C>
struct Columns {
  int count;
  int32_t* place;
  C* weight;
};

template <class T>
class Resize {
 public:
  using C = Wide<T>;

  Resize(const SpatialView& x, const SpatialView& y, const Resizing& resizing, const T* from, T* to)
      : x_(x), y_(y), resizing_(resizing), from_(from), to_(to) {}

  // False: there is no memory.
  bool prepare() {
    const int64_t width = y_.size[2];
    columns_.count = width > 0 ? taps_of(resizing_, 2, 0, x_.size[2], width).count : 0;
    const auto wanted = static_cast<size_t>(columns_.count * width);
    char* memory = worker_buffer(wanted * (sizeof(C) + sizeof(int32_t)) + static_cast<size_t>(x_.size[2]) * sizeof(C));
    if (!memory) return false;
    columns_.weight = reinterpret_cast<C*>(memory);
    row_ = columns_.weight + wanted;
    columns_.place = reinterpret_cast<int32_t*>(row_ + x_.size[2]);
    for (int64_t o = 0; o < width; ++o) {
      const Taps taps = taps_of(resizing_, 2, o, x_.size[2], width);
      for (int t = 0; t < columns_.count; ++t) {
        columns_.place[t * width + o] = static_cast<int32_t>(taps.place[t]);
        columns_.weight[t * width + o] = static_cast<C>(taps.weight[t]);
      }
    }
    return true;
  }

  void run_row(int64_t item) {
    const int64_t h = item % y_.size[1], d = item / y_.size[1] % y_.size[0], image = item / (y_.size[0] * y_.size[1]);
    const int64_t channel = image % y_.channels, batch = image / y_.channels;
    const T* from = from_ + batch * x_.batch_stride + channel * x_.channel_stride;
    T* to = to_ + batch * y_.batch_stride + channel * y_.channel_stride + d * y_.stride[0] + h * y_.stride[1];
    const Taps deep = taps_of(resizing_, 0, d, x_.size[0], y_.size[0]);
    const Taps high = taps_of(resizing_, 1, h, x_.size[1], y_.size[1]);
    if (columns_.count == 1) {
      return copy_row(from + deep.place[0] * x_.stride[0] + high.place[0] * x_.stride[1], to);
    }
    const T* rows[kMostRows];
    C weights[kMostRows];
    int count = 0;
    for (int i = 0; i < deep.count; ++i) {
      for (int j = 0; j < high.count; ++j) {
        const double weight = deep.weight[i] * high.weight[j];
        if (weight == 0) continue;
        rows[count] = from + deep.place[i] * x_.stride[0] + high.place[j] * x_.stride[1];
        weights[count++] = static_cast<C>(weight);
      }
    }
    put_together(rows, weights, count);
    if (columns_.count == 2) {
      make_row<2>(to);
    } else {
      make_row<4>(to);
    }
  }

 private:
  void copy_row(const T* from, T* to) const {
    const int64_t width = y_.size[2], step = x_.stride[2], out = y_.stride[2];
    for (int64_t o = 0; o < width; ++o) to[o * out] = from[columns_.place[o] * step];
  }

  void put_together(const T* const* rows, const C* weights, int count) {
    const int64_t width = x_.size[2], step = x_.stride[2];
    for (int r = 0; r < count; ++r) {
      const T* row = rows[r];
      const C weight = weights[r];
      if (step == 1 && r == 0) {
        for (int64_t i = 0; i < width; ++i) row_[i] = weight * C(widen(row[i]));
      } else if (step == 1) {
        for (int64_t i = 0; i < width; ++i) row_[i] += weight * C(widen(row[i]));
      } else {
        for (int64_t i = 0; i < width; ++i) row_[i] = (r == 0 ? C(0) : row_[i]) + weight * C(widen(row[i * step]));
      }
    }
  }

  template <int Count>
  void make_row(T* to) const {
    const int64_t width = y_.size[2], out = y_.stride[2];
    const int32_t* place = columns_.place;
    const C* weight = columns_.weight;
    const C* row = row_;
    const auto one = [&](int64_t o) {
      C sum = weight[o] * row[place[o]];
      for (int t = 1; t < Count; ++t) sum += weight[t * width + o] * row[place[t * width + o]];
      return narrow<T>(sum);
    };
    if (out == 1) {
#pragma GCC ivdep
      for (int64_t o = 0; o < width; ++o) to[o] = one(o);
    } else {
      for (int64_t o = 0; o < width; ++o) to[o * out] = one(o);
    }
  }

  const SpatialView &x_, &y_;
  const Resizing& resizing_;
  const T* from_;
  T* to_;
  Columns<C> columns_ = {};
  C* row_ = nullptr;
};

template <int X, int Y>
Split split(const WrittenPlan& plan, const double*, int) {
  const SpatialView x = spatial_of(plan.tensor[X]), y = spatial_of(plan.tensor[Y]);
  return split_rows(x, y);
}

template <int X, int Y, Resizing (*Make)(const WrittenPlan&, const double*)>
infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const SpatialView x = spatial_of(call.plan.tensor[X]), y = spatial_of(call.plan.tensor[Y]);
  const Resizing resizing = Make(call.plan, call.attributes);
  return with_float_type(call.plan.tensor[X].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (resizing.how == Resampling::Area) {
      Windows windows = {};
      windows.is_adaptive = true;
      Pooling<T, false> pooling(x, y, windows, call.at<const T>(X), call.at<T>(Y));
      for (int64_t item = first; item < last; ++item) pooling.run_row(item);
      return infinirtSuccess;
    }
    Resize<T> resize(x, y, resizing, call.at<const T>(X), call.at<T>(Y));
    if (!resize.prepare()) return infinirtErrorMemoryAllocation;
    for (int64_t item = first; item < last; ++item) resize.run_row(item);
    return infinirtSuccess;
  });
}

// An item is a row of places.
Split split_grid(const WrittenPlan& plan, const double*, int) {
  const TensorView& view = plan.tensor[affine_grid::tensor::output];
  int64_t rows = 1;
  for (int d = 0; d < view.ndim - 2; ++d) rows *= view.shape[d];
  const int64_t width = view.shape[view.ndim - 2];
  return {width == 0 ? 0 : rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, width))};
}

infinirtError_t run_grid(const WrittenCall& call, int64_t first, int64_t last) {
  namespace at = affine_grid::tensor;
  const TensorView &output = call.plan.tensor[at::output], &input = call.plan.tensor[at::input];
  const bool corners = call.attributes[affine_grid::attribute::align_corners] != 0;
  const int axes = static_cast<int>(call.plan.size[affine_grid::size::k]), ndim = output.ndim;
  const int64_t width = output.shape[ndim - 2], height = output.shape[ndim - 3];
  const int64_t depth = ndim == 5 ? output.shape[1] : 1;
  const int64_t depth_stride = ndim == 5 ? output.stride[1] : 0;
  const int64_t step = output.stride[ndim - 2];
  with_float_type(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    for (int64_t item = first; item < last; ++item) {
      const int64_t h = item % height, d = item / height % depth, b = item / height / depth;
      T* to = call.at<T>(at::output) + b * output.stride[0] + d * depth_stride + h * output.stride[ndim - 3];
      const double y = grid_place(h, height, corners), z = axes == 3 ? grid_place(d, depth, corners) : 0;
      for (int k = 0; k < axes; ++k) {
        const T* map = call.at<const T>(at::input) + b * input.stride[0] + k * input.stride[1];
        const auto factor = [&](int l) { return double(widen(map[l * input.stride[2]])); };
        const double begin = factor(1) * y + (axes == 3 ? factor(2) * z : 0) + factor(axes), slope = factor(0);
        T* axis = to + k * output.stride[ndim - 1];
        for (int64_t w = 0; w < width; ++w) {
          axis[w * step] = narrow<T>(static_cast<C>(begin + slope * grid_place(w, width, corners)));
        }
      }
    }
  });
  return infinirtSuccess;
}

}  // namespace

#define INFINIOP_RESIZING(name, output, input, make)                                                       \
  extern const WrittenKernel name = {split<infiniop::name::tensor::input, infiniop::name::tensor::output>, \
                                     run<infiniop::name::tensor::input, infiniop::name::tensor::output, make>}

INFINIOP_RESIZING(interpolate, y, x, resizing_of_interpolate);
INFINIOP_RESIZING(resample, y, x, resizing_of_resample);
INFINIOP_RESIZING(upsample_nearest, output, input, resizing_of_nearest);
INFINIOP_RESIZING(upsample_bilinear, output, input, resizing_of_bilinear);
extern const WrittenKernel affine_grid = {split_grid, run_grid};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
