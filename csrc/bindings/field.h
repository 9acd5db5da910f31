// Reading and writing one attribute of a struct.
#pragma once

#include "bindings/struct_type.h"

namespace infinirt::python {

/// The attribute's value (a new reference); null with an exception set.
PyObject* get_field(PyObject* self, const Field& field);

/// False with an exception set; the struct is then unchanged.
bool set_field(PyObject* self, const Field& field, PyObject* value);

/// What a class of structs, or a subclass of one, looks like in C.
const StructDescription* description_of(PyTypeObject* type);

/// Whether pointers in the struct, or in the one it is a part of, refer to objects that it keeps.
bool keeps_something(StructObject* self);

/// What keep_for stored for the place (borrowed), or null.
PyObject* kept_for(StructObject* self, const void* place);

}  // namespace infinirt::python
