// Sort, TopK and Kthvalue: a block for a row. Short rows are sorted in shared memory. Of long ones the last key that is wanted is
// found digit by digit, and only what comes before it is sorted; where that is much, the row is sorted in the workspace.
// "variant.h" says X, Index, kDescending, and whether it is one element that is wanted, kOnlyLast.

namespace infiniop {

constexpr int kValues = 0, kIndices = 1, kInput = 2;
constexpr unsigned kSortThreads = 1024, kSortItems = 8, kSortWarps = kSortThreads / 32;

__device__ __forceinline__ Key order_key(X x) { return kDescending ? key_of(x) ^ kAllBits : key_of(x); }

__device__ __forceinline__ Row input_row(const WrittenArguments& a, long long item) {
  const TensorView& view = a.plan.tensor[kInput];
  return {static_cast<const X*>(a.address[kInput]) + row_offset(view, a.plan, item), view.stride[a.plan.dim], view.shape[a.plan.dim]};
}

__device__ __forceinline__ long long rows_of(const WrittenArguments& a) { return a.plan.before * a.plan.after; }

// How many elements of a row's order are wanted.
__device__ __forceinline__ unsigned wanted_of(const WrittenArguments& a) {
  return kOnlyLast ? static_cast<unsigned>(a.attributes[kthvalue::attribute::k])
                   : static_cast<unsigned>(a.plan.tensor[kValues].shape[a.plan.dim]);
}

// Elements of the order, which `index(i)` names, to the outputs.
template <class IndexFunction>
__device__ __forceinline__ void write_order(const WrittenArguments& a, const Row& row, long long item, unsigned wanted, IndexFunction index) {
  const TensorView &values = a.plan.tensor[kValues], &indices = a.plan.tensor[kIndices];
  X* value = static_cast<X*>(a.address[kValues]) + row_offset(values, a.plan, item);
  Index* place = static_cast<Index*>(a.address[kIndices]) + row_offset(indices, a.plan, item);
  if constexpr (kOnlyLast) {
    if (threadIdx.x != 0) return;
    const unsigned found = index(wanted - 1);
    *value = row[found];
    *place = static_cast<Index>(found);
  } else {
    const long long value_step = values.stride[a.plan.dim], place_step = indices.stride[a.plan.dim];
    for (unsigned i = threadIdx.x; i < wanted; i += blockDim.x) {
      const unsigned found = index(i);
      value[i * value_step] = row[found];
      place[i * place_step] = static_cast<Index>(found);
    }
  }
}

__device__ __forceinline__ unsigned power_of_two(unsigned size) {
  unsigned power = 2;
  while (power < size) power *= 2;
  return power;
}

// Keys, then indices, in the block's shared memory.
__device__ __forceinline__ void split_memory(char* memory, unsigned size, Key*& keys, unsigned*& indices) {
  keys = reinterpret_cast<Key*>(memory);
  indices = reinterpret_cast<unsigned*>(keys + size);
}

__device__ __forceinline__ void sort_short(const WrittenArguments& a, char* memory) {
  const unsigned size = power_of_two(static_cast<unsigned>(a.plan.tensor[kInput].shape[a.plan.dim]));
  Key* keys;
  unsigned* indices;
  split_memory(memory, size, keys, indices);
  for (long long item = blockIdx.x; item < rows_of(a); item += gridDim.x) {
    const Row row = input_row(a, item);
    for (unsigned i = threadIdx.x; i < size; i += blockDim.x) {
      keys[i] = i < row.count ? order_key(row[i]) : ~Key{0};
      indices[i] = i < row.count ? i : ~0u;
    }
    sort_shared(keys, indices, size);
    write_order(a, row, item, wanted_of(a), [&](unsigned i) { return indices[i]; });
    __syncthreads();
  }
}

__device__ __forceinline__ void take_few(const WrittenArguments& a, char* memory) {
  const unsigned wanted = wanted_of(a), size = power_of_two(wanted);
  Key* keys;
  unsigned* indices;
  split_memory(memory, size, keys, indices);
  for (long long item = blockIdx.x; item < rows_of(a); item += gridDim.x) {
    const Row row = input_row(a, item);
    take_smallest(row, order_key, wanted, keys, indices, size);
    write_order(a, row, item, wanted, [&](unsigned i) { return indices[i]; });
    __syncthreads();
  }
}

__device__ __forceinline__ void take_one(const WrittenArguments& a) {
  __shared__ unsigned found;
  for (long long item = blockIdx.x; item < rows_of(a); item += gridDim.x) {
    const Row row = input_row(a, item);
    unsigned rest = wanted_of(a), equals = 0;
    const Key key = select_key(row, order_key, rest, equals);
    visit_equals(row, order_key, key, rest, [&](long long i, unsigned number) {
      if (number + 1 == rest) found = static_cast<unsigned>(i);
    });
    __syncthreads();
    write_order(a, row, item, 1, [&](unsigned) { return found; });
    __syncthreads();
  }
}

constexpr int kSortDigits = (kKeyBits + 7) / 8;

// The part of the workspace that one block uses: keys and indices, twice.
struct SortMemory {
  Key* keys[2];
  unsigned* indices[2];

