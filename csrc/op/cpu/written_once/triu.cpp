#include "infiniop/generated/written.h"
#include "op/cpu/written/triangle.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::triu;

Split split(const WrittenPlan& plan, const double*, int) {
  return split_rows(plan.rest * plan.size[size::n], plan.size[size::m]);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  return keep_triangle(call, tensor::output, tensor::input, call.plan.size[size::n], call.plan.size[size::m],
                       static_cast<int64_t>(call.attributes[attribute::diagonal]), false, first, last);
}

}  // namespace

extern const WrittenKernel triu = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
