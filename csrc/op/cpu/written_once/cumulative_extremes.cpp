// Cummax and Cummin.
#include "infiniop/generated/written.h"
#include "op/cpu/written/ordering.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

struct Tensors {
  int values, indices, input;
};

// Items are rows.
Split split_rows(const WrittenPlan& plan, int input) {
  const int64_t length = plan.tensor[input].shape[plan.dim];
  return {length == 0 ? 0 : plan.before * plan.after, rows_worth(8192, length)};
}

// An element is read before the value that belongs to it is written, which may be in its place.
template <Order How>
infinirtError_t run_rows(const WrittenCall& call, const Tensors& tensors, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView &values = plan.tensor[tensors.values], &indices = plan.tensor[tensors.indices],
                   &input = plan.tensor[tensors.input];
  const int64_t count = input.shape[plan.dim], from_step = input.stride[plan.dim];
  const int64_t to_step = values.stride[plan.dim], index_step = indices.stride[plan.dim];
  with_real_type(input.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      const T* from = call.at<const T>(tensors.input) + row_offset(input, plan, item);
      T* to = call.at<T>(tensors.values) + row_offset(values, plan, item);
      const int64_t place = row_offset(indices, plan, item);
      T best = from[0];
      KeyOf<T> best_key = ordered_key<How>(best);
      int64_t at = 0;
      for (int64_t i = 0; i < count; ++i) {
        const T x = from[i * from_step];
        const KeyOf<T> key = ordered_key<How>(x);
        const bool is_next = key <= best_key;  // of equal ones the last
        best = is_next ? x : best;
        best_key = is_next ? key : best_key;
        at = is_next ? i : at;
        to[i * to_step] = best;
        write_index(call.address[tensors.indices], indices.dtype, place + i * index_step, at);
      }
    }
  });
  return infinirtSuccess;
}

namespace largest {

using namespace infiniop::cummax;

Split split(const WrittenPlan& plan, const double*, int) { return split_rows(plan, tensor::input); }
infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  return run_rows<Order::Descending>(call, {tensor::values, tensor::indices, tensor::input}, first, last);
}

}  // namespace largest

namespace smallest {

using namespace infiniop::cummin;

Split split(const WrittenPlan& plan, const double*, int) { return split_rows(plan, tensor::input); }
infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  return run_rows<Order::AscendingAfterNan>(call, {tensor::values, tensor::indices, tensor::input}, first, last);
}

}  // namespace smallest

}  // namespace

extern const WrittenKernel cummax = {largest::split, largest::run};
extern const WrittenKernel cummin = {smallest::split, smallest::run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
