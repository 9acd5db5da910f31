// Elements that indices name, one by one: a thread for each. "variant.h" says INFINIOP_TAKE where indices count all elements of the input,
// or else they count one dimension's.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

#if defined(INFINIOP_TAKE)
namespace names = take;
constexpr int kIndices = take::tensor::indices;
#else
namespace names = gather;
constexpr int kIndices = gather::tensor::index;
#endif

__device__ __forceinline__ void gather_elements(const WrittenArguments& a) {
  const WrittenPlan& plan = a.plan;
  const TensorView &output = plan.tensor[names::tensor::output], &input = plan.tensor[names::tensor::input], &index = plan.tensor[kIndices];
  const Count total = static_cast<Count>(plan.rest);
#if defined(INFINIOP_TAKE)
  long long size = 1;
  for (int d = 0; d < input.ndim; ++d) size *= input.shape[d];
#else
  const int ndim = index.ndim, named = static_cast<int>(a.attributes[names::attribute::dim]);
  const int dim = named < 0 ? named + ndim : named;
  const long long size = ndim > 0 ? input.shape[dim] : 1, step = ndim > 0 ? input.stride[dim] : 1;
#endif
  for (Count item = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; item < total; item += static_cast<Count>(gridDim.x) * blockDim.x) {
    long long to = 0, at = 0, from = 0;
    Count left = item;
    for (int d = index.ndim - 1; d >= 0; --d) {
      const Count extent = static_cast<Count>(index.shape[d]), next = left / extent;
      const long long place = static_cast<long long>(left - next * extent);
      left = next;
      to += place * output.stride[d];
      at += place * index.stride[d];
#if !defined(INFINIOP_TAKE)
      if (d != dim) from += place * input.stride[d];
#endif
    }
    long long number = static_cast<long long>(static_cast<const Index*>(a.address[kIndices])[at]);
#if defined(INFINIOP_TAKE)
    if (number < 0) number += size;
    if (number < 0 || number >= size) __trap();
    from = offset_in(input, 0, input.ndim, number);
#else
    if (number < 0 || number >= size) __trap();
    from += number * step;
#endif
    static_cast<X*>(a.address[names::tensor::output])[to] = static_cast<const X*>(a.address[names::tensor::input])[from];
  }
}

}  // namespace infiniop

extern "C" __global__ void gather_elements(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::gather_elements(a); }
