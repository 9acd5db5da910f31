#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::mrope;

constexpr char kText[] =
#include "infiniop/generated/mrope.cu.inc"
    ;
constexpr int kThreads = 256;  // as elements.h

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::q].dtype) + alias("Index", plan.tensor[tensor::positions].dtype),
          {"turn_heads"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  const auto head_size = static_cast<int64_t>(attributes[attribute::head_size]);
  const int64_t heads = (plan.size[size::a] + plan.size[size::b]) / head_size;
  const int64_t items = plan.size[size::t] * heads * (head_size - plan.size[size::rotary_dim] / 2);
  const int64_t blocks = std::clamp<int64_t>((items + kThreads - 1) / kThreads, 1, 1 << 20);
  return {{"turn_heads", {static_cast<unsigned>(blocks), 1, 1}, {kThreads, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_mrope = {kText, program, launches};

}  // namespace infiniop::nvidia
