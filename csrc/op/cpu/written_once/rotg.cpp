#include <cmath>

#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::rotg;

Split split(const WrittenPlan&, const double*, int) { return {1, 1}; }

infinirtError_t run(const WrittenCall& call, int64_t, int64_t) {
  with_float_type(call.plan.tensor[tensor::x].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using C = Wide<T>;
    const C x = widen(*call.at<T>(tensor::x)), y = widen(*call.at<T>(tensor::y));
    const C scale = std::fabs(x) + std::fabs(y);
    C r = 0, z = 0, c = 1, s = 0;
    if (scale != 0) {
      const bool x_is_larger = std::fabs(x) > std::fabs(y);
      r = scale * std::sqrt((x / scale) * (x / scale) + (y / scale) * (y / scale));
      if ((x_is_larger ? x : y) < 0) r = -r;
      c = x / r;
      s = y / r;
      z = x_is_larger ? s : c != 0 ? 1 / c : C(1);
    }
    *call.at<T>(tensor::x) = narrow<T>(r);
    *call.at<T>(tensor::y) = narrow<T>(z);
    *call.at<T>(tensor::c) = narrow<T>(c);
    *call.at<T>(tensor::s) = narrow<T>(s);
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel rotg = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
