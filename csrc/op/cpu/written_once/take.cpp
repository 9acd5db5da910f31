#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::take;

Split split(const WrittenPlan& plan, const double*, int) { return {plan.rest, 8192}; }

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &output = plan.tensor[tensor::output], &input = plan.tensor[tensor::input],
                   &indices = plan.tensor[tensor::indices];
  const int64_t count = elements_of(input);
  const bool in_run = is_run(input, 0), side_by_side = is_run(output, 0) && is_run(indices, 0);
  return with_size(element_size(output.dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return with_index_type(indices.dtype, [&](auto index_tag) {
      using Index = typename decltype(index_tag)::type;
      for (int64_t item = first; item < last; ++item) {
        int64_t place = call.at<const Index>(tensor::indices)[side_by_side ? item : offset_of_rest(indices, item)];
        if (place < 0) place += count;
        if (is_outside(place, count)) return refuse_index("indices", place < 0 ? place - count : place, count);
        const int64_t from = in_run ? place : offset_in(input, 0, input.ndim, place);
        call.at<T>(tensor::output)[side_by_side ? item : offset_of_rest(output, item)] =
            call.at<const T>(tensor::input)[from];
      }
      return infinirtSuccess;
    });
  });
}

}  // namespace

extern const WrittenKernel take = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
