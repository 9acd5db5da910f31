// From a C function's parameters to a Python function, without writing each one out.
//
//   bound<&Library::StreamGetPriority, In<infinirtStream_t>, Out<int>>
//
// is a METH_FASTCALL function that takes one number, passes it on with a place for the result, raises on failure and
// returns the result (None without one, a tuple with several). `bound_on` takes a device first and makes it current.
#pragma once

#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "bindings/objects/arguments.h"
#include "bindings/objects/device.h"

namespace infinirt::objects {

/// A number, a handle or an enumerator.
template <class T>
struct In {
  T value{};
  static constexpr int inputs = 1;
  static constexpr bool is_output = false;
  bool parse(PyObject* object) {
    if constexpr (std::is_pointer_v<T>) {
      void* pointer = nullptr;
      if (!read_pointer(object, "a handle or address", &pointer)) return false;
      value = static_cast<T>(pointer);
      return true;
    } else if constexpr (std::is_unsigned_v<T>) {
      size_t number = 0;
      if (!read_size(object, "an argument", &number)) return false;
      value = static_cast<T>(number);
      return value == number || does_not_fit(object);
    } else {
      const long long number = PyLong_AsLongLong(object);
      if (number == -1 && PyErr_Occurred()) return false;
      value = static_cast<T>(number);
      return static_cast<long long>(value) == number || does_not_fit(object);
    }
  }
  static bool does_not_fit(PyObject* object) {
    PyErr_Format(PyExc_ValueError, "%R is out of range for this argument", object);
    return false;
  }
  auto pass() { return std::tuple<T>(value); }
};

template <>
struct In<const char*> {
  const char* value = nullptr;
  static constexpr int inputs = 1;
  static constexpr bool is_output = false;
  bool parse(PyObject* object) { return (value = PyUnicode_AsUTF8(object)) != nullptr; }
  auto pass() { return std::tuple<const char*>(value); }
};

/// A place for a result.
template <class T>
struct Out {
  T value{};
  static constexpr int inputs = 0;
  static constexpr bool is_output = true;
  bool parse(PyObject*) { return true; }
  auto pass() { return std::tuple<T*>(&value); }
  PyObject* result() const {
    if constexpr (std::is_pointer_v<T>)
      return PyLong_FromVoidPtr(const_cast<void*>(static_cast<const void*>(value)));
    else if constexpr (std::is_unsigned_v<T>)
      return PyLong_FromUnsignedLongLong(value);
    else
      return PyLong_FromLongLong(static_cast<long long>(value));
  }
};

/// A sequence of handles, passed as array and count.
template <class T>
struct Handles {
  std::vector<T> values;
  static constexpr int inputs = 1;
  static constexpr bool is_output = false;
  bool parse(PyObject* object) {
    python::Ref items(PySequence_Fast(object, "a sequence of handles was expected"));
    if (!items) return false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
      void* pointer = nullptr;
      if (!read_pointer(PySequence_Fast_GET_ITEM(items.get(), i), "a handle", &pointer)) return false;
      values.push_back(static_cast<T>(pointer));
    }
    return true;
  }
  auto pass() { return std::tuple<T*, size_t>(values.empty() ? nullptr : values.data(), values.size()); }
};

/// A parameter that always has the same value.
template <auto Value>
struct Constant {
  static constexpr int inputs = 0;
  static constexpr bool is_output = false;
  bool parse(PyObject*) { return true; }
  auto pass() { return std::tuple(Value); }
};

namespace detail {

template <auto Member, class... P>
PyObject* call(const DeviceObject* device, PyObject* const* args, Py_ssize_t count) {
  constexpr int expected = (P::inputs + ... + 0);
  if (count != expected)
    return PyErr_Format(PyExc_TypeError, "%d arguments were expected, %zd were given", expected, count);
  std::tuple<P...> parameters;
  Py_ssize_t next = 0;
  const bool parsed = std::apply(
      [&](auto&... p) { return (... && (p.inputs ? p.parse(args[next++]) : p.parse(nullptr))); }, parameters);
  if (!parsed) return nullptr;
  const infinirtError_t error = without_gil(true, [&] {
    auto invoke = [&] {
      return std::apply([&](auto&... p) { return std::apply(rt.*Member, std::tuple_cat(p.pass()...)); }, parameters);
    };
    if (device == nullptr) return invoke();
    OnDevice guard(device);
    return guard.error() ? guard.error() : invoke();
  });
  if (error != infinirtSuccess) return raise_error(error);
  constexpr int outputs = ((P::is_output ? 1 : 0) + ... + 0);
  python::Ref results(PyTuple_New(outputs));
  if (!results) return nullptr;
  int filled = 0;
  std::apply(
      [&](auto&... p) {
        [[maybe_unused]] auto add = [&](auto& parameter) {
          if constexpr (std::remove_reference_t<decltype(parameter)>::is_output) {
            PyTuple_SET_ITEM(results.get(), filled++, parameter.result());
          }
        };
        (add(p), ...);
      },
      parameters);
  if (PyErr_Occurred()) return nullptr;
  if constexpr (outputs == 0) Py_RETURN_NONE;
  if constexpr (outputs == 1) return Py_NewRef(PyTuple_GET_ITEM(results.get(), 0));
  return results.release();
}

}  // namespace detail

template <auto Member, class... P>
PyObject* bound(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return detail::call<Member, P...>(nullptr, args, count);
}

template <auto Member, class... P>
PyObject* bound_on(PyObject*, PyObject* const* args, Py_ssize_t count) {
  DeviceObject* device = count > 0 ? device_from(args[0]) : current_device();
  return device ? detail::call<Member, P...>(device, args + 1, count - 1) : nullptr;
}

/// An entry of a method table.
inline PyMethodDef entry(const char* name, PyObject* (*function)(PyObject*, PyObject* const*, Py_ssize_t)) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, nullptr};
}

}  // namespace infinirt::objects
