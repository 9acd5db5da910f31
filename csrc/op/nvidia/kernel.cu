// The element-wise kernel of all operators, compiled when a descriptor needs it. "variant.h" is written for each case (source.cpp): it names
// the types of the operands, the expression, how many levels the nest has and how the operands lie.
#include <cstdint>

#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/arguments.h"
#include "op/nvidia/elements.h"

#include "variant.h"

namespace infiniop {

// Operand 0 is the output. A kernel for single elements takes every input that is not a scalar from where it lies.
template <int Width>
constexpr Lie lie_of(int input) {
  return Width == 1 && kLie[input] == Lie::Repeated ? Lie::SideBySide : kLie[input];
}

using Offsets = OffsetsOf<Offset, 1 + kInputs>;

template <class A, class B, class C>
__device__ __forceinline__ Out compute(const Expression& expression, const Arguments& args, const A& a, const B& b,
                                       const C& c, int i) {
  if constexpr (kInputs == 0) {
    return *reinterpret_cast<const Out*>(args.element);
  } else if constexpr (kInputs == 1) {
    return Narrow<Out>::of(expression(a[i]));
  } else if constexpr (kInputs == 2) {
    return Narrow<Out>::of(expression(a[i], b[i]));
  } else {
    return Narrow<Out>::of(expression(a[i], b[i], c[i]));
  }
}

// The address of a scalar is the operand's own: its strides are 0.
template <int Number, class Item>
__device__ __forceinline__ void fetch(Item& input, const char* memory, const Offsets& offsets) {
  if constexpr (Number < kInputs) input.load(memory + offsets.at[Number + 1]);
}

template <int Width>
__device__ __forceinline__ void run(char* out, const char* in0, const char* in1, const char* in2,
                                    const Arguments& args) {
  // Several items at a time, so that a thread waits once for the memory of all of them.
  constexpr int kItems = Width == 1 ? 4 : 2;
  const Expression expression(args.attributes);
  Input<In0, Width, lie_of<Width>(0)> a[kItems];
  Input<In1, Width, lie_of<Width>(1)> b[kItems];
  Input<In2, Width, lie_of<Width>(2)> c[kItems];
  Offsets offsets[kItems];
  const Index first = static_cast<Index>(blockIdx.x) * (kThreads * kItems) + threadIdx.x;
  const Index items = static_cast<Index>(args.items);

  if (items > 0) {
#pragma unroll
    for (int u = 0; u < kItems; ++u) {
      // Beyond the end the last item is loaded, and nothing stored: without branches all loads are under way at once.
      const Index item = first + u * kThreads;
      offsets[u] = locate<kLevels, Index, Offsets>(args, item < items ? item : items - 1);
      fetch<0>(a[u], in0, offsets[u]);
      fetch<1>(b[u], in1, offsets[u]);
      fetch<2>(c[u], in2, offsets[u]);
    }
#pragma unroll
    for (int u = 0; u < kItems; ++u) {
      Pack<Out, Width> result;
#pragma unroll
      for (int i = 0; i < Width; ++i) result.at[i] = compute(expression, args, a[u], b[u], c[u], i);
      if (first + u * kThreads < items) *reinterpret_cast<Pack<Out, Width>*>(out + offsets[u].at[0]) = result;
    }
  }

  if constexpr (kLevels == 1 && Width > 1) {
    if (blockIdx.x == 0 && threadIdx.x < static_cast<unsigned>(args.tail)) {
      const Offset element = static_cast<Offset>(items) * Width + static_cast<Offset>(threadIdx.x);
      const auto place = [&](int t, int size) { return kLie[t] == Lie::Scalar ? 0 : element * size; };
      Input<In0, 1, Lie::SideBySide> x;
      Input<In1, 1, Lie::SideBySide> y;
      Input<In2, 1, Lie::SideBySide> z;
      if (kInputs > 0) x.load(in0 + place(0, sizeof(In0)));
      if (kInputs > 1) y.load(in1 + place(1, sizeof(In1)));
      if (kInputs > 2) z.load(in2 + place(2, sizeof(In2)));
      *reinterpret_cast<Out*>(out + element * static_cast<Offset>(sizeof(Out))) = compute(expression, args, x, y, z, 0);
    }
  }
}

#ifdef INFINIOP_TILES_KERNEL
// A square of an input that lies across the output's rows. The room behind each row puts what is read and what is written at once into
// different banks.
template <class S, bool Turned>
struct Tile {
  S at[kTile][kTile + (sizeof(S) >= 4 ? 1 : 4 / sizeof(S))];
};
template <class S>
struct Tile<S, false> {};

// What a block of the kernel for tiles has to do: `along` neighbours of the output, in each of `across` rows.
struct Square {
  int along, across;
  long long at[1 + kInputs];  // from each operand's address
};

__device__ __forceinline__ Square find_square(const Arguments& args) {
  Square square{};
  unsigned block = blockIdx.x;
#pragma unroll
  for (int level = 0; level < kLevels; ++level) {
    const bool is_tiled = level == kAlong || level == kAcross;
    const long long step = is_tiled ? kTile : 1;
    const auto count = static_cast<unsigned>((args.size[level] + step - 1) / step);
    const unsigned rest = block / count;
    const long long first = (block - rest * count) * step;
    block = rest;
    const long long left = args.size[level] - first;
    if (level == kAlong) square.along = left < kTile ? static_cast<int>(left) : kTile;
    if (level == kAcross) square.across = left < kTile ? static_cast<int>(left) : kTile;
#pragma unroll
    for (int t = 0; t < 1 + kInputs; ++t) square.at[t] += first * args.stride[t][level];
  }
  return square;
}

constexpr int kTileSteps = kTile * kTile / kThreads, kRowsOfStep = kThreads / kTile;

// Along the input's own neighbours.
template <int Number, class S>
__device__ __forceinline__ void read_tile(Tile<S, true>& tile, const char* memory, const Square& square, const Arguments& args) {
  const int across = threadIdx.x % kTile;
  const char* from = memory + square.at[Number + 1] + across * static_cast<long long>(sizeof(S));
  S held[kTileSteps];
#pragma unroll
  for (int step = 0; step < kTileSteps; ++step) {
    const int along = threadIdx.x / kTile + step * kRowsOfStep;
    if (across < square.across && along < square.along) {
      held[step] = *reinterpret_cast<const S*>(from + along * args.stride[Number + 1][kAlong]);
    }
  }
#pragma unroll
  for (int step = 0; step < kTileSteps; ++step) tile.at[across][threadIdx.x / kTile + step * kRowsOfStep] = held[step];
}
template <int Number, class S>
__device__ __forceinline__ void read_tile(Tile<S, false>&, const char*, const Square&, const Arguments&) {}

template <int Number, class S, class Item>
__device__ __forceinline__ void fetch_from(const Tile<S, true>& tile, Item& input, const char*, const Square&, const Arguments&,
                                           int along, int across) {
  input.load(reinterpret_cast<const char*>(&tile.at[across][along]));
}
template <int Number, class S, class Item>
__device__ __forceinline__ void fetch_from(const Tile<S, false>&, Item& input, const char* memory, const Square& square,
                                           const Arguments& args, int along, int across) {
  if constexpr (Number < kInputs) {
    input.load(memory + square.at[Number + 1] + along * args.stride[Number + 1][kAlong] +
               across * args.stride[Number + 1][kAcross]);
  }
}

__device__ __forceinline__ void run_tiles(char* out, const char* in0, const char* in1, const char* in2, const Arguments& args) {
  __shared__ Tile<In0, kTurned[0]> tile0;
  __shared__ Tile<In1, kTurned[1]> tile1;
  __shared__ Tile<In2, kTurned[2]> tile2;
  const Expression expression(args.attributes);
  const Square square = find_square(args);
  read_tile<0>(tile0, in0, square, args);
  read_tile<1>(tile1, in1, square, args);
  read_tile<2>(tile2, in2, square, args);
  __syncthreads();
  constexpr int kAtOnce = 4;
  const int along = threadIdx.x % kTile;
  const bool is_inside = along < square.along;
  const int near = is_inside ? along : 0;
#pragma unroll
  for (int step = 0; step < kTileSteps; step += kAtOnce) {
    Input<In0, 1, Lie::SideBySide> a[kAtOnce];
    Input<In1, 1, Lie::SideBySide> b[kAtOnce];
    Input<In2, 1, Lie::SideBySide> c[kAtOnce];
    int row[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      row[u] = threadIdx.x / kTile + (step + u) * kRowsOfStep;
      const int across = row[u] < square.across ? row[u] : 0;
      fetch_from<0>(tile0, a[u], in0, square, args, near, across);
      fetch_from<1>(tile1, b[u], in1, square, args, near, across);
      fetch_from<2>(tile2, c[u], in2, square, args, near, across);
    }
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      if (!is_inside || row[u] >= square.across) continue;
      char* to = out + square.at[0] + along * static_cast<long long>(sizeof(Out)) + row[u] * args.stride[0][kAcross];
      *reinterpret_cast<Out*>(to) = compute(expression, args, a[u], b[u], c[u], 0);
    }
  }
}
#endif

}  // namespace infiniop

