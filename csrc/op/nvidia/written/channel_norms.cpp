#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/channel_norms.cu.inc"
    ;

WrittenProgram program_of(const char* kind, const WrittenPlan& plan, int x) {
  return {std::string("#define INFINIOP_") + kind + "\n" + alias("X", plan.tensor[x].dtype), {"normalise"}};
}

std::vector<WrittenLaunch> by_threads(int64_t elements) {
  const int64_t blocks = std::min<int64_t>((elements + 255) / 256, int64_t{1} << 30);
  return {{"normalise", {static_cast<unsigned>(blocks), 1, 1}, {256, 1, 1}}};
}

// A block for each channel or group; many threads where there are many elements.
std::vector<WrittenLaunch> by_blocks(int64_t pieces, int64_t elements) {
  const auto threads = static_cast<unsigned>(std::clamp<int64_t>((elements / 4 + 31) / 32 * 32, 32, 1024));
  return {{"normalise", {static_cast<unsigned>(std::min<int64_t>(pieces, int64_t{1} << 30)), 1, 1}, {threads, 1, 1}}};
}

WrittenProgram batch_norm_program(const WrittenPlan& plan, const double*) {
  return program_of("BATCH_NORM", plan, batch_norm::tensor::x);
}
std::vector<WrittenLaunch> batch_norm_launches(const WrittenPlan& plan, const double*, void* const*) {
  return by_threads(plan.size[batch_norm::size::b] * plan.size[batch_norm::size::c] * plan.rest);
}

WrittenProgram training_program(const WrittenPlan& plan, const double*) {
  return program_of("TRAINING", plan, batch_norm_training::tensor::x);
}
std::vector<WrittenLaunch> training_launches(const WrittenPlan& plan, const double*, void* const*) {
  namespace size = batch_norm_training::size;
  return by_blocks(plan.size[size::c], plan.size[size::b] * plan.rest);
}

WrittenProgram group_program(const WrittenPlan& plan, const double*) {
  return program_of("GROUP", plan, group_norm::tensor::x);
}
std::vector<WrittenLaunch> group_launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  const auto groups = static_cast<int64_t>(attributes[group_norm::attribute::num_groups]);
  return by_blocks(plan.size[group_norm::size::b] * groups, plan.size[group_norm::size::c] / groups * plan.rest);
}

WrittenProgram response_program(const WrittenPlan& plan, const double*) {
  return program_of("RESPONSE", plan, local_response_norm::tensor::x);
}
std::vector<WrittenLaunch> response_launches(const WrittenPlan& plan, const double*, void* const*) {
  namespace size = local_response_norm::size;
  return by_threads(plan.size[size::b] * plan.size[size::c] * plan.rest);
}

}  // namespace

extern const WrittenKernel written_batch_norm = {kText, batch_norm_program, batch_norm_launches};
extern const WrittenKernel written_batch_norm_training = {kText, training_program, training_launches};
extern const WrittenKernel written_group_norm = {kText, group_program, group_launches};
extern const WrittenKernel written_local_response_norm = {kText, response_program, response_launches};

}  // namespace infiniop::nvidia
