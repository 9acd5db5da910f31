// Elements in order: each becomes an unsigned number, its key, and is compared as that. Equal elements have one key (both zeros, too),
// and what is not a number has the largest. Texts that follow this one have "variant.h" with X, the type of the elements.
#include <cstdint>

#include "infiniop/generated/written.h"
#include "op/narrow.h"
#include "op/nvidia/elements.h"
#include "op/nvidia/written_arguments.h"
#include "variant.h"

namespace infiniop {

constexpr unsigned kAllLanes = 0xFFFFFFFFu;

// Of a floating-point number of `Bits` bits with all numbers up to `infinite`.
template <int Bits, class Key>
__device__ __forceinline__ Key float_key(Key bits, Key infinite) {
  constexpr Key kSign = Key(1) << (Bits - 1), kAll = kSign | (kSign - 1);
  const Key magnitude = bits & (kSign - 1);
  const Key negative = magnitude == 0 ? kSign : kAll ^ bits;
  const Key ordered = bits & kSign ? negative : bits | kSign;
  return magnitude > infinite ? kAll : ordered;
}

__device__ __forceinline__ uint32_t key_of(Float8 x) { return float_key<8, uint32_t>(x.bits, 0x7E); }
__device__ __forceinline__ uint32_t key_of(Float16 x) { return float_key<16, uint32_t>(x.bits, 0x7C00); }
__device__ __forceinline__ uint32_t key_of(BFloat16 x) { return float_key<16, uint32_t>(x.bits, 0x7F80); }
__device__ __forceinline__ uint32_t key_of(float x) { return float_key<32, uint32_t>(bits_of(x), 0x7F800000u); }
__device__ __forceinline__ uint64_t key_of(double x) {
#ifdef __CUDACC__
  const uint64_t bits = static_cast<uint64_t>(__double_as_longlong(x));
#else
  const uint64_t bits = __builtin_bit_cast(uint64_t, x);
#endif
  return float_key<64, uint64_t>(bits, 0x7FF0000000000000ull);
}
__device__ __forceinline__ uint32_t key_of(uint8_t x) { return x; }
__device__ __forceinline__ uint32_t key_of(uint16_t x) { return x; }
__device__ __forceinline__ uint32_t key_of(uint32_t x) { return x; }
__device__ __forceinline__ uint64_t key_of(uint64_t x) { return x; }
__device__ __forceinline__ uint32_t key_of(int8_t x) { return static_cast<uint8_t>(x) ^ 0x80u; }
__device__ __forceinline__ uint32_t key_of(int16_t x) { return static_cast<uint16_t>(x) ^ 0x8000u; }
__device__ __forceinline__ uint32_t key_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
__device__ __forceinline__ uint64_t key_of(int64_t x) { return static_cast<uint64_t>(x) ^ 0x8000000000000000ull; }

using Key = decltype(key_of(X{}));
constexpr int kKeyBits = 8 * static_cast<int>(sizeof(X));
constexpr Key kAllBits = static_cast<Key>(~Key{0}) >> (8 * sizeof(Key) - kKeyBits);

// Elements of one row.
struct Row {
  const X* at;
  long long step, count;

  __device__ __forceinline__ X operator[](long long i) const { return at[i * step]; }
};

// The rows of a tensor along the dimension that an attribute names.
__device__ __forceinline__ long long row_offset(const TensorView& view, const WrittenPlan& plan, long long item) {
  const long long before = plan.after == 1 ? item : item / plan.after;
  return offset_of_rest(view, before) + (plan.after == 1 ? 0 : offset_of_after(view, item - before * plan.after));
}

// Calls function(i, x, there) for every element of a row; all of `threads` do so the same number of times, with `there` false where
// there is none. 16 bytes are read at a time where elements lie so.
template <class Function>
__device__ __forceinline__ void visit(const Row& row, unsigned thread, unsigned threads, Function function) {
  constexpr int kWide = 16 / sizeof(X);
  long long first = 0;
  if (row.step == 1 && reinterpret_cast<uint64_t>(row.at) % 16 == 0) {
    const long long pieces = row.count / kWide;
    for (long long base = 0; base < pieces; base += threads) {
      const long long piece = base + thread;
      const bool there = piece < pieces;
      Pack<X, kWide> pack{};
      if (there) pack = reinterpret_cast<const Pack<X, kWide>*>(row.at)[piece];
#pragma unroll
      for (int e = 0; e < kWide; ++e) function(piece * kWide + e, pack.at[e], there);
    }
    first = pieces * kWide;
  }
  for (long long base = first; base < row.count; base += threads) {
    const long long i = base + thread;
    const bool there = i < row.count;
    function(i, there ? row[i] : X{}, there);
  }
}

// The smallest key of a warp, and the first place that has it.
__device__ __forceinline__ void first_of_warp(Key& key, unsigned& index) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) {
    const Key other_key = __shfl_xor_sync(kAllLanes, key, distance);
    const unsigned other_index = __shfl_xor_sync(kAllLanes, index, distance);
    if (other_key < key || (other_key == key && other_index < index)) {
      key = other_key;
      index = other_index;
    }
  }
}

