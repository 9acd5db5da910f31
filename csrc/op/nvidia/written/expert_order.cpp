// PrepareMoeInput and MoeAlign.
#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/expert_order.cu.inc"
    ;
constexpr unsigned kBlockThreads = 256;  // as the text

std::vector<WrittenLaunch> in_order(int64_t groups) {
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(groups, 1 << 20));
  return {{"count_pairs", {blocks, 1, 1}, {kBlockThreads, 1, 1}},
          {"place_groups", {1, 1, 1}, {kBlockThreads, 1, 1}},
          {"place_pairs", {blocks, 1, 1}, {kBlockThreads, 1, 1}}};
}

namespace prepare {

using namespace infiniop::prepare_moe_input;

WrittenProgram program(const WrittenPlan&, const double* attributes) {
  return {"#define INFINIOP_PREPARE_INPUT\n",
          {"count_pairs", "place_groups", "place_pairs"},
          8 * static_cast<size_t>(attributes[attribute::num_experts])};
}

std::vector<WrittenLaunch> launches(const WrittenPlan&, const double* attributes, void* const*) {
  return in_order(static_cast<int64_t>(attributes[attribute::num_experts]));
}

}  // namespace prepare

namespace align {

using namespace infiniop::moe_align;

WrittenProgram program(const WrittenPlan&, const double* attributes) {
  return {"#define INFINIOP_ALIGN_BLOCKS\n",
          {"count_pairs", "place_groups", "place_pairs", "pad_blocks"},
          8 * (static_cast<size_t>(attributes[attribute::num_experts]) + 1)};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  std::vector<WrittenLaunch> all = in_order(static_cast<int64_t>(attributes[attribute::num_experts]) + 1);
  if (attributes[attribute::pad_sorted_token_ids] != 0 && plan.size[size::s] > 0) {
    all.insert(all.begin(), threads_for("pad_blocks", plan.size[size::s]));
  }
  return all;
}

}  // namespace align

}  // namespace

extern const WrittenKernel written_prepare_moe_input = {kText, prepare::program, prepare::launches};
extern const WrittenKernel written_moe_align = {kText, align::program, align::launches};

}  // namespace infiniop::nvidia
