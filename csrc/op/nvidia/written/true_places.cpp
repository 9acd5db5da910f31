#include "infiniop/generated/written.h"
#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

namespace {

using namespace infiniop::true_places;

constexpr char kText[] =
#include "infiniop/generated/true_places.cu.inc"
    ;
constexpr int64_t kEach = 16;  // elements of a thread

int64_t blocks_of(const WrittenPlan& plan) {
  return (plan.size[size::n] + kIndexThreads * kEach - 1) / (kIndexThreads * kEach);
}

WrittenProgram program(const WrittenPlan& plan, const double*) {
  const TensorView& input = plan.tensor[tensor::input];
  return {alias("X", input.dtype) + "constexpr int kThreadsOfBlock = " + std::to_string(kIndexThreads) +
              ", kEach = " + std::to_string(kEach) +
              ";\nconstexpr bool kSideBySide = " + (is_run(input, 0) ? "true" : "false") + ";\n",
          {"count_blocks", "add_up", "write_places"},
          static_cast<size_t>(8 * (blocks_of(plan) + 1))};
}

std::vector<WrittenLaunch> launches(const WrittenPlan& plan, const double*, void* const*) {
  const auto blocks = static_cast<unsigned>(blocks_of(plan));
  const WrittenLaunch add_up = threads_for("add_up", 1);
  if (blocks == 0) return {add_up};
  WrittenLaunch count = add_up, write = add_up;
  count.kernel = "count_blocks";
  write.kernel = "write_places";
  count.grid[0] = write.grid[0] = blocks;
  return {count, add_up, write};
}

}  // namespace

extern const WrittenKernel written_true_places = {kText, program, launches};

}  // namespace infiniop::nvidia
