#include "infiniop/generated/written.h"
#include "op/cpu/written/vectors.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::rot;

Split split(const WrittenPlan& plan, const double*, int) { return split_pairs(plan); }

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  with_float_type(call.plan.tensor[tensor::x].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const Wide<T> c = widen(*call.at<const T>(tensor::c)), s = widen(*call.at<const T>(tensor::s));
    change_pairs<T>(call, tensor::x, tensor::y, first, last, Turn<Wide<T>>{c, s, -s, c});
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel rot = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
