#include <cstring>

#include "ccl/loops/loops.h"

namespace infiniccl {

namespace {

const loops::Table& best() {
#ifdef INFINICCL_X86_LEVELS
  static const loops::Table* const chosen = [] {
    __builtin_cpu_init();
    const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c") &&
                    __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe");
    const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                    __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                    __builtin_cpu_supports("avx512vl");
    if (v4) return &loops::table_v4;
    return v3 ? &loops::table_v3 : &loops::table_plain;
  }();
  return *chosen;
#else
  return loops::table_plain;
#endif
}

}  // namespace

ReduceLoop find_reduce_loop(infiniDtype_t dtype, infinicclReduceOp_t op) { return best().reduce[dtype][op]; }

void copy_to_all(const void* in, void* const* out, int outputs, size_t bytes, bool past_cache) {
  for (int j = 0; j < outputs; ++j) {
    if (out[j] == in) continue;
    if (past_cache) {
      best().copy_past_cache(out[j], in, bytes);
    } else {
      std::memcpy(out[j], in, bytes);
    }
  }
}

}  // namespace infiniccl
