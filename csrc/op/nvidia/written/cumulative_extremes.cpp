// Cummax and Cummin.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/comparing.cuh.inc"
#include "infiniop/generated/cumulative_extremes.cu.inc"
    ;
constexpr int kIndices = 1, kInput = 2;

WrittenProgram program_of(const WrittenPlan& plan, bool largest) {
  const int dtype = plan.tensor[kInput].dtype;
  const bool is_float = !is_whole(static_cast<infiniDtype_t>(dtype));
  return {alias("X", dtype) + alias("Index", plan.tensor[kIndices].dtype) + "constexpr bool kIsFloat = " +
              (is_float ? "true" : "false") + ", kLargest = " + (largest ? "true" : "false") + ";\n",
          {"extremes_by_blocks", "extremes_by_threads"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const TensorView& input = plan.tensor[kInput];
  const int64_t rows = plan.before * plan.after, count = input.shape[plan.dim];
  if (rows == 0 || count == 0) return {};
  const auto grid = [&](int64_t per_block) {
    return static_cast<unsigned>(std::clamp<int64_t>((rows + per_block - 1) / per_block, 1, 1 << 30));
  };
  if ((input.stride[plan.dim] != 1 && plan.after > 1 && rows >= 4096) || count <= 16) {
    return {{"extremes_by_threads", {grid(128), 1, 1}, {128, 1, 1}}};
  }
  const auto threads = static_cast<unsigned>(std::clamp<int64_t>((count + 31) / 32 * 32, 32, 512));
  return {{"extremes_by_blocks", {grid(1), 1, 1}, {threads, 1, 1}}};
}

WrittenProgram largest(const WrittenPlan& plan, const double*) { return program_of(plan, true); }
WrittenProgram smallest(const WrittenPlan& plan, const double*) { return program_of(plan, false); }

}  // namespace

extern const WrittenKernel written_cummax = {kText, largest, launches};
extern const WrittenKernel written_cummin = {kText, smallest, launches};

}  // namespace infiniop::nvidia
