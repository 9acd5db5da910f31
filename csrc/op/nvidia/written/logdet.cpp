#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::logdet;

constexpr char kText[] =
#include "infiniop/generated/logdet.cu.inc"
    ;
constexpr unsigned kThreads = 256;  // as elements.h

// As many matrices at once as keep a GPU busy; each needs its own part of the workspace.
int64_t blocks_of(const WrittenPlan& plan) { return std::min<int64_t>(plan.rest, 512); }

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const auto n = static_cast<size_t>(plan.size[size::n]);
  return {alias("X", plan.tensor[tensor::x].dtype),
          {"logarithms_of_determinants"},
          8 * n * n * static_cast<size_t>(blocks_of(plan))};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  if (plan.rest == 0) return {};
  return {{"logarithms_of_determinants", {static_cast<unsigned>(blocks_of(plan)), 1, 1}, {kThreads, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_logdet = {kText, program, launches};

}  // namespace infiniop::nvidia
