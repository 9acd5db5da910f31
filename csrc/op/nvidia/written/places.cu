// Results each of whose elements comes from a few of the input, which its place says: a thread for each. "variant.h" names the operator,
// X, Count and kDims, how many dimensions the result has.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

// In each dimension. A tensor without dimensions has none.
struct Place {
  long long at[kDims > 0 ? kDims : 1];
};

#if defined(INFINIOP_PAD)
namespace names = pad;
constexpr int kOut = pad::tensor::y, kIn = pad::tensor::x;

__device__ __forceinline__ X find(const WrittenArguments& a, const Place& place) {
  const TensorView& x = a.plan.tensor[kIn];
  const int first = kDims - static_cast<int>(a.attributes[pad::attribute::pad_size]) / 8;
  long long from = 0;
  bool is_inside = true;
#pragma unroll
  for (int d = 0; d < kDims; ++d) {
    const long long size = x.shape[d];
    long long at = place.at[d] - (d < first ? 0 : static_cast<long long>(a.attributes[pad::attribute::pad_0 + 2 * (d - first)]));
    if (at < 0 || at >= size) {
      if (kMode == 0) is_inside = false;
      if (kMode == 1) at = at < 0 ? -at : 2 * (size - 1) - at;
      if (kMode == 2) at = at < 0 ? 0 : size - 1;
      if (kMode == 3) at = at < 0 ? at + size : at - size;
    }
    from += at * x.stride[d];
  }
  if (is_inside) return static_cast<const X*>(a.address[kIn])[from];
  using C = decltype(widen(X{}));
  const double given = a.attributes[pad::attribute::value], value = kTruth ? given != 0 : given;
  return Narrow<X>::of(C(1) / C(2) != C(0) ? static_cast<C>(value) : static_cast<C>(static_cast<long long>(value)));
}
#elif defined(INFINIOP_FLIPUD)
constexpr int kOut = flipud::tensor::output, kIn = flipud::tensor::input;

__device__ __forceinline__ X find(const WrittenArguments& a, const Place& place) {
  const TensorView& input = a.plan.tensor[kIn];
  long long from = (input.shape[0] - 1 - place.at[0]) * input.stride[0];
#pragma unroll
  for (int d = 1; d < kDims; ++d) from += place.at[d] * input.stride[d];
  return static_cast<const X*>(a.address[kIn])[from];
}
#elif defined(INFINIOP_TRIL) || defined(INFINIOP_TRIU)
#if defined(INFINIOP_TRIL)
namespace names = tril;
#else
namespace names = triu;
#endif
constexpr int kOut = names::tensor::output, kIn = names::tensor::input;

__device__ __forceinline__ X find(const WrittenArguments& a, const Place& place) {
  const TensorView& input = a.plan.tensor[kIn];
  const long long edge = place.at[kDims - 2] + static_cast<long long>(a.attributes[names::attribute::diagonal]), column = place.at[kDims - 1];
#if defined(INFINIOP_TRIL)
  if (column > edge) return X{};
#else
  if (column < edge) return X{};
#endif
  long long from = 0;
#pragma unroll
  for (int d = 0; d < kDims; ++d) from += place.at[d] * input.stride[d];
  return static_cast<const X*>(a.address[kIn])[from];
}
#elif defined(INFINIOP_DIFF)
constexpr int kOut = diff::tensor::y, kIn = diff::tensor::x;

__device__ __forceinline__ X find(const WrittenArguments& a, const Place& place) {
  using C = decltype(widen(X{}));
  const TensorView& x = a.plan.tensor[kIn];
  long long from = 0;
#pragma unroll
  for (int d = 0; d < kDims; ++d) from += place.at[d] * x.stride[d];
  const long long step = x.stride[a.plan.dim];
  const X* elements = static_cast<const X*>(a.address[kIn]) + from;
  const int n = static_cast<int>(a.attributes[diff::attribute::n]);
  // With the binomial coefficients, from the last element on, of alternating sign.
  C sum = C(0);
  double coefficient = 1;
  for (int k = 0; k <= n; ++k) {
    const C factor = static_cast<C>(static_cast<long long>(coefficient));
    const C term = static_cast<C>(factor * widen(elements[(n - k) * step]));
    sum = static_cast<C>(k % 2 ? sum - term : sum + term);
    coefficient = coefficient * (n - k) / (k + 1);
  }
  return Narrow<X>::of(sum);
}
#elif defined(INFINIOP_PIXEL_SHUFFLE)
constexpr int kOut = pixel_shuffle::tensor::y, kIn = pixel_shuffle::tensor::x;

