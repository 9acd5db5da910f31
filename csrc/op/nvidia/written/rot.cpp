#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::rot;

constexpr char kText[] =
#include "infiniop/generated/vectors.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const TensorView &x = plan.tensor[tensor::x], &y = plan.tensor[tensor::y];
  const bool side_by_side = is_run(x, 0) && is_run(y, 0);
  return {std::string("#define INFINIOP_ROT\nconstexpr bool kSideBySide = ") + (side_by_side ? "true" : "false") +
              ";\n" + count_type(plan.rest) + alias("X", x.dtype),
          {"run"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const TensorView& x = plan.tensor[tensor::x];
  const bool in_packs = is_run(x, 0) && is_run(plan.tensor[tensor::y], 0);
  return {threads_for("run", in_packs ? plan.rest * element_bytes(x) / 16 : plan.rest)};
}

}  // namespace

extern const WrittenKernel written_rot = {kText, program, launches};

}  // namespace infiniop::nvidia
