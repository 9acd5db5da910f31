#include "infiniop/generated/written.h"
#include "op/cpu/written/scans.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::logcumsumexp;

// The largest element so far, and the sum of all exponentials over its own.
template <class T, int Rows>
struct Exponentials {
  static constexpr bool kIsCheap = false;
  using C = typename ScanTypes<T>::Value;
  C largest[Rows];
  double sum[Rows];

  Exponentials() {
    for (int r = 0; r < Rows; ++r) {
      largest[r] = -C(__builtin_inf());
      sum[r] = 0;
    }
  }
  void take(const C* x) {
    C old_factor[Rows], factor[Rows];
    for (int r = 0; r < Rows; ++r) {
      const C next = x[r] > largest[r] ? x[r] : largest[r];
      // Equal infinities have no difference.
      old_factor[r] = largest[r] == next ? C(1) : exp(largest[r] - next);
      factor[r] = x[r] == next ? C(1) : exp(x[r] - next);
      largest[r] = next;
    }
    for (int r = 0; r < Rows; ++r) sum[r] = sum[r] * double(old_factor[r]) + double(factor[r]);
  }
  void give(C* y) const {
    for (int r = 0; r < Rows; ++r) y[r] = largest[r] + log(C(sum[r]));
  }
};

Split split(const WrittenPlan& plan, const double*, int) { return split_scan(plan, tensor::x); }

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const ScanWishes wishes{call.attributes[attribute::exclusive] != 0, call.attributes[attribute::reverse] != 0};
  return scan<Exponentials, false>(call, tensor::y, tensor::x, first, last, wishes);
}

}  // namespace

extern const WrittenKernel logcumsumexp = {split, run};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
