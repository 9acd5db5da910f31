// CUDA C++ for chains. Nothing here needs a GPU or NVIDIA's libraries.
#pragma once

#include <string>

#include "op/chain.h"
#include "op/nvidia/layout.h"

namespace infiniop::nvidia {

// All that the text of a chain's kernel depends on beside the plan.
struct ChainVariant {
  int width;        // elements per item of the kernel for vectors; 1: there is none
  bool wide_index;  // 64-bit index arithmetic
  bool is_read[kMaxChainOperands];
  Lie lie[kMaxChainOperands];
};

inline constexpr const char* kChainElementsKernel = "infiniopChain_elements";
inline constexpr const char* kChainVectorsKernel = "infiniopChain";

ChainVariant variant_of(const ChainPlan& plan);
ChainArguments arguments_of(const ChainPlan& plan, const ChainVariant& variant, int width);
std::string variant_text(const ChainPlan& plan, const ChainVariant& variant);

}  // namespace infiniop::nvidia
