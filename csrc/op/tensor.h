// Tensor descriptors, and facts about element types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "infinicore.h"
#include "op/object.h"

namespace infiniop {

// Bytes of an element; 0 for what is no element type.
size_t size_of(infiniDtype_t dtype);
// As in infinicore.h, without the prefix: "F32". "no type" for what is none.
const char* name_of(infiniDtype_t dtype);
// Whether it is an integer, or BOOL.
bool is_whole(infiniDtype_t dtype);

struct Tensor final : Object {
  infiniDtype_t dtype = INFINI_DTYPE_INVALID;
  std::vector<size_t> shape;
  std::vector<ptrdiff_t> strides;  // in elements

  bool is_empty() const;
  // Its dimensions from the one with the farthest elements to the one with the nearest: memory is best walked through in this order.
  std::vector<size_t> dimensions_by_stride() const;
};

// "(2, 3)"; "()" for a tensor without dimensions.
std::string show(const std::vector<size_t>& shape);

}  // namespace infiniop
