// What is done to recorded calls before they become a graph.
#pragma once

#include "bindings/infinicore/recording.h"

namespace infinicore {

/// Changes the steps so that the same memory has the same elements after a run, as far as anybody can see it: memory of tensors that the
/// program still has, and memory that was there before the recording. What was done stands in the recording. Throws bad_alloc.
void optimise(Recorded* recorded);

}  // namespace infinicore
