#include "bindings/functions.h"

#include "bindings/arguments.h"
#include "bindings/arrays.h"
#include "bindings/convert.h"
#include "bindings/gil.h"
#include "bindings/result.h"
#include "bindings/runtime_api.h"

namespace infinirt::python {
namespace {

#define INFINIRT_FLAT_SECTION_FUNCTIONS
#include "infinirt/generated/flat.inc"
#undef INFINIRT_FLAT_SECTION_FUNCTIONS

}  // namespace

bool add_functions(PyObject* module) { return PyModule_AddFunctions(module, methods) == 0; }

}  // namespace infinirt::python
