#include "op/product.h"

#include <algorithm>

#include "op/operator.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop {

Major major_of(int64_t rows, int64_t columns, const Matrix& matrix) {
  // The stride of a dimension of size 1 is never used.
  const int64_t row = matrix.row_stride, column = matrix.column_stride;
  if ((column == 1 || columns == 1) && (rows == 1 || row >= columns)) {
    return {true, false, std::max<int64_t>(1, rows == 1 ? columns : row)};
  }
  if ((row == 1 || rows == 1) && (columns == 1 || column >= rows)) {
    return {true, true, std::max<int64_t>(1, columns == 1 ? rows : column)};
  }
  return {false, false, 0};
}

Product transposed(const Product& product) {
  const auto turned = [](const Matrix& matrix) {
    return Matrix{matrix.column_stride, matrix.row_stride, matrix.batch_stride};
  };
  return {product.batch, product.n, product.m, product.k, turned(product.c), turned(product.b), turned(product.a)};
}

namespace {

struct Sizes {
  size_t batch, rows, columns;
};

infiniStatus_t read_sizes(const char* function, const char* name, const Tensor& tensor, Sizes* sizes) {
  const auto& shape = tensor.shape;
  if (shape.size() != 2 && shape.size() != 3) {
    return fail(function, INFINI_STATUS_BAD_TENSOR_SHAPE,
                "%s has shape %s; a matrix, or three dimensions of which the first counts matrices, was expected", name,
                show(shape).c_str());
  }
  const size_t first = shape.size() - 2;
  *sizes = {first ? shape[0] : 1, shape[first], shape[first + 1]};
  return INFINI_STATUS_SUCCESS;
}

Matrix matrix_of(const Tensor& tensor, size_t batch) {
  const size_t first = tensor.shape.size() - 2;
  const bool repeated = first == 0 || (tensor.shape[0] == 1 && batch != 1);
  return {tensor.strides[first], tensor.strides[first + 1], repeated ? 0 : tensor.strides[0]};
}

}  // namespace

infiniStatus_t make_product(const char* function, const OperatorInfo& info, const Tensor* const* tensors,
                            Product* product) {
  Sizes sizes[3];
  for (int t = 0; t < 3; ++t) {
    if (auto status = read_sizes(function, info.tensor_names[t], *tensors[t], &sizes[t])) return status;
  }
  const auto [c, a, b] = sizes;
  const auto differs = [&](int t, size_t dimension, size_t size, int other, size_t other_dimension, size_t expected) {
    return fail(
        function, INFINI_STATUS_BAD_TENSOR_SHAPE,
        "%s has shape %s: dimension %zu has size %zu, but dimension %zu of %s, of shape %s, has %zu; they must be "
        "the same",
        info.tensor_names[t], show(tensors[t]->shape).c_str(), tensors[t]->shape.size() - 2 + dimension, size,
        tensors[other]->shape.size() - 2 + other_dimension, info.tensor_names[other],
        show(tensors[other]->shape).c_str(), expected);
  };
  if (a.rows != c.rows) return differs(1, 0, a.rows, 0, 0, c.rows);
  if (b.columns != c.columns) return differs(2, 1, b.columns, 0, 1, c.columns);
  if (a.columns != b.rows) return differs(1, 1, a.columns, 2, 0, b.rows);
  for (int t = 1; t < 3; ++t) {
    if (sizes[t].batch == c.batch || sizes[t].batch == 1) continue;
    return fail(function, INFINI_STATUS_BAD_TENSOR_SHAPE,
                "%s has shape %s: %zu matrices, but %s, of shape %s, has %zu; as many or 1 was expected",
                info.tensor_names[t], show(tensors[t]->shape).c_str(), sizes[t].batch, info.tensor_names[0],
                show(tensors[0]->shape).c_str(), c.batch);
  }
  *product = {static_cast<int64_t>(c.batch),   static_cast<int64_t>(c.rows),    static_cast<int64_t>(c.columns),
              static_cast<int64_t>(a.columns), matrix_of(*tensors[0], c.batch), matrix_of(*tensors[1], c.batch),
              matrix_of(*tensors[2], c.batch)};
  return INFINI_STATUS_SUCCESS;
}

}  // namespace infiniop
