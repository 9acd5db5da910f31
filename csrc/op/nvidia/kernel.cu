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
