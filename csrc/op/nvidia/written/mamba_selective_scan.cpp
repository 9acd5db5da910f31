#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::mamba_selective_scan;

constexpr char kText[] =
#include "infiniop/generated/mamba_selective_scan.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::x].dtype) +
              "constexpr int kStates = " + std::to_string(std::max<int64_t>(1, int64_t{plan.size[size::s]})) + ";\n",
          {"scan_channels"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const int64_t channels = plan.size[size::n] * plan.size[size::i];
  if (channels == 0) return {};
  // Few threads a block: there are few channels, and each has a long way.
  WrittenLaunch launch = threads_for("scan_channels", 4 * channels);
  launch.block[0] = 64;
  return {launch};
}

}  // namespace

extern const WrittenKernel written_mamba_selective_scan = {kText, program, launches};

}  // namespace infiniop::nvidia
