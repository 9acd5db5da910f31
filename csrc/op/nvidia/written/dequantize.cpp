// Two operators share one text: weights as AutoAWQ packs them, and as GPTQ does.
#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/dequantize.cu.inc"
    ;
constexpr int kThreads = 256;  // as elements.h

std::vector<WrittenLaunch> over(const char* kernel, int64_t items) {
  const int64_t blocks = std::clamp<int64_t>((items + kThreads - 1) / kThreads, 1, 1 << 20);
  return {{kernel, {static_cast<unsigned>(blocks), 1, 1}, {kThreads, 1, 1}}};
}

namespace awq {

using namespace infiniop::dequantize_awq;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::out].dtype) + "using Index = int;\n", {"dequantize_awq_elements"}, 0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return over("dequantize_awq_elements", plan.size[size::k] * plan.size[size::w] * 8);
}

}  // namespace awq

namespace gptq {

using namespace infiniop::dequantize_gptq;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  return {alias("X", plan.tensor[tensor::out].dtype) + alias("Index", plan.tensor[tensor::g_idx].dtype),
          {"dequantize_gptq_elements"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  return over("dequantize_gptq_elements", plan.size[size::k] * plan.size[size::n]);
}

}  // namespace gptq

}  // namespace

extern const WrittenKernel written_dequantize_awq = {kText, awq::program, awq::launches};
extern const WrittenKernel written_dequantize_gptq = {kText, gptq::program, gptq::launches};

}  // namespace infiniop::nvidia
