#include "bindings/convert.h"

namespace infinirt::python {
namespace {

PyTypeObject* ctypes_function_type() {
  // Only a program that has loaded ctypes can have such an object. Looked up each time: this is off the hot path, and
  // ctypes may be imported after us.
  PyObject* modules = PyImport_GetModuleDict();  // borrowed
  PyObject* module = modules == nullptr ? nullptr : PyDict_GetItemString(modules, "_ctypes");
  if (module == nullptr) return nullptr;
  Ref type(PyObject_GetAttrString(module, "CFuncPtr"));
  if (!type || !PyType_Check(type.get())) {
    PyErr_Clear();
    return nullptr;
  }
  return reinterpret_cast<PyTypeObject*>(type.get());  // the module keeps it
}

// Whether an object that can be a float says the same number as the int that was made of it.
bool is_whole(PyObject* object, PyObject* made) {
  if (Py_TYPE(object)->tp_as_number->nb_float == nullptr) return true;
  Ref exact(PyNumber_Float(object));
  return exact && PyObject_RichCompareBool(exact.get(), made, Py_EQ) == 1;
}

// An int for an object that is none; null without an exception if it cannot become one. As with cuda.bindings 4096.0 will do
// for 4096; 1.5, which it takes for 1, will not.
Ref as_int(PyObject* object) {
  PyNumberMethods* number = Py_TYPE(object)->tp_as_number;
  if (number == nullptr || (number->nb_index == nullptr && number->nb_int == nullptr)) return Ref();
  const bool has_index = number->nb_index != nullptr;
  Ref made(has_index ? PyNumber_Index(object) : PyNumber_Long(object));
  if (!made && PyErr_ExceptionMatches(PyExc_TypeError)) PyErr_Clear();
  if (made && !has_index && !is_whole(object, made.get())) return Ref();
  return made;
}

bool not_an_integer(PyObject* object, const char* what) {
  if (!PyErr_Occurred()) {
    PyErr_Format(PyExc_TypeError, "%s: an integer is required, not %.80R (%s)", what, object, Py_TYPE(object)->tp_name);
  }
  return false;
}

}  // namespace

bool out_of_range(PyObject* object, const char* what, const char* type) {
  PyErr_Clear();
  PyErr_Format(PyExc_OverflowError, "%s: %S does not fit into %s", what, object, type);
  return false;
}

bool to_u64_slow(PyObject* object, const char* what, unsigned long long* value) {
  if (PyLong_Check(object)) return out_of_range(object, what, "an unsigned 64-bit integer");
  Ref number = as_int(object);
  return number ? to_u64(number.get(), what, value) : not_an_integer(object, what);
}

bool to_i64_slow(PyObject* object, const char* what, long long* value) {
  if (PyLong_Check(object)) return out_of_range(object, what, "a signed 64-bit integer");
  Ref number = as_int(object);
  return number ? to_i64(number.get(), what, value) : not_an_integer(object, what);
}

bool to_handle_slow(PyObject* object, int type, const char* what, std::uintptr_t* value) {
  *value = 0;
  if (object == Py_None) return true;
  unsigned long long number = 0;
  if (!PyLong_Check(object) && type == kHandle_infinirtStream_t) {
    static PyObject* const protocol = PyUnicode_InternFromString("__cuda_stream__");
    Ref method(PyObject_GetAttr(object, protocol));
    if (method) {
      Ref answer(PyObject_CallNoArgs(method.get()));
      if (!answer) return false;
      if (!PyTuple_Check(answer.get()) || PyTuple_GET_SIZE(answer.get()) != 2) {
        PyErr_Format(PyExc_TypeError, "%s: __cuda_stream__ of %s returned %R instead of (version, handle)", what,
                     Py_TYPE(object)->tp_name, answer.get());
        return false;
      }
      if (!to_u64(PyTuple_GET_ITEM(answer.get(), 1), what, &number)) return false;
      *value = number;
      return true;
    }
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return false;
    PyErr_Clear();
  }
  if (!to_u64(object, what, &number)) return false;
  *value = number;
  return true;
}

bool PointerArgument::refuse(size_t count, bool writes, const char* what) const {
  const char* who = view_.obj ? Py_TYPE(view_.obj)->tp_name : "the object";
  if (writes && view_.readonly) {
    PyErr_Format(PyExc_ValueError, "%s: the memory of %.100s is read-only", what, who);
  } else {
    PyErr_Format(PyExc_ValueError, "%s: %.100s has %zd bytes, and %zu were asked for", what, who, view_.len, count);
  }
  return false;
}

bool PointerArgument::take_slow(PyObject* object, const char* what) {
  unsigned long long number = 0;
  if (PyLong_Check(object)) {
    if (!to_u64(object, what, &number)) return false;
    value_ = reinterpret_cast<void*>(number);
    return true;
  }
  if (object == Py_None) return true;
  // An array with one element can become an int, but it is its memory that is meant: buffers before __int__, after
  // __index__ (which NumPy's integer scalars have, and they have buffers too).
  PyNumberMethods* methods = Py_TYPE(object)->tp_as_number;
  if (methods != nullptr && methods->nb_index != nullptr) {
    Ref index(PyNumber_Index(object));
    if (index) {
      if (!to_u64(index.get(), what, &number)) return false;
      value_ = reinterpret_cast<void*>(number);
      return true;
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) return false;
    PyErr_Clear();
  }
  if (PyObject_CheckBuffer(object)) {
    if (PyObject_GetBuffer(object, &view_, PyBUF_ANY_CONTIGUOUS) < 0) {
      if (PyErr_ExceptionMatches(PyExc_ValueError) || PyErr_ExceptionMatches(PyExc_BufferError)) {
        PyErr_Format(PyExc_ValueError, "%s: the memory of this %.100s is not in one piece; a contiguous copy is", what,
                     Py_TYPE(object)->tp_name);
      }
      return false;
    }
    held_ = true;
    value_ = view_.buf;
    return true;
  }
  Ref made = as_int(object);
  if (made) {
    if (!to_u64(made.get(), what, &number)) return false;
    value_ = reinterpret_cast<void*>(number);
    return true;
  }
  if (!PyErr_Occurred()) {
    PyErr_Format(PyExc_TypeError, "%s: expected an address as an int, None or an object with a buffer, not %s", what,
                 Py_TYPE(object)->tp_name);
  }
  return false;
}

bool to_text(PyObject* object, const char* what, const char** value) {
  if (PyBytes_Check(object)) {
    *value = PyBytes_AS_STRING(object);
  } else if (PyUnicode_Check(object)) {
    *value = PyUnicode_AsUTF8(object);
  } else if (PyByteArray_Check(object)) {
    *value = PyByteArray_AS_STRING(object);
  } else {
    PyErr_Format(PyExc_TypeError, "%s: expected bytes or str, not %s", what, Py_TYPE(object)->tp_name);
    return false;
  }
  return *value != nullptr;
}

bool to_function(PyObject* object, const char* what, std::uintptr_t* address, bool* is_python) {
  *address = 0;
  *is_python = false;
  if (object == Py_None) return true;
  unsigned long long number = 0;
  if (PyLong_CheckExact(object)) {
    if (!to_u64(object, what, &number)) return false;
    *address = number;
    return true;
  }
  PyTypeObject* ctypes_type = ctypes_function_type();
  if (ctypes_type != nullptr && PyObject_TypeCheck(object, ctypes_type)) {
    Py_buffer view;  // ctypes shows the memory that holds the pointer
    if (PyObject_GetBuffer(object, &view, PyBUF_SIMPLE) < 0) return false;
    *address = *static_cast<std::uintptr_t*>(view.buf);
    PyBuffer_Release(&view);
    return true;
  }
  if (PyCallable_Check(object)) {
    *is_python = true;
    return true;
  }
  if (!to_u64(object, what, &number)) return false;
  *address = number;
  return true;
}

bool wrong_struct(PyObject* object, int type, const char* what) {
  PyErr_Format(PyExc_TypeError, "%s: expected %s, not %s", what, struct_types[type]->tp_name, Py_TYPE(object)->tp_name);
  return false;
}

bool to_dim3_slow(PyObject* object, const char* what, dim3* value) {
  if (is_struct(object, kStruct_dim3)) return to_struct(object, kStruct_dim3, what, value);
  unsigned int sizes[3] = {1, 1, 1};
  if (!PyTuple_Check(object) && !PyList_Check(object)) {
    if (!to_uint(object, what, &sizes[0])) return false;
  } else {
    Ref items(PySequence_Tuple(object));
    if (!items) return false;
    const Py_ssize_t count = PyTuple_GET_SIZE(items.get());
    if (count < 1 || count > 3) {
      PyErr_Format(PyExc_TypeError, "%s: expected one to three sizes, not %zd", what, count);
      return false;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (!to_uint(PyTuple_GET_ITEM(items.get(), i), what, &sizes[i])) return false;
    }
  }
  value->x = sizes[0];
  value->y = sizes[1];
  value->z = sizes[2];
  return true;
}

}  // namespace infinirt::python
