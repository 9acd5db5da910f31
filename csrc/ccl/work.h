// What is done when all parts of an operation are at hand, in memory that this thread reaches: no copies but from input to output.
#pragma once

#include <span>

#include "ccl/part.h"
#include "infinirt_ext.h"

namespace infiniccl {

// `parts` in the order of ranks; of a send and a receive these two. They fit together. Spreads over idle workers if there is much
// to do, unless `step` is null.
void perform(std::span<const Part* const> parts, infinirtXStep_t step);

}  // namespace infiniccl
