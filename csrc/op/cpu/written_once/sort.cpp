#include "infiniop/generated/written.h"
#include "op/cpu/written/ordering.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::sort;

// Items are rows.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.before * plan.after, rows_worth(4096, plan.size[size::n])};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const int64_t count = call.plan.size[size::n];
  const bool descending = call.attributes[attribute::descending] != 0;
  if (count == 0) return infinirtSuccess;
  return with_ranked(row_of(call, tensor::input, first, descending), [&](auto tag) {
    using Ranked = typename decltype(tag)::type;
    Ranked* const memory = ranked_memory<Ranked>(count);
    if (!memory) return infinirtErrorMemoryAllocation;
    for (int64_t item = first; item < last; ++item) {
      const KeyRow row = row_of(call, tensor::input, item, descending);
      read_ranked(row, count, memory);
      const Ranked* sorted = sort_ranked(memory, memory + count, count, row.bits());
      write_ranked(call, tensor::values, tensor::indices, item, row.address, row.step, sorted, count);
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel sort = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
