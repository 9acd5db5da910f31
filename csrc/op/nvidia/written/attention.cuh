// What all kernels of attention share: heads of keys and their queries, where they lie, and attend_rows, a warp for each query, whatever types and strides
// are. "variant.h" says for which of the operators: INFINIOP_ATTENTION_FLASH, _CACHED, _PAGED or _PREFILL.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

using C = decltype(widen(X{}));

// Integers of either type that indices may have.
__device__ __forceinline__ long long index_at(const WrittenArguments& a, int t, long long offset) {
  constexpr int kI64 = 6;  // of infiniDtype_t
  return a.plan.tensor[t].dtype == kI64 ? static_cast<const long long*>(a.address[t])[offset] : static_cast<const int*>(a.address[t])[offset];
}

#if defined(INFINIOP_ATTENTION_FLASH)
namespace names = flash_attention;
#elif defined(INFINIOP_ATTENTION_CACHED)
namespace names = attention;
#elif defined(INFINIOP_ATTENTION_PAGED)
namespace names = paged_attention;
#else
namespace names = paged_attention_prefill;
#endif

// One head of keys of one sequence, and the queries that belong to it: rows are positions, and of each the heads of its group.
struct Head {
  const X *key, *value;
  long long key_row, value_row;  // strides
  int key_column, value_column;
  long long keys;     // that there are
  long long queries;  // positions; the last one is that of the last key where attention is causal
  bool is_causal;
  long long first_query;  // among all of them, where sequences follow one another
  long long sequence;
  long long key_page, value_page;  // strides of pages

  __device__ long long visible(long long position) const {
    const long long seen = is_causal ? position + keys - queries + 1 : keys;
    return seen < 0 ? 0 : seen > keys ? keys : seen;
  }
};

#if defined(INFINIOP_ATTENTION_PAGED) || defined(INFINIOP_ATTENTION_PREFILL)
// Where key or value `number` of a sequence begins, counted from the first page.
__device__ __forceinline__ long long paged_offset(const WrittenArguments& a, const Head& head, long long number, long long page_stride,
                                                  long long row) {
  const TensorView& tables = a.plan.tensor[names::tensor::block_tables];
  const unsigned page_size = static_cast<unsigned>(a.plan.size[names::size::p]);
  const unsigned slot = static_cast<unsigned>(number);
  const long long page =
      index_at(a, names::tensor::block_tables, head.sequence * tables.stride[0] + slot / page_size * tables.stride[1]);
  if (page < 0 || page >= a.plan.size[names::size::n]) __trap();
  return page * page_stride + slot % page_size * row;
}
__device__ __forceinline__ const X* key_at(const WrittenArguments& a, const Head& head, long long number) {
  return head.key + paged_offset(a, head, number, head.key_page, head.key_row);
}
__device__ __forceinline__ const X* value_at(const WrittenArguments& a, const Head& head, long long number) {
  return head.value + paged_offset(a, head, number, head.value_page, head.value_row);
}
#else
__device__ __forceinline__ const X* key_at(const WrittenArguments&, const Head& head, long long number) {
  return head.key + number * head.key_row;
}
__device__ __forceinline__ const X* value_at(const WrittenArguments&, const Head& head, long long number) {
  return head.value + number * head.value_row;
}
#endif

__device__ __forceinline__ float slope_of(const WrittenArguments& a, long long h) {
#if defined(INFINIOP_ATTENTION_PAGED) || defined(INFINIOP_ATTENTION_PREFILL)
  const TensorView& slopes = a.plan.tensor[names::tensor::alibi_slopes];
  if (slopes.is_given) return static_cast<const float*>(a.address[names::tensor::alibi_slopes])[h * slopes.stride[0]];
#endif
  return 0;
}

__device__ __forceinline__ double scale_of(const WrittenArguments& a) {
#if defined(INFINIOP_ATTENTION_CACHED)
  return 1.0 / sqrt(static_cast<double>(a.plan.size[names::size::d]));
#else
  return a.attributes[names::attribute::scale];
#endif
}

