// The table that bindings/object_api.h describes.
#pragma once

#include "bindings/python.h"

namespace infinirt::objects {

/// A new capsule.
PyObject* make_object_table();

}  // namespace infinirt::objects
