#include <algorithm>

#include "op/nvidia/written/select.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

extern const char kSelectText[] =
#include "infiniop/generated/comparing.cuh.inc"
#include "infiniop/generated/select.cu.inc"
    ;

namespace {

constexpr int kInput = 2, kIndices = 1;  // tensors of all three
constexpr int64_t kMostSorters = 264;  // blocks that sort in the workspace: twice a large GPU's processors
constexpr int64_t kMostFew = 2048;

int64_t element_size(const WrittenPlan& plan) {
  return static_cast<int64_t>(size_of(static_cast<infiniDtype_t>(plan.tensor[kInput].dtype)));
}
int64_t ranked_size(const WrittenPlan& plan) { return (element_size(plan) == 8 ? 8 : 4) + 4; }
int64_t length(const WrittenPlan& plan) { return plan.tensor[kInput].shape[plan.dim]; }

int64_t power_of_two(int64_t size) {
  int64_t power = 2;
  while (power < size) power *= 2;
  return power;
}

// 32 KiB of shared memory are enough for 4096 elements, or 2048 of 8 bytes.
int64_t most_in_shared(const WrittenPlan& plan) { return element_size(plan) == 8 ? 2048 : 4096; }

std::string kernel_of(const SelectCall& call, const WrittenPlan& plan) {
  const int64_t count = length(plan);
  if (call.only_last) return count <= 512 ? "sort_short" : "take_one";
  // A quarter of a row is found sooner than the row is sorted.
  if (count <= 1024) return "sort_short";
  if (call.wanted <= kMostFew && call.wanted * 4 <= count) return "take_few";
  return count <= most_in_shared(plan) ? "sort_short" : "sort_long";
}

int64_t sorters(const WrittenPlan& plan) { return std::min<int64_t>(plan.before * plan.after, kMostSorters); }

}  // namespace

WrittenProgram select_program(const SelectCall& call, const WrittenPlan& plan) {
  std::string text = alias("X", plan.tensor[kInput].dtype) + alias("Index", plan.tensor[kIndices].dtype);
  text += std::string("constexpr bool kDescending = ") + (call.descending ? "true" : "false") + ";\n";
  text += std::string("constexpr bool kOnlyLast = ") + (call.only_last ? "true" : "false") + ";\n";
  WrittenProgram program{text, {"sort_short", "take_few", "take_one", "sort_long"}};
  if (kernel_of(call, plan) == "sort_long") {
    // Keys and indices, twice, of a multiple of 4 elements.
    const int64_t room = (length(plan) + 3) / 4 * 4;
    program.workspace = static_cast<size_t>(sorters(plan) * room * 2 * ranked_size(plan));
  }
  return program;
}

std::vector<WrittenLaunch> select_launches(const SelectCall& call, const WrittenPlan& plan) {
  const int64_t rows = plan.before * plan.after, count = length(plan);
  if (rows == 0 || count == 0) return {};
  const std::string kernel = kernel_of(call, plan);
  if (kernel == "sort_long") return {{kernel, {static_cast<unsigned>(sorters(plan)), 1, 1}, {1024, 1, 1}}};
  const auto blocks = static_cast<unsigned>(std::min<int64_t>(rows, 1 << 30));
  if (kernel == "sort_short") {
    const int64_t size = power_of_two(count);
    const auto threads = static_cast<unsigned>(std::clamp<int64_t>(size / 2, 32, 1024));
    return {{kernel, {blocks, 1, 1}, {threads, 1, 1}, static_cast<size_t>(size * ranked_size(plan))}};
  }
  const auto threads = static_cast<unsigned>(std::clamp<int64_t>(count / 8 / 32 * 32, 128, 1024));
  const size_t shared = kernel == "take_few" ? static_cast<size_t>(power_of_two(call.wanted) * ranked_size(plan)) : 0;
  return {{kernel, {blocks, 1, 1}, {threads, 1, 1}, shared}};
}

}  // namespace infiniop::nvidia
