#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::fused_gated_delta_net_gating;

constexpr char kText[] =
#include "infiniop/generated/fused_gated_delta_net_gating.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::a].dtype), {"gates"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const int64_t items = plan.rest * plan.size[size::h];
  if (items == 0) return {};
  return {threads_for("gates", items)};
}

}  // namespace

extern const WrittenKernel written_fused_gated_delta_net_gating = {kText, program, launches};

}  // namespace infiniop::nvidia
