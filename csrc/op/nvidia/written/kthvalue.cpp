#include "infiniop/generated/written.h"
#include "op/nvidia/written/select.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::kthvalue;

SelectCall call_of(const WrittenPlan&, const double* attributes) {
  return {false, true, static_cast<int64_t>(attributes[attribute::k])};
}

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  return select_program(call_of(plan, attributes), plan);
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  return select_launches(call_of(plan, attributes), plan);
}

}  // namespace

extern const WrittenKernel written_kthvalue = {kSelectText, program, launches};

}  // namespace infiniop::nvidia
