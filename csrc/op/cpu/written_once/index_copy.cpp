#include "infiniop/generated/written.h"
#include "op/cpu/written/index_updates.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::index_copy;

Split split(const WrittenPlan& plan, const double*, int phase) {
  return phase == 0 ? split_copy(plan, tensor::output, tensor::input) : split_updates(plan, plan.size[size::k]);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  if (call.phase == 0) {
    copy_some(call, tensor::output, tensor::input, first, last);
    return infinirtSuccess;
  }
  const WrittenPlan& plan = call.plan;
  return with_size(element_size(plan.tensor[tensor::output].dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return update_slices<T>(call, tensor::output, tensor::source, tensor::index, plan.size[size::k], plan.size[size::n],
                            first, last, Store{});
  });
}

}  // namespace

extern const WrittenKernel index_copy = {split, run, 2};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
