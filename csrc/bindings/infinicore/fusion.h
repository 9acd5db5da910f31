// Element-wise operators that follow one another become one pass over memory.
#pragma once

#include "bindings/infinicore/recording.h"

namespace infinicore {

/// Replaces runs of recorded calls by chains (infiniop/chain.h), where the device makes one of them. Results that are read only inside a
/// chain are not written, and numbers that were operands stand in the kernel. Throws bad_alloc.
void fuse(Recorded* recorded);

}  // namespace infinicore
