// Groups: the parts that a thread collects, and how parts get onto their streams.
#pragma once

#include <memory>

#include "ccl/communicator.h"
#include "ccl/part.h"

namespace infiniccl {

// Puts the part on the stream, or into the thread's group if there is one. The stream is of the communicator's device.
infiniStatus_t submit(const char* function, const Communicator& communicator, Part part, infinirtStream_t stream);

// A call inside a group was refused: so is the group. Returns the status.
infiniStatus_t refuse_in_group(infiniStatus_t status);

}  // namespace infiniccl
