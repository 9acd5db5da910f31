// Attention of many queries of narrow types: products by tensor cores. After attention.cuh.
namespace infiniop {

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

}  // namespace infiniop
