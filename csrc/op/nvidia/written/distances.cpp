// Cdist and Dist.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/distances.cu.inc"
    ;
constexpr int64_t kThreads = 256, kTile = 16;  // as elements.h and the text

std::string variant(int dtype, bool side_by_side, int64_t pieces) {
  return alias("X", dtype) + "constexpr bool kSideBySide = " + (side_by_side ? "true" : "false") +
         ";\nconstexpr long long kPieces = " + std::to_string(pieces) + ";\n";
}

namespace pairs {

using namespace infiniop::cdist;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {variant(plan.tensor[tensor::x1].dtype, true, 1), {"distances_of_rows"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const int64_t tiles =
      plan.rest * ((plan.size[size::m] + kTile - 1) / kTile) * ((plan.size[size::n] + kTile - 1) / kTile);
  if (tiles == 0) return {};
  return {{"distances_of_rows", {static_cast<unsigned>(std::min<int64_t>(tiles, 1 << 30)), 1, 1}, {kThreads, 1, 1}}};
}

}  // namespace pairs

namespace whole {

using namespace infiniop::dist;

// A power of two, so that few programs are compiled.
int64_t pieces_of(const WrittenPlan& plan) {
  int64_t pieces = 1;
  while (pieces < 1024 && pieces * kThreads * 16 < plan.rest) pieces *= 2;
  return pieces;
}

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const TensorView &x1 = plan.tensor[tensor::x1], &x2 = plan.tensor[tensor::x2];
  return {variant(x1.dtype, is_run(x1, 0) && is_run(x2, 0), pieces_of(plan)),
          {"distance_pieces", "finish_distance"},
          static_cast<size_t>(8 * pieces_of(plan))};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return {{"distance_pieces", {static_cast<unsigned>(pieces_of(plan)), 1, 1}, {kThreads, 1, 1}},
          {"finish_distance", {1, 1, 1}, {kThreads, 1, 1}}};
}

}  // namespace whole

}  // namespace

extern const WrittenKernel written_cdist = {kText, pairs::program, pairs::launches};
extern const WrittenKernel written_dist = {kText, whole::program, whole::launches};

}  // namespace infiniop::nvidia
