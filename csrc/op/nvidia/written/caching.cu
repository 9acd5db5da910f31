// Rows of keys and values into caches. "variant.h" says which: INFINIOP_CACHING_PAGED or one row of places for each sequence. A block for
// each token of each head.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

#if defined(INFINIOP_CACHING_PAGED)
namespace names = paged_caching;
#else
namespace names = kv_caching;
#endif

__device__ __forceinline__ void copy_row(const WrittenArguments& a, int to, int from, long long to_offset, long long from_offset, long long count) {
  const TensorView &cache = a.plan.tensor[to], &rows = a.plan.tensor[from];
  const long long to_step = cache.stride[3], from_step = rows.stride[rows.ndim - 1];
  X* target = static_cast<X*>(a.address[to]) + to_offset;
  const X* source = static_cast<const X*>(a.address[from]) + from_offset;
  for (long long i = threadIdx.x; i < count; i += blockDim.x) target[i * to_step] = source[i * from_step];
}

__device__ __forceinline__ void store(const WrittenArguments& a) {
  const WrittenPlan& plan = a.plan;
  const TensorView &k_cache = plan.tensor[names::tensor::k_cache], &v_cache = plan.tensor[names::tensor::v_cache];
  const TensorView &k = plan.tensor[names::tensor::k], &v = plan.tensor[names::tensor::v];
  const long long heads = plan.size[names::size::h];
#if defined(INFINIOP_CACHING_PAGED)
  const long long total = plan.size[names::size::t] * heads;
#else
  const long long tokens = plan.size[names::size::s];
  const long long total = plan.size[names::size::b] * tokens * heads;
#endif
  for (long long item = blockIdx.x; item < total; item += gridDim.x) {
    const long long h = item % heads;
#if defined(INFINIOP_CACHING_PAGED)
    const long long token = item / heads;
    const long long slot = static_cast<const Index*>(a.address[names::tensor::slot_mapping])[token * plan.tensor[names::tensor::slot_mapping].stride[0]];
    if (slot < 0) continue;
    const long long page_size = plan.size[names::size::p];
    if (slot >= plan.size[names::size::n] * page_size) __trap();
    const long long page = slot / page_size, place = slot - page * page_size;
    const long long from_k = token * k.stride[0] + h * k.stride[1], from_v = token * v.stride[0] + h * v.stride[1];
#else
    const long long number = item / heads % tokens, page = item / heads / tokens;
    const long long past = static_cast<const Index*>(a.address[names::tensor::past_kv_lengths])[page * plan.tensor[names::tensor::past_kv_lengths].stride[0]];
    if (past < 0 || past + tokens > plan.size[names::size::m]) __trap();
    const long long place = past + number;
    const long long from_k = page * k.stride[0] + h * k.stride[1] + number * k.stride[2];
    const long long from_v = page * v.stride[0] + h * v.stride[1] + number * v.stride[2];
#endif
    const long long to_k = page * k_cache.stride[0] + h * k_cache.stride[1] + place * k_cache.stride[2];
    const long long to_v = page * v_cache.stride[0] + h * v_cache.stride[1] + place * v_cache.stride[2];
    copy_row(a, names::tensor::k_cache, names::tensor::k, to_k, from_k, plan.size[names::size::d]);
    copy_row(a, names::tensor::v_cache, names::tensor::v, to_v, from_v, plan.size[names::size::e]);
  }
}

}  // namespace infiniop

extern "C" __global__ void store(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::store(a); }
