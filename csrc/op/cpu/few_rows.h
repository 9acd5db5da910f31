// Products with few rows, as one token of a language model makes them: each row of the large matrix is read once, and is all that costs.
#pragma once

#include <cstdint>

#include "infinicore.h"

namespace infiniop::cpu {

inline constexpr int64_t kMostFewRows = 8;

// c[r, j] = alpha * (a[r, :] . b[j, :]) + beta * c[r, j]; the rows of a and of b lie along memory, or, where `across` is set, not the rows
// of b but its columns do, `b_row` apart. Strides count elements.
struct FewRows {
  infiniDtype_t dtype;  // F16, BF16 or F32
  int64_t rows, columns, depth;
  const void *a, *b;
  void* c;
  int64_t a_row, b_row, c_row, c_column;
  float alpha, beta;
  bool across;
  // These are F32 instead. Where pairs of BF16 are multiplied at once (machine.h), a is rounded to it. Not with `across`.
  bool float_a = false, float_c = false;
};

// False: there is no host memory. One for each instruction set.
using MultiplyFewRows = bool (*)(const FewRows& product);
MultiplyFewRows few_rows();  // the best

namespace plain {
extern const MultiplyFewRows multiply_few_rows;
}
#ifdef INFINIOP_LEVEL
namespace INFINIOP_LEVEL {
extern const MultiplyFewRows multiply_few_rows;
}
#endif

}  // namespace infiniop::cpu
