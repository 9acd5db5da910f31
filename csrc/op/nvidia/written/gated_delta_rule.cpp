// RecurrentGatedDeltaRule and ChunkGatedDeltaRule.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/gated_delta_rule.cu.inc"
    ;
constexpr int64_t kRows = 4, kWarps = 4;  // as the text

std::string index_alias(const char* name, const TensorView& view) {
  return alias(name, view.is_given ? view.dtype : INFINI_DTYPE_I64);
}

std::vector<WrittenLaunch> over(int64_t heads, int64_t rows) {
  const int64_t warps = heads * ((rows + kRows - 1) / kRows);
  if (warps == 0) return {};
  const int64_t blocks = std::min<int64_t>((warps + kWarps - 1) / kWarps, 1 << 30);
  return {{"gated_delta_rows", {static_cast<unsigned>(blocks), 1, 1}, {32 * kWarps, 1, 1}}};
}

namespace recurrent {

using namespace infiniop::recurrent_gated_delta_rule;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::q].dtype) + alias("Gate", plan.tensor[tensor::g].dtype) +
              alias("Share", plan.tensor[tensor::beta].dtype) +
              index_alias("Initial", plan.tensor[tensor::initial_state_indices]) +
              index_alias("Final", plan.tensor[tensor::final_state_indices]) +
              "constexpr int kParts = " + std::to_string(std::max<int64_t>(1, (plan.size[size::dk] + 31) / 32)) + ";\n",
          {"gated_delta_rows"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return over(plan.size[size::b] * plan.size[size::hv], plan.size[size::dv]);
}

}  // namespace recurrent

namespace chunk {

using namespace infiniop::chunk_gated_delta_rule;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {"#define INFINIOP_CHUNKS\n" + alias("X", plan.tensor[tensor::q].dtype) +
              alias("Gate", plan.tensor[tensor::g].dtype) + alias("Share", plan.tensor[tensor::beta].dtype) +
              index_alias("Ends", plan.tensor[tensor::cu_seqlens]) +
              index_alias("Initial", plan.tensor[tensor::initial_state_indices]) +
              index_alias("Final", plan.tensor[tensor::final_state_indices]) +
              "constexpr int kParts = " + std::to_string(std::max<int64_t>(1, (plan.size[size::dk] + 31) / 32)) + ";\n",
          {"gated_delta_rows"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const int64_t requests = plan.tensor[tensor::cu_seqlens].is_given ? plan.size[size::c] - 1 : plan.size[size::b];
  return over(requests * plan.size[size::hv], plan.size[size::dv]);
}

}  // namespace chunk

}  // namespace

extern const WrittenKernel written_recurrent_gated_delta_rule = {kText, recurrent::program, recurrent::launches};
extern const WrittenKernel written_chunk_gated_delta_rule = {kText, chunk::program, chunk::launches};

}  // namespace infiniop::nvidia
