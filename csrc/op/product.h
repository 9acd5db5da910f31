// Matrix products: what is left of three tensors when a descriptor of OperatorKind::Gemm is made.
#pragma once

#include <cstdint>

#include "infinicore.h"

namespace infiniop {

struct OperatorInfo;
struct Tensor;

// Strides count elements. What is repeated has stride 0.
struct Matrix {
  int64_t row_stride, column_stride, batch_stride;
};

// c[m, n] = alpha * a[m, k] * b[k, n] + beta * c, for each of the batch.
struct Product {
  int64_t batch, m, n, k;
  Matrix c, a, b;
};

// A matrix as libraries of linear algebra take it: rows of neighbours, `leading` apart, or, transposed, columns.
struct Major {
  bool possible, transposed;
  int64_t leading;
};
Major major_of(int64_t rows, int64_t columns, const Matrix& matrix);

// The same product with c's rows and columns exchanged: what was a column of c is a row.
Product transposed(const Product& product);

// Tensors in the order c, a, b. Leaves the message of what does not fit.
infiniStatus_t make_product(const char* function, const OperatorInfo& info, const Tensor* const* tensors,
                            Product* product);

}  // namespace infiniop
