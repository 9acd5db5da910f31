// Functions about devices.
#include <cstring>

#include "bindings/objects/bind.h"
#include "bindings/objects/functions.h"

namespace infinirt::objects {

namespace {

using L = Library;

PyObject* device_types(PyObject*, PyObject*) {
  int count = 0;
  if (auto error = without_gil(true, [&] { return infinirtXGetDeviceTypeCount(&count); })) return raise_error(error);
  python::Ref list(PyList_New(0));
  for (int i = 0; list && i < count; ++i) {
    infinirtXDeviceTypeInfo info{};
    if (auto error = infinirtXGetDeviceTypeInfo(&info, i)) return raise_error(error);
    python::Ref row(Py_BuildValue("(sssiN)", info.name, info.origin, info.problem, info.deviceCount,
                                  PyBool_FromLong(info.isAccelerator)));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* current(PyObject*, PyObject*) { return Py_XNewRef(reinterpret_cast<PyObject*>(current_device())); }

// The fields of infinirtDeviceProp that no attribute has.
PyObject* device_description(PyObject*, PyObject* given) {
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  infinirtDeviceProp properties;
  const infinirtError_t error = without_gil(true, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : rt.GetDeviceProperties(&properties, device->ordinal);
  });
  if (error != infinirtSuccess) return raise_error(error);
  return Py_BuildValue("(sy#KK)", properties.name, properties.uuid.bytes,
                       static_cast<Py_ssize_t>(sizeof properties.uuid.bytes),
                       static_cast<unsigned long long>(properties.totalGlobalMem),
                       static_cast<unsigned long long>(properties.totalConstMem));
}

PyObject* pci_bus_id(PyObject*, PyObject* given) {
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  char text[64] = {};
  const infinirtError_t error = without_gil(true, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : rt.DeviceGetPCIBusId(text, sizeof text, device->ordinal);
  });
  return error == infinirtSuccess ? PyUnicode_FromString(text) : raise_error(error);
}

PyObject* set_memory_limit(PyObject*, PyObject* args) {
  PyObject *given = nullptr, *limit = nullptr;
  size_t bytes = 0;
  if (!PyArg_ParseTuple(args, "OO", &given, &limit) || !read_size(limit, "limit", &bytes)) return nullptr;
  DeviceObject* device = device_from(given);
  if (device == nullptr) return nullptr;
  return none_or_raise(without_gil(true, [&] {
    OnDevice guard(device);
    return guard.error() ? guard.error() : infinirtXSetMemoryLimit(device->ordinal, bytes);
  }));
}

PyObject* support(PyObject*, PyObject* args) {
  const char *type = nullptr, *function = nullptr;
  if (!PyArg_ParseTuple(args, "ss", &type, &function)) return nullptr;
  enum infinirtXSupport level = infinirtXSupportNone;
  if (auto error = infinirtXGetSupport(&level, type, function)) return raise_error(error);
  return PyLong_FromLong(level);
}

PyObject* load_plugin(PyObject*, PyObject* args) {
  const char *path = nullptr, *type = nullptr, *layout = nullptr, *loaded = nullptr;
  int thread_safe = 0;
  if (!PyArg_ParseTuple(args, "szzp", &path, &type, &layout, &thread_safe)) return nullptr;
  const infinirtXPluginOptions options = {sizeof options, type, layout, thread_safe};
  const infinirtError_t error = without_gil(true, [&] { return infinirtXLoadPlugin(path, &options, &loaded); });
  return error == infinirtSuccess ? PyUnicode_FromString(loaded) : raise_error(error);
}

PyObject* plugins(PyObject*, PyObject*) {
  int count = 0;
  if (auto error = without_gil(true, [&] { return infinirtXGetPluginCount(&count); })) return raise_error(error);
  python::Ref list(PyList_New(0));
  for (int i = 0; list && i < count; ++i) {
    infinirtXPluginInfo info{};
    if (auto error = infinirtXGetPluginInfo(&info, i)) return raise_error(error);
    python::Ref row(Py_BuildValue("(ssss)", info.path, info.deviceType, info.layout, info.problem));
    if (!row || PyList_Append(list.get(), row.get()) < 0) return nullptr;
  }
  return list.release();
}

PyObject* error_name(PyObject*, PyObject* code) {
  const long value = PyLong_AsLong(code);
  return PyErr_Occurred() ? nullptr : PyUnicode_FromString(rt.GetErrorName(static_cast<infinirtError_t>(value)));
}

PyObject* use_per_thread_default(PyObject*, PyObject* flag) {
  const int value = PyObject_IsTrue(flag);
  if (value < 0) return nullptr;
  return PyBool_FromLong(per_thread_default.exchange(value == 1));
}

}  // namespace

PyMethodDef device_functions[] = {
    {"device_types", device_types, METH_NOARGS, nullptr},
    {"current_device", current, METH_NOARGS,
     "current_device()\n--\n\nThe calling thread's current device; the same as `Device()`."},
    {"device_description", device_description, METH_O, nullptr},
    {"pci_bus_id", pci_bus_id, METH_O, nullptr},
    {"set_memory_limit", set_memory_limit, METH_VARARGS, nullptr},
    {"support", support, METH_VARARGS, nullptr},
    {"load_plugin", load_plugin, METH_VARARGS, nullptr},
    {"plugins", plugins, METH_NOARGS, nullptr},
    {"error_name", error_name, METH_O, nullptr},
    {"use_per_thread_default", use_per_thread_default, METH_O, nullptr},
    entry("device_attribute", bound_on<&L::DeviceGetAttribute, Out<int>, In<enum infinirtDeviceAttr>, In<int>>),
    entry("device_reset", bound_on<&L::DeviceReset>),
    entry("priority_range", bound_on<&L::DeviceGetStreamPriorityRange, Out<int>, Out<int>>),
    entry("can_access_peer", bound_on<&L::DeviceCanAccessPeer, Out<int>, In<int>, In<int>>),
    entry("enable_peer_access", bound_on<&L::DeviceEnablePeerAccess, In<int>, Constant<0u>>),
    entry("disable_peer_access", bound_on<&L::DeviceDisablePeerAccess, In<int>>),
    entry("memory_info", bound_on<&L::MemGetInfo, Out<size_t>, Out<size_t>>),
    entry("runtime_version", bound_on<&L::RuntimeGetVersion, Out<int>>),
    entry("driver_version", bound_on<&L::DriverGetVersion, Out<int>>),
    entry("default_pool", bound_on<&L::DeviceGetDefaultMemPool, Out<infinirtMemPool_t>, In<int>>),
    entry("current_pool", bound_on<&L::DeviceGetMemPool, Out<infinirtMemPool_t>, In<int>>),
    entry("set_current_pool", bound_on<&L::DeviceSetMemPool, In<int>, In<infinirtMemPool_t>>),
    {nullptr, nullptr, 0, nullptr}};

}  // namespace infinirt::objects
