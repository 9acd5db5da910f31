#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::embedding;

Split split(const WrittenPlan& plan, const double*, int) {
  const TensorView &output = plan.tensor[tensor::output], &weight = plan.tensor[tensor::weight];
  const bool side_by_side = output.stride[output.ndim - 1] == 1 && weight.stride[1] == 1;
  return {plan.rest, copied_rows_worth(plan.size[size::d], output.dtype, side_by_side)};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &output = plan.tensor[tensor::output], &input = plan.tensor[tensor::input],
                   &weight = plan.tensor[tensor::weight];
  const int64_t columns = plan.size[size::d];
  const int64_t step_out = output.stride[output.ndim - 1], step_in = weight.stride[1];
  return with_size(element_size(output.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      const int64_t row = integer_at(call.address[tensor::input], input.dtype, offset_of_rest(input, item));
      if (row < 0 || row >= plan.size[size::v]) return refuse_index("input", row, plan.size[size::v]);
      T* to = call.at<T>(tensor::output) + offset_of_rest(output, item);
      const T* from = call.at<const T>(tensor::weight) + row * weight.stride[0];
      if (step_out == 1 && step_in == 1) {
        std::memcpy(to, from, sizeof(T) * static_cast<size_t>(columns));
        continue;
      }
      for (int64_t i = 0; i < columns; ++i) to[i * step_out] = from[i * step_in];
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel embedding = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
