#include "infiniop/generated/written.h"
#include "op/cpu/written/indices.h"

namespace infiniop::cpu::INFINIOP_LEVEL {

namespace {

using namespace infiniop::true_places;

// Parts of the elements are counted, and then each part knows how many come before its own. The workspace has a number for each part.
constexpr int64_t kPart = 16384;

int64_t parts_of(const WrittenPlan& plan) { return (plan.size[size::n] + kPart - 1) / kPart; }

size_t workspace(const WrittenPlan& plan, const double*) { return 8 * static_cast<size_t>(parts_of(plan) + 1); }

Split split(const WrittenPlan& plan, const double*, int phase) {
  return phase == 1 ? Split{1, 1} : Split{parts_of(plan), 1};
}

template <class T>
bool is_true(T value) {
  return widen(value) != 0;
}

// Calls `found` with the numbers of elements that are true.
template <class T, class Found>
void look(const WrittenCall& call, int64_t part, Found found) {
  const TensorView& input = call.plan.tensor[tensor::input];
  const T* from = call.at<const T>(tensor::input);
  const int64_t begin = part * kPart, end = std::min<int64_t>(call.plan.size[size::n], begin + kPart);
  const bool in_run = is_run(input, 0);
  for (int64_t i = begin; i < end; ++i) {
    found(i, is_true(from[in_run ? i : offset_in(input, 0, input.ndim, i)]));
  }
}

infinirtError_t run(const WrittenCall& call, int64_t first, int64_t last) {
  const WrittenPlan& plan = call.plan;
  auto* counts = static_cast<int64_t*>(call.workspace);
  if (call.phase == 1) {
    int64_t sum = 0;
    for (int64_t part = 0; part < parts_of(plan); ++part) {
      const int64_t here = counts[part];
      counts[part] = sum;
      sum += here;
    }
    *call.at<int64_t>(tensor::count) = sum;
    return infinirtSuccess;
  }
  with_number_type(plan.tensor[tensor::input].dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (int64_t part = first; part < last; ++part) {
      if (call.phase == 0) {
        int64_t count = 0;
        look<T>(call, part, [&](int64_t, bool is_true) { count += is_true; });
        counts[part] = count;
        continue;
      }
      const int64_t step = plan.tensor[tensor::places].stride[0];
      int64_t at = counts[part];
      look<T>(call, part, [&](int64_t place, bool is_true) {
        if (is_true) call.at<int64_t>(tensor::places)[at++ * step] = place;
      });
    }
  });
  return infinirtSuccess;
}

}  // namespace

extern const WrittenKernel true_places = {split, run, 3, workspace};

}  // namespace infiniop::cpu::INFINIOP_LEVEL
