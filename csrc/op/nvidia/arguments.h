// What a launch passes to the element-wise kernel beside the operands' addresses. This file is compiled into the library and, as text, by
// NVIDIA's compiler: plain types of the language only.
#pragma once

namespace infiniop {

struct Arguments {
  static constexpr int kLevels = 8, kOperands = 4;

  long long items;  // vectors of as many elements as the kernel is wide
  int tail;  // elements behind the last of them, where there is one level
  // Per level, the innermost first and counted in items. Division by `size` of what is less than 2^31 is
  // (high half of (n * magic) + n) >> shift.
  unsigned magic[kLevels];
  unsigned shift[kLevels];
  long long size[kLevels];
  long long stride[kOperands][kLevels];  // in bytes, of an item
  double attributes[2];
  alignas(16) unsigned char element[16];  // what Constant and Fill write
};

}  // namespace infiniop
