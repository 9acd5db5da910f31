// The innermost loops of reductions, compiled once for each instruction set; the best that the machine has is taken at run time.
#pragma once

#include <cstddef>

#include "infiniccl.h"

namespace infiniccl {

// out[j][i] = in[0][i] op in[1][i] op ... in that order, for i in [0, count) and all `outputs` j. An output may be one of the inputs,
// and no output overlaps another buffer in any other way. With `past_cache` outputs are written around the caches.
using ReduceLoop = void (*)(const void* const* in, int inputs, void* const* out, int outputs, size_t count,
                            bool past_cache);

// Null where the type has no such reduction.
ReduceLoop find_reduce_loop(infiniDtype_t dtype, infinicclReduceOp_t op);

// The same for one input: copies it to every output that is not the input itself.
void copy_to_all(const void* in, void* const* out, int outputs, size_t bytes, bool past_cache);

namespace loops {

struct Table {
  ReduceLoop reduce[20][5];  // by infiniDtype_t, infinicclReduceOp_t
  void (*copy_past_cache)(void* out, const void* in, size_t bytes);
};

extern const Table table_plain;
#ifdef INFINICCL_X86_LEVELS
extern const Table table_v3, table_v4;  // x86-64-v3 (AVX2), x86-64-v4 (AVX-512)
#endif

}  // namespace loops

}  // namespace infiniccl
