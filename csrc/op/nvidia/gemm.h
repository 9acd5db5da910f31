// Matrix products on NVIDIA's GPUs, by cuBLASLt.
#pragma once

#include <memory>

#include "op/operator.h"

namespace infiniop::nvidia {

// Null: a call failed with *error.
std::unique_ptr<Prepared> prepare_gemm(const Plan& plan, infinirtError_t* error);

}  // namespace infiniop::nvidia
