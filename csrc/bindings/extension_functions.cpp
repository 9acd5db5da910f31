// The functions of infinirt_ext.h that are not generated, and helpers that are no C functions at all.
#include "bindings/arrays.h"
#include "bindings/functions.h"
#include "bindings/gil.h"
#include "bindings/result.h"

namespace infinirt::python {
namespace {

PyStructSequence_Field info_fields[] = {
    {"name", "Device type."},
    {"origin", "Where the backend comes from."},
    {"problem", "Why there is no device; empty when there is one."},
    {"deviceCount", nullptr},
    {"isAccelerator", nullptr},
    {nullptr, nullptr},
};
PyStructSequence_Desc info_description = {"infinirt.runtime.infinirtXDeviceTypeInfo", "State of a device type.",
                                          info_fields, 5};
PyTypeObject* info_type = nullptr;

PyObject* device_type_info(const infinirtXDeviceTypeInfo& info) {
  Ref made(PyStructSequence_New(info_type));
  if (!made) return nullptr;
  PyObject* values[] = {from_text(info.name), from_text(info.origin), from_text(info.problem),
                        PyLong_FromLong(info.deviceCount), PyBool_FromLong(info.isAccelerator)};
  bool complete = true;
  for (int i = 0; i < 5; ++i) {
    complete = complete && values[i] != nullptr;
    PyStructSequence_SetItem(made.get(), i, values[i]);
  }
  return complete ? made.release() : nullptr;
}

}  // namespace

bool add_extension_types(PyObject* module) {
  if (info_type == nullptr) info_type = PyStructSequence_NewType(&info_description);
  return info_type != nullptr &&
         PyModule_AddObjectRef(module, "infinirtXDeviceTypeInfo", reinterpret_cast<PyObject*>(info_type)) == 0;
}

PyObject* py_infinirtXGetDeviceTypeInfo(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtXGetDeviceTypeInfo, 1)
  int index = 0;
  if (!to_int(args[0], "index", &index)) return nullptr;
  infinirtXDeviceTypeInfo info{};
  const infinirtError_t error = blocking_call([&] { return api.infinirtXGetDeviceTypeInfo(&info, index); });
  if (error != infinirtSuccess) return failure(error, 1);
  return success(device_type_info(info));
}

PyObject* py_infinirtXRegisterKernel(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtXRegisterKernel, 4)
  infinirtXKernelInfo kernel{};
  std::uintptr_t address = 0;
  bool is_python = false;
  Array<size_t> sizes;
  if (!to_text(args[0], "name", &kernel.name) || !to_function(args[1], "function", &address, &is_python) ||
      !to_size_array(args[2], "paramSizes", &sizes) ||
      (args[3] != nullptr && !to_int(args[3], "maxThreadsPerBlock", &kernel.maxThreadsPerBlock))) {
    return nullptr;
  }
  if (is_python) {
    PyErr_SetString(PyExc_TypeError, "function: a kernel is a C function: give its address or a ctypes function");
    return nullptr;
  }
  kernel.function = reinterpret_cast<infinirtXKernelFn>(address);
  kernel.paramSizes = sizes.get();
  kernel.paramCount = sizes.size();
  const infinirtError_t error = blocking_call([&] { return api.infinirtXRegisterKernel(&kernel); });
  // A registration is for ever, so a function that ctypes made has to be.
  if (error == infinirtSuccess && !PyLong_Check(args[1])) Py_INCREF(args[1]);
  return status(error);
}

PyObject* py_infinirtXGetProcAddress(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtXGetProcAddress, 1)
  const char* name = nullptr;
  if (!to_text(args[0], "name", &name)) return nullptr;
  void* address = api.infinirtXGetProcAddress(name);
  return address == nullptr ? failure(infinirtErrorSymbolNotFound, 1) : success(from_pointer(address));
}

PyObject* py_make_infinirtExtent(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_make_infinirtExtent, 3)
  infinirtExtent extent{};
  if (!to_size(args[0], "w", &extent.width) || !to_size(args[1], "h", &extent.height) ||
      !to_size(args[2], "d", &extent.depth)) {
    return nullptr;
  }
  return from_struct(kStruct_infinirtExtent, extent);
}

PyObject* py_make_infinirtPos(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_make_infinirtPos, 3)
  infinirtPos position{};
  if (!to_size(args[0], "x", &position.x) || !to_size(args[1], "y", &position.y) ||
      !to_size(args[2], "z", &position.z)) {
    return nullptr;
  }
  return from_struct(kStruct_infinirtPos, position);
}

PyObject* py_make_infinirtPitchedPtr(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_make_infinirtPitchedPtr, 4)
  PointerArgument pointer;
  infinirtPitchedPtr pitched{};
  if (!pointer.take(args[0], "d") || !to_size(args[1], "p", &pitched.pitch) ||
      !to_size(args[2], "xsz", &pitched.xsize) || !to_size(args[3], "ysz", &pitched.ysize)) {
    return nullptr;
  }
  pitched.ptr = pointer.get();
  return from_struct(kStruct_infinirtPitchedPtr, pitched);
}

PyObject* py_sizeof(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_sizeof, 1)
  for (int i = 0; i < kStructCount; ++i) {
    if (args[0] == reinterpret_cast<PyObject*>(struct_types[i])) return PyLong_FromSize_t(struct_descriptions[i].size);
  }
  for (int i = 0; i < kHandleCount; ++i) {
    if (args[0] == reinterpret_cast<PyObject*>(handle_types[i])) return PyLong_FromSize_t(sizeof(std::uintptr_t));
  }
  PyErr_Format(PyExc_TypeError, "sizeof: %R is no struct or handle class of this module", args[0]);
  return nullptr;
}

PyObject* py_getLocalRuntimeVersion(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  if (!bind_arguments(signature_getLocalRuntimeVersion, args, given, keyword_names, nullptr)) return nullptr;
  return success(PyLong_FromLong(INFINIRT_CUDART_VERSION));
}

}  // namespace infinirt::python
