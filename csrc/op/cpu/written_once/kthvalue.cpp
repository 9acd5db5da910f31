#include "infiniop/generated/written.h"
#include "op/cpu/written/ordering.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::kthvalue;

// Items are rows.
Split split(const WrittenPlan& plan, const double*, int) {
  return {plan.before * plan.after, rows_worth(8192, plan.size[size::n])};
}

// The first digits of all keys are counted, and only those elements are compared that have the digits of the wanted one.
template <class Ranked>
uint32_t kth_of(const KeyRow& row, int64_t count, int64_t wanted, typename Ranked::Key* keys, Ranked* ranked) {
  const int shift = std::max(0, row.bits() - 11);
  uint32_t counts[2048] = {};
  row.read(0, count, keys);
  for (int64_t i = 0; i < count; ++i) ++counts[keys[i] >> shift];
  uint32_t digits = 0;
  int64_t before = 0;
  while (before + counts[digits] < wanted) before += counts[digits++];
  int64_t kept = 0;
  for (int64_t i = 0; i < count; ++i) {
    ranked[kept] = Ranked::of(keys[i], static_cast<uint32_t>(i));
    kept += keys[i] >> shift == digits;
  }
  select(ranked, kept, wanted - before);
  Ranked largest = ranked[0];
  for (int64_t i = 1; i < wanted - before; ++i) largest = largest < ranked[i] ? ranked[i] : largest;
  return largest.index();
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  const int64_t count = plan.size[size::n];
  const auto wanted = static_cast<int64_t>(call.attributes[attribute::k]);
  const TensorView &values = plan.tensor[tensor::values], &indices = plan.tensor[tensor::indices];
  return with_ranked(row_of(call, tensor::input, first, false), [&](auto tag) {
    using Ranked = typename decltype(tag)::type;
    // One element more: what does not count is written over.
    Ranked* const memory = ranked_memory<Ranked>(count + 1);
    if (!memory) return infinirtErrorMemoryAllocation;
    auto* keys = reinterpret_cast<typename Ranked::Key*>(memory + count + 1);
    for (int64_t item = first; item < last; ++item) {
      const KeyRow row = row_of(call, tensor::input, item, false);
      const int64_t found = kth_of(row, count, wanted, keys, memory);
      write_index(call.address[tensor::indices], indices.dtype, row_offset(indices, plan, item), found);
      with_size(element_size(values.dtype), [&](auto size_tag) {
        using T = typename decltype(size_tag)::type;
        call.at<T>(tensor::values)[row_offset(values, plan, item)] =
            reinterpret_cast<const T*>(row.address)[found * row.step];
      });
    }
    return infinirtSuccess;
  });
}

}  // namespace

extern const WrittenKernel kthvalue = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
