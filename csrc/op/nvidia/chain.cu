// The kernel of all chains of element-wise operators. "variant.h" is written for each (chain_source.cpp): it names the operands' types and
// how they lie, and has Loaded, what an item needs of the operands that are read; Stored, what it gives; and Steps, from one to the other.
#include <cstdint>

#include "op/expression.h"
#include "op/narrow.h"
#include "op/nvidia/arguments.h"
#include "op/nvidia/elements.h"

#include "variant.h"

namespace infiniop {

template <int Width>
__device__ __forceinline__ void run(char* const (&memory)[ChainArguments::kOperands], const ChainArguments& args) {
  // As in kernel.cu: all loads of several items before the first store, without branches between them.
  constexpr int kItems = Width == 1 ? 4 : 2;
  const Steps steps(args);
  Loaded<Width> in[kItems];
  Offsets offsets[kItems];
  const Index first = static_cast<Index>(blockIdx.x) * (kThreads * kItems) + threadIdx.x;
  const Index items = static_cast<Index>(args.items);

  if (items > 0) {
#pragma unroll
    for (int u = 0; u < kItems; ++u) {
      const Index item = first + u * kThreads;
      offsets[u] = locate<kLevels, Index, Offsets>(args, item < items ? item : items - 1);
      in[u].load(memory, offsets[u]);
    }
#pragma unroll
    for (int u = 0; u < kItems; ++u) {
      Stored<Width> out;
#pragma unroll
      for (int i = 0; i < Width; ++i) steps(in[u], out, args, i);
      if (first + u * kThreads < items) out.store(memory, offsets[u]);
    }
  }

  if constexpr (kLevels == 1 && Width > 1) {
    if (blockIdx.x == 0 && threadIdx.x < static_cast<unsigned>(args.tail)) {
      const Offsets place = place_of(static_cast<Offset>(items) * Width + static_cast<Offset>(threadIdx.x));
      Loaded<1> one;
      Stored<1> out;
      one.load(memory, place);
      steps(one, out, args, 0);
      out.store(memory, place);
    }
  }
}

}  // namespace infiniop

#define INFINIOP_DEFINE_KERNEL(name, width)                                                                             \
  extern "C" __global__ void __launch_bounds__(infiniop::kThreads)                                                      \
      name(void* o0, void* o1, void* o2, void* o3, void* o4, void* o5, void* o6, void* o7,                              \
           const __grid_constant__ infiniop::ChainArguments args) {                                                     \
    char* const memory[] = {static_cast<char*>(o0), static_cast<char*>(o1), static_cast<char*>(o2),                     \
                            static_cast<char*>(o3), static_cast<char*>(o4), static_cast<char*>(o5),                     \
                            static_cast<char*>(o6), static_cast<char*>(o7)};                                            \
    infiniop::run<width>(memory, args);                                                                                 \
  }

INFINIOP_DEFINE_KERNEL(INFINIOP_ELEMENTS_KERNEL, 1)
#if INFINIOP_WIDTH > 1
INFINIOP_DEFINE_KERNEL(INFINIOP_VECTORS_KERNEL, INFINIOP_WIDTH)
#endif
