#include "infiniop/generated/written.h"
#include "op/cpu/written/vectors.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::swap;

Split split(const WrittenPlan& plan, const double*, int) { return split_pairs(plan); }

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  with_size(element_size(call.plan.tensor[tensor::x].dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    change_pairs<T>(call, tensor::x, tensor::y, first, last, [](T& x, T& y) {
      const T before = x;
      x = y;
      y = before;
    });
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel swap = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
