// Compiled kernels: one program for each variant and architecture, kept for the life of the process, since enqueued work and graphs may
// need them after every descriptor is gone.
#pragma once

#include <string>
#include <vector>

#include "infinirt_ext.h"
#include "op/nvidia/source.h"

namespace infiniop::nvidia {

struct Program {
  infinirtKernel_t elements;
  infinirtKernel_t vectors;  // null where the variant has none
  std::vector<infinirtKernel_t> further;
};

// What a program is made from.
struct ProgramSource {
  const char* name;  // in messages
  const char* text;  // program_text() and its like; "variant.h" tells programs apart
  std::string variant;  // "variant.h"
  std::string elements_kernel, vectors_kernel;
  bool has_vectors;
  std::vector<std::string> further = {};  // kernels beside these
};

// For the thread's current device. Compiles at most once, or finds what an earlier process compiled.
infinirtError_t find_program(const ProgramSource& source, Program* program);

}  // namespace infiniop::nvidia
