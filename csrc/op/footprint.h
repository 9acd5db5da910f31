// What an operator's call reads and writes, for those who observe the runtime's calls (infinirt_observe.h).
#pragma once

#include "op/operator.h"
#include "op/tensor.h"

namespace infiniop {

// Of the tensors that a descriptor is made with; those that are not given are null.
void note_footprints(const Tensor* const* tensors, Descriptor* descriptor);

// Says it of the call that is about to be launched. `addresses` are the caller's.
void declare_footprints(const Descriptor& descriptor, void* const* addresses);

}  // namespace infiniop
