#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/caching.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::kv_caching;

// Items are rows of new tokens, of each head of each sequence.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.size[size::b] * plan.size[size::h] * plan.size[size::s], 64};
}

template <class T>
void store(const WrittenCall& call, int to, int from, int64_t columns, int64_t b, int64_t h, int64_t place,
           int64_t number) {
  const TensorView &cache = call.plan.tensor[to], &row = call.plan.tensor[from];
  copy_row(call.at<T>(to) + b * cache.stride[0] + h * cache.stride[1] + place * cache.stride[2], cache.stride[3],
           call.at<const T>(from) + b * row.stride[0] + h * row.stride[1] + number * row.stride[2], row.stride[3],
           columns);
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView& past = plan.tensor[tensor::past_kv_lengths];
  const int64_t tokens = plan.size[size::s], heads = plan.size[size::h];
  return with_size(element_size(plan.tensor[tensor::k].dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t item = first; item < last; ++item) {
      const int64_t number = item % tokens, h = item / tokens % heads, b = item / tokens / heads;
      const int64_t begin = integer_at(call.address[tensor::past_kv_lengths], past.dtype, b * past.stride[0]);
      if (begin < 0 || begin + tokens > plan.size[size::m])
        return refuse_index("past_kv_lengths", begin, plan.size[size::m] - tokens + 1);
      store<T>(call, tensor::k_cache, tensor::k, plan.size[size::d], b, h, begin + number, number);
      store<T>(call, tensor::v_cache, tensor::v, plan.size[size::e], b, h, begin + number, number);
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel kv_caching = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
