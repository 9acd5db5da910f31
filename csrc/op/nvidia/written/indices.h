// What operators on indices share on the host: how many elements there are, how they lie, and what that means for their kernels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "op/nvidia/written.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

inline constexpr int64_t kIndexThreads = 256;

inline int64_t element_bytes(const TensorView& view) {
  return static_cast<int64_t>(size_of(static_cast<infiniDtype_t>(view.dtype)));
}

inline int64_t elements_of(const TensorView& view) {
  int64_t count = 1;
  for (int d = 0; d < view.ndim; ++d) count *= view.shape[d];
  return count;
}

// Whether the dimensions from `first` on lie side by side, in their order.
inline bool is_run(const TensorView& view, int first) {
  int64_t step = 1;
  for (int d = view.ndim - 1; d >= first; --d) {
    if (view.shape[d] != 1 && view.stride[d] != step) return false;
    step *= view.shape[d];
  }
  return true;
}

// Numbers of elements; a loop adds as many as there are threads to one, so that some room is left.
inline std::string count_type(int64_t most) {
  return most < (int64_t{1} << 30) ? "using Count = unsigned;\n" : "using Count = long long;\n";
}

// Of elements that are only moved: a type of the same size, so that types share programs.
inline std::string moved_type(const char* alias, int64_t bytes) {
  return std::string("using ") + alias + " = " + (bytes == 16 ? "Piece16" : "uint" + std::to_string(8 * bytes) + "_t") +
         ";\n";
}

inline WrittenLaunch threads_for(const char* kernel, int64_t items) {
  const int64_t blocks = std::clamp<int64_t>((items + kIndexThreads - 1) / kIndexThreads, 1, int64_t{1} << 20);
  return {kernel, {static_cast<unsigned>(blocks), 1, 1}, {static_cast<unsigned>(kIndexThreads), 1, 1}};
}

inline bool lies_at_multiple(const void* address, int64_t bytes) {
  return reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(bytes) == 0;
}

}  // namespace infiniop::nvidia
