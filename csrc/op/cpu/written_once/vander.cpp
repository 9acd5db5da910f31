#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::vander;

Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.size[size::n], std::max<int64_t>(1, 8192 / std::max<int64_t>(1, plan.size[size::N]))};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &output = plan.tensor[tensor::output], &input = plan.tensor[tensor::input];
  const int64_t columns = plan.size[size::N];
  const bool increasing = call.attributes[attribute::increasing] != 0;
  with_number_type(output.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    // Powers of floats are exact enough in double, whatever their number.
    constexpr bool kWhole = C(1) / C(2) == C(0);
    using Product = decltype([] {
      if constexpr (kWhole) {
        return uint64_t{};
      } else {
        return double{};
      }
    }());
    for (int64_t row = first; row < last; ++row) {
      const auto x = static_cast<Product>(widen(call.at<const T>(tensor::input)[row * input.stride[0]]));
      T* to = call.at<T>(tensor::output) + row * output.stride[0];
      Product power = 1;
      for (int64_t i = 0; i < columns; ++i, power *= x) {
        to[(increasing ? i : columns - 1 - i) * output.stride[1]] = narrow<T>(static_cast<C>(power));
      }
    }
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel vander = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