// Head `g` of keys of sequence `b`.
__device__ __forceinline__ Head head_of(const WrittenArguments& a, long long b, long long g) {
  const WrittenPlan& plan = a.plan;
  Head head = {};
  head.sequence = b;
#if defined(INFINIOP_ATTENTION_FLASH)
  const TensorView &k = plan.tensor[names::tensor::k], &v = plan.tensor[names::tensor::v];
  head.key = static_cast<const X*>(a.address[names::tensor::k]) + b * k.stride[0] + g * k.stride[1];
  head.value = static_cast<const X*>(a.address[names::tensor::v]) + b * v.stride[0] + g * v.stride[1];
  head.key_row = k.stride[2];
  head.value_row = v.stride[2];
  head.key_column = static_cast<int>(k.stride[3]);
  head.value_column = static_cast<int>(v.stride[3]);
  head.keys = plan.size[names::size::s];
  const TensorView& lengths = plan.tensor[names::tensor::total_kv_len];
  if (lengths.is_given) {
    const long long said = index_at(a, names::tensor::total_kv_len, b * lengths.stride[0]);
    head.keys = said < 0 ? 0 : said > head.keys ? head.keys : said;
  }
  head.queries = plan.size[names::size::q];
  head.is_causal = a.attributes[names::attribute::is_causal] != 0;
#elif defined(INFINIOP_ATTENTION_CACHED)
  const TensorView &k = plan.tensor[names::tensor::k_cache], &v = plan.tensor[names::tensor::v_cache];
  head.key = static_cast<const X*>(a.address[names::tensor::k_cache]) + g * k.stride[0];
  head.value = static_cast<const X*>(a.address[names::tensor::v_cache]) + g * v.stride[0];
  head.key_row = k.stride[1];
  head.value_row = v.stride[1];
  head.key_column = static_cast<int>(k.stride[2]);
  head.value_column = static_cast<int>(v.stride[2]);
  head.queries = plan.size[names::size::q];
  head.keys = static_cast<long long>(a.attributes[names::attribute::pos]) + head.queries;
  head.is_causal = true;
#else
  const TensorView &k = plan.tensor[names::tensor::k_cache], &v = plan.tensor[names::tensor::v_cache];
  const TensorView& lengths = plan.tensor[names::tensor::seq_lens];
  head.key = static_cast<const X*>(a.address[names::tensor::k_cache]) + g * k.stride[1];
  head.value = static_cast<const X*>(a.address[names::tensor::v_cache]) + g * v.stride[1];
  head.key_page = k.stride[0];
  head.value_page = v.stride[0];
  head.key_row = k.stride[2];
  head.value_row = v.stride[2];
  head.key_column = static_cast<int>(k.stride[3]);
  head.value_column = static_cast<int>(v.stride[3]);
  head.keys = index_at(a, names::tensor::seq_lens, b * lengths.stride[0]);
#if defined(INFINIOP_ATTENTION_PAGED)
  head.queries = 1;
  if (head.keys > plan.size[names::size::t] * plan.size[names::size::p]) __trap();
#else
  const TensorView& starts = plan.tensor[names::tensor::cum_seq_lens_q];
  head.first_query = index_at(a, names::tensor::cum_seq_lens_q, b * starts.stride[0]);
  head.queries = index_at(a, names::tensor::cum_seq_lens_q, (b + 1) * starts.stride[0]) - head.first_query;
  if (head.keys > plan.size[names::size::u] * plan.size[names::size::p]) __trap();
#endif
  head.is_causal = true;
#endif
  return head;
}

__device__ __forceinline__ const X* query_at(const WrittenArguments& a, const Head& head, long long position, long long h) {
  const TensorView& q = a.plan.tensor[names::tensor::q];
  const X* base = static_cast<const X*>(a.address[names::tensor::q]);
#if defined(INFINIOP_ATTENTION_FLASH)
  return base + head.sequence * q.stride[0] + h * q.stride[1] + position * q.stride[2];
#elif defined(INFINIOP_ATTENTION_CACHED)
  return base + h * q.stride[0] + position * q.stride[1];
#elif defined(INFINIOP_ATTENTION_PAGED)
  return base + head.sequence * q.stride[0] + h * q.stride[1];
#else
  return base + (head.first_query + position) * q.stride[0] + h * q.stride[1];
#endif
}
__device__ __forceinline__ X* out_at(const WrittenArguments& a, const Head& head, long long position, long long h) {
  const TensorView& out = a.plan.tensor[names::tensor::out];
  X* base = static_cast<X*>(a.address[names::tensor::out]);
#if defined(INFINIOP_ATTENTION_FLASH)
  return base + head.sequence * out.stride[0] + h * out.stride[1] + position * out.stride[2];
#elif defined(INFINIOP_ATTENTION_CACHED)
  return base + position * out.stride[0] + h * out.stride[1];
#elif defined(INFINIOP_ATTENTION_PAGED)
  return base + head.sequence * out.stride[0] + h * out.stride[1];
#else
  return base + (head.first_query + position) * out.stride[0] + h * out.stride[1];
#endif
}

// How many sequences there are, and positions that the grid of attend_rows is made for.
__device__ __forceinline__ long long sequences(const WrittenPlan& plan) {
#if defined(INFINIOP_ATTENTION_FLASH)
  return plan.size[names::size::b];
#elif defined(INFINIOP_ATTENTION_CACHED)
  return 1;
#else
  return plan.size[names::size::s];
#endif
}
__device__ __forceinline__ long long positions(const WrittenPlan& plan) {
#if defined(INFINIOP_ATTENTION_FLASH) || defined(INFINIOP_ATTENTION_CACHED)
  return plan.size[names::size::q];
#elif defined(INFINIOP_ATTENTION_PAGED)
  return 1;
#else
  return plan.size[names::size::t];
#endif
}

template <class T>
__device__ __forceinline__ T sum_of_warp(T x) {
#pragma unroll
  for (int step = 16; step > 0; step /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, step);
  return x;
}

