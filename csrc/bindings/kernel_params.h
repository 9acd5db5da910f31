// Arguments of a kernel, in the forms that cuda.bindings takes.
#pragma once

#include "bindings/python.h"

namespace infinirt::python {

/// Makes the `void**` that a launch takes out of
/// - None: null;
/// - an int: the address of a ready array;
/// - an object with a buffer: its memory is the array;
/// - `((value, ...), (type, ...))`: one ctypes type per value. With type None the value is a struct of this module or of
///   ctypes, or an enum member.
/// `*keeper` receives an object (a new reference, maybe null) that owns the memory behind the array.
bool to_kernel_params(PyObject* object, const char* what, void*** params, PyObject** keeper);

/// The same for the time of one call: the arguments of most kernels fit into it and need no object.
class KernelParams {
 public:
  bool take(PyObject* object, const char* what) { return object == Py_None || take_some(object, what); }
  void** get() const { return params_; }

 private:
  bool take_some(PyObject* object, const char* what);

  static constexpr size_t kRoom = 512;

  void** params_ = nullptr;
  Ref keeper_;
  alignas(16) char room_[kRoom];
};

}  // namespace infinirt::python
