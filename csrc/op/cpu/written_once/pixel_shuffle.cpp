#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::pixel_shuffle;

// Items are lines of the result.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.rest * plan.size[size::c] * plan.size[size::p],
          std::max<int64_t>(1, 16384 / std::max<int64_t>(1, plan.size[size::q]))};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &y = plan.tensor[tensor::y], &x = plan.tensor[tensor::x];
  const auto factor = static_cast<int64_t>(call.attributes[attribute::upscale_factor]);
  const int64_t channels = plan.size[size::c], lines = plan.size[size::p], width = plan.size[size::w];
  const int dim = y.ndim - 3;
  with_size(element_size(y.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      const int64_t line = item % lines, channel = item / lines % channels, rest = item / lines / channels;
      const int64_t row = line / factor, part = line % factor;
      T* to = call.at<T>(tensor::y) + offset_of_rest(y, rest) + channel * y.stride[dim] + line * y.stride[dim + 1];
      const T* from = call.at<const T>(tensor::x) + offset_of_rest(x, rest) + row * x.stride[dim + 1];
      for (int64_t j = 0; j < factor; ++j) {
        const T* plane = from + ((channel * factor + part) * factor + j) * x.stride[dim];
        copy_line(to + j * y.stride[dim + 2], factor * y.stride[dim + 2], plane, x.stride[dim + 2], width);
      }
    }
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel pixel_shuffle = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
