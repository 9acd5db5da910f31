// CUDA C++ for element-wise plans. Nothing here needs a GPU or NVIDIA's libraries.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "op/nvidia/arguments.h"
#include "op/nvidia/layout.h"
#include "op/operator.h"

namespace infiniop::nvidia {

// All that the text of a kernel depends on: plans that agree in it share one program.
struct Variant {
  const char* name;  // of the operator, and of the kernel
  OperatorKind kind;
  int map;                           // of OperatorKind::Map
  infiniDtype_t dtype[kMaxOperands];
  int model;  // the operand that decides what is computed in
  int inputs;
  int levels;
  int width;        // elements per item of the kernel for vectors; 1: there is none
  bool wide_index;  // 64-bit index arithmetic
  Lie lie[kMaxOperands];  // of the inputs, from 0
  Tiling tiling;
};

Variant variant_of(const Plan& plan);

// What a launch passes: for the kernel that takes `width` elements at a time, 1 or the variant's.
Arguments arguments_of(const Plan& plan, const Variant& variant, int width);

// The only part of a program that differs: the text of its "variant.h".
std::string variant_text(const Variant& variant);
std::string elements_kernel_name(const Variant& variant);
std::string vectors_kernel_name(const Variant& variant);
std::string tiles_kernel_name(const Variant& variant);

// For the compiler. Products and sums are not contracted, as on the CPU. 186: that an unsigned number is not below 0 is no news in a
// template.
inline constexpr const char* kCompileOptions[] = {"-std=c++17", "--fmad=false", "--device-as-default-execution-space",
                                                  "--diag-suppress=186"};

// The programs themselves, and the files that they include but "variant.h": names and texts.
const char* program_text();
const char* chain_program_text();
const char* rows_program_text();
std::array<std::pair<const char*, const char*>, 8> program_files();

// How an element of the type is called there, and the type that it is computed in.
const char* element_type(infiniDtype_t dtype);
std::string computed_type(infiniDtype_t dtype);
// Text that defines Expression: an operator's computation, from elements of type `in` to one of type `out`.
std::string expression_text(OperatorKind kind, int map, infiniDtype_t out, infiniDtype_t in);

}  // namespace infiniop::nvidia
