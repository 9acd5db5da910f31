// Other sizes of what lies in space, and grids of places: a thread for each element of the result. "variant.h" has X, the tensors' numbers,
// and how elements are made.
#include <cstdint>

#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

#ifndef INFINIOP_GRID

template <class Index>
__device__ __forceinline__ void resize(const WrittenArguments& a, const SpatialView& x, const SpatialView& y, Index number) {
  Index rest = number / static_cast<Index>(y.size[2]);
  const long long w = number - rest * static_cast<Index>(y.size[2]);
  number = rest / static_cast<Index>(y.size[1]);
  const long long h = rest - number * static_cast<Index>(y.size[1]);
  rest = number / static_cast<Index>(y.size[0]);
  const long long d = number - rest * static_cast<Index>(y.size[0]);
  const long long batch = rest / static_cast<Index>(y.channels);
  const long long channel = rest - batch * static_cast<Index>(y.channels);
  const X* from = static_cast<const X*>(a.address[kX]) + batch * x.batch_stride + channel * x.channel_stride;
  X* to = static_cast<X*>(a.address[kY]) + batch * y.batch_stride + channel * y.channel_stride + d * y.stride[0] + h * y.stride[1] + w * y.stride[2];
  if constexpr (kResizing.how == Resampling::Area) {
    Windows shares = {};
    shares.is_adaptive = true;
    const Window deep = window_of(shares, 0, d, x.size[0], y.size[0]), high = window_of(shares, 1, h, x.size[1], y.size[1]);
    const Window wide = window_of(shares, 2, w, x.size[2], y.size[2]);
    C sum = C(0);
    for (long long i = deep.first; i < deep.last; ++i) {
      for (long long j = high.first; j < high.last; ++j) {
        for (long long k = wide.first; k < wide.last; ++k) sum += C(widen(from[i * x.stride[0] + j * x.stride[1] + k * x.stride[2]]));
      }
    }
    *to = Narrow<X>::of(sum / C(deep.count * high.count * wide.count));
  } else {
    const Taps deep = taps_of(kResizing, 0, d, x.size[0], y.size[0]), high = taps_of(kResizing, 1, h, x.size[1], y.size[1]);
    const Taps wide = taps_of(kResizing, 2, w, x.size[2], y.size[2]);
    if constexpr (kResizing.how != Resampling::Linear && kResizing.how != Resampling::Cubic) {
      *to = from[deep.place[0] * x.stride[0] + high.place[0] * x.stride[1] + wide.place[0] * x.stride[2]];
    } else {
      // Of a dimension with one element nothing is made; the compiler knows how many taps there are otherwise.
      constexpr int kTaps = kResizing.how == Resampling::Linear ? 2 : 4;
      C sum = C(0);
      for (int i = 0; i < (x.size[0] == 1 ? 1 : kTaps); ++i) {
        const C depth = x.size[0] == 1 ? C(1) : C(deep.weight[i]);
#pragma unroll
        for (int j = 0; j < kTaps; ++j) {
          const X* row = from + deep.place[i] * x.stride[0] + high.place[j] * x.stride[1];
          C line = C(0);
#pragma unroll
          for (int k = 0; k < kTaps; ++k) line += C(wide.weight[k]) * C(widen(row[wide.place[k] * x.stride[2]]));
          sum += depth * C(high.weight[j]) * line;
        }
      }
      *to = Narrow<X>::of(sum);
    }
  }
}

__device__ __forceinline__ void run(const WrittenArguments& a) {
  const SpatialView x = spatial_of(a.plan.tensor[kX]), y = spatial_of(a.plan.tensor[kY]);
  const long long total = y.batch * y.channels * y.size[0] * y.size[1] * y.size[2];
  for (long long number = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; number < total;
       number += static_cast<long long>(gridDim.x) * blockDim.x) {
    if (total < (1ll << 31)) {
      resize<unsigned>(a, x, y, static_cast<unsigned>(number));
    } else {
      resize<long long>(a, x, y, number);
    }
  }
}

#else

// A thread for each place.
__device__ __forceinline__ void run(const WrittenArguments& a) {
  const TensorView &output = a.plan.tensor[kY], &input = a.plan.tensor[kX];
  const int ndim = output.ndim;
  const long long width = output.shape[ndim - 2], height = output.shape[ndim - 3], depth = ndim == 5 ? output.shape[1] : 1;
  const long long depth_stride = ndim == 5 ? output.stride[1] : 0;
  const long long total = output.shape[0] * depth * height * width;
  for (long long number = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; number < total;
       number += static_cast<long long>(gridDim.x) * blockDim.x) {
    const long long line = number / width, w = number - line * width, plane = line / height, h = line - plane * height;
    const long long b = plane / depth, d = plane - b * depth;
    const double place[3] = {grid_place(w, width, kAlignsCorners), grid_place(h, height, kAlignsCorners), grid_place(d, depth, kAlignsCorners)};
    X* to = static_cast<X*>(a.address[kY]) + b * output.stride[0] + d * depth_stride + h * output.stride[ndim - 3] + w * output.stride[ndim - 2];
    for (int k = 0; k < kAxes; ++k) {
      const X* map = static_cast<const X*>(a.address[kX]) + b * input.stride[0] + k * input.stride[1];
      double sum = static_cast<double>(widen(map[kAxes * input.stride[2]]));
#pragma unroll
      for (int l = 0; l < kAxes; ++l) sum += place[l] * static_cast<double>(widen(map[l * input.stride[2]]));
      to[k * output.stride[ndim - 1]] = Narrow<X>::of(static_cast<C>(sum));
    }
  }
}

#endif

}  // namespace infiniop

extern "C" __global__ void make_elements(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::run(a); }
