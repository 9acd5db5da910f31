// Compiled kernels: one program for each variant and architecture, kept for the life of the process, since enqueued work and graphs may
// need them after every descriptor is gone.
#pragma once

#include <string>

#include "infinirt_ext.h"
#include "op/nvidia/source.h"

namespace infiniop::nvidia {

struct Program {
  infinirtKernel_t elements;
  infinirtKernel_t vectors;  // null where the variant has none
};

// What a program is made from.
struct ProgramSource {
  const char* name;  // in messages
  const char* text;  // program_text() or chain_program_text()
  std::string variant;  // "variant.h"
  std::string elements_kernel, vectors_kernel;
  bool has_vectors;
};

// For the thread's current device. Compiles at most once, or finds what an earlier process compiled.
infinirtError_t find_program(const ProgramSource& source, Program* program);

}  // namespace infiniop::nvidia
