// Where NVIDIA's libraries may lie. Nothing is loaded here.
#pragma once

#include <string>
#include <vector>

namespace infinirt::nvidia {

// A library by its names, newest version first.
struct WantedLibrary {
  const char* variable;               // environment variable that names the file and ends the search
  const char* stem;                   // how the names of loaded copies begin: "libcudart"
  std::vector<std::string> in_wheel;  // below site-packages: "nvidia/cu13/lib/libcudart.so.13"
  std::vector<std::string> names;     // "libcudart.so.13"
};

struct Candidate {
  std::string path;
  bool only_if_loaded = false;
};

// In the order in which they are to be tried: the copy that the process has, NVIDIA's wheels, a toolkit that an environment
// variable points to, the system.
std::vector<Candidate> candidates(const WantedLibrary& wanted);

// dlopen, without adding symbols to the process. Null: `why` is what the loader says.
void* open_candidate(const Candidate& candidate, std::string& why);

// Folders in which NVIDIA's wheels may be installed: beside this library, then infinirtXAddLibraryFolder's.
std::vector<std::string> package_folders();

// The file that an address was loaded from; `otherwise` when that cannot be told.
std::string file_of(const void* address, const std::string& otherwise);

// 12090 → "12.9"
std::string version_text(int version);

}  // namespace infinirt::nvidia
