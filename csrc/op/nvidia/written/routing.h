// What the operators that choose experts have in common on NVIDIA's GPUs.
#pragma once

#include "op/nvidia/written.h"

namespace infiniop::nvidia {

extern const char kRoutingText[];

// `kind` as routing.cu names it. `groups` of experts.
WrittenProgram routing_program(const WrittenPlan& plan, const char* kind, int64_t groups);
std::vector<WrittenLaunch> routing_launches(const WrittenPlan& plan, int64_t groups);

}  // namespace infiniop::nvidia
