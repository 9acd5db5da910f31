// infinicore._core: what runs for every operator. Places, element types, tensors, operator calls, recorded graphs.
#include <initializer_list>

#include "bindings/infinicore/dlpack.h"
#include "bindings/infinicore/dtype.h"
#include "bindings/infinicore/operators.h"
#include "bindings/infinicore/place.h"
#include "bindings/infinicore/recording.h"
#include "bindings/infinicore/tensor.h"

namespace infinicore {

namespace {

bool add_type(PyObject* module, const char* name, PyTypeObject* type, PyTypeObject** place) {
  if (type == nullptr) return false;
  *place = type;
  return PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type)) == 0;
}

int execute(PyObject* module) {
  if (!load_libraries()) return -1;
  for (PyMethodDef* functions : {place_functions, tensor_functions, dlpack_functions}) {
    if (PyModule_AddFunctions(module, functions) < 0) return -1;
  }
  const bool added = add_type(module, "Place", make_place_type(), &place_class) &&
                     add_type(module, "dtype", make_dtype_type(), &dtype_class) &&
                     add_type(module, "Storage", make_storage_type(), &storage_class) &&
                     add_type(module, "TensorBase", make_tensor_type(), &tensor_class) &&
                     add_type(module, "Recording", make_recording_type(), &recording_class) &&
                     add_type(module, "RecordedGraph", make_graph_type(), &graph_class);
  if (!added) return -1;
  Ref dtypes(make_dtypes());
  if (!dtypes || PyModule_AddObjectRef(module, "dtypes", dtypes.get()) < 0) return -1;
  return add_operators(module) ? 0 : -1;
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
