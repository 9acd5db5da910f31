#include "bindings/handle_type.h"

#include <cstdio>
#include <cstring>

#include "bindings/convert.h"

namespace infinirt::python {
namespace {

std::uintptr_t value_of(PyObject* self) { return *reinterpret_cast<HandleObject*>(self)->place; }

const char* short_name(PyObject* self) {
  const char* name = Py_TYPE(self)->tp_name;
  const char* dot = std::strrchr(name, '.');
  return dot == nullptr ? name : dot + 1;
}

PyObject* handle_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static char init_name[] = "init_value";
  static char place_name[] = "_ptr";
  static char* names[] = {init_name, place_name, nullptr};
  PyObject* init = nullptr;
  PyObject* place = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "|OO", names, &init, &place)) return nullptr;
  unsigned long long value = 0;
  unsigned long long address = 0;
  if (init != nullptr && !to_u64(init, "init_value", &value)) return nullptr;
  if (place != nullptr && !to_u64(place, "_ptr", &address)) return nullptr;
  PyObject* made = type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  auto* handle = reinterpret_cast<HandleObject*>(made);
  handle->value = value;
  handle->place = address == 0 ? &handle->value : reinterpret_cast<std::uintptr_t*>(address);
  return made;
}

void handle_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_XDECREF(reinterpret_cast<HandleObject*>(self)->owner);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* handle_int(PyObject* self) { return PyLong_FromUnsignedLongLong(value_of(self)); }

PyObject* handle_repr(PyObject* self) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value_of(self)));
  return PyUnicode_FromFormat("<%s %s>", short_name(self), text);
}

PyObject* number_repr(PyObject* self) {
  Ref number(handle_int(self));
  return number ? PyUnicode_FromFormat("<%s %S>", short_name(self), number.get()) : nullptr;
}

// Through the int, so that the hash of a handle cannot be -1 and equals that of its value.
Py_hash_t handle_hash(PyObject* self) {
  Ref number(handle_int(self));
  return number ? PyObject_Hash(number.get()) : -1;
}

PyObject* handle_compare(PyObject* self, PyObject* other, int operation) {
  if (operation != Py_EQ && operation != Py_NE) Py_RETURN_NOTIMPLEMENTED;
  const bool same_type = PyObject_TypeCheck(other, Py_TYPE(self)) || PyObject_TypeCheck(self, Py_TYPE(other));
  const bool equal = same_type && value_of(self) == value_of(other);
  return PyBool_FromLong(equal == (operation == Py_EQ));
}

PyObject* number_compare(PyObject* self, PyObject* other, int operation) {
  Ref left(handle_int(self));
  Ref right(PyObject_TypeCheck(other, Py_TYPE(self)) ? handle_int(other) : new_reference(other));
  return left && right ? PyObject_RichCompare(left.get(), right.get(), operation) : nullptr;
}

PyObject* handle_address(PyObject* self, PyObject*) {
  return PyLong_FromVoidPtr(reinterpret_cast<HandleObject*>(self)->place);
}

PyObject* cuda_stream(PyObject* self, PyObject*) {
  return Py_BuildValue("(iK)", 0, static_cast<unsigned long long>(value_of(self)));
}

PyMethodDef plain_methods[] = {
    {"getPtr", handle_address, METH_NOARGS, "The address of the memory that holds the value."},
    {nullptr, nullptr, 0, nullptr},
};
PyMethodDef stream_methods[] = {
    {"getPtr", handle_address, METH_NOARGS, "The address of the memory that holds the value."},
    {"__cuda_stream__", cuda_stream, METH_NOARGS, "(0, handle): the protocol by which libraries exchange streams."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyTypeObject* make_handle_type(const HandleDescription& description) {
  const bool number = description.kind == HandleKind::Number;
  PyType_Slot slots[] = {
      {Py_tp_new, reinterpret_cast<void*>(handle_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(handle_dealloc)},
      {Py_tp_repr, reinterpret_cast<void*>(number ? number_repr : handle_repr)},
      {Py_tp_hash, reinterpret_cast<void*>(handle_hash)},
      {Py_tp_richcompare, reinterpret_cast<void*>(number ? number_compare : handle_compare)},
      {Py_nb_int, reinterpret_cast<void*>(handle_int)},
      {Py_nb_index, reinterpret_cast<void*>(handle_int)},
      {Py_tp_methods, description.kind == HandleKind::Stream ? stream_methods : plain_methods},
      {Py_tp_doc, const_cast<char*>(description.doc)},
      {0, nullptr},
  };
  PyType_Spec spec = {description.name, sizeof(HandleObject), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  return reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
}

PyObject* new_handle(PyTypeObject* type, std::uintptr_t value) {
  PyObject* made = type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  auto* handle = reinterpret_cast<HandleObject*>(made);
  handle->value = value;
  handle->place = &handle->value;
  return made;
}

PyObject* new_handle_view(PyTypeObject* type, std::uintptr_t* place, PyObject* owner) {
  PyObject* made = type->tp_alloc(type, 0);
  if (made == nullptr) return nullptr;
  auto* handle = reinterpret_cast<HandleObject*>(made);
  handle->place = place;
  handle->owner = new_reference(owner);
  return made;
}

}  // namespace infinirt::python
