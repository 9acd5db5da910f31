// Convolution. multiply_tiles: as a product of matrices whose second one, the windows, is gathered into shared memory tile by tile.
// sum_windows: a thread for each element of the result, where a group has few channels. "variant.h" has X and the size of the kernel.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

// Rounded once; the compiler is told to fuse nothing by itself.
__device__ __forceinline__ float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
__device__ __forceinline__ double fused(double a, double b, double c) { return __fma_rn(a, b, c); }

struct Shape {
  SpatialView x, y, w;
  int inputs, outputs;  // channels of a group
  int pad[3], stride[3], dilation[3];
};

__device__ __forceinline__ Shape shape_of(const WrittenArguments& a) {
  using namespace conv;
  Shape s;
  s.x = spatial_of(a.plan.tensor[tensor::x]);
  s.y = spatial_of(a.plan.tensor[tensor::y]);
  s.w = spatial_of(a.plan.tensor[tensor::w]);
  s.inputs = static_cast<int>(s.w.channels);
  s.outputs = static_cast<int>(s.w.batch / (s.x.channels / s.w.channels));
#pragma unroll
  for (int d = 0; d < 3; ++d) {
    s.pad[d] = static_cast<int>(a.attributes[attribute::pads_d + d]);
    s.stride[d] = static_cast<int>(a.attributes[attribute::strides_d + d]);
    s.dilation[d] = static_cast<int>(a.attributes[attribute::dilations_d + d]);
  }
  return s;
}

// One place of the result, of all batches.
struct Place {
  long long batch;
  int d, h, w;
};

__device__ __forceinline__ Place place_of(const Shape& s, long long number) {
  Place place;
  long long rest = number / s.y.size[2];
  place.w = static_cast<int>(number - rest * s.y.size[2]);
  number = rest / s.y.size[1];
  place.h = static_cast<int>(rest - number * s.y.size[1]);
  place.batch = number / s.y.size[0];
  place.d = static_cast<int>(number - place.batch * s.y.size[0]);
  return place;
}

// Element `k` of the window at a place, which begins at depth d, height h, width w; outside of the edges 0.
__device__ __forceinline__ C window_element(const Shape& s, const X* x, int k, int d, int h, int w) {
  const int row = k / kKernelW, column = k - row * kKernelW;
  const int plane = row / kKernelH, line = row - plane * kKernelH;
  const int input = plane / kKernelD, depth = plane - input * kKernelD;
  d += depth * s.dilation[0];
  h += line * s.dilation[1];
  w += column * s.dilation[2];
  if (d < 0 || d >= s.x.size[0] || h < 0 || h >= s.x.size[1] || w < 0 || w >= s.x.size[2]) return C(0);
  return widen(x[input * s.x.channel_stride + d * s.x.stride[0] + h * s.x.stride[1] + w * s.x.stride[2]]);
}

__device__ __forceinline__ C weight_element(const Shape& s, const X* w, int k) {
  const int row = k / kKernelW, column = k - row * kKernelW;
  const int plane = row / kKernelH, line = row - plane * kKernelH;
  const int input = plane / kKernelD, depth = plane - input * kKernelD;
  return widen(w[input * s.w.channel_stride + depth * s.w.stride[0] + line * s.w.stride[1] + column * s.w.stride[2]]);
}

constexpr int kDepth = 8;

