#include "infiniop/generated/written.h"
#include "op/cpu/written/scans.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::cumprod;

template <class T, int Rows>
struct Products {
  static constexpr bool kIsCheap = true;
  using Value = typename ScanTypes<T>::Value;
  using Sum = typename ScanTypes<T>::Sum;
  Sum sum[Rows];

  Products() {
    for (Sum& each : sum) each = 1;
  }
  void take(const Value* x) {
    for (int r = 0; r < Rows; ++r) sum[r] *= static_cast<Sum>(x[r]);
  }
  void give(Value* y) const {
    for (int r = 0; r < Rows; ++r) y[r] = static_cast<Value>(sum[r]);
  }
};

Split split(const WrittenPlan& plan, const double*, int) { return split_scan(plan, tensor::input); }

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  return scan<Products>(call, tensor::output, tensor::input, first, last);
}

}  // namespace

extern const WrittenKernel cumprod = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
