// The kernels, compiled for the host. Element-wise ones: threads one after the other, which is as good as at once, since they do not
// talk to each other. Those of rows: in turns (fibers.h). The instructions that kernel.cu writes out are replaced by narrow.h's functions.
#include <cstring>

#define __device__
#define __global__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __grid_constant__

struct Place {
  unsigned x, y, z;
};
static Place blockIdx, threadIdx;

static unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32);
}

#if defined(WRITTEN)
#include "warps.h"

// Of a written operator: its text, as it goes to NVIDIA's compiler.
#include "program.inc"

extern "C" int run_written(const char* name, const unsigned* sizes, const infiniop::WrittenArguments* arguments) {
  void (*kernel)(infiniop::WrittenArguments) = nullptr;
#define KERNEL(each) \
  if (std::strcmp(name, #each) == 0) kernel = each;
#include "kernels.inc"
  if (!kernel) return 0;
  gridDim = {sizes[0], 1, 1};
  blockDim = {sizes[1], 1, 1};
  for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
    run_warps(blockDim.x, &threadIdx.x, [&] { kernel(*arguments); });
  return 1;
}
#elif defined(ROWS)
#include "fibers.h"
#include "op/nvidia/rows.cu"

// Threads of a block in turns, since they wait for each other.
extern "C" int run_rows(int vectors, unsigned blocks, void* const* o, const infiniop::RowArguments* given,
                        const double* attributes) {
  infiniop::RowArguments args = *given;
  std::memcpy(args.attributes, attributes, sizeof args.attributes);
  const int threads = infiniop::row_block(vectors ? infiniop::kRowThreads : infiniop::kElementThreads);
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    run_block(threads, &threadIdx.x, [&] {
#if INFINIOP_WIDTH > 1
      if (vectors) return INFINIOP_VECTORS_KERNEL(o[0], o[1], o[2], o[3], o[4], o[5], args);
#endif
      INFINIOP_ELEMENTS_KERNEL(o[0], o[1], o[2], o[3], o[4], o[5], args);
    });
  }
  return 1;
}
#elif defined(FEW_ROWS)
#include <cmath>

#include "fibers.h"
#include "op/nvidia/few_rows.cu"

extern "C" void run_few_rows(void* c, const void* a, const void* b, long long batch, long long columns,
                             long long pieces, const long long* steps, float alpha, float beta) {
  const auto blocks = static_cast<unsigned>((columns * 32 + infiniop::kThreads - 1) / infiniop::kThreads);
  for (blockIdx.y = 0; blockIdx.y < batch; ++blockIdx.y) {
    for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
      run_block(infiniop::kThreads, &threadIdx.x, [&] {
        multiply_few_rows(c, a, b, columns, pieces, steps[0], steps[1], steps[2], steps[3], steps[4], steps[5],
                          steps[6], alpha, beta);
      });
    }
  }
}
#elif defined(CHAIN)
#include "op/nvidia/chain.cu"

extern "C" int run_chain(int vectors, unsigned blocks, void* const* o, const infiniop::ChainArguments* args) {
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < infiniop::kThreads; ++threadIdx.x) {
#if INFINIOP_WIDTH > 1
      if (vectors) {
        INFINIOP_VECTORS_KERNEL(o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7], *args);
        continue;
      }
#else
      if (vectors) return 0;
#endif
      INFINIOP_ELEMENTS_KERNEL(o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7], *args);
    }
  }
  return 1;
}
#else
#include "fibers.h"
#include "op/nvidia/kernel.cu"

// Threads of a block in turns, since they wait for each other.
extern "C" int run_tiles(unsigned blocks, void* out, const void* in0, const void* in1, const void* in2,
                         const infiniop::Arguments* given, const double* attributes) {
#ifdef INFINIOP_TILES_KERNEL
  infiniop::Arguments args = *given;
  std::memcpy(args.attributes, attributes, sizeof args.attributes);
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    run_block(infiniop::kThreads, &threadIdx.x, [&] { INFINIOP_TILES_KERNEL(out, in0, in1, in2, args); });
  }
  return 1;
#else
  return 0;
#endif
}

extern "C" int run(int vectors, unsigned blocks, void* out, const void* in0, const void* in1, const void* in2,
                   const infiniop::Arguments* given, const double* attributes, const unsigned char* element) {
  infiniop::Arguments args = *given;
  std::memcpy(args.attributes, attributes, sizeof args.attributes);
  std::memcpy(args.element, element, sizeof args.element);
  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < infiniop::kThreads; ++threadIdx.x) {
#if INFINIOP_WIDTH > 1
      if (vectors) {
        INFINIOP_VECTORS_KERNEL(out, in0, in1, in2, args);
        continue;
      }
#else
      if (vectors) return 0;
#endif
      INFINIOP_ELEMENTS_KERNEL(out, in0, in1, in2, args);
    }
  }
  return 1;
}
#endif
