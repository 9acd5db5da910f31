// Rows of keys and values on their way into a cache.
#pragma once

#include <cstdint>
#include <cstring>

namespace infiniop::cpu {
namespace {  // NOLINT: one copy for each instruction set

template <class T>
void copy_row(T* to, int64_t to_step, const T* from, int64_t from_step, int64_t count) {
  if (to_step == 1 && from_step == 1) {
    std::memcpy(to, from, sizeof(T) * static_cast<size_t>(count));
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i * to_step] = from[i * from_step];
}

}  // namespace
}  // namespace infiniop::cpu
