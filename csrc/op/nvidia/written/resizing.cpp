#include <algorithm>
#include <cstdio>

#include "op/nvidia/written.h"
#include "op/resizing_choice.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/resizing.cu.inc"
    ;
constexpr int64_t kThreads = 256;

std::string head(const WrittenPlan& plan, int x, int y) {
  return alias("X", plan.tensor[x].dtype) + "constexpr int kX = " + std::to_string(x) + ", kY = " + std::to_string(y) +
         ";\n";
}

std::string text_of(bool value) { return value ? "true" : "false"; }

std::vector<WrittenLaunch> launches_for(int64_t items) {
  const int64_t blocks = std::min<int64_t>((items + kThreads - 1) / kThreads, int64_t{1} << 30);
  return {{"make_elements", {static_cast<unsigned>(blocks), 1, 1}, {kThreads, 1, 1}}};
}

template <int X, int Y, Resizing (*Make)(const WrittenPlan&, const double*)>
WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  const Resizing resizing = Make(plan, attributes);
  char scales[128];
  std::snprintf(scales, sizeof scales, "{%.17g, %.17g, %.17g}", resizing.scale[0], resizing.scale[1],
                resizing.scale[2]);
  const std::string how = "static_cast<Resampling>(" + std::to_string(static_cast<int>(resizing.how)) + ")";
  return {head(plan, X, Y) + "constexpr Resizing kResizing = {" + how + ", " + text_of(resizing.aligns_corners) + ", " +
              scales + "};\n",
          {"make_elements"}};
}

template <int Y>
std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const SpatialView y = spatial_of(plan.tensor[Y]);
  return launches_for(y.batch * y.channels * y.size[0] * y.size[1] * y.size[2]);
}

WrittenProgram program_of_grid(const WrittenPlan& plan, const double* attributes) {
  namespace names = infiniop::affine_grid;
  const bool corners = attributes[names::attribute::align_corners] != 0;
  return {"#define INFINIOP_GRID\n" + head(plan, names::tensor::input, names::tensor::output) +
              "constexpr int kAxes = " + std::to_string(plan.size[names::size::k]) +
              ";\nconstexpr bool kAlignsCorners = " + text_of(corners) + ";\n",
          {"make_elements"}};
}

std::vector<WrittenLaunch> launches_of_grid(const WrittenPlan& plan, const double*, void* const*) {
  const TensorView& view = plan.tensor[infiniop::affine_grid::tensor::output];
  int64_t places = 1;
  for (int d = 0; d < view.ndim - 1; ++d) places *= view.shape[d];
  return launches_for(places);
}

}  // namespace

#define INFINIOP_RESIZING(name, output, input, make)                                       \
  extern const WrittenKernel written_##name = {                                            \
      kText, program<infiniop::name::tensor::input, infiniop::name::tensor::output, make>, \
      launches<infiniop::name::tensor::output>}

INFINIOP_RESIZING(interpolate, y, x, resizing_of_interpolate);
INFINIOP_RESIZING(resample, y, x, resizing_of_resample);
INFINIOP_RESIZING(upsample_nearest, output, input, resizing_of_nearest);
INFINIOP_RESIZING(upsample_bilinear, output, input, resizing_of_bilinear);
extern const WrittenKernel written_affine_grid = {kText, program_of_grid, launches_of_grid};

}  // namespace infiniop::nvidia
