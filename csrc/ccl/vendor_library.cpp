#include "ccl/vendor_library.h"

#include <dlfcn.h>

#include <cstdlib>

#include "ccl/runtime.h"

namespace infiniccl {

void* open_library(const LibrarySearch& search, std::string* tried) {
  const char* named = std::getenv(search.variable);
  if (!named || !*named) {
    if (void* there = dlopen(search.name, RTLD_NOW | RTLD_NOLOAD)) return there;
    for (int i = 0; const char* folder = infinirtXGetLibraryFolder(i); ++i) {
      for (const char* place : search.places) {
        if (void* found = dlopen((std::string(folder) + place + search.name).c_str(), search.flags)) return found;
      }
    }
    named = search.name;
  }
  void* found = dlopen(named, search.flags);
  if (!found) *tried = dlerror();
  return found;
}

const char* bind_functions(void* library, std::span<const LibraryFunction> wanted) {
  for (const LibraryFunction& function : wanted) {
    *function.place = dlsym(library, function.name);
    if (!*function.place) return function.name;
  }
  return nullptr;
}

}  // namespace infiniccl
