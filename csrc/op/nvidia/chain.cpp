#include "op/nvidia/chain.h"

#include <cstdio>

#include "op/nvidia/chain_source.h"
#include "op/nvidia/program.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

class PreparedProgram final : public PreparedChain {
 public:
  PreparedProgram(const ChainPlan& plan, const ChainVariant& variant, const Program& program)
      : program_(program), width_(variant.width), operands_(plan.nest.operands) {
    elements_ = arguments_of(plan, variant, 1);
    vectors_ = arguments_of(plan, variant, width_);
    for (int t = 0; t < operands_; ++t) {
      element_size_[t] = size_of(plan.dtype[t]);
      item_size_[t] = variant.lie[t] == Lie::SideBySide ? element_size_[t] * static_cast<size_t>(width_) : 1;
    }
  }

  infinirtError_t launch(void* const* operands, infinirtStream_t stream) const override {
    bool in_vectors = width_ > 1;
    void* addresses[kMaxChainOperands] = {};
    for (int t = 0; t < operands_; ++t) {
      const auto address = reinterpret_cast<uintptr_t>(operands[t]);
      if (address % element_size_[t] != 0) return misplaced(t, operands[t]);
      in_vectors = in_vectors && address % item_size_[t] == 0;
      addresses[t] = operands[t];
    }
    ChainArguments arguments = in_vectors ? vectors_ : elements_;
    void* args[kMaxChainOperands + 1];
    for (int t = 0; t < kMaxChainOperands; ++t) args[t] = &addresses[t];
    args[kMaxChainOperands] = &arguments;
    const auto* kernel = reinterpret_cast<const void*>(in_vectors ? program_.vectors : program_.elements);
    return api().LaunchKernel(kernel, {blocks_of(arguments, in_vectors ? width_ : 1), 1, 1}, {kThreads, 1, 1}, args, 0,
                              stream);
  }

 private:
  infinirtError_t misplaced(int operand, const void* address) const {
    char text[128];
    std::snprintf(text, sizeof text, "operand %d is at %p, which is no multiple of %zu, the size of its elements",
                  operand, address, element_size_[operand]);
    infinirtXSetLastError(infinirtErrorInvalidValue, text);
    return infinirtErrorInvalidValue;
  }

  Program program_;
  int width_, operands_;
  ChainArguments elements_, vectors_;
  size_t element_size_[kMaxChainOperands], item_size_[kMaxChainOperands];
};

// Of tensors without elements: nothing is ever launched.
class Nothing final : public PreparedChain {
  infinirtError_t launch(void* const*, infinirtStream_t) const override { return infinirtSuccess; }
};

}  // namespace

std::unique_ptr<PreparedChain> prepare_chain(const ChainPlan& plan, infinirtError_t* error) {
  *error = infinirtSuccess;
  if (plan.nest.total == 0) return std::make_unique<Nothing>();
  static_assert(ChainArguments::kOperands == kMaxChainOperands && ChainArguments::kSteps == kMaxChainSteps);
  const ChainVariant variant = variant_of(plan);
  const ProgramSource source{"infiniopChain",      chain_program_text(), variant_text(plan, variant),
                             kChainElementsKernel, kChainVectorsKernel,  variant.width > 1};
  Program program;
  if ((*error = find_program(source, &program))) return nullptr;
  return std::make_unique<PreparedProgram>(plan, variant, program);
}

}  // namespace infiniop::nvidia
