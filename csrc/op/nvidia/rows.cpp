#include "op/nvidia/rows.h"

#include <cstdio>
#include <cstring>

#include "op/nvidia/program.h"
#include "op/nvidia/rows_source.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

namespace {

class PreparedRows final : public Prepared {
 public:
  PreparedRows(const Plan& plan, const RowVariant& variant, const Program& program)
      : program_(program), variant_(variant), arguments_(row_arguments_of(plan)) {
    for (int t = 0; t < plan.info->tensors; ++t) {
      element_size_[t] = plan.rows->is_given[t] ? size_of(plan.dtype[t]) : 1;
      const bool in_items = plan.rows->is_given[t] && plan.info->rows->place[t] != RowPlace::Row;
      item_size_[t] = in_items ? element_size_[t] * static_cast<size_t>(variant.width) : 1;
    }
  }

  infinirtError_t launch(const Plan& plan, void* const* operands, const Workspace&,
                         infinirtStream_t stream) const override {
    bool in_vectors = variant_.width > 1;
    void* addresses[kMaxRowTensors] = {};
    for (int t = 0; t < plan.info->tensors; ++t) {
      const auto address = reinterpret_cast<uintptr_t>(operands[t]);
      if (address % element_size_[t] != 0) return misplaced(plan, t, operands[t]);
      in_vectors = in_vectors && address % item_size_[t] == 0;
      addresses[t] = operands[t];
    }
    RowArguments arguments = arguments_;
    std::memcpy(arguments.attributes, plan.attributes, sizeof arguments.attributes);
    void* args[kMaxRowTensors + 1];
    for (int t = 0; t < kMaxRowTensors; ++t) args[t] = &addresses[t];
    args[kMaxRowTensors] = &arguments;
    const auto* kernel = reinterpret_cast<const void*>(in_vectors ? program_.vectors : program_.elements);
    const int threads = in_vectors ? variant_.threads : variant_.element_threads;
    return api().LaunchKernel(kernel, {row_blocks(arguments.rows, threads), 1, 1},
                              {static_cast<unsigned>(row_block(threads)), 1, 1}, args, 0, stream);
  }

 private:
  // A GPU cannot read it, and would not survive the attempt.
  infinirtError_t misplaced(const Plan& plan, int tensor, const void* address) const {
    char text[256];
    std::snprintf(text, sizeof text, "%s is at %p, which is no multiple of %zu, the size of its elements",
                  plan.info->tensor_names[tensor], address, element_size_[tensor]);
    infinirtXSetLastError(infinirtErrorInvalidValue, text);
    return infinirtErrorInvalidValue;
  }

  Program program_;
  RowVariant variant_;
  RowArguments arguments_;
  size_t element_size_[kMaxRowTensors], item_size_[kMaxRowTensors];
};

// Of tensors without elements: nothing is ever launched.
class Nothing final : public Prepared {
  infinirtError_t launch(const Plan&, void* const*, const Workspace&, infinirtStream_t) const override {
    return infinirtSuccess;
  }
};

}  // namespace

std::unique_ptr<Prepared> prepare_rows(const Plan& plan, infinirtError_t* error) {
  *error = infinirtSuccess;
  if (plan.nest.total == 0) return std::make_unique<Nothing>();
  const RowVariant variant = row_variant_of(plan);
  const ProgramSource source{plan.info->name,           rows_program_text(),      row_variant_text(plan, variant),
                             row_elements_kernel(plan), row_vectors_kernel(plan), variant.width > 1};
  Program program;
  if ((*error = find_program(source, &program))) return nullptr;
  return std::make_unique<PreparedRows>(plan, variant, program);
}

}  // namespace infiniop::nvidia
