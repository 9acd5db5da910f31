// Attention. "variant.h" says for which of the operators: INFINIOP_ATTENTION_FLASH, _CACHED, _PAGED or _PREFILL.
//
// attend_rows: a warp for each query, whatever types and strides are. attend_split: for few queries, a block reads a part of the keys of one
// head once, for all queries that share it; combine_split puts the parts together. attend_tiles: for many queries of narrow types, by tensor cores.
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

// ---- few queries: rows of keys are read 16 bytes at a time

#if INFINIOP_ROW_THREADS > 0
template <int RowThreads>
struct SplitKernel {
  static constexpr int kWidth = 16 / sizeof(X);                // elements of a thread
  static constexpr int kTogether = 32 / RowThreads;            // keys that a warp has in hand at once
  static constexpr int kWarps = 4;
  static constexpr int kUnroll = kGroup <= 4 ? 4 : 2;          // and so many of these before the first is needed
  static constexpr int kSize = RowThreads * kWidth;            // of a head

  struct alignas(16) Piece {
    X element[kWidth];
  };

  // blockIdx: chunk, head of keys, sequence. One position for each sequence.
  static __device__ __forceinline__ void run(const WrittenArguments& a) {
    const long long g = blockIdx.y, b = blockIdx.z;
    const Head head = head_of(a, b, g);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int part = lane % RowThreads, own = lane / RowThreads;
    const long long visible = head.visible(head.queries - 1);
    const long long chunks = gridDim.x;
    const long long step = kWarps * kTogether * kUnroll;
    const long long per_chunk = (visible + chunks * step - 1) / (chunks * step) * step;
    const long long begin = blockIdx.x * per_chunk;
    const long long end = begin + per_chunk < visible ? begin + per_chunk : visible;
    float query[kGroup][kWidth], sum[kGroup][kWidth], largest[kGroup], total[kGroup], slope[kGroup];
    const float scale = static_cast<float>(scale_of(a)) * 1.44269504088896340736f;
#pragma unroll
    for (int r = 0; r < kGroup; ++r) {
      const long long h = g * kGroup + r;
      const Piece piece = *reinterpret_cast<const Piece*>(query_at(a, head, head.queries - 1, h) + part * kWidth);
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        query[r][i] = static_cast<float>(widen(piece.element[i])) * scale;
        sum[r][i] = 0;
      }
      largest[r] = lowest(0.0f);
      total[r] = 0;
      slope[r] = slope_of(a, h) * 1.44269504088896340736f;
    }
    for (long long first = begin + warp * kTogether * kUnroll; first < end; first += step) {
      Piece key[kUnroll], value[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const long long number = first + u * kTogether + own;
        if (number < end) {
          key[u] = *reinterpret_cast<const Piece*>(key_at(a, head, number) + part * kWidth);
          value[u] = *reinterpret_cast<const Piece*>(value_at(a, head, number) + part * kWidth);
        } else {
          key[u] = {};
          value[u] = {};
        }
      }
#pragma unroll
      for (int r = 0; r < kGroup; ++r) {
        float score[kUnroll], from = largest[r];
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          float dot = 0;
#pragma unroll
          for (int i = 0; i < kWidth; ++i) dot = fmaf(query[r][i], static_cast<float>(widen(key[u].element[i])), dot);
#pragma unroll
          for (int s = RowThreads / 2; s > 0; s /= 2) dot += __shfl_xor_sync(0xFFFFFFFFu, dot, s);
          const long long number = first + u * kTogether + own;
          dot += slope[r] * static_cast<float>(number - visible + 1);
          score[u] = number < end ? dot : lowest(0.0f);
          from = score[u] > from ? score[u] : from;
          if (score[u] != score[u]) from = score[u];
        }
        const float base = from == lowest(0.0f) ? 0.0f : from;
        const float before = exp2f(largest[r] - base);
        largest[r] = from;
        total[r] *= before;
#pragma unroll
        for (int i = 0; i < kWidth; ++i) sum[r][i] *= before;
#pragma unroll
        for (int u = 0; u < kUnroll; ++u) {
          const float weight = exp2f(score[u] - base);
          total[r] += weight;
#pragma unroll
          for (int i = 0; i < kWidth; ++i) sum[r][i] = fmaf(weight, static_cast<float>(widen(value[u].element[i])), sum[r][i]);
        }
      }
    }
    // The parts of a warp that had other keys, then the other warps.
    __shared__ float sums[kWarps][kSize], numbers[kWarps][2];
