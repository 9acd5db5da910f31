#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::select_last_token_hidden;

Split split(const WrittenPlan& plan, const double*, int) {
  const TensorView &output = plan.tensor[tensor::output], &hidden = plan.tensor[tensor::hidden_states];
  const bool side_by_side = output.stride[2] == 1 && hidden.stride[hidden.ndim - 1] == 1;
  return {plan.size[size::n], copied_rows_worth(plan.size[size::d], output.dtype, side_by_side)};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &output = plan.tensor[tensor::output], &hidden = plan.tensor[tensor::hidden_states],
                   &offsets = plan.tensor[tensor::input_offsets];
  return with_size(element_size(output.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t i = first; i < last; ++i) {
      const int64_t row =
          integer_at(call.address[tensor::input_offsets], offsets.dtype, (i + 1) * offsets.stride[0]) - 1;
      if (is_outside(row, plan.rest)) return refuse_index("input_offsets less 1", row, plan.rest);
      copy_line(call.at<T>(tensor::output) + i * output.stride[1], output.stride[2],
                call.at<const T>(tensor::hidden_states) + offset_of_rest(hidden, row), hidden.stride[hidden.ndim - 1],
                plan.size[size::d]);
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel select_last_token_hidden = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
