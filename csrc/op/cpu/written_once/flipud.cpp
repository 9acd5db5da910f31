#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::flipud;

// Items are pieces of what lies after the first dimension, for each place in it.
Split split(const WrittenPlan& plan, const double*, int) {
  const TensorView& output = plan.tensor[tensor::output];
  const int64_t line = output.ndim > 1 ? output.shape[output.ndim - 1] : 1;
  return {line > 0 ? elements_of(output) / line : 0, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, line))};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const TensorView &output = call.plan.tensor[tensor::output], &input = call.plan.tensor[tensor::input];
  const bool in_lines = output.ndim > 1;
  const int outer = in_lines ? output.ndim - 1 : 1;
  const int64_t line = in_lines ? output.shape[outer] : 1;
  with_size(element_size(output.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    // The last place of the first dimension, from which steps go backwards.
    TensorView backwards = input;
    backwards.stride[0] = -input.stride[0];
    const T* from = call.at<const T>(tensor::input) + (input.shape[0] - 1) * input.stride[0];
    if (!in_lines) {
      copy_line(call.at<T>(tensor::output) + first * output.stride[0], output.stride[0],
                from + first * backwards.stride[0], backwards.stride[0], last - first);
      return;
    }
    for (int64_t item = first; item < last; ++item) {
      copy_line(call.at<T>(tensor::output) + offset_in(output, 0, outer, item), output.stride[outer],
                from + offset_in(backwards, 0, outer, item), input.stride[outer], line);
    }
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel flipud = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
