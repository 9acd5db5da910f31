#include "infiniop/generated/written.h"
#include "op/cpu/written/index_updates.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::index_add;

Split split(const WrittenPlan& plan, const double*, int phase) {
  return phase == 0 ? split_copy(plan, tensor::output, tensor::input) : split_updates(plan, plan.size[size::k]);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  if (call.phase == 0) {
    copy_some(call, tensor::output, tensor::input, first, last);
    return infinirtSuccess;
  }
  const WrittenPlan& plan = call.plan;
  return with_number_type(plan.tensor[tensor::output].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto add = [&](auto update) {
      return update_slices<T>(call, tensor::output, tensor::source, tensor::index, plan.size[size::k],
                              plan.size[size::n], first, last, update);
    };
    const double alpha = call.attributes[attribute::alpha];
    using C = Wide<T>;
    const bool is_whole = C(1) / C(2) == C(0);  // what is negative wraps around in types without a sign
    return alpha == 1 ? add(Add{}) : add(AddTimes<C>{is_whole ? C(static_cast<int64_t>(alpha)) : C(alpha)});
  });
}

}  // namespace

extern const WrittenKernel index_add = {split, run, 2};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
