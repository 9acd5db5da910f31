// The place of the element whose absolute value is largest (kLargest) or smallest: the first of them, and not-a-number before any. Blocks
// look at parts of the elements, then one block at what they found.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

#if defined(INFINIOP_LARGEST)
namespace names = blas_amax;
constexpr bool kLargest = true;
#else
namespace names = blas_amin;
constexpr bool kLargest = false;
#endif

using C = decltype(widen(X{}));

struct Extreme {
  double value;
  long long place;  // -1: there is no element
};

__device__ __forceinline__ bool is_before(const Extreme& a, const Extreme& b) {
  if (a.place < 0 || b.place < 0) return b.place < 0 && a.place >= 0;
  const bool a_is_none = a.value != a.value, b_is_none = b.value != b.value;
  if (a_is_none != b_is_none) return a_is_none;
  if (a_is_none || a.value == b.value) return a.place < b.place;
  return kLargest ? a.value > b.value : a.value < b.value;
}

// Of all threads of a block, in thread 0.
__device__ __forceinline__ Extreme best_of_block(Extreme mine) {
  __shared__ Extreme found[kThreadsOfBlock];
  found[threadIdx.x] = mine;
  for (int half = kThreadsOfBlock / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half && is_before(found[threadIdx.x + half], found[threadIdx.x])) found[threadIdx.x] = found[threadIdx.x + half];
  }
  return found[0];
}

__device__ __forceinline__ void look(const WrittenArguments& a) {
  const TensorView& view = a.plan.tensor[names::tensor::x];
  const X* x = static_cast<const X*>(a.address[names::tensor::x]);
  const Count total = static_cast<Count>(a.plan.rest);
  Extreme best{0, -1};
  for (Count item = blockIdx.x * static_cast<Count>(blockDim.x) + threadIdx.x; item < total; item += static_cast<Count>(gridDim.x) * blockDim.x) {
    const C value = widen(x[kSideBySide ? static_cast<long long>(item) : offset_as<Count>(view, 0, view.ndim, item)]);
    const Extreme seen{static_cast<double>(value < C(0) ? -value : value), static_cast<long long>(item)};
    if (is_before(seen, best)) best = seen;
  }
  best = best_of_block(best);
  if (threadIdx.x == 0) static_cast<Extreme*>(a.workspace)[blockIdx.x] = best;
}

__device__ __forceinline__ void choose(const WrittenArguments& a) {
  const long long blocks = static_cast<long long>(kMostBlocks);
  const long long used = (a.plan.rest + kThreadsOfBlock - 1) / kThreadsOfBlock;
  Extreme best{0, -1};
  if (threadIdx.x < (used < blocks ? used : blocks)) best = static_cast<const Extreme*>(a.workspace)[threadIdx.x];
  best = best_of_block(best);
  if (threadIdx.x == 0) *static_cast<int32_t*>(a.address[names::tensor::result]) = static_cast<int32_t>(best.place + 1);
}

}  // namespace infiniop

extern "C" __global__ void look(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::look(a); }
extern "C" __global__ void choose(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::choose(a); }
