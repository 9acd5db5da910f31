// The functions of the module. Most are generated (functions.cpp); these are written by hand, because their Python shape
// does not follow from the C one. Their parameters and results stand in src/infinirt/_spec/python.
#pragma once

#include "bindings/arguments.h"

namespace infinirt::python {

bool add_functions(PyObject* module);

/// The classes of results that have no C struct of the aligned API behind them.
bool add_extension_types(PyObject* module);

#define INFINIRT_FLAT_BY_HAND(name) \
  PyObject* name(PyObject* module, PyObject* const* args, Py_ssize_t given, PyObject* keyword_names);
#define INFINIRT_FLAT_SECTION_BY_HAND
#include "infinirt/generated/flat.inc"
#undef INFINIRT_FLAT_SECTION_BY_HAND
#undef INFINIRT_FLAT_BY_HAND

}  // namespace infinirt::python
