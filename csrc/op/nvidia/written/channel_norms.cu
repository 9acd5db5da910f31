// Normalisations of channels. "variant.h" says which: INFINIOP_BATCH_NORM, _TRAINING, _GROUP or _RESPONSE, and has X. Where there are
// statistics to find, a block has a channel or a group, and reads it three times: for the mean, for the variance, for the results.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

#if defined(INFINIOP_BATCH_NORM)
namespace names = batch_norm;
#elif defined(INFINIOP_TRAINING)
namespace names = batch_norm_training;
#elif defined(INFINIOP_GROUP)
namespace names = group_norm;
#else
namespace names = local_response_norm;
#endif

// Where element `number` of the dimensions behind the channels lies.
__device__ __forceinline__ long long rest_offset(const TensorView& view, long long number) { return offset_in(view, 2, view.ndim - 2, number); }

#if !defined(INFINIOP_RESPONSE)

// A number of a channel, in whatever type.
__device__ __forceinline__ double channel_number(const WrittenArguments& a, int tensor, long long channel, double otherwise) {
  const TensorView& view = a.plan.tensor[tensor];
  if (!view.is_given) return otherwise;
  const long long at = channel * view.stride[0];
  switch (view.dtype) {  // of infiniDtype_t
    case 12:
      return widen(static_cast<const Float16*>(a.address[tensor])[at]);
    case 19:
      return widen(static_cast<const BFloat16*>(a.address[tensor])[at]);
    case 14:
      return static_cast<const double*>(a.address[tensor])[at];
    default:
      return static_cast<const float*>(a.address[tensor])[at];
  }
}

#endif

#if defined(INFINIOP_TRAINING)

__device__ __forceinline__ void put_channel_number(const WrittenArguments& a, int tensor, long long channel, double value) {
  const TensorView& view = a.plan.tensor[tensor];
  const long long at = channel * view.stride[0];
  switch (view.dtype) {
    case 12:
      static_cast<Float16*>(a.address[tensor])[at] = Narrow<Float16>::of(static_cast<float>(value));
      break;
    case 19:
      static_cast<BFloat16*>(a.address[tensor])[at] = Narrow<BFloat16>::of(static_cast<float>(value));
      break;
    case 14:
      static_cast<double*>(a.address[tensor])[at] = value;
      break;
    default:
      static_cast<float*>(a.address[tensor])[at] = static_cast<float>(value);
  }
}

#endif

#if defined(INFINIOP_TRAINING) || defined(INFINIOP_GROUP)

