// Arguments of METH_FASTCALL | METH_KEYWORDS functions.
#pragma once

#include <initializer_list>

#include "bindings/python.h"

namespace infinirt::objects {

/// What a function's parameters are called. Made once per function, as a function-local static: the names are interned, so
/// that keywords, which are interned too, are usually found by comparing addresses.
class Signature {
 public:
  static constexpr int kMost = 6;

  /// The first `positional` parameters may be given by position. `advice` is for those who give one that is none of them.
  Signature(const char* function, std::initializer_list<const char*> parameters, int positional,
            const char* advice = "");

  /// Sorts arguments into `values`, which hold the defaults. False with TypeError set.
  bool read(PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** values) const;

 private:
  bool refuse(PyObject* name) const;

  const char* function_;
  const char* advice_;
  PyObject* parameters_[kMost];
  int count_ = 0;
  int positional_;
};

/// A size or an address. False with an exception set.
bool read_size(PyObject* value, const char* name, size_t* size);
bool read_pointer(PyObject* value, const char* name, void** pointer);

}  // namespace infinirt::objects
