#include <algorithm>

#include "op/nvidia/written.h"
#include "op/pooling_windows.h"

namespace infiniop::nvidia {

namespace {

constexpr char kText[] =
#include "infiniop/generated/pooling.cu.inc"
    ;

std::string numbers(const long long (&list)[3]) {
  return "{" + std::to_string(list[0]) + ", " + std::to_string(list[1]) + ", " + std::to_string(list[2]) + "}";
}

std::string text_of(bool value) { return value ? "true" : "false"; }

template <PoolingTensors Of, bool IsMax, Windows (*Make)(const double*)>
WrittenProgram program(const WrittenPlan& plan, const double* attributes) {
  const Windows windows = Make(attributes);
  std::string variant = alias("X", plan.tensor[Of.x].dtype);
  variant += "constexpr int kX = " + std::to_string(Of.x) + ", kY = " + std::to_string(Of.y) +
             ", kIndices = " + std::to_string(Of.indices) + ";\n";
  variant += "constexpr bool kIsMax = " + text_of(IsMax) + ";\n";
  variant += "constexpr Windows kWindows = {" + numbers(windows.kernel) + ", " + numbers(windows.stride) + ", " +
             numbers(windows.padding) + ", " + numbers(windows.dilation) + ", " + std::to_string(windows.divisor) +
             ", " + text_of(windows.is_adaptive) + ", " + text_of(windows.counts_padding) + "};\n";
  return {variant, {"pool_by_threads", "pool_by_warps"}};
}

template <PoolingTensors Of, Windows (*Make)(const double*)>
std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  const SpatialView x = spatial_of(plan.tensor[Of.x]), y = spatial_of(plan.tensor[Of.y]);
  const Windows windows = Make(attributes);
  int64_t elements = 1, results = y.batch * y.channels;
  for (int d = 0; d < 3; ++d) {
    elements *= windows.is_adaptive ? (x.size[d] + y.size[d] - 1) / y.size[d] : windows.kernel[d];
    results *= y.size[d];
  }
  // Neighbours among threads read neighbours where a warp has a window, and windows that overlap where it has not.
  const bool by_warps = elements >= 128;
  constexpr int64_t kThreads = 256;
  const int64_t blocks = std::min<int64_t>((results * (by_warps ? 32 : 1) + kThreads - 1) / kThreads, int64_t{1} << 30);
  return {{by_warps ? "pool_by_warps" : "pool_by_threads", {static_cast<unsigned>(blocks), 1, 1}, {kThreads, 1, 1}}};
}

#define INFINIOP_POOLING(name, output, indices, input, is_max, windows)                                         \
  namespace of_##name {                                                                                         \
    using namespace infiniop::name;                                                                             \
    constexpr PoolingTensors kTensors = {output, indices, input};                                               \
    constexpr WrittenKernel kKernel = {kText, program<kTensors, is_max, windows>, launches<kTensors, windows>}; \
  }
INFINIOP_EVERY_POOLING
#undef INFINIOP_POOLING

}  // namespace

#define INFINIOP_POOLING(name, output, indices, input, is_max, windows) \
  extern const WrittenKernel written_##name = of_##name::kKernel;
INFINIOP_EVERY_POOLING
#undef INFINIOP_POOLING

}  // namespace infiniop::nvidia
