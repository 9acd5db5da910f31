// infinicore._core: what runs for every operator. Places, element types, tensors, operator calls, recorded graphs.
#include "bindings/infinicore/place.h"

namespace infinicore {

namespace {

bool add_type(PyObject* module, const char* name, PyTypeObject* type, PyTypeObject** place) {
  if (type == nullptr) return false;
  *place = type;
  return PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type)) == 0;
}

int execute(PyObject* module) {
  if (!load_libraries()) return -1;
  if (PyModule_AddFunctions(module, place_functions) < 0) return -1;
  return add_type(module, "Place", make_place_type(), &place_class) ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)},
#ifdef Py_mod_multiple_interpreters
                            {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
                            {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "The C++ half of infinicore.", 0, nullptr, slots, nullptr, nullptr, nullptr};

}  // namespace

}  // namespace infinicore

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&infinicore::definition); }
