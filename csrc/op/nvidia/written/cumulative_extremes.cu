// The largest or smallest element of a row up to each one, and where it is: a block for a row, as many elements at a time as it has threads, or
// a thread for a row. "variant.h" says X, Index, whether X is floating-point (kIsFloat), and kLargest.

namespace infiniop {

constexpr int kValues = 0, kIndices = 1, kInput = 2;

// What is not a number comes before all others, and of equal ones the later.
struct State {
  Key rank;
  long long index;  // -1: there is none yet

  static __device__ __forceinline__ State of(X x, long long index) {
    const Key key = key_of(x);
    return {kLargest || (kIsFloat && key == kAllBits) ? key : kAllBits ^ key, index};
  }
  __device__ __forceinline__ State with(State after) const { return after.index >= 0 && (index < 0 || after.rank >= rank) ? after : *this; }
  __device__ __forceinline__ State from_lane_before(int distance) const {
    return {__shfl_up_sync(kAllLanes, rank, distance), __shfl_up_sync(kAllLanes, index, distance)};
  }
};

struct Line {
  X* to;
  Index* places;
  const X* from;
  long long to_step, place_step, from_step, count;

  // An element that is the largest so far is what was written in its own place, too, where that is the input's.
  __device__ __forceinline__ void write(long long i, State state) const {
    to[i * to_step] = from[state.index * from_step];
    places[i * place_step] = static_cast<Index>(state.index);
  }
};

__device__ __forceinline__ Line line_of(const WrittenArguments& a, long long item) {
  const TensorView &values = a.plan.tensor[kValues], &indices = a.plan.tensor[kIndices], &input = a.plan.tensor[kInput];
  return {static_cast<X*>(a.address[kValues]) + row_offset(values, a.plan, item),
          static_cast<Index*>(a.address[kIndices]) + row_offset(indices, a.plan, item),
          static_cast<const X*>(a.address[kInput]) + row_offset(input, a.plan, item),
          values.stride[a.plan.dim], indices.stride[a.plan.dim], input.stride[a.plan.dim], input.shape[a.plan.dim]};
}

__device__ __forceinline__ void scan_row(const Line& line, State* of_warps) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  State carry = {Key(0), -1};
  for (long long tile = 0; tile < line.count; tile += blockDim.x) {
    const long long i = tile + threadIdx.x;
    State state = i < line.count ? State::of(line.from[i * line.from_step], i) : State{Key(0), -1};
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const State before = state.from_lane_before(distance);
      if (lane >= static_cast<unsigned>(distance)) state = before.with(state);
    }
    if (lane == 31) of_warps[warp] = state;
    __syncthreads();
    State start = carry;
    for (unsigned w = 0; w < warps; ++w) {
      if (w == warp) state = start.with(state);
      start = start.with(of_warps[w]);
    }
    carry = start;
    // All elements of the tile have been read before any is written.
    if (i < line.count) line.write(i, state);
    __syncthreads();
  }
}

}  // namespace infiniop

extern "C" __global__ void extremes_by_blocks(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  __shared__ State of_warps[16];
  for (long long item = blockIdx.x; item < a.plan.before * a.plan.after; item += gridDim.x) {
    scan_row(line_of(a, item), of_warps);
    __syncthreads();
  }
}

extern "C" __global__ void extremes_by_threads(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const long long rows = a.plan.before * a.plan.after, threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long item = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; item < rows; item += threads) {
    const Line line = line_of(a, item);
    State state = {Key(0), -1};
    for (long long i = 0; i < line.count; ++i) {
      state = state.with(State::of(line.from[i * line.from_step], i));
      line.write(i, state);
    }
  }
}
