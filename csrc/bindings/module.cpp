// The extension module infinirt._runtime: the flat API, one Python function per C function.
#include "bindings/functions.h"
#include "bindings/gil.h"
#include "bindings/host_call.h"
#include "bindings/result.h"
#include "bindings/runtime_api.h"
#include "bindings/types.h"

namespace infinirt::python {
namespace {

PyInterpreterState* interpreter = nullptr;

PyObject* at_exit(PyObject*, PyObject*) {
  close_gate();
  Py_RETURN_NONE;
}

PyMethodDef at_exit_method = {"_close", at_exit, METH_NOARGS, nullptr};

bool register_at_exit() {
  Ref atexit(PyImport_ImportModule("atexit"));
  Ref hook(PyCFunction_New(&at_exit_method, nullptr));
  if (!atexit || !hook) return false;
  Ref done(PyObject_CallMethod(atexit.get(), "register", "O", hook.get()));
  return static_cast<bool>(done);
}

// Executed once per module object. Types and tables are per process: a second import in the same interpreter (after
// the module was removed from sys.modules) gets the same ones.
int execute(PyObject* module) {
  if (interpreter == nullptr) {
    if (!load_runtime_api()) return -1;
    initialise_gil_policy();
    initialise_host_calls();
    interpreter = PyInterpreterState_Get();
    if (!register_at_exit()) return -1;
  } else if (interpreter != PyInterpreterState_Get()) {
    PyErr_SetString(PyExc_ImportError, "infinirt cannot be loaded into more than one interpreter of a process");
    return -1;
  }
  return add_types(module) && add_extension_types(module) && make_result_tuples() && add_functions(module) ? 0 : -1;
}

PyModuleDef_Slot slots[] = {
    {Py_mod_exec, reinterpret_cast<void*>(execute)},
#if PY_VERSION_HEX >= 0x030c0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030d0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    "infinirt._runtime",
    "The functions, enumerations, structs and handles of the C API; infinirt.runtime is where to import them from.",
    0,
    nullptr,
    slots,
    nullptr,
    nullptr,
    nullptr,
};

}  // namespace
}  // namespace infinirt::python

PyMODINIT_FUNC PyInit__runtime() { return PyModuleDef_Init(&infinirt::python::definition); }
