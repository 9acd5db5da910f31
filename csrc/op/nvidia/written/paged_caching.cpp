#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::paged_caching;

constexpr char kText[] =
#include "infiniop/generated/caching.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {"#define INFINIOP_CACHING_PAGED\n" + alias("X", plan.tensor[tensor::k].dtype) +
              alias("Index", plan.tensor[tensor::slot_mapping].dtype),
          {"store"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const int64_t rows = plan.size[size::t] * plan.size[size::h];
  return {{"store", {static_cast<unsigned>(std::clamp<int64_t>(rows, 1, 1 << 20)), 1, 1}, {64, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_paged_caching = {kText, program, launches};

}  // namespace infiniop::nvidia
