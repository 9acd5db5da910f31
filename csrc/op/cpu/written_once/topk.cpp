#include "infiniop/generated/written.h"
#include "op/cpu/written/ordering.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::topk;

// Items are rows.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.size[size::k] == 0 ? 0 : plan.before * plan.after, rows_worth(8192, plan.size[size::n])};
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const int64_t count = call.plan.size[size::n], wanted = call.plan.size[size::k];
  const bool largest = call.attributes[attribute::largest] != 0;
  return with_ranked(row_of(call, tensor::input, first, largest), [&](auto tag) {
    using Ranked = typename decltype(tag)::type;
    const int64_t room = std::min(count, 4 * wanted) + 256;
    Ranked* const memory = ranked_memory<Ranked>(room);
    if (!memory) return infinirtErrorMemoryAllocation;
    for (int64_t item = first; item < last; ++item) {
      const KeyRow row = row_of(call, tensor::input, item, largest);
      const Ranked* found = smallest_of(row, count, wanted, memory, memory + room);
      write_ranked(call, tensor::values_output, tensor::indices_output, item, row.address, row.step, found, wanted);
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel topk = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
