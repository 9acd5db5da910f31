#include "infiniop/generated/written.h"
#include "op/cpu/written/routing.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::moe_fused_gate;

Split split(const WrittenPlan& plan, const double*, int) {
  return split_tokens(plan.size[size::t], plan.size[size::n]);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  Routing routing;
  routing.groups = static_cast<int64_t>(call.attributes[attribute::num_expert_group]);
  routing.best_groups = static_cast<int64_t>(call.attributes[attribute::topk_group]);
  routing.excluded = -__builtin_inff();
  routing.shared = static_cast<int64_t>(call.attributes[attribute::num_fused_shared_experts]);
  routing.chosen = call.plan.size[size::k] - routing.shared;
  routing.renormalize = true;
  const auto factor = static_cast<float>(call.attributes[attribute::routed_scaling_factor]);
  routing.shared_weight = 1 / factor;
  if (call.attributes[attribute::apply_routed_scaling_factor_on_output] != 0) routing.factor = factor;
  return route(call, {tensor::input, tensor::bias, tensor::topk_weights, tensor::topk_indices, call.plan.size[size::n]},
               routing, first, last);
}

}  // namespace

extern const WrittenKernel moe_fused_gate = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
