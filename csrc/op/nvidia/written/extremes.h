// What Argmax and Argmin have in common on NVIDIA's GPUs.
#pragma once

#include "op/nvidia/written.h"

namespace infiniop::nvidia {

extern const char kExtremesText[];

WrittenProgram extremes_program(const WrittenPlan& plan, bool largest);
std::vector<WrittenLaunch> extremes_launches(const WrittenPlan& plan);

}  // namespace infiniop::nvidia
