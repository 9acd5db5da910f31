#include "op/nest.h"

#include <algorithm>

namespace infiniop {

NestBuilder::NestBuilder(int operands) {
  nest_.operands = operands;
  nest_.total = 1;
}

bool NestBuilder::add(int64_t size, const int64_t* strides) {
  nest_.total *= size;
  if (size == 1) return true;
  // Two levels that every operand runs through without a jump are one.
  bool merges = nest_.levels > 0;
  for (int t = 0; merges && t < nest_.operands; ++t) {
    merges = nest_.stride[t][nest_.levels - 1] == size * strides[t];
  }
  if (!merges && nest_.levels == kMaxLevels) return false;
  if (!merges) nest_.size[nest_.levels++] = 1;
  const int level = nest_.levels - 1;
  nest_.size[level] *= size;
  for (int t = 0; t < nest_.operands; ++t) nest_.stride[t][level] = strides[t];
  return true;
}

Nest NestBuilder::finish() const {
  Nest nest = nest_;
  if (nest.levels == 0) nest.size[nest.levels++] = 1;
  std::reverse(nest.size, nest.size + nest.levels);
  for (int t = 0; t < nest.operands; ++t) std::reverse(nest.stride[t], nest.stride[t] + nest.levels);
  return nest;
}

}  // namespace infiniop
