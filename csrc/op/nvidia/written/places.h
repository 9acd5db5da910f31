// Kernels of places.cu, for the operators that share it.
#pragma once

#include <string>

#include "op/nvidia/written/indices.h"

namespace infiniop::nvidia {

// `types` says what X is, and what else the operator needs.
inline WrittenProgram place_program(const WrittenPlan& plan, int out, int in, const char* name,
                                    const std::string& types) {
  const TensorView& output = plan.tensor[out];
  return {std::string("#define INFINIOP_") + name + "\nconstexpr int kDims = " + std::to_string(output.ndim) + ";\n" +
              count_type(std::max(elements_of(output), elements_of(plan.tensor[in]))) + types,
          {"each_element"},
          0};
}

inline std::vector<WrittenLaunch> place_launches(const WrittenPlan& plan, int out) {
  return {threads_for("each_element", elements_of(plan.tensor[out]))};
}

}  // namespace infiniop::nvidia
