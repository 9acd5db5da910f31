// Two operators share one text: FusedMoe and MoeSum.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/experts.cu.inc"
    ;
constexpr int kThreads = 256, kTile = 64;  // as the text

unsigned within(int64_t blocks) { return static_cast<unsigned>(std::clamp<int64_t>(blocks, 1, 1 << 30)); }

namespace fused {

using namespace infiniop::fused_moe;

// Up to so many pairs of a token and an expert each reads its weights itself.
constexpr int64_t kFewPairs = 64;

int64_t pairs_of(const WrittenPlan& plan) { return plan.size[size::t] * plan.size[size::k]; }

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const int64_t pairs = pairs_of(plan), experts = plan.size[size::e];
  const int64_t words = experts + 1 + pairs + pairs * (plan.size[size::i] + plan.size[size::h]);
  return {
      alias("X", plan.tensor[tensor::out].dtype) + alias("Index", plan.tensor[tensor::token_selected_experts].dtype),
      {"add_experts", "route_pairs", "first_by_warps", "second_by_warps", "first_by_tiles", "second_by_tiles"},
      4 * static_cast<size_t>(words)};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const int64_t pairs = pairs_of(plan), inner = plan.size[size::i], width = plan.size[size::h];
  std::vector<WrittenLaunch> all;
  constexpr int64_t kWarps = kThreads / 32;
  if (pairs > 0 && pairs <= kFewPairs) {
    all.push_back({"first_by_warps", {within((pairs * inner + kWarps - 1) / kWarps), 1, 1}, {kThreads, 1, 1}});
    all.push_back({"second_by_warps", {within((pairs * width + kWarps - 1) / kWarps), 1, 1}, {kThreads, 1, 1}});
  } else if (pairs > 0) {
    // An expert's last tile may be a part.
    const unsigned tiles =
        static_cast<unsigned>(std::min<int64_t>(65535, std::min<int64_t>(pairs, pairs / kTile + plan.size[size::e])));
    all.push_back({"route_pairs", {1, 1, 1}, {kThreads, 1, 1}});
    all.push_back({"first_by_tiles", {blocks_for(inner, kTile), tiles, 1}, {kThreads, 1, 1}});
    all.push_back({"second_by_tiles", {blocks_for(width, kTile), tiles, 1}, {kThreads, 1, 1}});
  }
  all.push_back(
      {"add_experts", {within((plan.size[size::t] * width + kThreads - 1) / kThreads), 1, 1}, {kThreads, 1, 1}});
  return all;
}

}  // namespace fused

namespace summed {

using namespace infiniop::moe_sum;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::output].dtype) + "using Index = int;\n", {"sum_experts"}, 0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const int64_t elements = plan.size[size::t] * plan.size[size::h];
  return {{"sum_experts", {within((elements + kThreads - 1) / kThreads), 1, 1}, {kThreads, 1, 1}}};
}

}  // namespace summed

}  // namespace

extern const WrittenKernel written_fused_moe = {kText, fused::program, fused::launches};
extern const WrittenKernel written_moe_sum = {kText, summed::program, summed::launches};

}  // namespace infiniop::nvidia
