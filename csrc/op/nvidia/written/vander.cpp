#include "infiniop/generated/written.h"
#include "op/nvidia/written/places.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::vander;

constexpr char kText[] =
#include "infiniop/generated/places.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return place_program(
      plan, tensor::output, tensor::input, "VANDER",
      alias("X", plan.tensor[tensor::output].dtype) + "using Product = " +
          (is_whole(static_cast<infiniDtype_t>(plan.tensor[tensor::output].dtype)) ? "uint64_t" : "double") + ";\n");
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return place_launches(plan, tensor::output);
}

}  // namespace

extern const WrittenKernel written_vander = {kText, program, launches};

}  // namespace infiniop::nvidia
