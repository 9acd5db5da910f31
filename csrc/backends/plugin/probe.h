// What a plugin is, found out by a helper process that may die of it.
#pragma once

#include <string>

#include "backends/plugin/layouts.h"

namespace infinirt::plugin {

struct Probed {
  bool good = false;
  std::string problem;  // unless good
  Layout told = kNewest;  // the sizes that the plugin answers to
  Layout layout = kNewest;
  int devices = 0;
  std::string type, sub_type;
};

// `forced` and `fallback` may be null: see OpenRequest.
Probed probe(const std::string& path, const Layout* forced, const Layout* fallback);

// The library with PaddlePaddle's kernels if this process has it loaded, else "".
std::string kernel_library();

}  // namespace infinirt::plugin
