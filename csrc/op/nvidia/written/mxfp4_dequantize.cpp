#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::mxfp4_dequantize;

constexpr char kText[] =
#include "infiniop/generated/mxfp4_dequantize.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::out].dtype), {"dequantize_mxfp4_bytes"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const int64_t bytes = plan.rest * plan.size[size::s] * 16;
  if (bytes == 0) return {};
  return {threads_for("dequantize_mxfp4_bytes", bytes)};
}

}  // namespace

extern const WrittenKernel written_mxfp4_dequantize = {kText, program, launches};

}  // namespace infiniop::nvidia
