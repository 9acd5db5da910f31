#include "infiniop/generated/written.h"
#include "op/cpu/written/routing.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::topkrouter;

Split split(const WrittenPlan& plan, const double*, int) {
  return split_tokens(plan.size[size::t], plan.size[size::n]);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  Routing routing;
  routing.groups = 8;
  routing.best_groups = 4;
  routing.chosen = static_cast<int64_t>(call.attributes[attribute::topk]);
  routing.renormalize = true;
  routing.least_sum = 1e-9f;
  routing.factor = static_cast<float>(call.attributes[attribute::routed_scaling_factor]);
  return route(call, {tensor::x, tensor::correction_bias, tensor::values, tensor::indices, call.plan.size[size::n]},
               routing, first, last);
}

}  // namespace

extern const WrittenKernel topkrouter = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