__device__ __forceinline__ X find(const WrittenArguments& a, const Place& place) {
  const TensorView& x = a.plan.tensor[kIn];
  const Count factor = static_cast<Count>(a.attributes[pixel_shuffle::attribute::upscale_factor]);
  const Count line = static_cast<Count>(place.at[kDims - 2]), column = static_cast<Count>(place.at[kDims - 1]);
  const Count row = line / factor, across = column / factor;
  const long long plane = (place.at[kDims - 3] * factor + (line - row * factor)) * factor + (column - across * factor);
  long long from = plane * x.stride[kDims - 3] + static_cast<long long>(row) * x.stride[kDims - 2] + static_cast<long long>(across) * x.stride[kDims - 1];
#pragma unroll
  for (int d = 0; d < kDims - 3; ++d) from += place.at[d] * x.stride[d];
  return static_cast<const X*>(a.address[kIn])[from];
}
#elif defined(INFINIOP_UNFOLD)
constexpr int kOut = unfold::tensor::output, kIn = unfold::tensor::input;

__device__ __forceinline__ X find(const WrittenArguments& a, const Place& place) {
  using namespace unfold;
  const TensorView& input = a.plan.tensor[kIn];
  const long long height = a.plan.size[size::h], width = a.plan.size[size::w];
  const long long kernel_h = static_cast<long long>(a.attributes[attribute::kernel_height]), kernel_w = static_cast<long long>(a.attributes[attribute::kernel_width]);
  const long long stride_h = static_cast<long long>(a.attributes[attribute::stride_height]), stride_w = static_cast<long long>(a.attributes[attribute::stride_width]);
  const long long pad_h = static_cast<long long>(a.attributes[attribute::padding_height]), pad_w = static_cast<long long>(a.attributes[attribute::padding_width]);
  const long long apart_h = static_cast<long long>(a.attributes[attribute::dilation_height]), apart_w = static_cast<long long>(a.attributes[attribute::dilation_width]);
  const Count columns = static_cast<Count>((width + 2 * pad_w - apart_w * (kernel_w - 1) - 1) / stride_w + 1);
  const Count row = static_cast<Count>(place.at[1]), step = static_cast<Count>(place.at[2]);
  const Count kernel = static_cast<Count>(kernel_h * kernel_w), channel = row / kernel, inside = row - channel * kernel;
  const Count k = inside / static_cast<Count>(kernel_w), line = step / columns;
  const long long y = static_cast<long long>(line) * stride_h - pad_h + static_cast<long long>(k) * apart_h;
  const long long x = static_cast<long long>(step - line * columns) * stride_w - pad_w + static_cast<long long>(inside - k * static_cast<Count>(kernel_w)) * apart_w;
  if (y < 0 || y >= height || x < 0 || x >= width) return X{};
  return static_cast<const X*>(a.address[kIn])[place.at[0] * input.stride[0] + static_cast<long long>(channel) * input.stride[1] + y * input.stride[2] + x * input.stride[3]];
}
#elif defined(INFINIOP_VANDER)
constexpr int kOut = vander::tensor::output, kIn = vander::tensor::input;

__device__ __forceinline__ X find(const WrittenArguments& a, const Place& place) {
  using C = decltype(widen(X{}));
  const X x = static_cast<const X*>(a.address[kIn])[place.at[0] * a.plan.tensor[kIn].stride[0]];
  const bool increasing = a.attributes[vander::attribute::increasing] != 0;
  long long power = increasing ? place.at[1] : a.plan.size[vander::size::N] - 1 - place.at[1];
  // Squares of squares: of floats in double, which are exact enough whatever the power.
  Product result = 1, square = static_cast<Product>(widen(x));
  for (; power > 0; power >>= 1, square *= square) {
    if (power & 1) result *= square;
  }
  return Narrow<X>::of(static_cast<C>(result));
}
#endif

__device__ __forceinline__ void each_element(const WrittenArguments& a) {
  const TensorView& output = a.plan.tensor[kOut];
  Count total = 1;
#pragma unroll
  for (int d = 0; d < kDims; ++d) total *= static_cast<Count>(output.shape[d]);
  for (Count item = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; item < total; item += static_cast<Count>(gridDim.x) * blockDim.x) {
    Place place{};
    long long to = 0;
    Count left = item;
#pragma unroll
    for (int d = kDims - 1; d >= 0; --d) {
      const Count size = static_cast<Count>(output.shape[d]), next = d > 0 ? left / size : 0;
      place.at[d] = static_cast<long long>(left - next * size);
      to += place.at[d] * output.stride[d];
      left = next;
    }
    static_cast<X*>(a.address[kOut])[to] = find(a, place);
  }
}

}  // namespace infiniop

extern "C" __global__ void each_element(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::each_element(a); }
