#include "op/nvidia/element_wise.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "op/nvidia/program.h"
#include "op/nvidia/source.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

bool is_multiple(const void* address, size_t of) { return reinterpret_cast<uintptr_t>(address) % of == 0; }

class PreparedElementWise final : public Prepared {
 public:
  PreparedElementWise(const Plan& plan, const Variant& variant, const Program& program)
      : program_(program), width_(variant.width), operands_(plan.nest.operands) {
    if (variant.tiling.edge > 0) tiles_ = blocks_of(plan.nest, variant.tiling);
    elements_ = arguments_of(plan, variant, 1);
    vectors_ = arguments_of(plan, variant, width_);
    for (int t = 0; t < operands_; ++t) {
      // The kernels read elements of 16 bytes in two halves.
      element_alignment_[t] = std::min<size_t>(8, size_of(plan.dtype[t]));
      const bool one = t > 0 && variant.lie[t - 1] != Lie::SideBySide;
      item_alignment_[t] = one ? 1 : size_of(plan.dtype[t]) * static_cast<size_t>(width_);
    }
  }

  infinirtError_t launch(const Plan& plan, void* const* operands, const Workspace&,
                         infinirtStream_t stream) const override {
    bool in_vectors = width_ > 1;
    void* addresses[kMaxOperands] = {};
    for (int t = 0; t < operands_; ++t) {
      if (!is_multiple(operands[t], element_alignment_[t])) return misplaced(plan, t, operands[t]);
      in_vectors = in_vectors && is_multiple(operands[t], item_alignment_[t]);
      addresses[t] = operands[t];
    }
    Arguments arguments = in_vectors ? vectors_ : elements_;
    std::memcpy(arguments.attributes, plan.attributes, sizeof arguments.attributes);
    std::memcpy(arguments.element, plan.element, sizeof arguments.element);
    void* args[] = {&addresses[0], &addresses[1], &addresses[2], &addresses[3], &arguments};
    if (tiles_ > 0) {
      const auto* kernel = reinterpret_cast<const void*>(program_.further.front());
      return api().LaunchKernel(kernel, {tiles_, 1, 1}, {kThreads, 1, 1}, args, 0, stream);
    }
    const auto* kernel = reinterpret_cast<const void*>(in_vectors ? program_.vectors : program_.elements);
    return api().LaunchKernel(kernel, {blocks_of(arguments, in_vectors ? width_ : 1), 1, 1}, {kThreads, 1, 1}, args, 0,
                              stream);
  }

 private:
  // A GPU cannot read it, and would not survive the attempt.
  infinirtError_t misplaced(const Plan& plan, int operand, const void* address) const {
    char text[256];
    std::snprintf(text, sizeof text, "%s is at %p, which is no multiple of %zu, the size of its elements",
                  plan.info->tensor_names[operand], address, element_alignment_[operand]);
    infinirtXSetLastError(infinirtErrorInvalidValue, text);
    return infinirtErrorInvalidValue;
  }

  Program program_;
  int width_, operands_;
  unsigned tiles_ = 0;  // blocks of the kernel for tiles, where it is the one to launch
  Arguments elements_, vectors_;
  size_t element_alignment_[kMaxOperands];
  size_t item_alignment_[kMaxOperands];
};

// Of tensors without elements: nothing is ever launched.
class Nothing final : public Prepared {
  infinirtError_t launch(const Plan&, void* const*, const Workspace&, infinirtStream_t) const override {
    return infinirtSuccess;
  }
};

}  // namespace

std::unique_ptr<Prepared> prepare_element_wise(const Plan& plan, infinirtError_t* error) {
  *error = infinirtSuccess;
  if (plan.nest.total == 0) return std::make_unique<Nothing>();
  const Variant variant = variant_of(plan);
  Program program;
  ProgramSource source{variant.name,
                       program_text(),
                       variant_text(variant),
                       elements_kernel_name(variant),
                       vectors_kernel_name(variant),
                       variant.width > 1};
  if (variant.tiling.edge > 0) source.further = {tiles_kernel_name(variant)};
  if ((*error = find_program(source, &program))) return nullptr;
  return std::make_unique<PreparedElementWise>(plan, variant, program);
}

}  // namespace infiniop::nvidia
