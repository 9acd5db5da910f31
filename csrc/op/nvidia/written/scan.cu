// What all elements of a row up to each one give together: a block for a row, tile after tile, or, where rows do not lie along memory, a
// thread for a row. "variant.h" says X, kExclusive, kReverse, and what: INFINIOP_SCAN_SUM, _PRODUCT or _EXPONENTIALS.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

constexpr int kOutput = 0, kInput = 1;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;
constexpr int kItems = 8;  // of a thread, in a tile
using C = decltype(widen(X{}));

#if defined(INFINIOP_SCAN_EXPONENTIALS)
__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }
__device__ __forceinline__ float logarithm(float x) { return logf(x); }
__device__ __forceinline__ double logarithm(double x) { return log(x); }

// The largest element so far, and the sum of all exponentials over its own.
struct State {
  C largest, sum;

  static __device__ __forceinline__ State none() { return {-C(__int_as_float(0x7F800000)), C(0)}; }
  static __device__ __forceinline__ State of(C x) { return {x, C(1)}; }
  __device__ __forceinline__ State with(State after) const {
    const C next = after.largest > largest ? after.largest : largest;
    // Equal infinities have no difference.
    const C factor = largest == next ? C(1) : exponential(largest - next);
    const C after_factor = after.largest == next ? C(1) : exponential(after.largest - next);
    return {next, sum * factor + after.sum * after_factor};
  }
  __device__ __forceinline__ State from_lane_before(int distance) const {
    return {__shfl_up_sync(kAllLanes, largest, distance), __shfl_up_sync(kAllLanes, sum, distance)};
  }
  __device__ __forceinline__ C result() const { return largest + logarithm(sum); }
};
#else
// What thousands of elements give together would not be exact in float. Integers wrap around, which signed ones must not.
template <class T>
struct Exact {
  using Type = double;
};
template <>
struct Exact<int32_t> {
  using Type = uint32_t;
};
template <>
struct Exact<int64_t> {
  using Type = unsigned long long;
};
using S = Exact<C>::Type;

struct State {
  S value;

  static __device__ __forceinline__ State of(C x) { return {static_cast<S>(x)}; }
#if defined(INFINIOP_SCAN_SUM)
  static __device__ __forceinline__ State none() { return {S(0)}; }
  __device__ __forceinline__ State with(State after) const { return {value + after.value}; }
#else
  static __device__ __forceinline__ State none() { return {S(1)}; }
  __device__ __forceinline__ State with(State after) const { return {value * after.value}; }
#endif
  __device__ __forceinline__ State from_lane_before(int distance) const { return {__shfl_up_sync(kAllLanes, value, distance)}; }
  __device__ __forceinline__ C result() const { return static_cast<C>(value); }
};
#endif

struct Line {
  X* to;
  const X* from;
  long long to_step, from_step, count;
};

__device__ __forceinline__ long long row_offset(const TensorView& view, const WrittenPlan& plan, long long item) {
  const long long before = plan.after == 1 ? item : item / plan.after;
  return offset_of_rest(view, before) + (plan.after == 1 ? 0 : offset_of_after(view, item - before * plan.after));
}

__device__ __forceinline__ Line line_of(const WrittenArguments& a, long long item) {
  const TensorView &output = a.plan.tensor[kOutput], &input = a.plan.tensor[kInput];
  Line line{static_cast<X*>(a.address[kOutput]) + row_offset(output, a.plan, item),
            static_cast<const X*>(a.address[kInput]) + row_offset(input, a.plan, item), output.stride[a.plan.dim],
            input.stride[a.plan.dim], input.shape[a.plan.dim]};
  if (kReverse) {
    line.to += (line.count - 1) * line.to_step;
    line.from += (line.count - 1) * line.from_step;
    line.to_step = -line.to_step;
    line.from_step = -line.from_step;
  }
  return line;
}

// Of this lane and those before it.
__device__ __forceinline__ State up_to_lane(State state) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const State before = state.from_lane_before(distance);
    if (lane >= static_cast<unsigned>(distance)) state = before.with(state);
  }
  return state;
}

// A warp has kItems times 32 elements of a tile, which lanes read side by side and turn over in shared memory, so that each has
// neighbours.
__device__ __forceinline__ void scan_row(const Line& line, C* turned, State* of_warps) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  C* mine = turned + warp * 32 * (kItems + 1);
  State carry = State::none();
  for (long long tile = 0; tile < line.count; tile += static_cast<long long>(blockDim.x) * kItems) {
    const long long first = tile + static_cast<long long>(warp) * 32 * kItems;
#pragma unroll
    for (int r = 0; r < kItems; ++r) {
      const long long i = first + r * 32 + lane;
      const unsigned place = r * 32 + lane;
      if (i < line.count) mine[place + place / kItems] = widen(line.from[i * line.from_step]);
    }
    __syncwarp();
    State own = State::none();
    State states[kItems];
#pragma unroll
    for (int r = 0; r < kItems; ++r) {
      states[r] = own;
      if (first + lane * kItems + r < line.count) own = own.with(State::of(mine[lane * (kItems + 1) + r]));
      if (!kExclusive) states[r] = own;
    }
    const State up_to = up_to_lane(own);
    State before = up_to.from_lane_before(1);
    if (lane == 0) before = State::none();
    if (lane == 31) of_warps[warp] = up_to;
    __syncthreads();
    State start = carry;
    for (unsigned w = 0; w < warps; ++w) {
      if (w == warp) before = start.with(before);
      start = start.with(of_warps[w]);
    }
    carry = start;
#pragma unroll
    for (int r = 0; r < kItems; ++r) mine[lane * (kItems + 1) + r] = before.with(states[r]).result();
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kItems; ++r) {
      const long long i = first + r * 32 + lane;
      const unsigned place = r * 32 + lane;
      if (i < line.count) line.to[i * line.to_step] = Narrow<X>::of(mine[place + place / kItems]);
    }
    __syncwarp();
  }
}

}  // namespace infiniop

extern "C" __global__ void scan_by_blocks(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  __shared__ C turned[512 * (kItems + 1)];
  __shared__ State of_warps[16];
  for (long long item = blockIdx.x; item < a.plan.before * a.plan.after; item += gridDim.x) {
    scan_row(line_of(a, item), turned, of_warps);
    __syncthreads();
  }
}

extern "C" __global__ void scan_by_threads(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const long long rows = a.plan.before * a.plan.after, threads = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long item = blockIdx.x * static_cast<long long>(blockDim.x) + threadIdx.x; item < rows; item += threads) {
    const Line line = line_of(a, item);
    State state = State::none();
    for (long long i = 0; i < line.count; ++i) {
      const State next = state.with(State::of(widen(line.from[i * line.from_step])));
      line.to[i * line.to_step] = Narrow<X>::of((kExclusive ? state : next).result());
      state = next;
    }
  }
}
