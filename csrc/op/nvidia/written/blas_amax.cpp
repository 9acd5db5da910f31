#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::blas_amax;

constexpr char kText[] =
#include "infiniop/generated/extreme.cu.inc"
    ;
constexpr int64_t kMostBlocks = kIndexThreads;  // a thread of the last block for each

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const TensorView& x = plan.tensor[tensor::x];
  return {"#define INFINIOP_LARGEST\n" + alias("X", x.dtype) + count_type(plan.rest) +
              "constexpr int kThreadsOfBlock = " + std::to_string(kIndexThreads) +
              ", kMostBlocks = " + std::to_string(kMostBlocks) +
              ";\nconstexpr bool kSideBySide = " + (is_run(x, 0) ? "true" : "false") + ";\n",
          {"look", "choose"},
          static_cast<size_t>(16 * kMostBlocks)};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  WrittenLaunch look = threads_for("look", plan.rest), choose = threads_for("choose", 1);
  look.grid[0] = std::min(look.grid[0], static_cast<unsigned>(kMostBlocks));
  return {look, choose};
}

}  // namespace

extern const WrittenKernel written_blas_amax = {kText, program, launches};

}  // namespace infiniop::nvidia