#pragma unroll
    for (int r = 0; r < kGroup; ++r) {
#pragma unroll
      for (int s = RowThreads; s < 32; s *= 2) {
        const float other = __shfl_xor_sync(0xFFFFFFFFu, largest[r], s), other_total = __shfl_xor_sync(0xFFFFFFFFu, total[r], s);
        const float from = other > largest[r] || other != other ? other : largest[r];
        const float base = from == lowest(0.0f) ? 0.0f : from;
        const float mine = exp2f(largest[r] - base), theirs = exp2f(other - base);
        total[r] = total[r] * mine + other_total * theirs;
#pragma unroll
        for (int i = 0; i < kWidth; ++i) {
          const float moved = __shfl_xor_sync(0xFFFFFFFFu, sum[r][i], s);
          sum[r][i] = sum[r][i] * mine + moved * theirs;
        }
        largest[r] = from;
      }
      __syncthreads();
      if (own == 0) {
#pragma unroll
        for (int i = 0; i < kWidth; ++i) sums[warp][part * kWidth + i] = sum[r][i];
      }
      if (lane == 0) {
        numbers[warp][0] = largest[r];
        numbers[warp][1] = total[r];
      }
      __syncthreads();
      float from = numbers[0][0];
      for (int w = 1; w < kWarps; ++w) from = numbers[w][0] > from || numbers[w][0] != numbers[w][0] ? numbers[w][0] : from;
      const float base = from == lowest(0.0f) ? 0.0f : from;
      float all = 0;
      for (int w = 0; w < kWarps; ++w) all += numbers[w][1] * exp2f(numbers[w][0] - base);
      const long long h = g * kGroup + r;
      for (int i = threadIdx.x; i < kSize; i += kWarps * 32) {
        float result = 0;
        for (int w = 0; w < kWarps; ++w) result += sums[w][i] * exp2f(numbers[w][0] - base);
        if (chunks == 1) {
          out_at(a, head, head.queries - 1, h)[i] = Narrow<X>::of(all == 0.0f ? 0.0f : result / all);
        } else {
          workspace_of(a, b, h, blockIdx.x, chunks)[i] = result;
        }
      }
      if (chunks > 1 && threadIdx.x == 0) {
        float* place = workspace_of(a, b, h, blockIdx.x, chunks) + kSize;
        place[0] = from;
        place[1] = all;
      }
    }
  }

  static __device__ __forceinline__ float* workspace_of(const WrittenArguments& a, long long b, long long h, long long chunk, long long chunks) {
    return static_cast<float*>(a.workspace) + ((b * a.plan.size[names::size::h] + h) * chunks + chunk) * (kSize + 2);
  }

  // A block for each query, a thread for each of its elements; gridDim.z is how many chunks there are, and its blocks but the first have
  // nothing to do.
  static __device__ __forceinline__ void combine(const WrittenArguments& a, long long chunks) {
    const long long h = blockIdx.x, b = blockIdx.y;
    const Head head = head_of(a, b, h / kGroup);
    float from = lowest(0.0f);
    for (long long c = 0; c < chunks; ++c) {
      const float other = workspace_of(a, b, h, c, chunks)[kSize];
      from = other > from || other != other ? other : from;
    }
    const float base = from == lowest(0.0f) ? 0.0f : from;
    for (int i = threadIdx.x; i < kSize; i += blockDim.x) {
      float all = 0, result = 0;
      for (long long c = 0; c < chunks; ++c) {
        const float* place = workspace_of(a, b, h, c, chunks);
        const float factor = exp2f(place[kSize] - base);
        all += place[kSize + 1] * factor;
        result += place[i] * factor;
      }
      out_at(a, head, head.queries - 1, h)[i] = Narrow<X>::of(all == 0.0f ? 0.0f : result / all);
    }
  }
};
#endif

// ---- many queries: products by tensor cores

