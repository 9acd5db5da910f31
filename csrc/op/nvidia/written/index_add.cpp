#include "infiniop/generated/written.h"
#include "op/nvidia/written/updates.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::index_add;

constexpr char kText[] =
#include "infiniop/generated/scatter.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return update_program(plan, tensor::output, tensor::input, tensor::index, tensor::source, "#define INFINIOP_ADD\n");
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const* addresses) {
  return update_launches(plan, tensor::output, tensor::input, elements_of(plan.tensor[tensor::source]), addresses);
}

}  // namespace

extern const WrittenKernel written_index_add = {kText, program, launches};

}  // namespace infiniop::nvidia
