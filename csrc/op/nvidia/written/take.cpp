#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::take;

constexpr char kText[] =
#include "infiniop/generated/gather.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {"#define INFINIOP_TAKE\n" + alias("Index", plan.tensor[tensor::indices].dtype) + count_type(plan.rest) +
              moved_type("X", element_bytes(plan.tensor[tensor::output])),
          {"gather_elements"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return {threads_for("gather_elements", plan.rest)};
}

}  // namespace

extern const WrittenKernel written_take = {kText, program, launches};

}  // namespace infiniop::nvidia
