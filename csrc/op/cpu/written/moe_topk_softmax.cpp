#include "infiniop/generated/written.h"
#include "op/cpu/written/routing.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::moe_topk_softmax;

Split split(const WrittenPlan& plan, const double*, int) {
  return split_tokens(plan.size[size::t], plan.size[size::n]);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  Routing routing;
  routing.by_softmax = true;
  routing.cap = call.attributes[attribute::moe_softcapping];
  routing.chosen = call.plan.size[size::k];
  routing.renormalize = call.attributes[attribute::renormalize] != 0;
  return route(call,
               {tensor::gating_output, tensor::correction_bias, tensor::topk_weights, tensor::topk_indices,
                call.plan.size[size::n]},
               routing, first, last);
}

}  // namespace

extern const WrittenKernel moe_topk_softmax = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
