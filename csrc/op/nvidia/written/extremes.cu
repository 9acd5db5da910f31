// Where the largest or smallest element of each row is: a warp or a block for a row or, where rows do not lie along memory, a thread.
// "variant.h" says X, Index and kLargest.

namespace infiniop {

constexpr int kIndices = 0, kInput = 1;

// What is not a number comes first in either case.
__device__ __forceinline__ Key extreme_key(X x) {
  const Key key = key_of(x);
  if constexpr (kLargest) {
    return key ^ kAllBits;
  } else {
    return kIsFloat && key == kAllBits ? Key{0} : key;
  }
}

__device__ __forceinline__ Row input_row(const WrittenArguments& a, long long item) {
  const TensorView& view = a.plan.tensor[kInput];
  return {static_cast<const X*>(a.address[kInput]) + row_offset(view, a.plan, item), view.stride[a.plan.dim], view.shape[a.plan.dim]};
}

__device__ __forceinline__ void write(const WrittenArguments& a, long long item, unsigned index) {
  static_cast<Index*>(a.address[kIndices])[row_offset(a.plan.tensor[kIndices], a.plan, item)] = static_cast<Index>(index);
}

// A thread sees its elements in their order, so that the first of equal ones stays.
__device__ __forceinline__ void look(const Row& row, unsigned thread, unsigned threads, Key& best, unsigned& found) {
  best = ~Key{0};
  found = ~0u;
  visit(row, thread, threads, [&](long long i, X x, bool there) {
    const Key key = extreme_key(x);
    if (!there || (key >= best && found != ~0u)) return;
    best = key;
    found = static_cast<unsigned>(i);
  });
}

}  // namespace infiniop

extern "C" __global__ void extremes_by_warps(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const long long rows = a.plan.before * a.plan.after, warps = blockDim.x / 32;
  for (long long item = blockIdx.x * warps + threadIdx.x / 32; item < rows; item += gridDim.x * warps) {
    Key best;
    unsigned found;
    look(input_row(a, item), threadIdx.x % 32, 32, best, found);
    first_of_warp(best, found);
    if (threadIdx.x % 32 == 0) write(a, item, found);
  }
}

extern "C" __global__ void extremes_by_blocks(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const long long rows = a.plan.before * a.plan.after;
  for (long long item = blockIdx.x; item < rows; item += gridDim.x) {
    Key best;
    unsigned found;
    look(input_row(a, item), threadIdx.x, blockDim.x, best, found);
    first_of_block(best, found);
    if (threadIdx.x == 0) write(a, item, found);
  }
}

extern "C" __global__ void extremes_by_threads(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const long long rows = a.plan.before * a.plan.after, threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long item = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; item < rows; item += threads) {
    const Row row = input_row(a, item);
    Key best = extreme_key(row[0]);
    unsigned found = 0;
    for (long long i = 1; i < row.count; ++i) {
      const Key key = extreme_key(row[i]);
      if (key >= best) continue;
      best = key;
      found = static_cast<unsigned>(i);
    }
    write(a, item, found);
  }
}
