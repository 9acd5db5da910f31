// Matrix products on the CPU device: blocks of the grid compute tiles of c, each with a library's product on one thread.
#pragma once

#include <memory>

#include "op/operator.h"

namespace infiniop::cpu {

// Null: a runtime call failed with *error.
std::unique_ptr<Prepared> prepare_gemm(const Plan& plan, infinirtError_t* error);

}  // namespace infiniop::cpu
