// From the arguments of a call to one slot per parameter.
#pragma once

#include <cstdint>

#include "bindings/python.h"

namespace infinirt::python {

struct Signature {
  const char* function;
  const char* const* names;
  std::uint8_t count;
  std::uint8_t required;
};

/// Distributes positional and keyword arguments; slots of optional parameters that were not given become null. False with
/// TypeError set. References are borrowed from the call.
bool bind_arguments(const Signature& signature, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names,
                    PyObject** slots);

/// How many arguments a call has, keyword arguments included.
inline Py_ssize_t argument_count(Py_ssize_t given, PyObject* keyword_names) {
  return given + (keyword_names == nullptr ? 0 : PyTuple_GET_SIZE(keyword_names));
}

// Calls with exactly the right number of positional arguments, the usual ones, are not copied.
#define INFINIRT_BIND(signature, total)                                                \
  PyObject* slots[total];                                                              \
  if (given != (total) || keyword_names != nullptr) [[unlikely]] {                     \
    if (!bind_arguments(signature, args, given, keyword_names, slots)) return nullptr; \
    args = slots;                                                                      \
  }

}  // namespace infinirt::python
