#include "op/cpu/written.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "infiniop/generated/written.h"
#include "op/cpu/kernel.h"

namespace infiniop::cpu {

// One table for each instruction set.
namespace plain {
extern const WrittenKernel* const written[];
}
#ifdef INFINIOP_X86_LEVELS
namespace v3 {
extern const WrittenKernel* const written[];
}
namespace v4 {
extern const WrittenKernel* const written[];
}
#endif

const WrittenKernel& written_kernel(int number) {
#ifdef INFINIOP_X86_LEVELS
  if (&tiles() == &tiles_v4) return *v4::written[number];
  if (&tiles() == &tiles_v3) return *v3::written[number];
#endif
  return *plain::written[number];
}

namespace {

// The first argument, by value. The others are the tensors' addresses and the workspace's, each an argument of its own, since the runtime
// may have to translate them.
struct WrittenWork {
  WrittenPlan plan;
  double attributes[kMaxAttributes];
  const WrittenKernel* kernel;
  int64_t items, block_items;
  int phase;
};

constexpr double kBlock_ns = 20000;  // of the fewest items that are worth a block, by the kernels' own word

constexpr int kArguments = 1 + kMaxTensors + 1;

class PreparedWritten final : public Prepared {
 public:
  PreparedWritten(const Plan& plan, infinirtXKernelFn function) : function_(function), work_{} {
    work_.plan = *plan.written;
    work_.kernel = &written_kernel(plan.info->written->number);
    tensors_ = plan.info->tensors;
    workspace_ = work_.kernel->workspace ? work_.kernel->workspace(work_.plan, plan.attributes) : 0;
  }

  size_t workspace_size() const override { return workspace_; }

  infinirtError_t launch(const Plan& plan, void* const* operands, const Workspace& workspace,
                         infinirtStream_t stream) const override {
    WrittenWork work = work_;
    std::memcpy(work.attributes, plan.attributes, sizeof work.attributes);
    void* addresses[kMaxTensors + 1] = {};
    void* args[kArguments] = {&work};
    std::copy(operands, operands + tensors_, addresses);
    addresses[kMaxTensors] = workspace.address;
    for (int t = 0; t <= kMaxTensors; ++t) args[1 + t] = &addresses[t];
    for (; work.phase < work.kernel->phases; ++work.phase) {
      const Split split = work.kernel->split(work.plan, work.attributes, work.phase);
      if (split.items <= 0) continue;
      work.items = split.items;
      work.block_items = std::max({int64_t{1}, split.fewest, split.items / kMostBlocks + 1});
      const auto blocks = static_cast<unsigned>((work.items + work.block_items - 1) / work.block_items);
      const auto* function = reinterpret_cast<const void*>(function_);
      const double cost =
          kBlock_ns * static_cast<double>(work.items) / static_cast<double>(std::max<int64_t>(1, split.fewest));
      if (auto error =
              infinirtXLaunchComputation(function, {blocks, 1, 1}, args, static_cast<unsigned long long>(cost), stream))
        return error;
    }
    return infinirtSuccess;
  }

 private:
  infinirtXKernelFn function_;
  WrittenWork work_;
  int tensors_;
  size_t workspace_;
};

infinirtError_t run_written(const infinirtXBlock* block, void** args) {
  const auto& work = *static_cast<const WrittenWork*>(args[0]);
  void* addresses[kMaxTensors + 1];
  for (int t = 0; t <= kMaxTensors; ++t) addresses[t] = *static_cast<void**>(args[1 + t]);
  const int64_t first = int64_t{block->blockIdx.x} * work.block_items;
  const int64_t last = std::min(first + work.block_items, work.items);
  return work.kernel->run({work.plan, work.attributes, addresses, addresses[kMaxTensors], work.phase}, first, last);
}

// One for each operator, so that graphs and traces show its name.
template <int Number>
infinirtError_t kernel(const infinirtXBlock* block, void** args) {
  return run_written(block, args);
}

template <int... Numbers>
infinirtXKernelFn kernel_of(int number, std::integer_sequence<int, Numbers...>) {
  static constexpr infinirtXKernelFn all[] = {kernel<Numbers>...};
  return all[number];
}

}  // namespace

infinirtError_t refuse_index(const char* tensor, int64_t index, int64_t count) {
  char text[160];
  std::snprintf(text, sizeof text, "%s has the index %lld, and only 0 to %lld can be", tensor,
                static_cast<long long>(index), static_cast<long long>(count - 1));
  return infinirtXSetLastError(infinirtErrorInvalidValue, text);
}

std::unique_ptr<Prepared> prepare_written(const Plan& plan, infinirtError_t* error) {
  const int number = plan.info->written->number;
  const infinirtXKernelFn function = kernel_of(number, std::make_integer_sequence<int, kWrittenOperators>());
  size_t sizes[kArguments] = {sizeof(WrittenWork)};
  std::fill(sizes + 1, sizes + kArguments, sizeof(void*));
  const infinirtXKernelInfo info{plan.info->name, function, sizes, kArguments, 0};
  if ((*error = infinirtXRegisterKernel(&info))) return nullptr;
  return std::make_unique<PreparedWritten>(plan, function);
}

}  // namespace infiniop::cpu
