#include "infiniop/generated/written.h"
#include "op/nvidia/written/attention.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::paged_attention_prefill;

AttentionCall call_of(const WrittenPlan& plan, const double* attributes) {
  return {"PREFILL",
          tensor::q,
          tensor::k_cache,
          tensor::v_cache,
          tensor::out,
          size::h,
          size::g,
          size::d,
          size::e,
          plan.size[size::s],
          plan.size[size::t],
          plan.size[size::u] * plan.size[size::p],
          attributes[attribute::scale]};
}

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  return attention_program(call_of(plan, attributes), plan);
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const* addresses) {
  return attention_launches(call_of(plan, attributes), plan, addresses);
}

}  // namespace

extern const WrittenKernel written_paged_attention_prefill = {kAttentionText, program, launches};

}  // namespace infiniop::nvidia
