#include "bindings/result.h"

namespace infinirt::python {

PyObject* success_tuple = nullptr;
PyObject* not_ready_tuple = nullptr;
PyObject* number_tuples[kReadyNumbers] = {};
KeptAddress kept_addresses[1u << kKeptAddressBits] = {};

PyObject* keep_address(KeptAddress& place, const void* address) {
  PyObject* result = success(from_pointer(address));
  if (result == nullptr) return nullptr;
  PyObject* before = place.result;
  place = {address, new_reference(result)};
  Py_XDECREF(before);
  return result;
}

PyObject* failure(infinirtError_t error, int outputs) {
  PyObject* tuple = PyTuple_New(1 + outputs);
  if (tuple == nullptr) return nullptr;
  PyObject* member = enum_member(enum_types[kEnum_infinirtError_t], error);
  if (member == nullptr) {
    Py_DECREF(tuple);
    return nullptr;
  }
  PyTuple_SET_ITEM(tuple, 0, member);
  for (int i = 0; i < outputs; ++i) PyTuple_SET_ITEM(tuple, 1 + i, new_reference(Py_None));
  return tuple;
}

bool make_result_tuples() {
  if (success_tuple == nullptr) success_tuple = failure(infinirtSuccess, 0);
  if (not_ready_tuple == nullptr) not_ready_tuple = failure(infinirtErrorNotReady, 0);
  for (long i = 0; i < kReadyNumbers; ++i) {
    if (number_tuples[i] == nullptr && (number_tuples[i] = success(PyLong_FromLong(i))) == nullptr) return false;
  }
  return success_tuple != nullptr && not_ready_tuple != nullptr;
}

}  // namespace infinirt::python
