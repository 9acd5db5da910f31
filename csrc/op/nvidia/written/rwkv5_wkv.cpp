#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::rwkv5_wkv;

constexpr char kText[] =
#include "infiniop/generated/rwkv5_wkv.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::key].dtype) +
              "constexpr int kSize = " + std::to_string(std::max<int64_t>(1, int64_t{plan.size[size::d]})) + ";\n",
          {"wkv_heads"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const int64_t heads = plan.size[size::b] * plan.size[size::h];
  if (heads == 0 || plan.size[size::d] == 0) return {};
  const auto threads = static_cast<unsigned>((plan.size[size::d] + 31) / 32 * 32);
  return {{"wkv_heads", {static_cast<unsigned>(std::min<int64_t>(heads, 1 << 30)), 1, 1}, {threads, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_rwkv5_wkv = {kText, program, launches};

}  // namespace infiniop::nvidia
