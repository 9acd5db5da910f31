#include "bindings/kernel_params.h"

#include <cstring>

#include "bindings/convert.h"

namespace infinirt::python {
namespace {

// Packs values with ctypes itself: `type(value)` is what a C call would do with the value, and `bytes()` of the result
// is its memory. The array and all values lie in one bytes object.
constexpr Py_ssize_t kAlignment = 16;

PyObject* ctypes_attribute(const char* name) {
  Ref module(PyImport_ImportModule("ctypes"));
  return module ? PyObject_GetAttrString(module.get(), name) : nullptr;
}

// The bytes of one argument.
PyObject* packed(PyObject* value, PyObject* type) {
  if (type == Py_None) {
    for (int i = 0; i < kStructCount; ++i) {
      if (is_struct(value, i)) {
        return PyBytes_FromStringAndSize(struct_data(value), static_cast<Py_ssize_t>(struct_descriptions[i].size));
      }
    }
    for (int i = 0; i < kHandleCount; ++i) {
      if (PyObject_TypeCheck(value, handle_types[i])) {
        return PyBytes_FromStringAndSize(reinterpret_cast<char*>(reinterpret_cast<HandleObject*>(value)->place),
                                         sizeof(std::uintptr_t));
      }
    }
    if (PyLong_Check(value) && !PyLong_CheckExact(value)) {  // an enum member
      int number = 0;
      if (!to_int(value, "kernelParams", &number)) return nullptr;
      return PyBytes_FromStringAndSize(reinterpret_cast<char*>(&number), sizeof number);
    }
    if (PyObject_CheckBuffer(value)) return PyBytes_FromObject(value);  // a ctypes structure or array
    PyErr_Format(PyExc_TypeError, "kernelParams: a value of type %s needs a ctypes type", Py_TYPE(value)->tp_name);
    return nullptr;
  }
  const int already = PyObject_IsInstance(value, type);
  if (already < 0) return nullptr;
  if (already) return PyBytes_FromObject(value);
  Ref plain(new_reference(value));
  if (PyObject_HasAttrString(value, "getPtr")) {  // as a pointer: a handle by its value, a struct by its address
    bool is_handle = false;
    for (int i = 0; i < kHandleCount; ++i) is_handle = is_handle || PyObject_TypeCheck(value, handle_types[i]);
    plain = Ref(is_handle ? PyNumber_Long(value) : PyObject_CallMethod(value, "getPtr", nullptr));
  } else if (PyObject_CheckBuffer(value) && PyObject_HasAttrString(value, "value")) {  // another simple ctypes type
    plain = Ref(PyObject_GetAttrString(value, "value"));
  }
  if (!plain) return nullptr;
  Ref made(PyObject_CallOneArg(type, plain.get()));
  return made ? PyBytes_FromObject(made.get()) : nullptr;
}

PyObject* pack(PyObject* values, PyObject* types) {
  const Py_ssize_t count = PyTuple_GET_SIZE(values);
  if (count != PyTuple_GET_SIZE(types)) {
    PyErr_Format(PyExc_TypeError, "kernelParams: %zd values but %zd types", count, PyTuple_GET_SIZE(types));
    return nullptr;
  }
  Ref simple(ctypes_attribute("_SimpleCData"));
  Ref parts(PyTuple_New(count));
  if (!simple || !parts) return nullptr;
  Py_ssize_t size = count * static_cast<Py_ssize_t>(sizeof(void*)) + kAlignment;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* type = PyTuple_GET_ITEM(types, i);
    const bool fits =
        type == Py_None || (PyType_Check(type) && PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(type),
                                                                   reinterpret_cast<PyTypeObject*>(simple.get())));
    if (!fits) {
      PyErr_Format(PyExc_TypeError, "kernelParams: %R is not a simple ctypes type", type);
      return nullptr;
    }
    PyObject* part = packed(PyTuple_GET_ITEM(values, i), type);
    if (part == nullptr) return nullptr;
    PyTuple_SET_ITEM(parts.get(), i, part);
    size += (PyBytes_GET_SIZE(part) + kAlignment - 1) / kAlignment * kAlignment;
  }
  PyObject* all = PyBytes_FromStringAndSize(nullptr, size);
  if (all == nullptr) return nullptr;
  auto** array = reinterpret_cast<void**>(PyBytes_AS_STRING(all));
  auto next = reinterpret_cast<std::uintptr_t>(array + count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* part = PyTuple_GET_ITEM(parts.get(), i);
    next = (next + kAlignment - 1) & ~static_cast<std::uintptr_t>(kAlignment - 1);
    array[i] = reinterpret_cast<void*>(next);
    std::memcpy(array[i], PyBytes_AS_STRING(part), static_cast<size_t>(PyBytes_GET_SIZE(part)));
    next += static_cast<std::uintptr_t>(PyBytes_GET_SIZE(part));
  }
  return all;
}

bool is_values_and_types(PyObject* object) {
  return PyTuple_Check(object) && PyTuple_GET_SIZE(object) == 2 && PyTuple_Check(PyTuple_GET_ITEM(object, 0)) &&
         PyTuple_Check(PyTuple_GET_ITEM(object, 1));
}

}  // namespace

bool to_kernel_params(PyObject* object, const char* what, void*** params, PyObject** keeper) {
  *params = nullptr;
  *keeper = nullptr;
  if (object == Py_None) return true;
  if (is_values_and_types(object)) {
    *keeper = pack(PyTuple_GET_ITEM(object, 0), PyTuple_GET_ITEM(object, 1));
    if (*keeper == nullptr) return false;
    *params = reinterpret_cast<void**>(PyBytes_AS_STRING(*keeper));
    return true;
  }
  if (!PyLong_Check(object) && PyObject_CheckBuffer(object)) {
    *keeper = PyMemoryView_FromObject(object);
    if (*keeper == nullptr) return false;
    *params = static_cast<void**>(PyMemoryView_GET_BUFFER(*keeper)->buf);
    return true;
  }
  if (!PyLong_Check(object)) {
    PyErr_Format(PyExc_TypeError, "%s: expected None, an int, an object with a buffer or ((values), (types)), not %s",
                 what, Py_TYPE(object)->tp_name);
    return false;
  }
  unsigned long long address = 0;
  if (!to_u64(object, what, &address)) return false;
  *params = reinterpret_cast<void**>(address);
  return true;
}

}  // namespace infinirt::python
