#include "infiniop/generated/written.h"
#include "op/cpu/written/extreme.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::blas_amax;

Split split(const WrittenPlan& plan, const double*, int phase) { return split_extreme(plan, phase); }

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  return find_extreme(call, tensor::x, tensor::result, true, first, last);
}

}  // namespace

extern const WrittenKernel blas_amax = {split, run, 2, extreme_workspace};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
