#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::index_select;

// Whether what belongs to an index lies side by side.
bool in_runs(const WrittenPlan& plan) {
  return is_run(plan.tensor[tensor::output], plan.dim + 1) && is_run(plan.tensor[tensor::input], plan.dim + 1);
}

// Items are indices, for each place before their dimension.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.before * plan.size[size::k],
          copied_rows_worth(plan.after, plan.tensor[tensor::output].dtype, in_runs(plan))};
}

// All elements after the dimension, for one index.
template <class T>
void copy_after(T* to, const TensorView& output, const T* from, const TensorView& input, int64_t after) {
  const int last = output.ndim - 1;
  const int64_t line = output.after_dims > 0 ? output.shape[last] : 1;
  for (int64_t i = 0; i < after; i += line) {
    copy_line(to + offset_of_after(output, i), output.stride[last], from + offset_of_after(input, i),
              input.stride[last], line);
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &output = plan.tensor[tensor::output], &input = plan.tensor[tensor::input],
                   &index = plan.tensor[tensor::index];
  const int64_t indices = plan.size[size::k], rows = plan.size[size::n], after = plan.after;
  const int64_t step_out = output.stride[plan.dim], step_in = input.stride[plan.dim], step = index.stride[0];
  const bool runs = in_runs(plan);
  return with_size(element_size(output.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return with_index_type(index.dtype, [&](auto index_tag) {
      using Index = typename decltype(index_tag)::type;
      const Index* numbers = call.at<const Index>(tensor::index);
      while (first < last) {
        const int64_t before = first / indices, begin = first % indices, end = std::min(indices, begin + last - first);
        T* to = call.at<T>(tensor::output) + offset_of_rest(output, before);
        const T* from = call.at<const T>(tensor::input) + offset_of_rest(input, before);
        for (int64_t j = begin; j < end; ++j) {
          const int64_t row = numbers[j * step];
          if (is_outside(row, rows)) return refuse_index("index", row, rows);
          if (after == 1) {
            to[j * step_out] = from[row * step_in];
          } else if (runs) {
            copy_line(to + j * step_out, 1, from + row * step_in, 1, after);
          } else {
            copy_after(to + j * step_out, output, from + row * step_in, input, after);
          }
        }
        first += end - begin;
      }
      return infinirtSuccess;
    });
  });
}

}  // namespace

extern const WrittenKernel index_select = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
