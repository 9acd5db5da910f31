// The operators that are pooling; they differ in where their numbers stand.
#include "op/cpu/written/pooling.h"

#include "op/pooling_windows.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

template <PoolingTensors Of>
Split split(const WrittenPlan& plan, const double*, int) {
  return split_rows(spatial_of(plan.tensor[Of.x]), spatial_of(plan.tensor[Of.y]));
}

template <PoolingTensors Of, bool IsMax, Windows (*Make)(const double*)>
infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const SpatialView y = spatial_of(call.plan.tensor[Of.y]);
  const SpatialView indices = spatial_of(call.plan.tensor[Of.indices < 0 ? Of.y : Of.indices]);
  const Windows windows = Make(call.attributes);
  const SpatialView x = merged(spatial_of(call.plan.tensor[Of.x]), y, windows);
  with_float_type(call.plan.tensor[Of.x].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    int64_t* const numbers = Of.indices < 0 ? nullptr : call.at<int64_t>(Of.indices < 0 ? 0 : Of.indices);
    Pooling<T, IsMax> pooling(x, y, windows, call.at<const T>(Of.x), call.at<T>(Of.y), numbers, &indices);
    for (int64_t item = first; item < last; ++item) pooling.run_row(item);
  });
  return infinirtSuccess;
}

#define INFINIOP_POOLING(name, output, indices, input, is_max, windows)                  \
  namespace of_##name {                                                                  \
    using namespace infiniop::name;                                                      \
    constexpr PoolingTensors kTensors = {output, indices, input};                        \
    constexpr WrittenKernel kKernel = {split<kTensors>, run<kTensors, is_max, windows>}; \
  }
INFINIOP_EVERY_POOLING
#undef INFINIOP_POOLING

}  // namespace

#define INFINIOP_POOLING(name, output, indices, input, is_max, windows) \
  extern const WrittenKernel name = of_##name::kKernel;
INFINIOP_EVERY_POOLING
#undef INFINIOP_POOLING

}  // namespace infiniop::cpu::INFINIOP_LEVEL
