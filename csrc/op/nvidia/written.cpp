#include "op/nvidia/written.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "op/nvidia/program.h"
#include "op/nvidia/source.h"
#include "op/runtime.h"
#include "op/tensor.h"

namespace infiniop::nvidia {

#define INFINIOP_WRITTEN_ONCE INFINIOP_WRITTEN  // a difference for CPUs only
#define INFINIOP_WRITTEN(name) extern const WrittenKernel written_##name;
#include "infiniop/generated/written_list.inc"
#undef INFINIOP_WRITTEN

std::string alias(const char* alias, int dtype) {
  return std::string("using ") + alias + " = " + element_type(static_cast<infiniDtype_t>(dtype)) + ";\n";
}

namespace {

#define INFINIOP_WRITTEN(name) &written_##name,
constexpr const WrittenKernel* kWritten[] = {
#include "infiniop/generated/written_list.inc"
};
#undef INFINIOP_WRITTEN

// The operator's name tells programs of different texts apart.
std::string variant_text(const OperatorInfo& info, const WrittenProgram& program) {
  return std::string("// ") + info.name + "\n#pragma once\nnamespace infiniop {\n" + program.variant + "}\n";
}

class PreparedWritten final : public Prepared {
 public:
  PreparedWritten(const Plan& plan, const WrittenKernel& kernel, WrittenProgram program,
                  std::vector<infinirtKernel_t> kernels)
      : kernel_(kernel), program_(std::move(program)), kernels_(std::move(kernels)), tensors_(plan.info->tensors) {
    arguments_.plan = *plan.written;
    if (kernel.library) library_ = kernel.library(*plan.written, plan.attributes);
  }

  size_t workspace_size() const override {
    return std::max(program_.workspace, library_ ? library_->workspace_size() : 0);
  }

  infinirtError_t launch(const Plan& plan, void* const* operands, const Workspace& workspace,
                         infinirtStream_t stream) const override {
    WrittenArguments arguments = arguments_;
    for (int t = 0; t < tensors_; ++t) {
      const TensorView& view = arguments.plan.tensor[t];
      const size_t size = view.is_given ? std::min<size_t>(8, size_of(static_cast<infiniDtype_t>(view.dtype))) : 1;
      if (reinterpret_cast<uintptr_t>(operands[t]) % size != 0) return misplaced(plan, t, operands[t], size);
      arguments.address[t] = operands[t];
    }
    if (library_ && library_->takes(operands)) return library_->launch(operands, workspace.address, stream);
    std::memcpy(arguments.attributes, plan.attributes, sizeof arguments.attributes);
    arguments.workspace = workspace.address;
    void* args[] = {&arguments};
    for (const WrittenLaunch& each : kernel_.launches(arguments.plan, arguments.attributes, operands)) {
      const auto at =
          std::find(program_.kernels.begin(), program_.kernels.end(), each.kernel) - program_.kernels.begin();
      const auto* function = reinterpret_cast<const void*>(kernels_[static_cast<size_t>(at)]);
      const dim3 grid = {each.grid[0], each.grid[1], each.grid[2]},
                 block = {each.block[0], each.block[1], each.block[2]};
      if (auto error = api().LaunchKernel(function, grid, block, args, each.shared, stream)) return error;
    }
    return infinirtSuccess;
  }

 private:
  // A GPU cannot read it, and would not survive the attempt.
  static infinirtError_t misplaced(const Plan& plan, int tensor, const void* address, size_t size) {
    char text[256];
    std::snprintf(text, sizeof text, "%s is at %p, which is no multiple of %zu, the size of its elements",
                  plan.info->tensor_names[tensor], address, size);
    infinirtXSetLastError(infinirtErrorInvalidValue, text);
    return infinirtErrorInvalidValue;
  }

  const WrittenKernel& kernel_;
  WrittenProgram program_;
  std::vector<infinirtKernel_t> kernels_;
  int tensors_;
  WrittenArguments arguments_ = {};
  std::unique_ptr<LibraryCall> library_;
};

// Of tensors without elements: nothing is ever launched.
class Nothing final : public Prepared {
  infinirtError_t launch(const Plan&, void* const*, const Workspace&, infinirtStream_t) const override {
    return infinirtSuccess;
  }
};

}  // namespace

std::string written_source(const Plan& plan, const char** text) {
  const WrittenKernel& kernel = *kWritten[plan.info->written->number];
  *text = kernel.text;
  return variant_text(*plan.info, kernel.program(*plan.written, plan.attributes));
}

std::vector<WrittenLaunch> written_launches(const Plan& plan, void* const* addresses, size_t* workspace) {
  const WrittenKernel& kernel = *kWritten[plan.info->written->number];
  *workspace = kernel.program(*plan.written, plan.attributes).workspace;
  return kernel.launches(*plan.written, plan.attributes, addresses);
}

std::unique_ptr<Prepared> prepare_written(const Plan& plan, infinirtError_t* error) {
  *error = infinirtSuccess;
  if (plan.nest.total == 0) return std::make_unique<Nothing>();
  const WrittenKernel& kernel = *kWritten[plan.info->written->number];
  WrittenProgram program = kernel.program(*plan.written, plan.attributes);
  const ProgramSource source{plan.info->name,
                             kernel.text,
                             variant_text(*plan.info, program),
                             program.kernels[0],
                             "",
                             false,
                             {program.kernels.begin() + 1, program.kernels.end()}};
  Program found;
  if ((*error = find_program(source, &found))) return nullptr;
  std::vector<infinirtKernel_t> kernels = {found.elements};
  kernels.insert(kernels.end(), found.further.begin(), found.further.end());
  for (const infinirtKernel_t each : kernels) {
    if (program.shared == 0) break;
    *error = api().FuncSetAttribute(reinterpret_cast<const void*>(each),
                                    infinirtFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(program.shared));
    if (*error) return nullptr;
  }
  return std::make_unique<PreparedWritten>(plan, kernel, std::move(program), std::move(kernels));
}

}  // namespace infiniop::nvidia
