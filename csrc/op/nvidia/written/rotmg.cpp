#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::rotmg;

constexpr char kText[] =
#include "infiniop/generated/vectors.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {"#define INFINIOP_ROTMG\nusing Count = unsigned;\n" + alias("X", plan.tensor[tensor::d1].dtype), {"run"}, 0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan&, const double*, void* const*) {
  return {{"run", {1, 1, 1}, {1, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_rotmg = {kText, program, launches};

}  // namespace infiniop::nvidia
