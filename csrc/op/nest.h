// The loop nest of an element-wise operator: what is left of shapes and strides when nothing superfluous is in them.
#pragma once

#include <algorithm>
#include <cstdint>

namespace infiniop {

inline constexpr int kMaxOperands = 4;  // an output and three inputs
inline constexpr int kMaxLevels = 8;

// Level 0 is the innermost one.
struct Loops {
  int64_t total;  // elements; 0: there is nothing to do
  int32_t levels;  // at least 1
  int32_t operands;
  int64_t size[kMaxLevels];
};

// Plain data, so that it can be an argument of a kernel. An element of operand `t` lies sum(index[level] * stride[t][level])
// bytes from the operand's address.
template <int Operands>
struct NestOf : Loops {
  int64_t stride[Operands][kMaxLevels];

  // No jumps: element i lies at i times the element's size.
  bool is_linear(int operand, int64_t element_size) const {
    int64_t expected = element_size;
    for (int level = 0; level < levels; ++level) {
      if (stride[operand][level] != expected) return false;
      expected *= size[level];
    }
    return true;
  }
  // One element for all.
  bool is_scalar(int operand) const {
    for (int level = 0; level < levels; ++level) {
      if (stride[operand][level] != 0) return false;
    }
    return true;
  }
};
using Nest = NestOf<kMaxOperands>;

// Makes a nest from the outermost dimension to the innermost.
template <int Operands>
class NestBuilder {
 public:
  explicit NestBuilder(int operands) {
    nest_.operands = operands;
    nest_.total = 1;
  }

  // False: there are more levels than a nest can have.
  bool add(int64_t size, const int64_t* strides) {
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

  NestOf<Operands> finish() const {
    NestOf<Operands> nest = nest_;
    if (nest.levels == 0) nest.size[nest.levels++] = 1;
    std::reverse(nest.size, nest.size + nest.levels);
    for (int t = 0; t < nest.operands; ++t) std::reverse(nest.stride[t], nest.stride[t] + nest.levels);
    return nest;
  }

 private:
  NestOf<Operands> nest_{};  // outermost level first until finish()
};

}  // namespace infiniop
