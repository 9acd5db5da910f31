#include "op/nvidia/written/scan.h"

#include "infiniop/generated/written.h"

namespace infiniop::nvidia {

namespace {

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  return scan_program(plan, "EXPONENTIALS", attributes[infiniop::logcumsumexp::attribute::exclusive] != 0,
                      attributes[infiniop::logcumsumexp::attribute::reverse] != 0);
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return scan_launches(plan);
}

}  // namespace

extern const WrittenKernel written_logcumsumexp = {kScanText, program, launches};

}  // namespace infiniop::nvidia