// A block computes Tile channels at Tile places. Its 256 threads are 16 x 16, and each has (Tile / 16)^2 sums: channels that lie
// 16 apart, and places that do, so that neighbours write side by side.
template <int Tile>
__device__ __forceinline__ void multiply_tiles(const WrittenArguments& a) {
  using namespace conv;
  constexpr int kEach = Tile / 16, kLoads = Tile * kDepth / 256;
  __shared__ C weights[kDepth][Tile + 1];
  __shared__ C windows[kDepth][Tile];
  const Shape s = shape_of(a);
  const int depth = s.inputs * kKernelD * kKernelH * kKernelW;
  const long long places = s.y.batch * s.y.size[0] * s.y.size[1] * s.y.size[2];
  const int tiles_down = (s.outputs + Tile - 1) / Tile;
  const int group = blockIdx.y / tiles_down, first_row = (blockIdx.y - group * tiles_down) * Tile;
  const long long first_place = blockIdx.x * static_cast<long long>(Tile);
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;

  // What this thread brings: one column of windows, and one column of weights.
  const int place_column = threadIdx.x % Tile, window_row = threadIdx.x / Tile;
  constexpr int kWindowStep = 256 / Tile;
  const bool has_place = first_place + place_column < places;
  const Place place = place_of(s, has_place ? first_place + place_column : 0);
  const int begin_d = place.d * s.stride[0] - s.pad[0], begin_h = place.h * s.stride[1] - s.pad[1], begin_w = place.w * s.stride[2] - s.pad[2];
  const X* x = static_cast<const X*>(a.address[tensor::x]) + place.batch * s.x.batch_stride + group * static_cast<long long>(s.inputs) * s.x.channel_stride;
  const int weight_k = threadIdx.x % kDepth, weight_row = threadIdx.x / kDepth;
  constexpr int kWeightStep = 256 / kDepth;
  const X* w = static_cast<const X*>(a.address[tensor::w]) + (group * static_cast<long long>(s.outputs) + first_row) * s.w.batch_stride;

  C sum[kEach][kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
#pragma unroll
    for (int j = 0; j < kEach; ++j) sum[i][j] = C(0);
  }
  C next_window[kLoads], next_weight[kLoads];
  const auto bring = [&](int k) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      const int at = k + window_row + i * kWindowStep;
      next_window[i] = has_place && at < depth ? window_element(s, x, at, begin_d, begin_h, begin_w) : C(0);
      const int row = weight_row + i * kWeightStep;
      next_weight[i] = first_row + row < s.outputs && k + weight_k < depth ? weight_element(s, w + row * s.w.batch_stride, k + weight_k) : C(0);
    }
  };
  bring(0);
  for (int k = 0; k < depth; k += kDepth) {
#pragma unroll
    for (int i = 0; i < kLoads; ++i) {
      windows[window_row + i * kWindowStep][place_column] = next_window[i];
      weights[weight_k][weight_row + i * kWeightStep] = next_weight[i];
    }
    __syncthreads();
    if (k + kDepth < depth) bring(k + kDepth);
#pragma unroll
    for (int each = 0; each < kDepth; ++each) {
      C left[kEach], right[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        left[i] = weights[each][ty + 16 * i];
        right[i] = windows[each][tx + 16 * i];
      }
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
#pragma unroll
        for (int j = 0; j < kEach; ++j) sum[i][j] = fused(left[i], right[j], sum[i][j]);
      }
    }
    __syncthreads();
  }

  const X* bias = static_cast<const X*>(a.address[tensor::bias]);
  const long long bias_stride = a.plan.tensor[tensor::bias].stride[0];
  X* y = static_cast<X*>(a.address[tensor::y]);
#pragma unroll
  for (int j = 0; j < kEach; ++j) {
    const long long number = first_place + tx + 16 * j;
    if (number >= places) continue;
    const Place at = place_of(s, number);
    const long long offset = at.batch * s.y.batch_stride + at.d * s.y.stride[0] + at.h * s.y.stride[1] + at.w * s.y.stride[2];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int row = first_row + ty + 16 * i;
      if (row >= s.outputs) continue;
      const long long channel = group * static_cast<long long>(s.outputs) + row;
      const C value = sum[i][j] + (bias ? C(widen(bias[channel * bias_stride])) : C(0));
      y[offset + channel * s.y.channel_stride] = Narrow<X>::of(value);
    }
  }
}

__device__ __forceinline__ void sum_windows(const WrittenArguments& a) {
  using namespace conv;
  const Shape s = shape_of(a);
  const int depth = s.inputs * kKernelD * kKernelH * kKernelW;
  const long long places = s.y.size[0] * s.y.size[1] * s.y.size[2], total = s.y.batch * s.y.channels * places;
  const X* bias = static_cast<const X*>(a.address[tensor::bias]);
  const long long bias_stride = a.plan.tensor[tensor::bias].stride[0];
  for (long long item = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; item < total;
       item += static_cast<long long>(gridDim.x) * blockDim.x) {
    const long long image = item / places, batch = image / s.y.channels, channel = image - batch * s.y.channels;
    const Place at = place_of(s, item - image * places);
    const long long group = channel / s.outputs;
    const X* x = static_cast<const X*>(a.address[tensor::x]) + batch * s.x.batch_stride + group * s.inputs * s.x.channel_stride;
    const X* w = static_cast<const X*>(a.address[tensor::w]) + channel * s.w.batch_stride;
    const int d = at.d * s.stride[0] - s.pad[0], h = at.h * s.stride[1] - s.pad[1], width = at.w * s.stride[2] - s.pad[2];
    C sum = bias ? C(widen(bias[channel * bias_stride])) : C(0);
    for (int k = 0; k < depth; ++k) sum = fused(weight_element(s, w, k), window_element(s, x, k, d, h, width), sum);
    X* y = static_cast<X*>(a.address[tensor::y]);
    y[batch * s.y.batch_stride + channel * s.y.channel_stride + at.d * s.y.stride[0] + at.h * s.y.stride[1] + at.w * s.y.stride[2]] =
        Narrow<X>::of(sum);
  }
}

}  // namespace infiniop

extern "C" __global__ void __launch_bounds__(256) multiply_tiles_64(const __grid_constant__ infiniop::WrittenArguments a) {
  infiniop::multiply_tiles<64>(a);
}
extern "C" __global__ void __launch_bounds__(256) multiply_tiles_128(const __grid_constant__ infiniop::WrittenArguments a) {
  infiniop::multiply_tiles<sizeof(infiniop::C) == 8 ? 64 : 128>(a);
}
extern "C" __global__ void sum_windows(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::sum_windows(a); }
