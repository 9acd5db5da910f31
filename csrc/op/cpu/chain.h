// Chains of element-wise operators on the CPU device: each tile goes through all steps while it is in the cache.
#pragma once

#include <memory>

#include "op/chain.h"

namespace infiniop::cpu {

// Null: a runtime call failed with *error.
std::unique_ptr<PreparedChain> prepare_chain(const ChainPlan& plan, infinirtError_t* error);

}  // namespace infiniop::cpu
