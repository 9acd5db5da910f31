// Operators on rows, on NVIDIA's GPUs.
#pragma once

#include <memory>

#include "op/operator.h"

namespace infiniop::nvidia {

// Null: a call failed with *error.
std::unique_ptr<Prepared> prepare_rows(const Plan& plan, infinirtError_t* error);

}  // namespace infiniop::nvidia
