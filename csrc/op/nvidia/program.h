// Compiled kernels: one program for each variant and architecture, kept for the life of the process, since enqueued work and graphs may
// need them after every descriptor is gone.
#pragma once

#include "infinirt_ext.h"
#include "op/nvidia/source.h"

namespace infiniop::nvidia {

struct Program {
  infinirtKernel_t elements;
  infinirtKernel_t vectors;  // null where the variant has none
};

// For the thread's current device. Compiles at most once, or finds what an earlier process compiled.
infinirtError_t find_program(const Variant& variant, Program* program);

}  // namespace infiniop::nvidia
