#include "bindings/infinicore/dimensions.h"

#include <algorithm>

#include "bindings/infinicore/explain.h"

namespace infinicore {

namespace {

// One dimension, counted from 0. False with an exception.
bool read_one(const char* function, PyObject* number, int ndim, int* dimension) {
  Ref index(PyNumber_Index(number));
  if (!index) {
    PyErr_Format(PyExc_TypeError, "%s(): dim must be a dimension's number, not %.100s", function,
                 Py_TYPE(number)->tp_name);
    return false;
  }
  int overflow = 0;
  const long value = PyLong_AsLongAndOverflow(index.get(), &overflow);
  if (value == -1 && PyErr_Occurred()) return false;
  if (overflow || value >= ndim || value < -ndim) {
    PyErr_Format(PyExc_IndexError, "%s(): dim is %R, but input has %d dimension%s", function, index.get(), ndim,
                 ndim == 1 ? "" : "s");
    return false;
  }
  *dimension = static_cast<int>(value < 0 ? value + ndim : value);
  return true;
}

bool read_list(const char* function, PyObject* list, int ndim, Dimensions* result) {
  Ref items(PySequence_Fast(list, ""));
  if (!items) {
    PyErr_Format(PyExc_TypeError, "%s(): dim must be a dimension's number, several of them, or None, not %.100s",
                 function, Py_TYPE(list)->tp_name);
    return false;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    int dimension = 0;
    if (!read_one(function, PySequence_Fast_GET_ITEM(items.get(), i), ndim, &dimension)) return false;
    if (result->has(dimension)) {
      PyErr_Format(PyExc_ValueError, "%s(): dim has dimension %d twice", function, dimension);
      return false;
    }
    result->dims[result->count++] = static_cast<size_t>(dimension);
  }
  std::sort(result->dims, result->dims + result->count);
  return true;
}

}  // namespace

bool Dimensions::has(int dimension) const {
  return std::find(dims, dims + count, static_cast<size_t>(dimension)) != dims + count;
}

bool read_dimensions(const char* function, RowsAlong along, PyObject* dim, PyObject* keepdim, int ndim,
                     Dimensions* result) {
  if (along == RowsAlong::Axis) {
    // Of tensors without dimensions the operator itself says what it expects.
    return dim == nullptr || ndim == 0 || read_one(function, dim, ndim, &result->axis);
  }
  if (along == RowsAlong::Last && ndim > 0) result->dims[result->count++] = static_cast<size_t>(ndim - 1);
  if (along != RowsAlong::Dims) return true;
  const int keeps = keepdim ? PyObject_IsTrue(keepdim) : 0;
  if (keeps < 0) return explain_argument(function, "keepdim", "True or False", keepdim);
  result->keeps = keeps != 0;
  if (dim != nullptr && dim != Py_None) {
    if (!PyIndex_Check(dim)) {
      if (!read_list(function, dim, ndim, result)) return false;
    } else {
      int dimension = 0;
      if (!read_one(function, dim, ndim, &dimension)) return false;
      result->dims[result->count++] = static_cast<size_t>(dimension);
    }
  }
  // None of them is all of them, here as in C.
  if (result->count == 0) {
    for (int d = 0; d < ndim; ++d) result->dims[result->count++] = static_cast<size_t>(d);
  }
  return true;
}

void reduce_shape(const TensorObject& input, const Dimensions& dimensions, Py_ssize_t* shape, int* ndim) {
  *ndim = 0;
  for (int d = 0; d < input.ndim(); ++d) {
    const bool gone = dimensions.has(d);
    if (!gone || dimensions.keeps) shape[(*ndim)++] = gone ? 1 : input.shape()[d];
  }
}

int is_shape_of(PyObject* sequence, const TensorObject& tensor) {
  Ref items(PySequence_Fast(sequence, "a shape was expected"));
  if (!items) return -1;
  if (PySequence_Fast_GET_SIZE(items.get()) != tensor.ndim()) return 0;
  for (int d = 0; d < tensor.ndim(); ++d) {
    const Py_ssize_t size = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(items.get(), d), PyExc_OverflowError);
    if (size == -1 && PyErr_Occurred()) return -1;
    if (size != tensor.shape()[d]) return 0;
  }
  return 1;
}

}  // namespace infinicore