#if INFINIOP_TILE_SIZE > 0 || INFINIOP_STREAM_SIZE > 0
#ifdef INFINIOP_TILE_BF16
#define INFINIOP_TILE_TYPE "bf16"
#else
#define INFINIOP_TILE_TYPE "f16"
#endif

// A block takes 128 queries of a head, 32 of them in each warp, and goes through the keys 64 at a time. Keys and values of the next tile are
// on their way while this one is computed. Rows lie in shared memory in pieces of 16 bytes, whose order changes from row to row, so that
// neither the copies nor the loads of matrices meet in a bank.
template <int Size>
struct TileKernel {
  static constexpr int kQueries = 128, kKeys = 64, kWarps = 4, kThreads = 32 * kWarps;
  static constexpr int kPieces = Size / 8;                        // of a row
  static constexpr int kRowsAtOnce = kThreads / kPieces;          // that all threads copy in one step
  static constexpr unsigned kQueryBytes = kQueries * Size * 2, kTileBytes = kKeys * Size * 2;

  static __device__ __forceinline__ unsigned place(unsigned base, int row, int piece) {
    return base + static_cast<unsigned>(row * Size * 2 + ((piece ^ (row & 7)) << 4));
  }

  static __device__ __forceinline__ void copy_piece(unsigned to, const void* from, bool is_there) {
    const int bytes = is_there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(to), "l"(from), "r"(bytes));
  }
  static __device__ __forceinline__ void close_group() { asm volatile("cp.async.commit_group;\n"); }
  template <int Open>
  static __device__ __forceinline__ void wait_for_groups() {
    asm volatile("cp.async.wait_group %0;\n" ::"n"(Open));
  }

  static __device__ __forceinline__ void load_matrices(unsigned (&to)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from));
  }
  static __device__ __forceinline__ void load_turned(unsigned (&to)[4], unsigned from) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];\n"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(from));
  }
  static __device__ __forceinline__ void multiply(float (&sum)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." INFINIOP_TILE_TYPE "." INFINIOP_TILE_TYPE
                 ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
                 : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
  static __device__ __forceinline__ unsigned pack(float low, float high) {
    unsigned both;
    asm("cvt.rn." INFINIOP_TILE_TYPE "x2.f32 %0, %1, %2;\n" : "=r"(both) : "f"(high), "f"(low));
    return both;
  }
  static __device__ __forceinline__ float power(float x) {
    float result;
    asm("ex2.approx.ftz.f32 %0, %1;\n" : "=f"(result) : "f"(x));
    return result;
  }

  static __device__ __forceinline__ void copy_keys(const WrittenArguments& a, const Head& head, unsigned to, long long first, bool values) {
    const int row = threadIdx.x / kPieces, piece = threadIdx.x % kPieces;
    const int keys = static_cast<int>(head.keys), begin = static_cast<int>(first) + row;
#if defined(INFINIOP_ATTENTION_PREFILL) || defined(INFINIOP_ATTENTION_PAGED)
#pragma unroll
    for (int r = 0; r < kKeys; r += kRowsAtOnce) {
      const bool is_there = begin + r < keys;
      const int from = is_there ? begin + r : 0;
      const X* at = (values ? value_at(a, head, from) : key_at(a, head, from)) + piece * 8;
      copy_piece(place(to, r + row, piece), at, is_there);
    }
#else
    const long long step = (values ? head.value_row : head.key_row) * kRowsAtOnce;
    const X* at = (values ? head.value : head.key) + begin * (values ? head.value_row : head.key_row) + piece * 8;
    // Rows that are 8 apart have their pieces in the same order.
    unsigned target = place(to, row, piece);
#pragma unroll
    for (int r = 0; r < kKeys; r += kRowsAtOnce) {
      const bool is_there = begin + r < keys;
      copy_piece(kRowsAtOnce % 8 == 0 ? target : place(to, r + row, piece), is_there ? at : head.key, is_there);
      target += kRowsAtOnce * Size * 2;
      at += step;
    }
#endif
  }

  // blockIdx: tile of queries, head, sequence. The last tiles of causal attention have the most to do, and begin first.
  static __device__ __forceinline__ void run(const WrittenArguments& a) {
    extern __shared__ double memory[];
    const long long heads = a.plan.size[names::size::h], group = heads / a.plan.size[names::size::g];
    const long long h = blockIdx.y;
    const Head head = head_of(a, blockIdx.z, h / group);
    const long long first_query = (gridDim.x - 1 - blockIdx.x) * static_cast<long long>(kQueries);
    if (first_query >= head.queries) return;
    const unsigned queries = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    const unsigned keys[2] = {queries + kQueryBytes, queries + kQueryBytes + kTileBytes};
    const unsigned values[2] = {keys[1] + kTileBytes, keys[1] + 2 * kTileBytes};
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

    const long long last_query = first_query + kQueries < head.queries ? first_query + kQueries : head.queries;
    const long long most = head.visible(last_query - 1);
    const int tiles = static_cast<int>((most + kKeys - 1) / kKeys);
    {
      const int row = threadIdx.x / kPieces, piece = threadIdx.x % kPieces;
#pragma unroll
      for (int r = 0; r < kQueries; r += kRowsAtOnce) {
        const long long position = first_query + r + row;
        const bool is_there = position < head.queries;
        copy_piece(place(queries, r + row, piece), query_at(a, head, is_there ? position : 0, h) + piece * 8, is_there);
      }
    }
    if (tiles > 0) copy_keys(a, head, keys[0], 0, false);
    close_group();
    if (tiles > 0) copy_keys(a, head, values[0], 0, true);
    close_group();

    // Of each thread: rows lane / 4 and lane / 4 + 8 of two pieces of 16 queries.
    float sum[2][Size / 8][4], largest[2][2], total[2][2];
    int visible[2][2];
#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int i = 0; i < Size / 8; ++i) {
#pragma unroll
        for (int c = 0; c < 4; ++c) sum[m][i][c] = 0;
      }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        largest[m][half] = lowest(0.0f);
        total[m][half] = 0;
        const long long position = first_query + warp * 32 + m * 16 + half * 8 + lane / 4;
        visible[m][half] = position < head.queries ? static_cast<int>(head.visible(position)) : 0;
      }
    }
    const float scale = static_cast<float>(scale_of(a)) * 1.44269504088896340736f;
    const float slope = slope_of(a, h) * 1.44269504088896340736f / scale;  // of scores before they are scaled
    const int fewest = static_cast<int>(head.visible(first_query + warp * 32));  // that any row of the warp sees

    for (int tile = 0; tile < tiles; ++tile) {
      const int buffer = tile & 1;
      wait_for_groups<1>();
      __syncthreads();
      if (tile + 1 < tiles) copy_keys(a, head, keys[buffer ^ 1], (tile + 1) * static_cast<long long>(kKeys), false);
      close_group();

      float score[2][kKeys / 8][4];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
          for (int c = 0; c < 4; ++c) score[m][n][c] = 0;
        }
      }
