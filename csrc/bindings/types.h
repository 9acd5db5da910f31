// All classes of the module: their numbers (generated) and the objects behind the numbers.
#pragma once

#include "bindings/enum_type.h"
#include "bindings/handle_type.h"
#include "bindings/struct_type.h"
#include "infinirt_ext.h"

namespace infinirt::python {

#define INFINIRT_FLAT_SECTION_NUMBERS
#include "infinirt/generated/flat.inc"
#undef INFINIRT_FLAT_SECTION_NUMBERS

// Written once, at import; constant afterwards.
extern EnumType enum_types[kEnumCount];
extern PyTypeObject* handle_types[kHandleCount];
extern PyTypeObject* struct_types[kStructCount];
extern const StructDescription struct_descriptions[kStructCount];

/// Makes all classes and adds them, their second names and the constants to the module.
bool add_types(PyObject* module);

}  // namespace infinirt::python
