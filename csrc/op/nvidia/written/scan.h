// What Cumsum, Cumprod and LogCumSumExp have in common on NVIDIA's GPUs.
#pragma once

#include "op/nvidia/written.h"

namespace infiniop::nvidia {

extern const char kScanText[];

// `kind` as scan.cu names it.
WrittenProgram scan_program(const WrittenPlan& plan, const char* kind, bool exclusive = false, bool reverse = false);
std::vector<WrittenLaunch> scan_launches(const WrittenPlan& plan);

}  // namespace infiniop::nvidia
