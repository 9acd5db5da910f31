// The vendors: where their libraries lie, and what speaks to them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/vendors/native.h"

namespace infinirt::vendors {

// A folder of libraries below the one that an environment variable names, or at a fixed place when `variable` is null.
struct Folder {
  const char* variable;
  const char* path;
};

struct Vendor {
  const char* type;      // device type
  const char* library;   // what is looked for, for people: "AMD's HIP runtime"
  const char* override;  // environment variable that names the file and ends the search
  const char* stem;      // how the name of the real file begins, links followed
  std::vector<const char*> names;
  std::vector<Folder> folders;
  // Only libraries in the folders above count, because others use the same names: those of vendors who took over CUDA's.
  bool names_are_shared;
  std::unique_ptr<Native> (*make)();
};

std::span<const Vendor> cuda_shaped_vendors();  // cuda_vendors.cpp
Vendor ascend();
Vendor cambricon();
Vendor kunlun();

// A library that was opened and has every required function.
struct Opened {
  std::unique_ptr<Native> native;  // null: none was found
  std::string path;                // of the library that was looked at closest; empty: none could be loaded
  std::vector<std::string> absent;  // optional functions that it lacks
  std::string problem;             // why there is none, with everything that was tried
};

Opened open_library(const Vendor& vendor);

}  // namespace infinirt::vendors
