#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::causal_conv1d;

constexpr char kText[] =
#include "infiniop/generated/causal_conv1d.cu.inc"
    ;

std::string index_alias(const char* name, const TensorView& view) {
  return alias(name, view.is_given ? view.dtype : INFINI_DTYPE_I64);
}

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::qkv].dtype) + index_alias("Ends", plan.tensor[tensor::cu_seqlens]) +
              index_alias("Initial", plan.tensor[tensor::initial_state_indices]) +
              index_alias("Final", plan.tensor[tensor::final_state_indices]),
          {"convolve_tokens", "keep_states"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const int64_t channels = plan.size[size::c], tokens = plan.size[size::b] * plan.size[size::t];
  const int64_t sequences = plan.tensor[tensor::cu_seqlens].is_given ? plan.size[size::q] - 1 : plan.size[size::b];
  const bool keeps =
      plan.tensor[tensor::final_conv_state].is_given || plan.tensor[tensor::final_state_indices].is_given;
  std::vector<WrittenLaunch> all;
  if (tokens * channels > 0) all.push_back(threads_for("convolve_tokens", tokens * channels));
  if (keeps && sequences * channels > 0 && plan.size[size::s] > 0) {
    all.push_back(threads_for("keep_states", sequences * channels));
  }
  return all;
}

}  // namespace

extern const WrittenKernel written_causal_conv1d = {kText, program, launches};

}  // namespace infiniop::nvidia
