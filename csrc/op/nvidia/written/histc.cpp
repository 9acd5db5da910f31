#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::histc;

constexpr char kText[] =
#include "infiniop/generated/histc.cu.inc"
    ;
constexpr int64_t kMostShared = 8192;  // bins that a block counts in its own memory

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const TensorView& x = plan.tensor[tensor::x];
  const int64_t bins = plan.size[size::bins], elements = elements_of(x);
  return {alias("X", x.dtype) + count_type(elements) +
              "constexpr bool kShared = " + (bins <= kMostShared ? "true" : "false") + ";\n",
          {"clear_counts", "find_range", "count_elements", "convert_counts"},
          static_cast<size_t>(8 * (bins + 2))};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double* attributes, void* const*) {
  const int64_t bins = plan.size[size::bins], elements = elements_of(plan.tensor[tensor::x]);
  std::vector<WrittenLaunch> found = {threads_for("clear_counts", bins + 2)};
  const int64_t each = 16;  // elements of a thread
  if (elements > 0) {
    if (attributes[attribute::min_val] == attributes[attribute::max_val])
      found.push_back(threads_for("find_range", elements / each));
    found.push_back(threads_for("count_elements", elements / each));
    found.back().shared = bins <= kMostShared ? static_cast<size_t>(4 * bins) : 0;
  }
  found.push_back(threads_for("convert_counts", bins));
  return found;
}

}  // namespace

extern const WrittenKernel written_histc = {kText, program, launches};

}  // namespace infiniop::nvidia
