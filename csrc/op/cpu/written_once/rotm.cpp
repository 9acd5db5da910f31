#include "infiniop/generated/written.h"
#include "op/cpu/written/vectors.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::rotm;

Split split(const WrittenPlan& plan, const double*, int) { return split_pairs(plan); }

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const int64_t step = call.plan.tensor[tensor::param].stride[0];
  with_float_type(call.plan.tensor[tensor::x].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    const auto number = [&](int i) { return C(widen(call.at<const T>(tensor::param)[i * step])); };
    const C flag = number(0);
    if (flag == C(-2)) return;
    // Elements that the flag names are not read.
    const C h11 = flag == 0 ? C(1) : number(1), h22 = flag == 0 ? C(1) : number(4);
    const C h21 = flag > 0 ? C(-1) : number(2), h12 = flag > 0 ? C(1) : number(3);
    change_pairs<T>(call, tensor::x, tensor::y, first, last, Turn<C>{h11, h12, h21, h22});
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel rotm = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
