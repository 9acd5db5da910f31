// Where NVIDIA's libraries may lie on this machine.
#pragma once

#include <string>
#include <vector>

namespace infiniop::nvidia {

struct LibraryName {
  const char* variable;               // of the environment; what it names is the only place then
  const char* stem;                   // "libcublasLt.so"
  const char* package;                // its folder in wheels that have one for each library
  std::vector<const char*> versions;  // "13", the newest first
};

// Paths in the order in which they are to be tried: a copy that the process has, beside the CUDA runtime in use, NVIDIA's wheels, a toolkit,
// the system.
std::vector<std::string> places_of(const LibraryName& library);

}  // namespace infiniop::nvidia