#pragma unroll
      for (int k = 0; k < Size / 16; ++k) {
        unsigned query[2][4];
#pragma unroll
        for (int m = 0; m < 2; ++m) load_matrices(query[m], place(queries, warp * 32 + m * 16 + lane % 16, 2 * k + lane / 16));
#pragma unroll
        for (int n = 0; n < kKeys / 16; ++n) {
          unsigned key[4];
          load_matrices(key, place(keys[buffer], n * 16 + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
#pragma unroll
          for (int m = 0; m < 2; ++m) {
            multiply(score[m][2 * n], query[m], key[0], key[1]);
            multiply(score[m][2 * n + 1], query[m], key[2], key[3]);
          }
        }
      }

      const int first = tile * kKeys;
      const bool masked = first + kKeys > fewest || slope != 0.0f;
      unsigned weight[2][kKeys / 16][4];
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float from = largest[m][half];
#pragma unroll
          for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
            for (int c = 2 * half; c < 2 * half + 2; ++c) {
              if (masked) {
                float& x = score[m][n][c];
                const int number = first + n * 8 + lane % 4 * 2 + c % 2;
                x = number < visible[m][half] ? x + slope * static_cast<float>(number - visible[m][half] + 1) : lowest(0.0f);
              }
              from = fmaxf(from, score[m][n][c]);
            }
          }
          from = fmaxf(from, __shfl_xor_sync(0xFFFFFFFFu, from, 1));
          from = fmaxf(from, __shfl_xor_sync(0xFFFFFFFFu, from, 2));
          // Scores are scaled on their way into the exponent; the factor is positive.
          const float base = from == lowest(0.0f) ? 0.0f : from * scale;
          const float before = power(fmaf(largest[m][half], scale, -base));
          largest[m][half] = from;
          float all = 0;
#pragma unroll
          for (int n = 0; n < kKeys / 8; ++n) {
#pragma unroll
            for (int c = 2 * half; c < 2 * half + 2; ++c) {
              score[m][n][c] = power(fmaf(score[m][n][c], scale, -base));
              all += score[m][n][c];
            }
          }
          total[m][half] = total[m][half] * before + all;
#pragma unroll
          for (int i = 0; i < Size / 8; ++i) {
            sum[m][i][2 * half] *= before;
            sum[m][i][2 * half + 1] *= before;
          }
        }
