// Element-wise plans on NVIDIA's GPUs.
#pragma once

#include <memory>

#include "op/operator.h"

namespace infiniop::nvidia {

// Null: a runtime call failed with *error.
std::unique_ptr<Prepared> prepare_element_wise(const Plan& plan, infinirtError_t* error);

}  // namespace infiniop::nvidia
