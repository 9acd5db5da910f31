#include "infiniop/generated/written.h"
#include "op/cpu/written/routing.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::topksoftmax;

Split split(const WrittenPlan& plan, const double*, int) {
  return split_tokens(plan.size[size::t], plan.size[size::n]);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  Routing routing;
  routing.by_softmax = true;
  routing.chosen = static_cast<int64_t>(call.attributes[attribute::topk]);
  routing.renormalize = call.attributes[attribute::norm] != 0;
  return route(call, {tensor::x, -1, tensor::values, tensor::indices, call.plan.size[size::n]}, routing, first, last);
}

}  // namespace

extern const WrittenKernel topksoftmax = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
