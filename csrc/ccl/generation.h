// Which generation of the runtime's API the programs of this library use beside it, and what that asks of a call. The library is built
// for each of them; generation/ has one file for each.
#pragma once

#include "infinicore.h"
#include "infinirt_ext.h"

namespace infiniccl {

// The device that the calling thread's program has chosen.
infinirtError_t current_device(const char** type, int* device);

}  // namespace infiniccl
