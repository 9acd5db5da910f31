#include "op/nvidia/written/routing.h"

#include "infiniop/generated/written.h"

namespace infiniop::nvidia {

namespace {

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  return routing_program(plan, "MOE_GATE",
                         static_cast<int64_t>(attributes[infiniop::moe_fused_gate::attribute::num_expert_group]));
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  return routing_launches(plan,
                          static_cast<int64_t>(attributes[infiniop::moe_fused_gate::attribute::num_expert_group]));
}

}  // namespace

extern const WrittenKernel written_moe_fused_gate = {kRoutingText, program, launches};

}  // namespace infiniop::nvidia
