// A place of each row, drawn by the row's logits: a block for a row, and nothing is sorted but few candidates. Weights, of which the
// largest is 1, are whole numbers, so that their sums are the same in any order. "variant.h" says X and Result.

namespace infiniop {

constexpr int kResult = 0, kInput = 1;
constexpr unsigned kMostCandidates = 1024;
constexpr int kWeightBits = 30, kLimbBits = 10;  // three limbs, whose sums fit into 32 bits for rows of 2^22 elements
using C = decltype(widen(X{}));
using Sum = unsigned long long;

// The largest comes first; what is not a number comes last.
__device__ __forceinline__ Key draw_key(X x) {
  const Key key = key_of(x);
  return key == kAllBits ? key : static_cast<Key>((key ^ kAllBits) - 1);
}

struct Weights {
  C largest, factor;

  __device__ __forceinline__ unsigned operator()(X x) const {
    const C value = widen(x);
    if (value == largest) return 1u << kWeightBits;
    if (!(value < largest)) return 0;
    const C weight = exponential((value - largest) * factor);
    return static_cast<unsigned>(weight * C(1u << kWeightBits) + C(0.5));
  }
  static __device__ __forceinline__ float exponential(float x) { return expf(x); }
  static __device__ __forceinline__ double exponential(double x) { return exp(x); }
};

__device__ __forceinline__ Sum sum_of_block(Sum value) {
  __shared__ Sum sums[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  value = sum_of_warp(value);
  __syncthreads();  // of an earlier call
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  return sum_of_warp(lane < warps ? sums[lane] : Sum{0});
}

// The sum that has to be reached, from 1 on.
__device__ __forceinline__ Sum limit_of(double random, double share, Sum most, Sum total) {
  const double shared = share * static_cast<double>(total), kept = static_cast<double>(most);
  const double limit = ceil(random * (kept < shared ? kept : shared));
  if (!(limit > 1)) return 1;
  return limit < kept ? static_cast<Sum>(limit) : most;
}

// Among `wanted` candidates, sorted in shared memory.
__device__ __forceinline__ unsigned draw_candidate(const Row& row, const Weights& weights, double random, double share, Sum total,
                                                   const unsigned* indices, unsigned wanted) {
  __shared__ Sum sums[32];
  __shared__ unsigned found;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  // Each thread has some neighbours: blocks have 32 threads at least, and there are at most kMostCandidates.
  const unsigned each = (wanted + blockDim.x - 1) / blockDim.x, first = threadIdx.x * each;
  Sum own = 0;
  for (unsigned i = first; i < first + each && i < wanted; ++i) own += weights(row[indices[i]]);
  const Sum up_to = sum_up_to_lane(own);
  if (threadIdx.x == 0) found = wanted - 1;
  if (lane == 31) sums[warp] = up_to;
  __syncthreads();
  const Sum of_warp = lane < warps ? sums[lane] : 0;
  const Sum before = sum_of_warp(lane < warp ? of_warp : Sum{0}) + up_to - own, most = sum_of_warp(of_warp);
  const Sum limit = limit_of(random, share, most, total);
  // Where sums reach the limit one thread sees it.
  Sum sum = before;
  for (unsigned i = first; i < first + each && i < wanted; ++i) {
    const Sum next = sum + weights(row[indices[i]]);
    if (sum < limit && next >= limit) found = i;
    sum = next;
  }
  __syncthreads();
  return indices[found];
}

// The place where the weights in the order of keys reach `limit`.
__device__ __forceinline__ unsigned draw_by_digits(const Row& row, const Weights& weights, Sum limit) {
  __shared__ unsigned limbs[3][Digits::kBins];
  __shared__ unsigned found;
  Key known = 0, mask = 0;
  for (int high = kKeyBits; high > 0; high -= Digits::kBits) {
    const int shift = high > Digits::kBits ? high - Digits::kBits : 0, width = high - shift;
    __syncthreads();  // the bins of the last digit were read
    for (unsigned b = threadIdx.x; b < Digits::kBins; b += blockDim.x) limbs[0][b] = limbs[1][b] = limbs[2][b] = 0;
    __syncthreads();
    visit(row, threadIdx.x, blockDim.x, [&](long long, X x, bool there) {
      const Key key = draw_key(x);
      if (!there || (key & mask) != known) return;
      const unsigned bin = static_cast<unsigned>(key >> shift & ((Key{1} << width) - 1)), weight = weights(x);
      constexpr unsigned kLimb = (1u << kLimbBits) - 1;
      if (weight & kLimb) atomicAdd(&limbs[0][bin], weight & kLimb);
      if (weight >> kLimbBits & kLimb) atomicAdd(&limbs[1][bin], weight >> kLimbBits & kLimb);
      // The largest weight has one bit more than three limbs.
      if (weight >> (2 * kLimbBits)) atomicAdd(&limbs[2][bin], weight >> (2 * kLimbBits));
    });
    Sum before = 0;
    const unsigned bin = find_bin<Sum>(
        [&](unsigned b) {
          return Sum{limbs[0][b]} + (Sum{limbs[1][b]} << kLimbBits) + (Sum{limbs[2][b]} << (2 * kLimbBits));
        },
        limit, before);
    limit -= before;
    known |= static_cast<Key>(bin) << shift;
    mask |= static_cast<Key>((Key{1} << width) - 1) << shift;
  }
  // All that are left are equal.
  __shared__ unsigned weight_of_key;
  if (threadIdx.x == 0) {
    found = 0;
    weight_of_key = 1;
  }
  __syncthreads();
  visit_equals(row, draw_key, known, 1, [&](long long i, unsigned) { weight_of_key = weights(row[i]); });
  __syncthreads();
  const unsigned weight = weight_of_key > 0 ? weight_of_key : 1;
  const unsigned wanted = static_cast<unsigned>((limit + weight - 1) / weight);
  visit_equals(row, draw_key, known, wanted, [&](long long i, unsigned number) {
    if (number + 1 == wanted) found = static_cast<unsigned>(i);
  });
  __syncthreads();
  return found;
}

__device__ __forceinline__ unsigned draw(const Row& row, const double* given) {
  namespace attribute = random_sample::attribute;
  __shared__ Key keys[kMostCandidates];
  __shared__ unsigned indices[kMostCandidates];
  const double random = given[attribute::random_val], share = given[attribute::topp], temperature = given[attribute::temperature];
  Key best = ~Key{0};
  unsigned at = ~0u;
  visit(row, threadIdx.x, blockDim.x, [&](long long i, X x, bool there) {
    const Key key = draw_key(x);
    if (!there || (key >= best && at != ~0u)) return;
    best = key;
    at = static_cast<unsigned>(i);
  });
  first_of_block(best, at);
  const double most = given[attribute::topk];
  if (random == 0 || share == 0 || temperature == 0 || most == 1) return at;
  const Weights weights{C(widen(row[at])), C(1) / C(temperature)};
  const bool is_limited = most > 0 && most < static_cast<double>(row.count);
  const unsigned wanted = is_limited ? static_cast<unsigned>(most) : static_cast<unsigned>(row.count);
  Sum own = 0;
  if (is_limited && wanted <= kMostCandidates) {
    visit(row, threadIdx.x, blockDim.x, [&](long long, X x, bool there) { own += there ? weights(x) : 0; });
    const Sum total = sum_of_block(own);
    unsigned size = 2;
    while (size < wanted) size *= 2;
    take_smallest(row, draw_key, wanted, keys, indices, size);
    return draw_candidate(row, weights, random, share, total, indices, wanted);
  }
  Key limit_key = ~Key{0};
  unsigned rest = wanted, equals = 0;
  if (is_limited) limit_key = select_key(row, draw_key, rest, equals);
  Sum kept = 0, equal = 0;
  visit(row, threadIdx.x, blockDim.x, [&](long long, X x, bool there) {
    if (!there) return;
    const Key key = draw_key(x);
    const unsigned weight = weights(x);
    own += weight;
    if (key < limit_key) kept += weight;
    if (key == limit_key) equal += weight;
  });
  const Sum total = sum_of_block(own);
  Sum reached = total;
  if (is_limited) reached = sum_of_block(kept) + sum_of_block(equal) / (equals > 0 ? equals : 1) * rest;
  return draw_by_digits(row, weights, limit_of(random, share, reached, total));
}

}  // namespace infiniop

extern "C" __global__ void __launch_bounds__(1024) draw_rows(const __grid_constant__ infiniop::WrittenArguments a) {
  using namespace infiniop;
  const TensorView &input = a.plan.tensor[kInput], &result = a.plan.tensor[kResult];
  for (long long item = blockIdx.x; item < a.plan.rest; item += gridDim.x) {
    const Row row{static_cast<const X*>(a.address[kInput]) + offset_of_rest(input, item), input.stride[input.ndim - 1],
                  a.plan.size[random_sample::size::n]};
    const unsigned found = draw(row, a.attributes);
    if (threadIdx.x == 0) static_cast<Result*>(a.address[kResult])[offset_of_rest(result, item)] = static_cast<Result>(found);
    __syncthreads();
  }
}
