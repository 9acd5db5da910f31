// Functions about devices whose Python shape does not follow from the C one.
#include <cstring>

#include "bindings/arrays.h"
#include "bindings/functions.h"
#include "bindings/gil.h"
#include "bindings/result.h"

namespace infinirt::python {
namespace {

// CUDA 13's struct has fields that 12.9's has not. They follow the C struct in the Python object, in the order of
// _spec/python/members13.py, and are filled from the device's attributes.
constexpr infinirtDeviceAttr kPropertiesOf13[] = {
    infinirtDevAttrHostNumaId,        infinirtDevAttrHostNumaMultinodeIpcSupported,
    infinirtDevAttrNumaConfig,        infinirtDevAttrNumaId,
    infinirtDevAttrMpsEnabled,        infinirtDevAttrGpuPciDeviceId,
    infinirtDevAttrGpuPciSubsystemId,
};

}  // namespace

PyObject* py_infinirtGetDeviceProperties(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtGetDeviceProperties, 1)
  int device = 0;
  if (!to_int(args[0], "device", &device)) return nullptr;
  constexpr int type = kStruct_infinirtDeviceProp;
  StructObject* made = new_struct(struct_types[type], struct_descriptions[type].size);
  if (made == nullptr) return nullptr;
  Ref owner(reinterpret_cast<PyObject*>(made));
  auto* properties = reinterpret_cast<infinirtDeviceProp*>(made->data);
  const infinirtError_t error = blocking_call([&] {
    const infinirtError_t failed = api.infinirtGetDeviceProperties(properties, device);
    if (failed != infinirtSuccess) return failed;
    char* place = made->data + sizeof(infinirtDeviceProp);
    for (infinirtDeviceAttr attribute : kPropertiesOf13) {
      int value = 0;
      // An older runtime may not know an attribute: the field is 0 then, and nobody asked, so there is no last error.
      if (api.infinirtDeviceGetAttribute(&value, attribute, device) != infinirtSuccess) api.infinirtGetLastError();
      std::memcpy(place, &value, sizeof value);
      place += sizeof value;
    }
    return infinirtSuccess;
  });
  if (error != infinirtSuccess) return failure(error, 1);
  return success(owner.release());
}

PyObject* py_infinirtGetDeviceProperties_v2(PyObject* module, PyObject* const* args, Py_ssize_t given,
                                            PyObject* keyword_names) {
  return py_infinirtGetDeviceProperties(module, args, given, keyword_names);
}

PyObject* py_infinirtDeviceGetPCIBusId(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtDeviceGetPCIBusId, 2)
  int length = 0;
  int device = 0;
  if (!to_int(args[0], "length", &length) || !to_int(args[1], "device", &device)) return nullptr;
  const Py_ssize_t size = length < 0 ? 0 : length;
  Ref text(PyBytes_FromStringAndSize(nullptr, size));
  if (!text) return nullptr;
  char* place = PyBytes_AS_STRING(text.get());
  std::memset(place, ' ', static_cast<size_t>(size));
  const infinirtError_t error = quick_call([&] { return api.infinirtDeviceGetPCIBusId(place, length, device); });
  if (error != infinirtSuccess) return failure(error, 1);
  return success(text.release());
}

PyObject* py_infinirtSetValidDevices(PyObject*, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtSetValidDevices, 2)
  Array<int> devices;
  int length = 0;
  if (!to_int_array(args[0], "device_arr", &devices) || !to_int(args[1], "len", &length)) return nullptr;
  if (length > 0 && !devices.has(static_cast<size_t>(length), "device_arr")) return nullptr;
  return status(quick_call([&] { return api.infinirtSetValidDevices(devices.get(), length); }));
}

PyObject* py_infinirtDeviceGetGraphMemAttribute(PyObject*, PyObject* const* args, Py_ssize_t given,
                                                PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtDeviceGetGraphMemAttribute, 2)
  int device = 0;
  infinirtGraphMemAttributeType attribute{};
  if (!to_int(args[0], "device", &device) || !to_enum(args[1], "attr", &attribute)) return nullptr;
  unsigned long long value = 0;
  const infinirtError_t error =
      quick_call([&] { return api.infinirtDeviceGetGraphMemAttribute(device, attribute, &value); });
  if (error != infinirtSuccess) return failure(error, 1);
  return success(new_handle(handle_types[kHandle_cuuint64_t], value));
}

PyObject* py_infinirtDeviceSetGraphMemAttribute(PyObject*, PyObject* const* args, Py_ssize_t given,
                                                PyObject* keyword_names) {
  INFINIRT_BIND(signature_infinirtDeviceSetGraphMemAttribute, 3)
  int device = 0;
  infinirtGraphMemAttributeType attribute{};
  unsigned long long value = 0;
  if (!to_int(args[0], "device", &device) || !to_enum(args[1], "attr", &attribute) ||
      !to_u64(args[2], "value", &value)) {
    return nullptr;
  }
  return status(quick_call([&] { return api.infinirtDeviceSetGraphMemAttribute(device, attribute, &value); }));
}

}  // namespace infinirt::python
