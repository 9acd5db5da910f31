#include "op/nvidia/written/extremes.h"

namespace infiniop::nvidia {

namespace {

WrittenProgram program(const WrittenPlan& plan, const double*) { return extremes_program(plan, true); }

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return extremes_launches(plan);
}

}  // namespace

extern const WrittenKernel written_argmax = {kExtremesText, program, launches};

}  // namespace infiniop::nvidia
