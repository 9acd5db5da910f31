#include "bindings/objects/arguments.h"

#include <cstdint>
#include <string>

namespace infinirt::objects {

namespace {

std::string text_of(PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  return text ? text : "";
}

}  // namespace

Signature::Signature(const char* function, std::initializer_list<const char*> parameters, int positional,
                     const char* advice)
    : function_(function), advice_(advice), positional_(positional) {
  for (const char* name : parameters) parameters_[count_++] = PyUnicode_InternFromString(name);
}

bool Signature::read(PyObject* const* args, Py_ssize_t count, PyObject* names, PyObject** values) const {
  if (count > positional_) {
    std::string others;
    for (int i = positional_; i < count_; ++i) others += (others.empty() ? "" : ", ") + text_of(parameters_[i]) + "=";
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d positional argument%s (%zd given)%s%s", function_, positional_,
                 positional_ == 1 ? "" : "s", count, others.empty() ? "" : "; give the rest by name: ", others.c_str());
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) values[i] = args[i];
  const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* name = PyTuple_GET_ITEM(names, i);
    int at = 0;
    while (at < count_ && parameters_[at] != name) ++at;
    if (at == count_) {
      for (at = 0; at < count_ && PyUnicode_Compare(parameters_[at], name) != 0;) ++at;
    }
    if (at == count_) return refuse(name);
    if (at < count) {
      PyErr_Format(PyExc_TypeError, "%s() was given '%U' twice", function_, name);
      return false;
    }
    values[at] = args[count + i];
  }
  return true;
}

// False, with a TypeError that says which parameters there are.
bool Signature::refuse(PyObject* name) const {
  std::string known;
  for (int i = 0; i < count_; ++i) known += (i == 0 ? "" : i + 1 == count_ ? " and " : ", ") + text_of(parameters_[i]);
  PyErr_Format(PyExc_TypeError, "%s() has no parameter '%U'; it takes %s%s%s", function_, name, known.c_str(),
               *advice_ ? "; " : "", advice_);
  return false;
}

// An int of whatever counts as one; null with an exception that names the parameter.
python::Ref read_index(PyObject* value, const char* name, const char* what) {
  python::Ref index(PyNumber_Index(value));
  if (index || !PyErr_ExceptionMatches(PyExc_TypeError)) return index;
  PyErr_Clear();
  const bool is_array = PyObject_HasAttrString(value, "nbytes") != 0;
  PyErr_Format(PyExc_TypeError, "%s must be %s, not %.100s%s", name, what, Py_TYPE(value)->tp_name,
               is_array ? "; its size in bytes is its nbytes" : "");
  return index;
}

bool read_size(PyObject* value, const char* name, size_t* size) {
  if (PyLong_CheckExact(value)) [[likely]] {
    *size = PyLong_AsSize_t(value);
    if (*size != static_cast<size_t>(-1) || !PyErr_Occurred()) return true;
    PyErr_Clear();
  }
  const python::Ref index = read_index(value, name, "an integer");
  if (!index) return false;
  *size = PyLong_AsSize_t(index.get());
  if (!PyErr_Occurred()) return true;
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError, "%s must be between 0 and %zu, not %R", name, SIZE_MAX, value);
  return false;
}

bool read_pointer(PyObject* value, const char* name, void** pointer) {
  const python::Ref index = read_index(value, name, "an address");
  if (!index) return false;
  // Not PyLong_AsVoidPtr, which takes negative numbers for addresses at the other end.
  *pointer = reinterpret_cast<void*>(PyLong_AsSize_t(index.get()));
  if (!PyErr_Occurred()) return true;
  PyErr_Clear();
  PyErr_Format(PyExc_ValueError, "%s must be an address, not %R", name, value);
  return false;
}

}  // namespace infinirt::objects
