// Matrix products by tiles: parts of both matrices are brought side by side as floats, in the order in which they are multiplied.
#pragma once

#include <cstdint>

#include "infinicore.h"

namespace infiniop::cpu {

// c = alpha * a * b + beta * c. Strides count elements and may be any.
struct PackedProduct {
  infiniDtype_t dtype;  // F16, BF16 or F32
  // Only b is of that type: a and c are F32. Where pairs of BF16 are multiplied at once (machine.h), a is rounded to it.
  bool only_b;
  int64_t rows, columns, depth;
  const void *a, *b;
  void* c;
  int64_t a_row, a_column, b_row, b_column, c_row, c_column;
  float alpha, beta;
};

// Columns of one call that are best: what is brought of b fills half of the second-level cache, and a is read once for all of them.
int64_t packed_columns();

// False: there is no host memory. One for each instruction set.
using MultiplyPacked = bool (*)(const PackedProduct& product);
MultiplyPacked packed_product();  // the best

namespace plain {
extern const MultiplyPacked multiply_packed;
}
#ifdef INFINIOP_LEVEL
namespace INFINIOP_LEVEL {
extern const MultiplyPacked multiply_packed;
}
#endif

}  // namespace infiniop::cpu
