// Operators on rows, on the CPU device.
#pragma once

#include <memory>

#include "op/operator.h"

namespace infiniop::cpu {

std::unique_ptr<Prepared> prepare_rows(const Plan& plan, infinirtError_t* error);

}  // namespace infiniop::cpu
