// Libraries of others that are looked for at run time: where they may be, and what is wanted of them.
#pragma once

#include <span>
#include <string>

namespace infiniccl {

struct LibrarySearch {
  const char* variable;                 // of the environment: names a file, and then no other is tried
  const char* name;                     // of the shared object
  std::span<const char* const> places;  // relative to each folder of Python's packages, with '/' at both ends
  int flags;                            // of dlopen
};

// A file that is named, a copy that the process has already, one beside Python's packages, the system's. Null: *tried says what the
// last attempt said.
void* open_library(const LibrarySearch& search, std::string* tried);

struct LibraryFunction {
  const char* name;
  void** place;
};

// The first function that the library has not; null when all were found.
const char* bind_functions(void* library, std::span<const LibraryFunction> wanted);

}  // namespace infiniccl
