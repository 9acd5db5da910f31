#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::gather;

constexpr char kText[] =
#include "infiniop/generated/gather.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("Index", plan.tensor[tensor::index].dtype) + count_type(plan.rest) +
              moved_type("X", element_bytes(plan.tensor[tensor::output])),
          {"gather_elements"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return {threads_for("gather_elements", plan.rest)};
}

}  // namespace

extern const WrittenKernel written_gather = {kText, program, launches};

}  // namespace infiniop::nvidia