// The same of a block; all threads get it.
__device__ __forceinline__ void first_of_block(Key& key, unsigned& index) {
  __shared__ Key keys[32];
  __shared__ unsigned indices[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  first_of_warp(key, index);
  __syncthreads();  // of an earlier call
  if (lane == 0) {
    keys[warp] = key;
    indices[warp] = index;
  }
  __syncthreads();
  key = lane < warps ? keys[lane] : ~Key{0};
  index = lane < warps ? indices[lane] : ~0u;
  first_of_warp(key, index);
}

template <class T>
__device__ __forceinline__ T sum_of_warp(T value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

// Of this lane and those before it.
template <class T>
__device__ __forceinline__ T sum_up_to_lane(T value) {
  const unsigned lane = threadIdx.x % 32;
#pragma unroll
  for (int distance = 1; distance < 32; distance *= 2) {
    const T before = __shfl_up_sync(kAllLanes, value, distance);
    if (lane >= static_cast<unsigned>(distance)) value += before;
  }
  return value;
}

// Digits from the highest on. The first one of floating-point numbers has sign, exponent and some more: numbers of one size do
// not all fall into one bin.
struct Digits {
  static constexpr int kBits = kKeyBits < 11 ? kKeyBits : 11;
  static constexpr int kBins = 1 << kBits;
};

// The bin in which the sum of all bins up to it reaches `wanted`, and the sum before it. `bin_sum(b)` is a bin's. All threads
// get it; bins are complete before.
template <class Sum, class BinSum>
__device__ __forceinline__ unsigned find_bin(BinSum bin_sum, Sum wanted, Sum& before) {
  constexpr unsigned kBinGroups = Digits::kBins / 32;  // 8 to 64
  __shared__ Sum group_sums[kBinGroups];
  __shared__ unsigned found;
  __shared__ Sum found_before;
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  __syncthreads();  // the bins
  for (unsigned group = warp; group < kBinGroups; group += warps) {
    const Sum sum = sum_of_warp(bin_sum(group * 32 + lane));
    if (lane == 0) group_sums[group] = sum;
  }
  __syncthreads();
  if (warp == 0) {
    const Sum one = lane * 2 < kBinGroups ? group_sums[lane * 2] : 0;
    const Sum two = lane * 2 + 1 < kBinGroups ? group_sums[lane * 2 + 1] : 0;
    const Sum up_to = sum_up_to_lane(one + two);
    const unsigned reached = __ballot_sync(kAllLanes, up_to >= wanted);
    const int which = reached == 0 ? 31 : __ffs(static_cast<int>(reached)) - 1;
    Sum start = __shfl_sync(kAllLanes, up_to - one - two, which);
    const Sum first = __shfl_sync(kAllLanes, one, which);
    const bool second = start + first < wanted;
    if (second) start += first;
    unsigned group = static_cast<unsigned>(which) * 2 + (second ? 1 : 0);
    if (group >= kBinGroups) group = kBinGroups - 1;
    const Sum mine = bin_sum(group * 32 + lane);
    const Sum sums = start + sum_up_to_lane(mine);
    const unsigned there = __ballot_sync(kAllLanes, sums >= wanted);
    const int bin = there == 0 ? 31 : __ffs(static_cast<int>(there)) - 1;
    const Sum bin_before = __shfl_sync(kAllLanes, sums - mine, bin);
    if (lane == 0) {
      found = group * 32 + static_cast<unsigned>(bin);
      found_before = bin_before;
    }
  }
  __syncthreads();
  before = found_before;
  return found;
}

// The key of the `wanted`-th element of a row in the order of keys, from 1 on. `wanted` becomes which of its equals that is, and
// `equals` how many there are. `key(x)` gives keys.
template <class KeyFunction>
__device__ __forceinline__ Key select_key(const Row& row, KeyFunction key, unsigned& wanted, unsigned& equals) {
  __shared__ unsigned bins[Digits::kBins];
  Key known = 0, mask = 0;
  for (int high = kKeyBits; high > 0; high -= Digits::kBits) {
    const int shift = high > Digits::kBits ? high - Digits::kBits : 0, width = high - shift;
    __syncthreads();  // the bins of the last digit were read
    for (unsigned b = threadIdx.x; b < Digits::kBins; b += blockDim.x) bins[b] = 0;
    __syncthreads();
    visit(row, threadIdx.x, blockDim.x, [&](long long, X x, bool there) {
      const Key k = key(x);
      const int bin = there && (k & mask) == known ? static_cast<int>(k >> shift & ((Key{1} << width) - 1)) : -1;
      // Lanes that agree, as they do where all elements are equal, would wait for each other.
      const int first = __shfl_sync(kAllLanes, bin, 0);
      if (__all_sync(kAllLanes, bin == first)) {
        if (bin >= 0 && threadIdx.x % 32 == 0) atomicAdd(&bins[bin], 32u);
      } else if (bin >= 0) {
        atomicAdd(&bins[bin], 1u);
      }
    });
    unsigned before = 0;
    const unsigned bin = find_bin<unsigned>([&](unsigned b) { return bins[b]; }, wanted, before);
    wanted -= before;
    equals = bins[bin];
    known |= static_cast<Key>(bin) << shift;
    mask |= static_cast<Key>((Key{1} << width) - 1) << shift;
  }
  return known;
}

// Calls function(i, number) for the first `wanted` elements of a row that have this key, counted from 0, in their order.
template <class KeyFunction, class Function>
__device__ __forceinline__ void visit_equals(const Row& row, KeyFunction key, Key wanted_key, unsigned wanted, Function function) {
  __shared__ unsigned counts[32];
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  // Each warp has a part of the row.
  const long long part = (row.count + warps * 32ll - 1) / (warps * 32ll) * 32;
  const long long first = part * warp, last = first + part < row.count ? first + part : row.count;
  unsigned count = 0;
  for (long long base = first; base < last; base += 32) {
    const long long i = base + lane;
    count += i < last && key(row[i]) == wanted_key;
  }
  count = sum_of_warp(count);
  __syncthreads();  // of an earlier call
  if (lane == 0) counts[warp] = count;
  __syncthreads();
  unsigned before = sum_of_warp(lane < warp ? counts[lane] : 0u);
  for (long long base = first; base < last && before < wanted; base += 32) {
    const long long i = base + lane;
    const bool equal = i < last && key(row[i]) == wanted_key;
    const unsigned lanes = __ballot_sync(kAllLanes, equal);
    const unsigned number = before + __popc(lanes & ((1u << lane) - 1));
    if (equal && number < wanted) function(i, number);
    before += __popc(lanes);
  }
}

// Keys and indices in shared memory; `size`, a power of two, of each. Smaller keys first, of equal ones the smaller index.
__device__ __forceinline__ void sort_shared(Key* keys, unsigned* indices, unsigned size) {
  for (unsigned run = 2; run <= size; run *= 2) {
    for (unsigned distance = run / 2; distance > 0; distance /= 2) {
      __syncthreads();
      for (unsigned i = threadIdx.x; i < size / 2; i += blockDim.x) {
        const unsigned low = 2 * i - (i & (distance - 1)), high = low + distance;
        const Key a = keys[low], b = keys[high];
        const unsigned at_a = indices[low], at_b = indices[high];
        const bool in_order = a < b || (a == b && at_a < at_b);
        if (in_order != ((low & run) == 0)) {
          keys[low] = b;
          keys[high] = a;
          indices[low] = at_b;
          indices[high] = at_a;
        }
      }
    }
  }
  __syncthreads();
}

// The `wanted` elements of a row with the smallest keys, in order; the arrays have room for `size` elements, a power of two.
template <class KeyFunction>
__device__ __forceinline__ void take_smallest(const Row& row, KeyFunction key, unsigned wanted, Key* keys, unsigned* indices, unsigned size) {
  __shared__ unsigned taken;
  unsigned rest = wanted, equals = 0;
  const Key limit = select_key(row, key, rest, equals);
  if (threadIdx.x == 0) taken = 0;
  for (unsigned i = wanted + threadIdx.x; i < size; i += blockDim.x) {
    keys[i] = ~Key{0};
    indices[i] = ~0u;
  }
  __syncthreads();
  const bool all = equals == rest;
  visit(row, threadIdx.x, blockDim.x, [&](long long i, X x, bool there) {
    const Key k = key(x);
    if (!there || !(k < limit || (all && k == limit))) return;
    const unsigned place = atomicAdd(&taken, 1u);
    keys[place] = k;
    indices[place] = static_cast<unsigned>(i);
  });
  if (!all) {
    visit_equals(row, key, limit, rest, [&](long long i, unsigned number) {
      keys[wanted - rest + number] = limit;
      indices[wanted - rest + number] = static_cast<unsigned>(i);
    });
  }
  sort_shared(keys, indices, size);
}

}  // namespace infiniop
