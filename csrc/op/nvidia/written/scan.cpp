#include "op/nvidia/written/scan.h"

#include <algorithm>

namespace infiniop::nvidia {

extern const char kScanText[] =
#include "infiniop/generated/scan.cu.inc"
    ;

namespace {

constexpr int kInput = 1;

}  // namespace

WrittenProgram scan_program(const WrittenPlan& plan, const char* kind, bool exclusive, bool reverse) {
  std::string text = alias("X", plan.tensor[kInput].dtype) + "#define INFINIOP_SCAN_" + kind + "\n";
  text += std::string("constexpr bool kExclusive = ") + (exclusive ? "true" : "false") + ";\n";
  text += std::string("constexpr bool kReverse = ") + (reverse ? "true" : "false") + ";\n";
  return {text, {"scan_by_blocks", "scan_by_threads"}};
}

std::vector<WrittenLaunch> scan_launches(const WrittenPlan& plan) {
  const TensorView& input = plan.tensor[kInput];
  const int64_t rows = plan.before * plan.after, count = input.shape[plan.dim];
  if (rows == 0 || count == 0) return {};
  const auto grid = [&](int64_t per_block) {
    return static_cast<unsigned>(std::clamp<int64_t>((rows + per_block - 1) / per_block, 1, 1 << 30));
  };
  if ((input.stride[plan.dim] != 1 && plan.after > 1 && rows >= 4096) || count <= 16) {
    return {{"scan_by_threads", {grid(128), 1, 1}, {128, 1, 1}}};
  }
  const auto threads = static_cast<unsigned>(std::clamp<int64_t>((count + 255) / 256 * 32, 32, 512));
  return {{"scan_by_blocks", {grid(1), 1, 1}, {threads, 1, 1}}};
}

}  // namespace infiniop::nvidia
