// Kernels of scatter.cu, for the operators that share it.
#pragma once

#include <string>

#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

// How X is added to atomically, and what it is where it is only moved.
inline std::string update_types(const TensorView& output, const std::string& how) {
  std::string text = how + "using Unsigned = " + (element_bytes(output) == 1 ? "uint8_t" : "uint16_t") + ";\n";
  const bool stores = how.find("INFINIOP_STORE") != std::string::npos;
  text += stores ? moved_type("X", element_bytes(output)) : alias("X", output.dtype);
  if (stores) return text;
  const auto native = [&](const char* type) {
    text += std::string("#define INFINIOP_NATIVE_ADD\nusing Native = ") + type + ";\n";
  };
  switch (output.dtype) {
    case INFINI_DTYPE_F32:
      native("float");
      break;
    case INFINI_DTYPE_F64:
      native("double");
      break;
    case INFINI_DTYPE_I32:
    case INFINI_DTYPE_U32:
      native("unsigned");
      break;
    case INFINI_DTYPE_I64:
    case INFINI_DTYPE_U64:
      native("unsigned long long");
      break;
    case INFINI_DTYPE_F16:
      text += "#define INFINIOP_ADD_F16\n";
      break;
    case INFINI_DTYPE_BF16:
      text += "#define INFINIOP_ADD_BF16\n";
      break;
    default:
      break;
  }
  return text;
}

inline WrittenProgram update_program(const WrittenPlan& plan, int out, int in, int index, int source,
                                     const std::string& how) {
  const TensorView &output = plan.tensor[out], &input = plan.tensor[in];
  const bool side_by_side = is_run(output, 0) && is_run(input, 0);
  const int64_t most = std::max(elements_of(output), elements_of(plan.tensor[source]));
  return {update_types(output, how) + alias("Index", plan.tensor[index].dtype) + count_type(most) +
              "constexpr bool kSideBySide = " + (side_by_side ? "true" : "false") + ";\n",
          {"copy_input", "update_elements"},
          0};
}

inline std::vector<WrittenLaunch> update_launches(const WrittenPlan& plan, int out, int in, int64_t updates,
                                                  void* const* addresses) {
  std::vector<WrittenLaunch> found;
  const TensorView& output = plan.tensor[out];
  const int64_t wide =
      is_run(output, 0) && is_run(plan.tensor[in], 0) ? 16 / std::min<int64_t>(16, element_bytes(output)) : 1;
  if (addresses[out] != addresses[in]) found.push_back(threads_for("copy_input", elements_of(output) / wide));
  if (updates > 0) found.push_back(threads_for("update_elements", updates));
  return found;
}

}  // namespace infiniop::nvidia
