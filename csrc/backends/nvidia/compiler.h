// CUDA C++ to machine code, by NVIDIA's compiler library (NVRTC), which is loaded when it is first needed.
#pragma once

#include "core/compiled.h"
#include "infinirt_ext.h"

namespace infinirt::nvidia {

// See infinirtXCompile. Results are kept on disk.
infinirtError_t compile(const infinirtXCompileInfo& info, Compiled& out);

}  // namespace infinirt::nvidia
