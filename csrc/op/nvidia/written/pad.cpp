#include "infiniop/generated/written.h"
#include "op/nvidia/written/places.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::pad;

constexpr char kText[] =
#include "infiniop/generated/places.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  return place_program(plan, tensor::y, tensor::x, "PAD",
                       alias("X", plan.tensor[tensor::y].dtype) +
                           "constexpr int kMode = " + std::to_string(static_cast<int>(attributes[attribute::mode])) +
                           ";\nconstexpr bool kTruth = " +
                           (plan.tensor[tensor::y].dtype == INFINI_DTYPE_BOOL ? "true" : "false") + ";\n");
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return place_launches(plan, tensor::y);
}

}  // namespace

extern const WrittenKernel written_pad = {kText, program, launches};

}  // namespace infiniop::nvidia