// The sum over all threads of the block, which all of them get.
__device__ __forceinline__ double block_sum(double value) {
  __shared__ double sums[32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  __syncthreads();  // what was there before has been read
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  value = threadIdx.x % 32 < blockDim.x / 32 ? sums[threadIdx.x % 32] : 0;
#pragma unroll
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

// Sums are in double where they are results themselves.
#if defined(INFINIOP_TRAINING)
using Sum = double;
#else
using Sum = C;
#endif

// What a block normalises: `outer` times `rest` elements. Of training the outer ones are batches, of groups channels.
struct Piece {
  const X* x;
  X* y;
  long long x_outer, y_outer, outer, rest;
  bool is_dense;  // the rest lies side by side in both
};

__device__ __forceinline__ bool lies_side_by_side(const TensorView& view) {
  long long expected = 1;
  for (int d = view.ndim - 1; d >= 2; --d) {
    if (view.shape[d] != 1 && view.stride[d] != expected) return false;
    expected *= view.shape[d];
  }
  return true;
}

// Calls function(outer, offset in x, offset in y) for each element of this thread.
template <class Function>
__device__ __forceinline__ void for_each(const WrittenArguments& a, const Piece& piece, const Function& function) {
  const TensorView &x = a.plan.tensor[names::tensor::x], &y = a.plan.tensor[names::tensor::y];
  const long long total = piece.outer * piece.rest;
  for (long long i = threadIdx.x; i < total; i += blockDim.x) {
    long long outer, at;
    if (total < (1ll << 31)) {
      const unsigned small = static_cast<unsigned>(i), rest = static_cast<unsigned>(piece.rest);
      outer = small / rest;
      at = small - static_cast<unsigned>(outer) * rest;
    } else {
      outer = i / piece.rest;
      at = i - outer * piece.rest;
    }
    const long long in_x = piece.is_dense ? at : rest_offset(x, at), in_y = piece.is_dense ? at : rest_offset(y, at);
    function(outer, outer * piece.x_outer + in_x, outer * piece.y_outer + in_y);
  }
}

__device__ __forceinline__ void run(const WrittenArguments& a) {
  const WrittenPlan& plan = a.plan;
  const TensorView &x = plan.tensor[names::tensor::x], &y = plan.tensor[names::tensor::y];
  const double eps = a.attributes[names::attribute::eps];
  Piece piece;
  piece.rest = plan.rest;
  piece.is_dense = lies_side_by_side(x) && lies_side_by_side(y);
#if defined(INFINIOP_TRAINING)
  const long long pieces = plan.size[names::size::c];
#else
  const long long groups = static_cast<long long>(a.attributes[names::attribute::num_groups]);
  const long long channels = plan.size[names::size::c] / groups, pieces = plan.size[names::size::b] * groups;
#endif
  for (long long number = blockIdx.x; number < pieces; number += gridDim.x) {
#if defined(INFINIOP_TRAINING)
    const long long x_at = number * x.stride[1], y_at = number * y.stride[1];
    piece.outer = plan.size[names::size::b];
    piece.x_outer = x.stride[0];
    piece.y_outer = y.stride[0];
#else
    const long long batch = number / groups, first_channel = (number - batch * groups) * channels;
    const long long x_at = batch * x.stride[0] + first_channel * x.stride[1], y_at = batch * y.stride[0] + first_channel * y.stride[1];
    piece.outer = channels;
    piece.x_outer = x.stride[1];
    piece.y_outer = y.stride[1];
#endif
    piece.x = static_cast<const X*>(a.address[names::tensor::x]) + x_at;
    piece.y = static_cast<X*>(a.address[names::tensor::y]) + y_at;
    const double count = static_cast<double>(piece.outer * piece.rest);
    Sum sum = 0;
    for_each(a, piece, [&](long long, long long from, long long) { sum += Sum(widen(piece.x[from])); });
    const double mean = block_sum(sum) / count;
    const C center = C(mean);
    const Sum middle = Sum(mean);
    Sum squares = 0;
    for_each(a, piece, [&](long long, long long from, long long) {
      const Sum distance = Sum(widen(piece.x[from])) - middle;
      squares += distance * distance;
    });
    const double total = block_sum(squares);
    const double scale = 1 / sqrt(total / count + eps);
#if defined(INFINIOP_TRAINING)
    const C factor = C(scale * channel_number(a, names::tensor::weight, number, 1)), shift = C(channel_number(a, names::tensor::bias, number, 0));
    for_each(a, piece, [&](long long, long long from, long long to) {
      piece.y[to] = Narrow<X>::of((C(widen(piece.x[from])) - center) * factor + shift);
    });
    if (threadIdx.x == 0) {
      const double momentum = a.attributes[names::attribute::momentum], kept = 1 - momentum;
      put_channel_number(a, names::tensor::running_mean, number, kept * channel_number(a, names::tensor::running_mean, number, 0) + momentum * mean);
      put_channel_number(a, names::tensor::running_var, number,
                         kept * channel_number(a, names::tensor::running_var, number, 0) + momentum * (total / (count - 1)));
    }
#else
    for_each(a, piece, [&](long long outer, long long from, long long to) {
      const long long channel = first_channel + outer;
      const C factor = C(scale * channel_number(a, names::tensor::weight, channel, 1)), shift = C(channel_number(a, names::tensor::bias, channel, 0));
      piece.y[to] = Narrow<X>::of((C(widen(piece.x[from])) - center) * factor + shift);
    });
#endif
  }
}

#else

// A thread for each element.
__device__ __forceinline__ void run(const WrittenArguments& a) {
  const WrittenPlan& plan = a.plan;
  const TensorView &x = plan.tensor[names::tensor::x], &y = plan.tensor[names::tensor::y];
  const long long channels = plan.size[names::size::c], total = plan.size[names::size::b] * channels * plan.rest;
  for (long long number = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; number < total;
       number += static_cast<long long>(gridDim.x) * blockDim.x) {
    const long long image = number / plan.rest, rest = number - image * plan.rest, batch = image / channels, c = image - batch * channels;
    const X* from = static_cast<const X*>(a.address[names::tensor::x]) + batch * x.stride[0] + rest_offset(x, rest);
    X* to = static_cast<X*>(a.address[names::tensor::y]) + batch * y.stride[0] + c * y.stride[1] + rest_offset(y, rest);
#if defined(INFINIOP_BATCH_NORM)
    const double scale = channel_number(a, names::tensor::weight, c, 1) /
                         sqrt(channel_number(a, names::tensor::var, c, 1) + a.attributes[names::attribute::eps]);
    const C mean = C(channel_number(a, names::tensor::mean, c, 0)), shift = C(channel_number(a, names::tensor::bias, c, 0));
    *to = Narrow<X>::of((C(widen(from[c * x.stride[1]])) - mean) * C(scale) + shift);
#else
    const long long size = static_cast<long long>(a.attributes[names::attribute::size]);
    const long long first = c - size / 2 > 0 ? c - size / 2 : 0, end = c + (size - 1) / 2 + 1, last = end < channels ? end : channels;
    C sum = C(0);
    for (long long other = first; other < last; ++other) {
      const C value = widen(from[other * x.stride[1]]);
      sum += value * value;
    }
    const C base = sum * C(a.attributes[names::attribute::alpha] / static_cast<double>(size)) + C(a.attributes[names::attribute::k]);
    const C power = C(-a.attributes[names::attribute::beta]);
    if constexpr (sizeof(C) == 8) {
      *to = Narrow<X>::of(C(widen(from[c * x.stride[1]])) * pow(base, power));
    } else {
      *to = Narrow<X>::of(C(widen(from[c * x.stride[1]])) * powf(base, power));
    }
#endif
  }
}

#endif

}  // namespace infiniop

extern "C" __global__ void normalise(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::run(a); }
