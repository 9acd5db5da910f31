#include "infiniop/generated/written.h"
#include "op/nvidia/written/places.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::triu;

constexpr char kText[] =
#include "infiniop/generated/places.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return place_program(plan, tensor::output, tensor::input, "TRIU",
                       moved_type("X", element_bytes(plan.tensor[tensor::output])));
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return place_launches(plan, tensor::output);
}

}  // namespace

extern const WrittenKernel written_triu = {kText, program, launches};

}  // namespace infiniop::nvidia
