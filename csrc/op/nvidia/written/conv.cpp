#include <algorithm>

#include "infiniop/generated/written.h"
#include "op/nvidia/written.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::conv;

constexpr char kText[] =
#include "infiniop/generated/conv.cu.inc"
    ;

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const SpatialView w = spatial_of(plan.tensor[tensor::w]);
  std::string variant = alias("X", plan.tensor[tensor::x].dtype);
  variant += "constexpr int kKernelD = " + std::to_string(w.size[0]) + ", kKernelH = " + std::to_string(w.size[1]) +
             ", kKernelW = " + std::to_string(w.size[2]) + ";\n";
  return {variant, {"multiply_tiles_64", "multiply_tiles_128", "sum_windows"}};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const SpatialView x = spatial_of(plan.tensor[tensor::x]), y = spatial_of(plan.tensor[tensor::y]);
  const SpatialView w = spatial_of(plan.tensor[tensor::w]);
  const int64_t groups = x.channels / w.channels, outputs = w.batch / groups;
  const int64_t places = y.batch * y.size[0] * y.size[1] * y.size[2];
  constexpr int64_t kMostRows = 65535;  // of blocks in a grid
  const auto tiles = [&](int64_t tile) { return groups * ((outputs + tile - 1) / tile); };
  if (outputs < 8 || tiles(64) > kMostRows) {
    constexpr int64_t kThreads = 256;
    const int64_t blocks = std::min<int64_t>((places * y.channels + kThreads - 1) / kThreads, int64_t{1} << 30);
    return {{"sum_windows", {static_cast<unsigned>(blocks), 1, 1}, {kThreads, 1, 1}}};
  }
  // Large tiles where they leave work for every processor.
  const bool is_large =
      plan.tensor[tensor::x].dtype != INFINI_DTYPE_F64 && outputs > 64 && tiles(128) * ((places + 127) / 128) >= 128;
  const int64_t tile = is_large ? 128 : 64;
  return {{is_large ? "multiply_tiles_128" : "multiply_tiles_64",
           {blocks_for(places, tile), static_cast<unsigned>(tiles(tile)), 1},
           {256, 1, 1}}};
}

}  // namespace

extern const WrittenKernel written_conv = {kText, program, launches};

}  // namespace infiniop::nvidia
