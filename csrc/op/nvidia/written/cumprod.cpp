#include "op/nvidia/written/scan.h"

#include "infiniop/generated/written.h"

namespace infiniop::nvidia {

namespace {

WrittenProgram program(const WrittenPlan& plan, const double*) { return scan_program(plan, "PRODUCT"); }

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return scan_launches(plan);
}

}  // namespace

extern const WrittenKernel written_cumprod = {kScanText, program, launches};

}  // namespace infiniop::nvidia