#pragma unroll
        for (int n = 0; n < kKeys / 16; ++n) {
          weight[m][n][0] = pack(score[m][2 * n][0], score[m][2 * n][1]);
          weight[m][n][1] = pack(score[m][2 * n][2], score[m][2 * n][3]);
          weight[m][n][2] = pack(score[m][2 * n + 1][0], score[m][2 * n + 1][1]);
          weight[m][n][3] = pack(score[m][2 * n + 1][2], score[m][2 * n + 1][3]);
        }
      }

      wait_for_groups<1>();
      __syncthreads();
      if (tile + 1 < tiles) copy_keys(a, head, values[buffer ^ 1], (tile + 1) * static_cast<long long>(kKeys), true);
      close_group();
#pragma unroll
      for (int n = 0; n < kKeys / 16; ++n) {
#pragma unroll
        for (int i = 0; i < Size / 16; ++i) {
          unsigned value[4];
          load_turned(value, place(values[buffer], n * 16 + lane % 16, 2 * i + lane / 16));
#pragma unroll
          for (int m = 0; m < 2; ++m) {
            multiply(sum[m][2 * i], weight[m][n], value[0], value[1]);
            multiply(sum[m][2 * i + 1], weight[m][n], value[2], value[3]);
          }
        }
      }
    }

#pragma unroll
    for (int m = 0; m < 2; ++m) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float all = total[m][half];
        all += __shfl_xor_sync(0xFFFFFFFFu, all, 1);
        all += __shfl_xor_sync(0xFFFFFFFFu, all, 2);
        const float factor = all == 0.0f ? 0.0f : 1.0f / all;
        const long long position = first_query + warp * 32 + m * 16 + half * 8 + lane / 4;
        if (position >= head.queries) continue;
        X* to = out_at(a, head, position, h) + lane % 4 * 2;
#pragma unroll
        for (int i = 0; i < Size / 8; ++i) {
          *reinterpret_cast<unsigned*>(to + i * 8) = pack(sum[m][i][2 * half] * factor, sum[m][i][2 * half + 1] * factor);
        }
      }
    }
  }
};
#endif

#if INFINIOP_STREAM_SIZE > 0
// One query for each sequence, of narrow types: the queries that share a head of keys are the rows of one matrix, and a block streams keys
// through shared memory, 64 at a time with two tiles on their way; a warp multiplies 16 of them.
template <int Size>
struct StreamKernel {
  using Tile = TileKernel<Size>;
  static constexpr int kKeys = Tile::kKeys, kWarps = 4, kStages = 3;
  static constexpr unsigned kStageBytes = 2 * Tile::kTileBytes;

