// Three operators share one text: CrossEntropy, MultiMarginLoss and TripletMarginLoss.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/row_losses.cu.inc"
    ;
constexpr int kThreads = 256;  // as elements.h

WrittenLaunch a_block_a_row(const char* kernel, int64_t rows) {
  return {kernel, {static_cast<unsigned>(std::clamp<int64_t>(rows, 1, 1 << 20)), 1, 1}, {kThreads, 1, 1}};
}

namespace classes {

using namespace infiniop::cross_entropy;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::x].dtype) + alias("Index", plan.tensor[tensor::target].dtype),
          {"cross_entropy_rows"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return {a_block_a_row("cross_entropy_rows", plan.rest)};
}

}  // namespace classes

namespace triplets {

using namespace infiniop::triplet_margin_loss;

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  const size_t workspace = attributes[attribute::reduction] == 0 ? 0 : 8 * static_cast<size_t>(plan.rest);
  return {alias("X", plan.tensor[tensor::anchor].dtype) + "using Index = int;\n",
          {"triplet_rows", "finish_triplets"},
          workspace};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  std::vector<WrittenLaunch> all = {a_block_a_row("triplet_rows", plan.rest)};
  if (attributes[attribute::reduction] != 0) all.push_back({"finish_triplets", {1, 1, 1}, {kThreads, 1, 1}});
  return all;
}

}  // namespace triplets

namespace margins {

using namespace infiniop::multi_margin_loss;

WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  const size_t workspace = attributes[attribute::reduction] == 0 ? 0 : 8 * static_cast<size_t>(plan.rest);
  return {alias("X", plan.tensor[tensor::input].dtype) + alias("Index", plan.tensor[tensor::target].dtype),
          {"margin_rows", "finish_margins"},
          workspace};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  std::vector<WrittenLaunch> all = {a_block_a_row("margin_rows", plan.rest)};
  if (attributes[attribute::reduction] != 0) all.push_back({"finish_margins", {1, 1, 1}, {kThreads, 1, 1}});
  return all;
}

}  // namespace margins

}  // namespace

extern const WrittenKernel written_cross_entropy = {kText, classes::program, classes::launches};
extern const WrittenKernel written_multi_margin_loss = {kText, margins::program, margins::launches};
extern const WrittenKernel written_triplet_margin_loss = {kText, triplets::program, triplets::launches};

}  // namespace infiniop::nvidia
