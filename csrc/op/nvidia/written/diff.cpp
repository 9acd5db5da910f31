#include "infiniop/generated/written.h"
#include "op/nvidia/written/places.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::diff;

constexpr char kText[] =
#include "infiniop/generated/places.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return place_program(plan, tensor::y, tensor::x, "DIFF", alias("X", plan.tensor[tensor::y].dtype));
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return place_launches(plan, tensor::y);
}

}  // namespace

extern const WrittenKernel written_diff = {kText, program, launches};

}  // namespace infiniop::nvidia
