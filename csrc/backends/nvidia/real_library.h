// NVIDIA's runtime library: found, loaded and looked up when it is first needed, never before.
#pragma once

#include <string>
#include <vector>

#include "core/backend.h"

namespace infinirt::nvidia {

// Where a table entry comes from (generated, in the table's order).
struct SymbolRow {
  const char* cuda12;      // symbol of libcudart.so.12
  const char* cuda13;      // symbol of libcudart.so.13; null: none corresponds
  void* shim13;            // stands in the table instead, where CUDA 13 gave the symbol another shape
  const char* per_thread;  // the form whose implicit stream is the thread's own; null: none
};
extern const SymbolRow kSymbols[kFunctionCount];

// The real functions. Filled before anything can call them, constant afterwards; an entry that the library lacks is null.
extern BackendTable runtime_library;  // NVIDIA's runtime library's
extern BackendTable real;  // the same, with the driver's in place of some (driver_calls.h)
extern BackendTable real_per_thread;  // only the entries that have such a form
extern void* real13[kFunctionCount];  // CUDA 13's own symbols behind the shims
extern infinirtError_t (*real_get_last_error)();

struct Library {
  std::string path;                 // empty: none was found
  void* handle = nullptr;           // from dlopen
  int version = 0;                  // 12090, 13000, …
  int devices = 0;
  infinirtError_t error = infinirtSuccess;  // what the library says about the machine, when there is no device
  std::string problem;              // the same for people, with everything that was tried
  std::vector<FunctionId> absent;   // what this version does not have
};

// Loads on the first call (thread-safe); later calls are cheap.
const Library& library();

// A function of the driver that the process has loaded, by its exported name; null: there is none.
void* driver_function(const char* name);

// Whether library() has been called: the driver may have been touched.
bool library_is_loaded();

}  // namespace infinirt::nvidia
