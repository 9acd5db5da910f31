// Element types as Python objects: one for each member of infiniDtype_t.
#pragma once

#include <cstdint>
#include <string>

#include "bindings/infinicore/library.h"

namespace infinicore {

struct DtypeObject {
  PyObject ob_base;
  infiniDtype_t number;
  uint8_t size;    // of an element, in bytes
  char kind;       // 'b'ool, 'i'nteger, 'u'nsigned, 'f'loating point, 'c'omplex
  const char* name;
};

extern PyTypeObject* dtype_class;
PyTypeObject* make_dtype_type();

/// A text with the names of types as Python has them: "F8, F16" becomes "float8, float16".
std::string names_of_dtypes(const std::string& text);

/// The type with that number, borrowed.
DtypeObject* dtype_of(infiniDtype_t number);

inline bool is_dtype(PyObject* object) { return Py_TYPE(object) == dtype_class; }

/// A tuple of all of them, in the order of their numbers; they exist from then on.
PyObject* make_dtypes();

}  // namespace infinicore
