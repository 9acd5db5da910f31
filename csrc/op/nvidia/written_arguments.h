// The plan of a written operator, as kernels of every device type see it. This file is compiled into the library and, as text, by
// NVIDIA's compiler: plain types of the language only.
#pragma once

namespace infiniop {

constexpr int kMaxWrittenDims = 8;
constexpr int kMaxWrittenSizes = 16;
constexpr int kMaxWrittenTensors = 12;
constexpr int kMaxWrittenAttributes = 20;

struct TensorView {
  int dtype;  // infiniDtype_t
  int ndim;
  int rest_first, rest_dims;  // the dimensions that its pattern writes as "..." or "<"
  int after_dims;  // those that it writes as ">": the last ones
  bool is_given;
  long long shape[kMaxWrittenDims];
  long long stride[kMaxWrittenDims];  // in elements
};

struct WrittenPlan {
  long long size[kMaxWrittenSizes];  // by the names in the schema
  long long rest, before, after;  // how many elements those dimensions have
  int dim;  // what the attribute of that name says, counted from the first dimension
  TensorView tensor[kMaxWrittenTensors];
};

// What a launch passes to a GPU's kernel.
struct WrittenArguments {
  WrittenPlan plan;
  double attributes[kMaxWrittenAttributes];
  void* address[kMaxWrittenTensors];
  void* workspace;
};

#ifdef __CUDACC__
#define INFINIOP_ANYWHERE __device__ __forceinline__
#else
#define INFINIOP_ANYWHERE inline
#endif

// Where element `index` of `count` dimensions from `first` on lies, in elements.
INFINIOP_ANYWHERE long long offset_in(const TensorView& view, int first, int count, long long index) {
  long long offset = 0;
  for (int d = first + count - 1; d >= first; --d) {
    if (d == first) return offset + index * view.stride[d];
    const long long next = index / view.shape[d];
    offset += (index - next * view.shape[d]) * view.stride[d];
    index = next;
  }
  return offset;
}
// The same by divisions of type Count, 32 bits of which take a fraction of the time of 64 on a GPU.
template <class Count>
INFINIOP_ANYWHERE long long offset_as(const TensorView& view, int first, int count, Count index) {
  long long offset = 0;
  for (int d = first + count - 1; d > first; --d) {
    const Count size = static_cast<Count>(view.shape[d]), next = index / size;
    offset += static_cast<long long>(index - next * size) * view.stride[d];
    index = next;
  }
  return count > 0 ? offset + static_cast<long long>(index) * view.stride[first] : 0;
}
// Of the dimensions "..." or "<".
INFINIOP_ANYWHERE long long offset_of_rest(const TensorView& view, long long index) {
  return offset_in(view, view.rest_first, view.rest_dims, index);
}
// Of the dimensions ">".
INFINIOP_ANYWHERE long long offset_of_after(const TensorView& view, long long index) {
  return offset_in(view, view.ndim - view.after_dims, view.after_dims, index);
}

// A tensor of batch, channels and up to three dimensions of space: depth, height, width. The first ones may be missing, and have size 1.
struct SpatialView {
  long long batch, channels, size[3];
  long long batch_stride, channel_stride, stride[3];
};

INFINIOP_ANYWHERE SpatialView spatial_of(const TensorView& view) {
  SpatialView space = {view.shape[0], view.shape[1], {1, 1, 1}, view.stride[0], view.stride[1], {0, 0, 0}};
  for (int d = 2; d < view.ndim; ++d) {
    space.size[d + 3 - view.ndim] = view.shape[d];
    space.stride[d + 3 - view.ndim] = view.stride[d];
  }
  return space;
}

// The windows of pooling, in each dimension of space.
struct Windows {
  long long kernel[3], stride[3], padding[3], dilation[3];
  long long divisor;  // of averages; 0: how many elements a window has
  bool is_adaptive;  // the results share all elements evenly, and nothing above counts
  bool counts_padding;
};

struct Window {
  long long first, last, step;  // elements from `first` on, before `last`
  long long count;  // of them, and of those outside of the edges if these count
};

INFINIOP_ANYWHERE Window window_of(const Windows& windows, int d, long long o, long long size, long long results) {
  if (windows.is_adaptive) {
    const long long first = o * size / results, last = ((o + 1) * size + results - 1) / results;
    return {first, last, 1, last - first};
  }
  const long long step = windows.dilation[d], begin = o * windows.stride[d] - windows.padding[d];
  const long long end = begin + (windows.kernel[d] - 1) * step + 1;
  long long first = begin, last = end < size ? end : size;
  if (first < 0) first += (-first + step - 1) / step * step;
  if (last < first) last = first;
  const long long padded_end = end < size + windows.padding[d] ? end : size + windows.padding[d];
  return {first, last, step, windows.counts_padding ? padded_end - begin : last - first};
}

// How elements of another size are made of those that there are.
enum class Resampling : int { Nearest, Linear, Cubic, Area, NearestExact };

// By the place of a mode's name among those of the schema: nearest, linear, bilinear, bicubic, trilinear, area, nearest-exact.
INFINIOP_ANYWHERE Resampling resampling_of(double mode) {
  switch (static_cast<int>(mode)) {
    case 0:
      return Resampling::Nearest;
    case 3:
      return Resampling::Cubic;
    case 5:
      return Resampling::Area;
    case 6:
      return Resampling::NearestExact;
    default:
      return Resampling::Linear;
  }
}

// In one dimension of space: which elements, and how much of each.
struct Taps {
  long long place[4];
  double weight[4];
  int count;
};

struct Resizing {
  Resampling how;
  bool aligns_corners;
  double scale[3];  // how much larger the result is; 0: what the sizes say
};

INFINIOP_ANYWHERE double cubic_near(double x) { return (1.25 * x - 2.25) * x * x + 1; }
INFINIOP_ANYWHERE double cubic_far(double x) { return ((-0.75 * x + 3.75) * x - 6) * x + 3; }

INFINIOP_ANYWHERE Taps taps_of(const Resizing& resizing, int d, long long o, long long size, long long results) {
  const double scale = resizing.scale[d];
  Taps taps = {};
  if (resizing.how == Resampling::Nearest || resizing.how == Resampling::NearestExact) {
    // In float, since everybody rounds so.
    const float step =
        scale > 0 ? static_cast<float>(1 / scale) : static_cast<float>(size) / static_cast<float>(results);
    const float from = static_cast<float>(o) + (resizing.how == Resampling::NearestExact ? 0.5f : 0.f);
    const long long place = static_cast<long long>(from * step);
    taps.place[0] = place < size - 1 ? place : size - 1;
    taps.weight[0] = 1;
    taps.count = 1;
    return taps;
  }
  double at = 0;
  if (resizing.aligns_corners) {
    at = results > 1 ? static_cast<double>(o) * (static_cast<double>(size - 1) / static_cast<double>(results - 1)) : 0;
  } else {
    const double step = scale > 0 ? 1 / scale : static_cast<double>(size) / static_cast<double>(results);
    at = (static_cast<double>(o) + 0.5) * step - 0.5;
  }
  if (resizing.how == Resampling::Linear) {
    if (at < 0) at = 0;
    long long first = static_cast<long long>(at);
    if (first > size - 1) first = size - 1;
    double part = at - static_cast<double>(first);
    if (part > 1) part = 1;
    taps.place[0] = first;
    taps.place[1] = first < size - 1 ? first + 1 : first;
    taps.weight[0] = 1 - part;
    taps.weight[1] = part;
    taps.count = 2;
    return taps;
  }
  long long first = static_cast<long long>(at);
  if (static_cast<double>(first) > at) --first;
  const double part = at - static_cast<double>(first);
  taps.weight[0] = cubic_far(part + 1);
  taps.weight[1] = cubic_near(part);
  taps.weight[2] = cubic_near(1 - part);
  taps.weight[3] = cubic_far(2 - part);
  taps.count = 4;
  for (int i = 0; i < 4; ++i) {
    const long long place = first - 1 + i;
    taps.place[i] = place < 0 ? 0 : place > size - 1 ? size - 1 : place;
  }
  return taps;
}

// Place `number` of `count`, from -1 to 1: of the places themselves, or of the edges around them.
INFINIOP_ANYWHERE double grid_place(long long number, long long count, bool aligns_corners) {
  if (aligns_corners) return count > 1 ? 2 * static_cast<double>(number) / static_cast<double>(count - 1) - 1 : 0;
  return (2 * static_cast<double>(number) + 1) / static_cast<double>(count) - 1;
}

}  // namespace infiniop