  static __device__ __forceinline__ void run(const WrittenArguments& a) {
    extern __shared__ double memory[];
    const long long g = blockIdx.y, b = blockIdx.z, chunks = gridDim.x;
    const Head head = head_of(a, b, g);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int visible = static_cast<int>(head.visible(head.queries - 1));
    const int per_chunk = (visible + static_cast<int>(chunks) * kKeys - 1) / (static_cast<int>(chunks) * kKeys) * kKeys;
    const int begin = static_cast<int>(blockIdx.x) * per_chunk;
    const int end = begin + per_chunk < visible ? begin + per_chunk : visible;
    const int tiles = end > begin ? (end - begin + kKeys - 1) / kKeys : 0;
    const unsigned stages = static_cast<unsigned>(__cvta_generic_to_shared(memory));
    const unsigned queries = stages + kStages * kStageBytes;

    const int piece = threadIdx.x % Tile::kPieces;
    for (int row = threadIdx.x / Tile::kPieces; row < 16; row += Tile::kRowsAtOnce) {
      const bool is_there = row < kGroup;
      Tile::copy_piece(Tile::place(queries, row, piece), query_at(a, head, head.queries - 1, g * kGroup + (is_there ? row : 0)) + piece * 8, is_there);
    }
#pragma unroll
    for (int t = 0; t < kStages - 1; ++t) {
      if (t < tiles) copy_tile(a, head, stages + t * kStageBytes, begin + t * kKeys);
      Tile::close_group();
    }
    float sum[Size / 8][4], largest[2] = {lowest(0.0f), lowest(0.0f)}, total[2] = {0, 0}, slope[2];
#pragma unroll
    for (int i = 0; i < Size / 8; ++i) {
#pragma unroll
      for (int c = 0; c < 4; ++c) sum[i][c] = 0;
    }
    const float scale = static_cast<float>(scale_of(a)) * 1.44269504088896340736f;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = half * 8 + lane / 4;
      slope[half] = row < kGroup ? slope_of(a, g * kGroup + row) * 1.44269504088896340736f / scale : 0.0f;
    }
    unsigned query[Size / 16][4];
    for (int tile = 0; tile < tiles; ++tile) {
      Tile::template wait_for_groups<kStages - 2>();
      __syncthreads();
      if (tile == 0) {
#pragma unroll
        for (int k = 0; k < Size / 16; ++k) Tile::load_matrices(query[k], Tile::place(queries, lane % 16, 2 * k + lane / 16));
      }
      const int next = tile + kStages - 1;
      if (next < tiles) copy_tile(a, head, stages + next % kStages * kStageBytes, begin + next * kKeys);
      Tile::close_group();
      const unsigned keys = stages + tile % kStages * kStageBytes, values = keys + Tile::kTileBytes;
      float score[2][4] = {};
#pragma unroll
      for (int k = 0; k < Size / 16; ++k) {
        unsigned key[4];
        Tile::load_matrices(key, Tile::place(keys, warp * 16 + lane % 8 + lane / 16 * 8, 2 * k + lane / 8 % 2));
        Tile::multiply(score[0], query[k], key[0], key[1]);
        Tile::multiply(score[1], query[k], key[2], key[3]);
      }
      const int first = begin + tile * kKeys + warp * 16 + lane % 4 * 2;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        float from = largest[half];
#pragma unroll
        for (int n = 0; n < 2; ++n) {
#pragma unroll
          for (int c = 2 * half; c < 2 * half + 2; ++c) {
            const int number = first + n * 8 + c % 2;
            float& x = score[n][c];
            x = number < end ? x + slope[half] * static_cast<float>(number - visible + 1) : lowest(0.0f);
            from = fmaxf(from, x);
          }
        }
        from = fmaxf(from, __shfl_xor_sync(0xFFFFFFFFu, from, 1));
        from = fmaxf(from, __shfl_xor_sync(0xFFFFFFFFu, from, 2));
        const float base = from == lowest(0.0f) ? 0.0f : from * scale;
        const float before = Tile::power(fmaf(largest[half], scale, -base));
        largest[half] = from;
        float all = 0;
#pragma unroll
        for (int n = 0; n < 2; ++n) {
#pragma unroll
          for (int c = 2 * half; c < 2 * half + 2; ++c) {
            score[n][c] = Tile::power(fmaf(score[n][c], scale, -base));
            all += score[n][c];
          }
        }
        total[half] = total[half] * before + all;
#pragma unroll
        for (int i = 0; i < Size / 8; ++i) {
          sum[i][2 * half] *= before;
          sum[i][2 * half + 1] *= before;
        }
      }
      const unsigned weight[4] = {Tile::pack(score[0][0], score[0][1]), Tile::pack(score[0][2], score[0][3]),
                                  Tile::pack(score[1][0], score[1][1]), Tile::pack(score[1][2], score[1][3])};
#pragma unroll
      for (int i = 0; i < Size / 16; ++i) {
        unsigned value[4];
        Tile::load_turned(value, Tile::place(values, warp * 16 + lane % 16, 2 * i + lane / 16));
        Tile::multiply(sum[2 * i], weight, value[0], value[1]);
        Tile::multiply(sum[2 * i + 1], weight, value[2], value[3]);
      }
    }
    Tile::template wait_for_groups<0>();
    __syncthreads();
    // The four warps had other keys each.
    float* const sums = reinterpret_cast<float*>(memory);  // [warp][row][element]
    __shared__ float numbers[kWarps][16][2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      total[half] += __shfl_xor_sync(0xFFFFFFFFu, total[half], 1);
      total[half] += __shfl_xor_sync(0xFFFFFFFFu, total[half], 2);
      const int row = half * 8 + lane / 4;
      if (lane % 4 == 0) {
        numbers[warp][row][0] = largest[half] == lowest(0.0f) ? largest[half] : largest[half] * scale;
        numbers[warp][row][1] = total[half];
      }
#pragma unroll
      for (int i = 0; i < Size / 8; ++i) {
#pragma unroll
        for (int c = 0; c < 2; ++c) sums[(warp * 16 + row) * Size + i * 8 + lane % 4 * 2 + c] = sum[i][2 * half + c];
      }
    }
    __syncthreads();
    for (int item = threadIdx.x; item < kGroup * Size; item += kWarps * 32) {
      const int row = item / Size, i = item % Size;
      float from = numbers[0][row][0];
      for (int w = 1; w < kWarps; ++w) from = fmaxf(from, numbers[w][row][0]);
      const float base = from == lowest(0.0f) ? 0.0f : from;
      float all = 0, result = 0;
      for (int w = 0; w < kWarps; ++w) {
        const float factor = Tile::power(numbers[w][row][0] - base);
        all += numbers[w][row][1] * factor;
        result += sums[(w * 16 + row) * Size + i] * factor;
      }
      const long long h = g * kGroup + row;
      if (chunks == 1) {
        out_at(a, head, head.queries - 1, h)[i] = Narrow<X>::of(all == 0.0f ? 0.0f : result / all);
        continue;
      }
      float* place = SplitKernel<INFINIOP_ROW_THREADS>::workspace_of(a, b, h, blockIdx.x, chunks);
      place[i] = result;
      if (i == 0) {
        place[Size] = from;
        place[Size + 1] = all;
      }
    }
  }

  static __device__ __forceinline__ void copy_tile(const WrittenArguments& a, const Head& head, unsigned to, int first) {
    Tile::copy_keys(a, head, to, first, false);
    Tile::copy_keys(a, head, to + Tile::kTileBytes, first, true);
  }
};
#endif

}  // namespace infiniop

