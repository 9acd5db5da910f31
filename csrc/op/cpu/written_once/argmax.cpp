#include "op/cpu/written/extremes.h"

#include "infiniop/generated/written.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::argmax;

// Items are rows.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.before * plan.after, rows_worth(32768, plan.size[size::n])};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  return find_extremes<Order::Descending>(call, tensor::input, tensor::indices, call.plan.size[size::n], first, last);
}

}  // namespace

extern const WrittenKernel argmax = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
