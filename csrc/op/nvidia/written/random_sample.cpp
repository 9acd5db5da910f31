#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::random_sample;

constexpr char kText[] =
#include "infiniop/generated/comparing.cuh.inc"
#include "infiniop/generated/sample.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::probs].dtype) + alias("Result", plan.tensor[tensor::result].dtype),
          {"draw_rows"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const auto threads = static_cast<unsigned>(std::clamp<int64_t>(plan.size[size::n] / 8 / 32 * 32, 64, 1024));
  return {{"draw_rows", {static_cast<unsigned>(std::min<int64_t>(plan.rest, 1 << 30)), 1, 1}, {threads, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_random_sample = {kText, program, launches};

}  // namespace infiniop::nvidia
