// Attention of few queries: a block reads a part of the keys of one head once, 16 bytes at a time, for all queries that share it, and combine() puts the
// parts together. After attention.cuh.
namespace infiniop {

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

}  // namespace infiniop
