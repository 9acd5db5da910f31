#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::int8_gemm;

constexpr char kText[] =
#include "infiniop/generated/int8_gemm.cu.inc"
    ;
constexpr int kThreads = 256, kTile = 64;  // as the text

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const bool along_k = plan.tensor[tensor::weights].stride[0] == 1 || plan.tensor[tensor::weights].stride[1] != 1;
  return {alias("X", plan.tensor[tensor::out].dtype) +
              "constexpr bool kWeightsAlongK = " + (along_k ? "true" : "false") + ";\n",
          {"multiply_tiles"},
          0};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const unsigned blocks = blocks_for(plan.size[size::m], kTile) * blocks_for(plan.size[size::n], kTile);
  return {{"multiply_tiles", {blocks, 1, 1}, {kThreads, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_int8_gemm = {kText, program, launches};

}  // namespace infiniop::nvidia
