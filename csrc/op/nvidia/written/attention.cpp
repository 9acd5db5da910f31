#include "op/nvidia/written/attention.h"
#include "infiniop/generated/written.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::attention;

AttentionCall call_of(const WrittenPlan& plan, const double* attributes) {
  return {"CACHED",
          tensor::q,
          tensor::k_cache,
          tensor::v_cache,
          tensor::out,
          size::h,
          size::g,
          size::d,
          size::d,
          1,
          plan.size[size::q],
          static_cast<int64_t>(attributes[attribute::pos]) + plan.size[size::q],
          1};
}

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  return attention_program(call_of(plan, attributes), plan);
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const* addresses) {
  return attention_launches(call_of(plan, attributes), plan, addresses);
}

}  // namespace

extern const WrittenKernel written_attention = {kAttentionText, program, launches};

}  // namespace infiniop::nvidia
