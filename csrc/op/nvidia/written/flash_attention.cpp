#include "infiniop/generated/written.h"
#include "op/nvidia/written/attention.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::flash_attention;

AttentionCall call_of(const WrittenPlan& plan, const double* attributes) {
  return {"FLASH",
          tensor::q,
          tensor::k,
          tensor::v,
          tensor::out,
          size::h,
          size::g,
          size::d,
          size::e,
          plan.size[size::b],
          plan.size[size::q],
          plan.size[size::s],
          attributes[attribute::scale]};
}

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  return attention_program(call_of(plan, attributes), plan);
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const* addresses) {
  return attention_launches(call_of(plan, attributes), plan, addresses);
}

}  // namespace

extern const WrittenKernel written_flash_attention = {kAttentionText, program, launches};

}  // namespace infiniop::nvidia
