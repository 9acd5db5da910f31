// The dimensions that a call names: `dim=` and `keepdim=`.
#pragma once

#include "bindings/infinicore/tensor.h"

namespace infinicore {

/// Of operators on rows; what a row is made of.
enum class RowsAlong : uint8_t { None, Last, Axis, Dims };

struct Dimensions {
  int axis = -1;
  size_t dims[kMaxDimensions];  // ascending, each once; `count` of them are set
  size_t count = 0;
  bool keeps = false;  // whether results have them, with size 1

  bool has(int dimension) const;
};

/// Reads `dim`: a number, or for RowsAlong::Dims also a sequence of them or None, which is all. Null is what a caller leaves out: the
/// last one, or all. False with an exception.
bool read_dimensions(const char* function, RowsAlong along, PyObject* dim, PyObject* keepdim, int ndim,
                     Dimensions* result);

/// The shape without those dimensions, or with size 1 there.
void reduce_shape(const TensorObject& input, const Dimensions& dimensions, Py_ssize_t* shape, int* ndim);

/// Whether a sequence of Python's is this tensor's shape: 1 or 0, or -1 with an exception.
int is_shape_of(PyObject* sequence, const TensorObject& tensor);

}  // namespace infinicore
