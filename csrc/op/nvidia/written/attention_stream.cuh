// Attention of one query for each sequence, of narrow types. After attention_tiles.cuh and attention_split.cuh.
namespace infiniop {

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
