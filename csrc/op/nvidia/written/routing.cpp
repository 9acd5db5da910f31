#include "op/nvidia/written/routing.h"

#include <algorithm>

namespace infiniop::nvidia {

extern const char kRoutingText[] =
#include "infiniop/generated/routing.cu.inc"
    ;

namespace {

constexpr int kInput = 2;

// Of one warp: scores, keys, and sums of groups.
int64_t memory_of(const WrittenPlan& plan, int64_t groups) { return (2 * plan.tensor[kInput].shape[1] + groups) * 4; }

int64_t warps_of(const WrittenPlan& plan, int64_t groups) {
  return std::clamp<int64_t>(48 * 1024 / std::max<int64_t>(1, memory_of(plan, groups)), 1, 4);
}

}  // namespace

WrittenProgram routing_program(const WrittenPlan& plan, const char* kind, int64_t groups) {
  const std::string text = alias("X", plan.tensor[kInput].dtype) + "#define INFINIOP_ROUTE_" + kind + "\n";
  WrittenProgram program{text, {"route_tokens"}};
  const int64_t memory = memory_of(plan, groups) * warps_of(plan, groups);
  if (memory > 48 * 1024) program.shared = static_cast<size_t>(memory);
  return program;
}

std::vector<WrittenLaunch> routing_launches(const WrittenPlan& plan, int64_t groups) {
  const int64_t tokens = plan.tensor[kInput].shape[0], warps = warps_of(plan, groups);
  if (tokens == 0) return {};
  const auto blocks = static_cast<unsigned>(std::min<int64_t>((tokens + warps - 1) / warps, 1 << 30));
  return {{"route_tokens",
           {blocks, 1, 1},
           {static_cast<unsigned>(32 * warps), 1, 1},
           static_cast<size_t>(memory_of(plan, groups) * warps)}};
}

}  // namespace infiniop::nvidia
