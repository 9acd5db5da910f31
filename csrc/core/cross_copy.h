// A copy between memory of two device types, carried out by the one whose addresses the other does not understand.
#pragma once

#include <cstddef>

namespace infinirt {

struct CrossCopy {
  void* dst;  // either side may be plain host memory; memory of the asking backend is given by its host address
  const void* src;
  size_t dst_pitch, src_pitch, dst_slice, src_slice;
  size_t width, height, depth;  // bytes, rows, slices
};

}  // namespace infinirt
