#include "bindings/arguments.h"

namespace infinirt::python {
namespace {

int parameter_index(const Signature& signature, PyObject* keyword) {
  for (int i = 0; i < signature.count; ++i) {
    if (PyUnicode_CompareWithASCIIString(keyword, signature.names[i]) == 0) return i;
  }
  return -1;
}

}  // namespace

bool bind_arguments(const Signature& signature, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names,
                    PyObject** slots) {
  if (given > signature.count) {
    PyErr_Format(PyExc_TypeError, "%s() takes %s%d positional argument%s (%zd given)", signature.function,
                 signature.required == signature.count ? "exactly " : "at most ", signature.count,
                 signature.count == 1 ? "" : "s", given);
    return false;
  }
  for (int i = 0; i < signature.count; ++i) slots[i] = i < given ? args[i] : nullptr;
  const Py_ssize_t keywords = keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names);
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    PyObject* keyword = PyTuple_GET_ITEM(keyword_names, i);
    const int index = parameter_index(signature, keyword);
    if (index < 0) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", signature.function, keyword);
      return false;
    }
    if (slots[index] != nullptr) {
      PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", signature.function, keyword);
      return false;
    }
    slots[index] = args[given + i];
  }
  for (int i = 0; i < signature.required; ++i) {
    if (slots[i] == nullptr) {
      PyErr_Format(PyExc_TypeError, "%s() missing argument '%s' (%zd of %d given)", signature.function,
                   signature.names[i], given + keywords, signature.required);
      return false;
    }
  }
  return true;
}

}  // namespace infinirt::python