extern "C" __global__ void attend_rows(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::attend_rows(a); }

#if defined(INFINIOP_ATTENTION_CACHED)
extern "C" __global__ void store_new(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::store_new(a); }
#endif

#if INFINIOP_ROW_THREADS > 0
extern "C" __global__ void __launch_bounds__(128) attend_split(const __grid_constant__ infiniop::WrittenArguments a) {
  infiniop::SplitKernel<INFINIOP_ROW_THREADS>::run(a);
}
// gridDim.z: how many chunks there are; one block for each query does the work of all.
extern "C" __global__ void combine_split(const __grid_constant__ infiniop::WrittenArguments a) {
  if (blockIdx.z == 0) infiniop::SplitKernel<INFINIOP_ROW_THREADS>::combine(a, gridDim.z);
}
#endif

#if INFINIOP_STREAM_SIZE > 0
extern "C" __global__ void __launch_bounds__(128) attend_stream(const __grid_constant__ infiniop::WrittenArguments a) {
  infiniop::StreamKernel<INFINIOP_STREAM_SIZE>::run(a);
}
#endif

#if INFINIOP_TILE_SIZE > 0
extern "C" __global__ void __launch_bounds__(128) attend_tiles(const __grid_constant__ infiniop::WrittenArguments a) {
  infiniop::TileKernel<INFINIOP_TILE_SIZE>::run(a);
}
#endif
