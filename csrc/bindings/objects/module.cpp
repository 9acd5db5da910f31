// infinirt._core: the base types of the object API and the functions beneath it. The classes that people use are made of
// them in Python.
#include <initializer_list>

#include <cstring>

#include "bindings/interpreter.h"
#include "bindings/objects/buffer.h"
#include "bindings/objects/cache.h"
#include "bindings/objects/device.h"
#include "bindings/objects/event.h"
#include "bindings/objects/functions.h"
#include "bindings/objects/graph.h"
#include "bindings/objects/kernel.h"
#include "bindings/objects/library.h"
#include "bindings/objects/object_table.h"
#include "bindings/objects/pool.h"
#include "bindings/objects/stream.h"

namespace infinirt::objects {

namespace {

// register_class(name, class): the class that objects made here get.
PyObject* register_class(PyObject*, PyObject* args) {
  const char* name = nullptr;
  PyTypeObject* type = nullptr;
  if (!PyArg_ParseTuple(args, "sO!", &name, &PyType_Type, &type)) return nullptr;
  static constexpr struct {
    const char* name;
    PyTypeObject** place;
  } places[] = {{"Device", &device_class},    {"Stream", &stream_class},
                {"Event", &event_class},      {"EventOptions", &event_options_class},
                {"Buffer", &buffer_class},    {"MemoryPool", &pool_class},
                {"CachingPool", &cache_class}};
  for (const auto& entry : places) {
    if (std::strcmp(entry.name, name) != 0) continue;
    if (*entry.place && !PyType_IsSubtype(type, *entry.place)) {
      return PyErr_Format(PyExc_TypeError, "%.100s is not made of %.100s", type->tp_name, (*entry.place)->tp_name);
    }
    Py_INCREF(type);
    *entry.place = type;
    Py_RETURN_NONE;
  }
  return PyErr_Format(PyExc_ValueError, "there is no class %.100s", name);
}

PyObject* take_error_factory(PyObject*, PyObject* factory) {
  if (!set_error_factory(factory)) return nullptr;
  Py_RETURN_NONE;
}

PyMethodDef own_functions[] = {{"register_class", register_class, METH_VARARGS, nullptr},
                               {"set_error_factory", take_error_factory, METH_O, nullptr},
                               {nullptr, nullptr, 0, nullptr}};

bool add_type(PyObject* module, const char* name, PyTypeObject* type, PyTypeObject** place) {
  if (type == nullptr) return false;
  if (place) *place = type;
  return PyModule_AddObjectRef(module, name, reinterpret_cast<PyObject*>(type)) == 0;
}

int execute(PyObject* module) {
  if (!load_library()) return -1;
  python::introduce_interpreter();
  for (PyMethodDef* functions :
       {own_functions, device_functions, object_functions, graph_functions, kernel_functions, observe_functions}) {
    if (PyModule_AddFunctions(module, functions) < 0) return -1;
  }
  const bool added = add_type(module, "DeviceBase", make_device_type(), &device_class) &&
                     add_type(module, "StreamBase", make_stream_type(), &stream_class) &&
                     add_type(module, "EventBase", make_event_type(), &event_class) &&
                     add_type(module, "BufferBase", make_buffer_type(), &buffer_class) &&
                     add_type(module, "PoolBase", make_pool_type(), nullptr) &&
                     add_type(module, "CacheBase", make_cache_type(), nullptr) &&
                     add_type(module, "KernelBase", make_kernel_type(), nullptr) &&
                     add_type(module, "ShapeBase", make_shape_type(), nullptr) &&
                     add_type(module, "GraphBase", make_graph_type(), nullptr) &&
                     add_type(module, "GraphExecBase", make_graph_exec_type(), nullptr);
  if (!added) return -1;
  python::Ref table(make_object_table());
  return table && PyModule_AddObjectRef(module, "object_api", table.get()) == 0 ? 0 : -1;
}

PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute)},
#ifdef Py_mod_multiple_interpreters
                            // Threads of the runtime call back into one interpreter, the main one.
                            {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_mod_gil
                            {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                            {0, nullptr}};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_core", "The base types of the object API.", 0, nullptr, slots, nullptr, nullptr, nullptr};

}  // namespace

}  // namespace infinirt::objects

PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&infinirt::objects::definition); }
