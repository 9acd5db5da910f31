// Handles (streams, events, ...), function pointers and 64-bit values as Python objects: a value, or a place in a struct
// that holds one.
#pragma once

#include <cstdint>

#include "bindings/python.h"

namespace infinirt::python {

enum class HandleKind : std::uint8_t {
  Plain,  // a pointer, shown in hexadecimal
  Stream,  // also offers __cuda_stream__
  Number,  // an unsigned 64-bit value, shown in decimal
};

struct HandleDescription {
  const char* name;
  const char* doc;
  HandleKind kind;
};

struct HandleObject {
  PyObject_HEAD std::uintptr_t value;
  std::uintptr_t* place;  // &value, or memory that somebody else owns
  PyObject* owner;  // keeps that memory alive; may be null
};

/// Builds a handle class, `Name(init_value=0, _ptr=0)`. Null with an exception set.
PyTypeObject* make_handle_type(const HandleDescription& description);

/// A new object with a value of its own.
PyObject* new_handle(PyTypeObject* type, std::uintptr_t value);

/// A new object that reads and writes `place`, inside memory that `owner` keeps alive.
PyObject* new_handle_view(PyTypeObject* type, std::uintptr_t* place, PyObject* owner);

}  // namespace infinirt::python
