#include "op/nvidia/written/extremes.h"

#include <algorithm>

#include "infinicore.h"

namespace infiniop::nvidia {

extern const char kExtremesText[] =
#include "infiniop/generated/comparing.cuh.inc"
#include "infiniop/generated/extremes.cu.inc"
    ;

namespace {

constexpr int kIndices = 0, kInput = 1;  // tensors

bool is_float(int dtype) {
  return dtype == INFINI_DTYPE_F8 || dtype == INFINI_DTYPE_F16 || dtype == INFINI_DTYPE_BF16 ||
         dtype == INFINI_DTYPE_F32 || dtype == INFINI_DTYPE_F64;
}

}  // namespace

WrittenProgram extremes_program(const WrittenPlan& plan, bool largest) {
  std::string text = alias("X", plan.tensor[kInput].dtype) + alias("Index", plan.tensor[kIndices].dtype);
  text += std::string("constexpr bool kLargest = ") + (largest ? "true" : "false") + ";\n";
  text += std::string("constexpr bool kIsFloat = ") + (is_float(plan.tensor[kInput].dtype) ? "true" : "false") + ";\n";
  return {text, {"extremes_by_warps", "extremes_by_blocks", "extremes_by_threads"}};
}

std::vector<WrittenLaunch> extremes_launches(const WrittenPlan& plan) {
  const TensorView& input = plan.tensor[kInput];
  const int64_t rows = plan.before * plan.after, count = input.shape[plan.dim];
  constexpr int64_t kMostBlocks = 1 << 30;
  const auto grid = [&](int64_t per_block) {
    return static_cast<unsigned>(std::clamp<int64_t>((rows + per_block - 1) / per_block, 1, kMostBlocks));
  };
  if (input.stride[plan.dim] != 1 && plan.after > 1 && rows >= 4096) {
    return {{"extremes_by_threads", {grid(128), 1, 1}, {128, 1, 1}}};
  }
  if (count <= 2048 && rows > 32) return {{"extremes_by_warps", {grid(8), 1, 1}, {256, 1, 1}}};
  const auto threads = static_cast<unsigned>(std::clamp<int64_t>(count / 8 / 32 * 32, 64, 1024));
  return {{"extremes_by_blocks", {grid(1), 1, 1}, {threads, 1, 1}}};
}

}  // namespace infiniop::nvidia