__device__ __forceinline__ float lowest(float) { return float_of(0xFF800000u); }
__device__ __forceinline__ double lowest(double) { return static_cast<double>(float_of(0xFF800000u)); }

// A warp for each query. Its sums lie in shared memory, e of them.
__device__ __forceinline__ void attend_rows(const WrittenArguments& a) {
  extern __shared__ double memory[];
  const WrittenPlan& plan = a.plan;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const long long heads = plan.size[names::size::h], groups = plan.size[names::size::g], group = heads / groups;
  const long long d = plan.size[names::size::d];
#if defined(INFINIOP_ATTENTION_CACHED)
  const long long e = d;
#else
  const long long e = plan.size[names::size::e];
#endif
  C* sums = reinterpret_cast<C*>(memory) + warp * e;
  const long long rows = positions(plan) * heads;
#if defined(INFINIOP_ATTENTION_PREFILL)
  const long long total = rows;  // tokens of all sequences follow one another
#else
  const long long total = rows * sequences(plan);
#endif
  const C scale = static_cast<C>(scale_of(a));
  const TensorView& q = plan.tensor[names::tensor::q];
  const TensorView& out = plan.tensor[names::tensor::out];
  const long long query_column = q.stride[q.ndim - 1], out_column = out.stride[out.ndim - 1];
  for (long long row = blockIdx.x * static_cast<long long>(warps) + warp; row < total; row += static_cast<long long>(gridDim.x) * warps) {
    const long long h = row % heads;
#if defined(INFINIOP_ATTENTION_PREFILL)
    const long long token = row / heads;
    const TensorView& starts = plan.tensor[names::tensor::cum_seq_lens_q];
    long long b = 0;
    while (b < sequences(plan) && token >= index_at(a, names::tensor::cum_seq_lens_q, (b + 1) * starts.stride[0])) ++b;
    if (b >= sequences(plan)) continue;
    const Head head = head_of(a, b, h / group);
    const long long position = token - head.first_query;
    if (position < 0) continue;
#else
    const Head head = head_of(a, row / rows, h / group);
    const long long position = row % rows / heads;
#endif
    const X* query = query_at(a, head, position, h);
    const long long visible = head.visible(position);
    const C slope = slope_of(a, h);
    C largest = lowest(C{}), total_weight = 0;
    for (long long i = lane; i < e; i += 32) sums[i] = 0;
    for (long long number = 0; number < visible; ++number) {
      const X* key = key_at(a, head, number);
      C score = 0;
      for (long long i = lane; i < d; i += 32) score += C(widen(query[i * query_column])) * C(widen(key[i * head.key_column]));
      score = sum_of_warp(score) * scale + slope * C(number - visible + 1);
      C from = score > largest ? score : largest;
      if (score != score) from = score;
      const C base = from == lowest(C{}) ? C(0) : from;
      const C weight = exp(score - base);
      const C before = largest == lowest(C{}) ? C(0) : exp(largest - base);
      largest = from;
      total_weight = total_weight * before + weight;
      const X* value = value_at(a, head, number);
      for (long long i = lane; i < e; i += 32) sums[i] = sums[i] * before + weight * C(widen(value[i * head.value_column]));
    }
    const C factor = total_weight == C(0) ? C(0) : C(1) / total_weight;
    X* result = out_at(a, head, position, h);
    for (long long i = lane; i < e; i += 32) result[i * out_column] = Narrow<X>::of(sums[i] * factor);
  }
}

#if defined(INFINIOP_ATTENTION_CACHED)
// New keys and values into the caches.
__device__ __forceinline__ void store_new(const WrittenArguments& a) {
  const WrittenPlan& plan = a.plan;
  const TensorView &k = plan.tensor[names::tensor::k], &v = plan.tensor[names::tensor::v];
  const TensorView &k_cache = plan.tensor[names::tensor::k_cache], &v_cache = plan.tensor[names::tensor::v_cache];
  const long long d = plan.size[names::size::d], queries = plan.size[names::size::q];
  const long long pos = static_cast<long long>(a.attributes[names::attribute::pos]);
  const long long total = plan.size[names::size::g] * queries * d;
  for (long long item = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; item < total;
       item += static_cast<long long>(gridDim.x) * blockDim.x) {
    const long long i = item % d, number = item / d % queries, g = item / d / queries;
    static_cast<X*>(a.address[names::tensor::k_cache])[g * k_cache.stride[0] + (pos + number) * k_cache.stride[1] + i * k_cache.stride[2]] =
        static_cast<const X*>(a.address[names::tensor::k])[g * k.stride[0] + number * k.stride[1] + i * k.stride[2]];
    static_cast<X*>(a.address[names::tensor::v_cache])[g * v_cache.stride[0] + (pos + number) * v_cache.stride[1] + i * v_cache.stride[2]] =
        static_cast<const X*>(a.address[names::tensor::v])[g * v.stride[0] + number * v.stride[1] + i * v.stride[2]];
  }
}
#endif

}  // namespace infiniop
