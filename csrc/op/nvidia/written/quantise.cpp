// Three operators share one text: quantised rows, quantised tensors, and the way back.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/quantise.cu.inc"
    ;
constexpr int kThreads = 256;  // as elements.h
constexpr int kRanges = 1024;  // blocks that look for the range of a tensor, 8 bytes of the workspace for each

std::string variant(int dtype) {
  return alias("X", dtype) + "constexpr int kRanges = " + std::to_string(kRanges) + ";\n";
}

WrittenLaunch over(const char* kernel, int64_t items, int64_t most) {
  const int64_t blocks = std::clamp<int64_t>((items + kThreads - 1) / kThreads, 1, most);
  return {kernel, {static_cast<unsigned>(blocks), 1, 1}, {kThreads, 1, 1}};
}

namespace rows {

using namespace infiniop::per_channel_quant_int8;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {variant(plan.tensor[tensor::x].dtype), {"quantise_rows"}, 0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const auto blocks = static_cast<unsigned>(std::clamp<int64_t>(plan.rest, 1, 1 << 20));
  return {{"quantise_rows", {blocks, 1, 1}, {kThreads, 1, 1}}};
}

}  // namespace rows

namespace whole {

using namespace infiniop::per_tensor_quant_int8;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {variant(plan.tensor[tensor::x].dtype), {"quantise_elements", "find_ranges", "settle_scale"}, 8 * kRanges};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  std::vector<WrittenLaunch> all;
  if (attributes[attribute::is_static] == 0) {
    // All of them, so that none of the ranges is left as it was.
    all.push_back({"find_ranges", {kRanges, 1, 1}, {kThreads, 1, 1}});
    all.push_back({"settle_scale", {1, 1, 1}, {kThreads, 1, 1}});
  }
  all.push_back(over("quantise_elements", plan.rest, 1 << 20));
  return all;
}

}  // namespace whole

namespace back {

using namespace infiniop::per_tensor_dequant_int8;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {variant(plan.tensor[tensor::x].dtype), {"widen_elements"}, 0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return {over("widen_elements", plan.rest, 1 << 20)};
}

}  // namespace back

}  // namespace

extern const WrittenKernel written_per_channel_quant_int8 = {kText, rows::program, rows::launches};
extern const WrittenKernel written_per_tensor_quant_int8 = {kText, whole::program, whole::launches};
extern const WrittenKernel written_per_tensor_dequant_int8 = {kText, back::program, back::launches};

}  // namespace infiniop::nvidia
