#include "infiniop/generated/written.h"
#include "op/nvidia/written/updates.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::scatter;

constexpr char kText[] =
#include "infiniop/generated/scatter.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  constexpr const char* kHow[] = {"STORE", "ADD", "MULTIPLY"};
  const auto reduction = static_cast<int>(attributes[attribute::reduction]);
  return update_program(plan, tensor::output, tensor::input, tensor::indices, tensor::updates,
                        std::string("#define INFINIOP_SCATTER\n#define INFINIOP_") + kHow[reduction] + "\n");
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const* addresses) {
  return update_launches(plan, tensor::output, tensor::input, elements_of(plan.tensor[tensor::indices]), addresses);
}

}  // namespace

extern const WrittenKernel written_scatter = {kText, program, launches};

}  // namespace infiniop::nvidia
