// Chains of element-wise operators on NVIDIA's GPUs: a kernel is written and compiled for each chain.
#pragma once

#include <memory>

#include "op/chain.h"

namespace infiniop::nvidia {

// Null: a runtime call failed with *error.
std::unique_ptr<PreparedChain> prepare_chain(const ChainPlan& plan, infinirtError_t* error);

}  // namespace infiniop::nvidia
