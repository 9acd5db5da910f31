// The loop nest of an element-wise operator: what is left of shapes and strides when nothing superfluous is in them.
#pragma once

#include <cstdint>

namespace infiniop {

inline constexpr int kMaxOperands = 4;  // an output and three inputs
inline constexpr int kMaxLevels = 8;

// Plain data, so that it can be an argument of a kernel. Level 0 is the innermost loop. An element of operand `t` lies
// sum(index[level] * stride[t][level]) bytes from the operand's address.
struct Nest {
  int64_t total;  // elements; 0: there is nothing to do
  int32_t levels;  // at least 1
  int32_t operands;
  int64_t size[kMaxLevels];
  int64_t stride[kMaxOperands][kMaxLevels];

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

// Makes a nest from the outermost dimension to the innermost.
class NestBuilder {
 public:
  explicit NestBuilder(int operands);

  // False: there are more levels than a nest can have.
  bool add(int64_t size, const int64_t* strides);
  Nest finish() const;

 private:
  Nest nest_{};  // outermost level first until finish()
};

}  // namespace infiniop