// The parameters: output and inputs, then what they have in common.
#define INFINIOP_DEFINE_KERNEL(name, width)                                                                 \
  extern "C" __global__ void __launch_bounds__(infiniop::kThreads)                                          \
      name(void* out, const void* in0, const void* in1, const void* in2,                                    \
           const __grid_constant__ infiniop::Arguments args) {                                              \
    infiniop::run<width>(static_cast<char*>(out), static_cast<const char*>(in0), static_cast<const char*>(in1), \
                         static_cast<const char*>(in2), args);                                              \
  }

INFINIOP_DEFINE_KERNEL(INFINIOP_ELEMENTS_KERNEL, 1)
#if INFINIOP_WIDTH > 1
INFINIOP_DEFINE_KERNEL(INFINIOP_VECTORS_KERNEL, INFINIOP_WIDTH)
#endif
#ifdef INFINIOP_TILES_KERNEL
extern "C" __global__ void __launch_bounds__(infiniop::kThreads)
    INFINIOP_TILES_KERNEL(void* out, const void* in0, const void* in1, const void* in2,
                          const __grid_constant__ infiniop::Arguments args) {
  infiniop::run_tiles(static_cast<char*>(out), static_cast<const char*>(in0), static_cast<const char*>(in1),
                      static_cast<const char*>(in2), args);
}
#endif
