// Written operators on NVIDIA's GPUs: what a file of `written/` says about one. The kernels stand beside it, in a .cu file of the same name,
// and are compiled when a descriptor needs them. A kernel is `extern "C" __global__ void name(const __grid_constant__ WrittenArguments a)`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "op/operator.h"

namespace infiniop::nvidia {

struct WrittenLaunch {
  std::string kernel;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  size_t shared = 0;
};

struct WrittenProgram {
  // What the text is compiled for: lines such as "using X = BFloat16;". Plans that agree in them share a program.
  std::string variant;
  std::vector<std::string> kernels;  // all that launches may name
  size_t workspace = 0;
  size_t shared = 0;  // the most that a launch asks for, where that is more than 48 KiB
};

// What a library of NVIDIA's computes in place of our kernels.
class LibraryCall {
 public:
  LibraryCall() = default;
  LibraryCall(const LibraryCall&) = delete;
  LibraryCall& operator=(const LibraryCall&) = delete;
  virtual ~LibraryCall() = default;
  virtual size_t workspace_size() const = 0;
  // Whether tensors may lie there; our kernels compute what may not.
  virtual bool takes(void* const* addresses) const = 0;
  virtual infinirtError_t launch(void* const* addresses, void* workspace, infinirtStream_t stream) const = 0;
};

struct WrittenKernel {
  const char* text;
  WrittenProgram (*program)(const WrittenPlan& plan, const double* attributes);
  // One after the other. The addresses are known, so that wide loads can be chosen by them.
  std::vector<WrittenLaunch> (*launches)(const WrittenPlan& plan, const double* attributes, void* const* addresses);
  // Null, or what it returns is null: there is no library for it.
  std::unique_ptr<LibraryCall> (*library)(const WrittenPlan& plan, const double* attributes) = nullptr;
};

// "using <alias> = <element type>;\n"
std::string alias(const char* alias, int dtype);
inline unsigned blocks_for(int64_t items, int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

// For tests: "variant.h", and the program that includes it.
std::string written_source(const Plan& plan, const char** text);

std::vector<WrittenLaunch> written_launches(const Plan& plan, void* const* addresses, size_t* workspace);

std::unique_ptr<Prepared> prepare_written(const Plan& plan, infinirtError_t* error);

}  // namespace infiniop::nvidia
