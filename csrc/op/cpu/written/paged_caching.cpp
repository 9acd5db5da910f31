#include "infiniop/generated/written.h"
#include "op/cpu/written.h"
#include "op/cpu/written/caching.h"
#include "op/cpu/written/elements.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::paged_caching;

Split split(const WrittenPlan& plan, const double*, int) { return {plan.size[size::t], 8}; }

template <class T>
void store(const WrittenCall& call, int to, int from, int64_t columns, int64_t slot, int64_t token) {
  const TensorView &cache = call.plan.tensor[to], &rows = call.plan.tensor[from];
  const int64_t page = slot / call.plan.size[size::p], place = slot % call.plan.size[size::p];
  for (int64_t h = 0; h < call.plan.size[size::h]; ++h) {
    copy_row(call.at<T>(to) + page * cache.stride[0] + h * cache.stride[1] + place * cache.stride[2], cache.stride[3],
             call.at<const T>(from) + token * rows.stride[0] + h * rows.stride[1], rows.stride[2], columns);
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const TensorView& slots = plan.tensor[tensor::slot_mapping];
  return with_size(element_size(plan.tensor[tensor::k].dtype), [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t token = first; token < last; ++token) {
      const int64_t slot = integer_at(call.address[tensor::slot_mapping], slots.dtype, token * slots.stride[0]);
      if (slot < 0) continue;
      if (slot >= plan.size[size::n] * plan.size[size::p])
        return refuse_index("slot_mapping", slot, plan.size[size::n] * plan.size[size::p]);
      store<T>(call, tensor::k_cache, tensor::k, plan.size[size::d], slot, token);
      store<T>(call, tensor::v_cache, tensor::v, plan.size[size::e], slot, token);
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel paged_caching = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
