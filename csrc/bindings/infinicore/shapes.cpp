#include "bindings/infinicore/shapes.h"

#include <algorithm>

#include "bindings/infinicore/explain.h"

namespace infinicore {

namespace {

// Whether rows and columns fit is for the operator to say.
bool product_shape(const OperatorRow& row, TensorObject* const* tensors, Py_ssize_t* shape, int* ndim) {
  for (int t = 1; t <= 2; ++t) {
    const int given = tensors[t]->ndim();
    if (given == 2 || given == 3) continue;
    PyErr_Format(PyExc_ValueError,
                 "%s(): %s has %d dimensions; a matrix, or three dimensions of which the first counts matrices, was "
                 "expected",
                 row.name, row.parameters[t - 1], given);
    return false;
  }
  const TensorObject &a = *tensors[1], &b = *tensors[2];
  *ndim = std::max(a.ndim(), b.ndim());
  const Py_ssize_t first = a.ndim() == 3 ? a.shape()[0] : 1, second = b.ndim() == 3 ? b.shape()[0] : 1;
  shape[0] = first == 1 ? second : first;
  shape[*ndim - 2] = a.shape()[a.ndim() - 2];
  shape[*ndim - 1] = b.shape()[b.ndim() - 1];
  return true;
}

bool half_shape(const OperatorRow& row, TensorObject* const* tensors, Py_ssize_t* shape, int* ndim) {
  const TensorObject& input = *tensors[1];
  *ndim = input.ndim();
  std::copy_n(input.shape(), *ndim, shape);
  if (*ndim > 0 && shape[*ndim - 1] % 2 == 0) {
    shape[*ndim - 1] /= 2;
    return true;
  }
  if (*ndim > 0) {
    PyErr_Format(PyExc_ValueError, "%s(): the last dimension of %s has size %zd; it must have two halves", row.name,
                 row.parameters[0], shape[*ndim - 1]);
  } else {
    PyErr_Format(PyExc_ValueError, "%s(): %s has no dimensions; the last one must have two halves", row.name,
                 row.parameters[0]);
  }
  return false;
}

// The first tensor of those before `last` that is larger than 1 in this dimension of the result.
int first_large(TensorObject* const* tensors, int last, int ndim, int dimension) {
  int t = 1;
  for (; t < last; ++t) {
    const int d = dimension - (ndim - tensors[t]->ndim());
    if (d >= 0 && tensors[t]->shape()[d] != 1) break;
  }
  return t;
}

bool broadcast_shape(const OperatorRow& row, TensorObject* const* tensors, Py_ssize_t* shape, int* ndim) {
  for (int t = 1; t <= row.inputs; ++t) *ndim = std::max(*ndim, tensors[t]->ndim());
  for (int d = 0; d < *ndim; ++d) shape[d] = 1;
  for (int t = 1; t <= row.inputs; ++t) {
    const int missing = *ndim - tensors[t]->ndim();
    for (int d = 0; d < tensors[t]->ndim(); ++d) {
      const Py_ssize_t size = tensors[t]->shape()[d];
      if (size == 1 || size == shape[missing + d]) continue;
      if (shape[missing + d] == 1) {
        shape[missing + d] = size;
        continue;
      }
      const int other = first_large(tensors, t, *ndim, missing + d);
      PyErr_Format(PyExc_ValueError,
                   "%s(): %s has shape %s, and %s has shape %s; aligned at the last dimension, sizes must be the same "
                   "or 1",
                   row.name, row.parameters[other - 1], text_of(*tensors[other]).c_str(), row.parameters[t - 1],
                   text_of(*tensors[t]).c_str());
      return false;
    }
  }
  return true;
}

}  // namespace

bool output_shape(const OperatorRow& row, int output, TensorObject* const* tensors, const Dimensions& dimensions,
                  Py_ssize_t* shape, int* ndim) {
  switch (row.shape_rule) {
    case ShapeRule::Product:
      return product_shape(row, tensors, shape, ndim);
    case ShapeRule::Half:
      return half_shape(row, tensors, shape, ndim);
    case ShapeRule::Rows:
      return row_shape(row, output, *tensors[row.outputs], dimensions, shape, ndim);
    default:
      return broadcast_shape(row, tensors, shape, ndim);
  }
}

}  // namespace infinicore
