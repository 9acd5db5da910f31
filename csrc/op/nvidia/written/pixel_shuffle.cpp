#include "infiniop/generated/written.h"
#include "op/nvidia/written/places.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::pixel_shuffle;

constexpr char kText[] =
#include "infiniop/generated/places.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return place_program(plan, tensor::y, tensor::x, "PIXEL_SHUFFLE",
                       moved_type("X", element_bytes(plan.tensor[tensor::y])));
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return place_launches(plan, tensor::y);
}

}  // namespace

extern const WrittenKernel written_pixel_shuffle = {kText, program, launches};

}  // namespace infiniop::nvidia
