// NVIDIA's compiler library, NVRTC: found and loaded when it is first needed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace infinirt::nvidia {

// As nvrtc.h declares them; the numbers are the same in 12 and 13.
using nvrtcProgram = struct NvrtcProgram*;
enum nvrtcResult : int {
  NVRTC_SUCCESS = 0,
  NVRTC_ERROR_OUT_OF_MEMORY = 1,
  NVRTC_ERROR_INVALID_OPTION = 5,
  NVRTC_ERROR_COMPILATION = 6,
  NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID = 10,
};

// X(result type, name, parameters)
#define INFINIRT_NVRTC_FUNCTIONS(X)                                                                     \
  X(nvrtcResult, Version, (int* major, int* minor))                                                     \
  X(const char*, GetErrorString, (nvrtcResult))                                                         \
  X(nvrtcResult, GetNumSupportedArchs, (int*))                                                          \
  X(nvrtcResult, GetSupportedArchs, (int*))                                                             \
  X(nvrtcResult, CreateProgram,                                                                         \
    (nvrtcProgram*, const char* source, const char* name, int header_count, const char* const* headers, \
     const char* const* header_names))                                                                  \
  X(nvrtcResult, DestroyProgram, (nvrtcProgram*))                                                       \
  X(nvrtcResult, AddNameExpression, (nvrtcProgram, const char*))                                        \
  X(nvrtcResult, CompileProgram, (nvrtcProgram, int option_count, const char* const* options))          \
  X(nvrtcResult, GetLoweredName, (nvrtcProgram, const char* expression, const char** name))             \
  X(nvrtcResult, GetProgramLogSize, (nvrtcProgram, size_t*))                                            \
  X(nvrtcResult, GetProgramLog, (nvrtcProgram, char*))                                                  \
  X(nvrtcResult, GetCUBINSize, (nvrtcProgram, size_t*))                                                 \
  X(nvrtcResult, GetCUBIN, (nvrtcProgram, char*))                                                       \
  X(nvrtcResult, GetPTXSize, (nvrtcProgram, size_t*))                                                   \
  X(nvrtcResult, GetPTX, (nvrtcProgram, char*))

struct CompilerLibrary {
#define X(result, name, parameters) result(*name) parameters = nullptr;
  INFINIRT_NVRTC_FUNCTIONS(X)
#undef X
  std::string path;
  std::string name;                          // "NVRTC 13.0"
  uint64_t file_size = 0;                    // tells builds of one version apart
  std::vector<std::string> include_folders;  // of CUDA's own headers, where they were found
};

// Null when there is none; `problem` then says what was tried and what to do. A failed search is repeated by the next call.
const CompilerLibrary* compiler_library(std::string* problem);

// "sm_75, sm_80, …"
std::string supported_architectures(const CompilerLibrary& library);

}  // namespace infinirt::nvidia
