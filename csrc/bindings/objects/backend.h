// Device types written in Python.
#pragma once

#include "bindings/objects/library.h"

namespace infinirt::objects {

/// register_backend(instance, type, origin, device_count, has_copy, has_fill, has_synchronize)
PyObject* register_backend(PyObject*, PyObject* args);

}  // namespace infinirt::objects
