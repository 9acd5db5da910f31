#include "infiniop/generated/written.h"
#include "op/nvidia/written/select.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::sort;

SelectCall call_of(const WrittenPlan& plan, const double* attributes) {
  return {attributes[attribute::descending] != 0, false, plan.size[size::n]};
}

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  return select_program(call_of(plan, attributes), plan);
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  return select_launches(call_of(plan, attributes), plan);
}

}  // namespace

extern const WrittenKernel written_sort = {kSelectText, program, launches};

}  // namespace infiniop::nvidia
