// The functions of the library, as a table of addresses.
//
// The extension imports infinirtX... symbols only: the aligned names are shared with the earlier generation of this API,
// whose library may live in the same process.
#pragma once

#include "bindings/python.h"
#include "infinirt_ext.h"

namespace infinirt::python {

struct RuntimeApi {
#define INFINIRT_FLAT_API(name, per_thread_suffix) decltype(&::name) name;
#define INFINIRT_FLAT_SECTION_API
#include "infinirt/generated/flat.inc"
#undef INFINIRT_FLAT_SECTION_API
#undef INFINIRT_FLAT_API
};

/// Filled once, at import; constant afterwards.
extern RuntimeApi api;

/// Looks all functions up. With INFINIRT_PYTHON_PER_THREAD_DEFAULT_STREAM=1 in the environment, functions that have a
/// per-thread form are taken in that form. False, with ImportError set, if the library lacks one.
bool load_runtime_api();

}  // namespace infinirt::python
