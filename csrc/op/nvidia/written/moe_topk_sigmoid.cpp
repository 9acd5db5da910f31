#include "op/nvidia/written/routing.h"

#include "infiniop/generated/written.h"

namespace infiniop::nvidia {

namespace {

WrittenProgram program(const WrittenPlan& plan, const double*) { return routing_program(plan, "MOE_SIGMOID", 1); }

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return routing_launches(plan, 1);
}

}  // namespace

extern const WrittenKernel written_moe_topk_sigmoid = {kRoutingText, program, launches};

}  // namespace infiniop::nvidia
