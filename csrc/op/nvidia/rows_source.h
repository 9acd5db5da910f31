// CUDA C++ for operators on rows. Nothing here needs a GPU or NVIDIA's libraries.
#pragma once

#include <string>

#include "op/nvidia/arguments.h"
#include "op/operator.h"

namespace infiniop::nvidia {

// All that the text of a kernel depends on beside operator and types: plans that agree in it share one program.
struct RowVariant {
  int width;            // elements per item of the kernel for vectors; 1: there is none
  int threads,
      items;  // of that kernel: how many threads share a row, and how many items each holds; 0: rows are too long for that
  int element_threads;  // of the kernel for single elements
};

RowVariant row_variant_of(const Plan& plan);
RowArguments row_arguments_of(const Plan& plan);
std::string row_variant_text(const Plan& plan, const RowVariant& variant);
std::string row_elements_kernel(const Plan& plan);
std::string row_vectors_kernel(const Plan& plan);

// Of a kernel in which so many threads share a row.
inline unsigned row_blocks(int64_t rows, int threads) {
  const int64_t rows_of_block = row_block(threads) / threads;
  return static_cast<unsigned>((rows + rows_of_block - 1) / rows_of_block);
}

}  // namespace infiniop::nvidia
