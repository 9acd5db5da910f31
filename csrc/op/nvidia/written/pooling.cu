// Pooling: a thread for each element of the result, or a warp where windows are large. "variant.h" has X, what is computed, the tensors'
// numbers, and the windows.
#include <cstdint>

#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

// A sum, or the largest element and its number.
struct Found {
  C value;
  long long place;
};

__device__ __forceinline__ C no_element() {
  if constexpr (!kIsMax) return C(0);
  if constexpr (sizeof(C) == 8) return C(__longlong_as_double(0xfff0000000000000ll));
  return C(__int_as_float(0xff800000));
}

// Whether `other` is to be taken instead: larger, or not a number and further on; of the same ones the first.
__device__ __forceinline__ bool is_better(const Found& best, const Found& other) {
  const bool is_none = best.value != best.value, other_is_none = other.value != other.value;
  if (is_none || other_is_none) return other_is_none && (!is_none || other.place > best.place);
  return other.value > best.value || (other.value == best.value && other.place < best.place);
}

__device__ __forceinline__ Found both(const Found& a, const Found& b) {
  if constexpr (!kIsMax) return {a.value + b.value, 0};
  return is_better(a, b) ? b : a;
}

struct Item {
  long long batch, channel;
  int d, h, w;
};

template <class Index>
__device__ __forceinline__ Item item_of(const SpatialView& y, Index number) {
  Item item;
  Index rest = number / static_cast<Index>(y.size[2]);
  item.w = static_cast<int>(number - rest * static_cast<Index>(y.size[2]));
  number = rest / static_cast<Index>(y.size[1]);
  item.h = static_cast<int>(rest - number * static_cast<Index>(y.size[1]));
  rest = number / static_cast<Index>(y.size[0]);
  item.d = static_cast<int>(number - rest * static_cast<Index>(y.size[0]));
  number = rest / static_cast<Index>(y.channels);
  item.channel = rest - number * static_cast<Index>(y.channels);
  item.batch = number;
  return item;
}

__device__ __forceinline__ void put(const WrittenArguments& a, const SpatialView& y, const Item& item, const Found& found, long long count) {
  C value = found.value;
  if constexpr (!kIsMax) value = value / C(kWindows.divisor ? kWindows.divisor : count);
  static_cast<X*>(a.address[kY])[item.batch * y.batch_stride + item.channel * y.channel_stride + item.d * y.stride[0] + item.h * y.stride[1] +
                                 item.w * y.stride[2]] = Narrow<X>::of(value);
  if constexpr (kIndices >= 0) {
    const SpatialView to = spatial_of(a.plan.tensor[kIndices]);
    static_cast<long long*>(a.address[kIndices])[item.batch * to.batch_stride + item.channel * to.channel_stride + item.d * to.stride[0] +
                                                 item.h * to.stride[1] + item.w * to.stride[2]] = found.place;
  }
}

// `Threads` neighbours share a window.
template <int Threads>
__device__ __forceinline__ void pool(const WrittenArguments& a) {
  const SpatialView x = spatial_of(a.plan.tensor[kX]), y = spatial_of(a.plan.tensor[kY]);
  const long long total = y.batch * y.channels * y.size[0] * y.size[1] * y.size[2];
  const long long threads = static_cast<long long>(gridDim.x) * blockDim.x;
  const long long first = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x;
  const int lane = Threads == 1 ? 0 : threadIdx.x % Threads;
  for (long long number = first / Threads; number < total; number += threads / Threads) {
    const Item item = total < (1ll << 31) ? item_of<unsigned>(y, static_cast<unsigned>(number)) : item_of<long long>(y, number);
    const Window deep = window_of(kWindows, 0, item.d, x.size[0], y.size[0]);
    const Window high = window_of(kWindows, 1, item.h, x.size[1], y.size[1]);
    const Window wide = window_of(kWindows, 2, item.w, x.size[2], y.size[2]);
    const X* from = static_cast<const X*>(a.address[kX]) + item.batch * x.batch_stride + item.channel * x.channel_stride;
    Found found = {no_element(), (deep.first * x.size[1] + high.first) * x.size[2] + wide.first};
    if constexpr (Threads == 1) {
      for (long long d = deep.first; d < deep.last; d += deep.step) {
        for (long long h = high.first; h < high.last; h += high.step) {
          const X* row = from + d * x.stride[0] + h * x.stride[1];
          for (long long w = wide.first; w < wide.last; w += wide.step) {
            const C value = widen(row[w * x.stride[2]]);
            if constexpr (!kIsMax) {
              found.value += value;
            } else if (value > found.value || value != value) {
              found = {value, (d * x.size[1] + h) * x.size[2] + w};
            }
          }
        }
      }
    } else {
      // Elements of the window, one after the other.
      const long long columns = (wide.last - wide.first + wide.step - 1) / wide.step, lines = (high.last - high.first + high.step - 1) / high.step;
      const long long planes = (deep.last - deep.first + deep.step - 1) / deep.step, elements = columns * lines * planes;
      for (long long i = lane; i < elements; i += Threads) {
        const long long line = i / columns, plane = line / lines;
        const long long w = wide.first + (i - line * columns) * wide.step, h = high.first + (line - plane * lines) * high.step;
        const long long d = deep.first + plane * deep.step;
        const C value = widen(from[d * x.stride[0] + h * x.stride[1] + w * x.stride[2]]);
        found = both(found, {value, (d * x.size[1] + h) * x.size[2] + w});
      }
#pragma unroll
      for (int step = Threads / 2; step > 0; step /= 2) {
        const Found other = {__shfl_xor_sync(0xffffffffu, found.value, step), __shfl_xor_sync(0xffffffffu, found.place, step)};
        found = both(found, other);
      }
    }
    if (lane == 0) put(a, y, item, found, deep.count * high.count * wide.count);
  }
}

}  // namespace infiniop

extern "C" __global__ void pool_by_threads(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::pool<1>(a); }
extern "C" __global__ void pool_by_warps(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::pool<32>(a); }