  __device__ __forceinline__ SortMemory(void* workspace, long long count) {
    // A multiple of 4 elements, so that all arrays lie at multiples of 8.
    const long long room = (count + 3) / 4 * 4;
    char* at = static_cast<char*>(workspace) + blockIdx.x * room * 2 * static_cast<long long>(sizeof(Key) + sizeof(unsigned));
    keys[0] = reinterpret_cast<Key*>(at);
    keys[1] = keys[0] + room;
    indices[0] = reinterpret_cast<unsigned*>(keys[1] + room);
    indices[1] = indices[0] + room;
  }
};

// One digit: each element to where those with smaller digits, and those with the same one before it, leave a place. `from` < 0: the
// row itself.
__device__ __forceinline__ void move_by_digit(const Row& row, const SortMemory& memory, int from, int to, int shift, unsigned* starts,
                                              unsigned (*counts)[256]) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (long long tile = 0; tile < row.count; tile += kSortThreads * kSortItems) {
    for (unsigned i = threadIdx.x; i < kSortWarps * 256; i += kSortThreads) counts[i / 256][i % 256] = 0;
    __syncthreads();
    Key keys[kSortItems];
    unsigned indices[kSortItems], ranks[kSortItems];
#pragma unroll
    for (unsigned r = 0; r < kSortItems; ++r) {
      const long long i = tile + (warp * kSortItems + r) * 32 + lane;
      const bool there = i < row.count;
      keys[r] = !there ? 0 : from < 0 ? order_key(row[i]) : memory.keys[from][i];
      indices[r] = !there ? ~0u : from < 0 ? static_cast<unsigned>(i) : memory.indices[from][i];
      const unsigned digit = there ? static_cast<unsigned>(keys[r] >> shift & 255) : 256;
      const unsigned peers = __match_any_sync(kAllLanes, digit);
      const int leader = __ffs(static_cast<int>(peers)) - 1;
      unsigned before = 0;
      if (there && static_cast<int>(lane) == leader) {
        before = counts[warp][digit];
        counts[warp][digit] = before + __popc(peers);
      }
      before = __shfl_sync(kAllLanes, before, leader);
      ranks[r] = before + __popc(peers & ((1u << lane) - 1));
      __syncwarp();
    }
    __syncthreads();
    if (threadIdx.x < 256) {
      unsigned start = starts[threadIdx.x];
      for (unsigned w = 0; w < kSortWarps; ++w) {
        const unsigned count = counts[w][threadIdx.x];
        counts[w][threadIdx.x] = start;
        start += count;
      }
      starts[threadIdx.x] = start;
    }
    __syncthreads();
#pragma unroll
    for (unsigned r = 0; r < kSortItems; ++r) {
      const long long i = tile + (warp * kSortItems + r) * 32 + lane;
      if (i >= row.count) continue;
      const unsigned place = counts[warp][static_cast<unsigned>(keys[r] >> shift & 255)] + ranks[r];
      memory.keys[to][place] = keys[r];
      memory.indices[to][place] = indices[r];
    }
    __syncthreads();
  }
}

__device__ __forceinline__ void sort_long(const WrittenArguments& a) {
  __shared__ unsigned starts[kSortDigits][256];
  __shared__ unsigned counts[kSortWarps][256];
  const SortMemory memory(a.workspace, a.plan.tensor[kInput].shape[a.plan.dim]);
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (long long item = blockIdx.x; item < rows_of(a); item += gridDim.x) {
    const Row row = input_row(a, item);
    for (unsigned i = threadIdx.x; i < kSortDigits * 256; i += kSortThreads) starts[i / 256][i % 256] = 0;
    __syncthreads();
    visit(row, threadIdx.x, kSortThreads, [&](long long, X x, bool there) {
      const Key key = order_key(x);
#pragma unroll
      for (int d = 0; d < kSortDigits; ++d) {
        const int bin = there ? static_cast<int>(key >> (8 * d) & 255) : -1;
        const int first = __shfl_sync(kAllLanes, bin, 0);
        if (__all_sync(kAllLanes, bin == first)) {
          if (bin >= 0 && lane == 0) atomicAdd(&starts[d][bin], 32u);
        } else if (bin >= 0) {
          atomicAdd(&starts[d][bin], 1u);
        }
      }
    });
    __syncthreads();
    int from = -1;
    for (int d = 0; d < kSortDigits; ++d) {
      // Where all elements have one digit there is nothing to move.
      const bool is_one = starts[d][static_cast<unsigned>(order_key(row[0]) >> (8 * d) & 255)] == row.count;
      __syncthreads();
      if (is_one) continue;
      if (warp == 0) {  // counts become places
        unsigned before = 0;
        for (int part = 0; part < 8; ++part) {
          const unsigned count = starts[d][part * 32 + lane];
          const unsigned up_to = sum_up_to_lane(count);
          starts[d][part * 32 + lane] = before + up_to - count;
          before += __shfl_sync(kAllLanes, up_to, 31);
        }
      }
      __syncthreads();
      const int to = from == 0 ? 1 : 0;
      move_by_digit(row, memory, from, to, 8 * d, starts[d], counts);
      from = to;
    }
    write_order(a, row, item, wanted_of(a), [&](unsigned i) { return from < 0 ? i : memory.indices[from][i]; });
    __syncthreads();
  }
}

}  // namespace infiniop

extern __shared__ __align__(16) char select_memory[];

extern "C" __global__ void sort_short(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::sort_short(a, select_memory); }
extern "C" __global__ void take_few(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::take_few(a, select_memory); }
extern "C" __global__ void take_one(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::take_one(a); }
extern "C" __global__ void __launch_bounds__(1024) sort_long(const __grid_constant__ infiniop::WrittenArguments a) { infiniop::sort_long(a); }
