#include "op/nvidia/program.h"

#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <tuple>

#include "op/runtime.h"

namespace infiniop::nvidia {

namespace {

infinirtError_t current_architecture(std::string* architecture) {
  int device = 0, major = 0, minor = 0;
  if (auto error = api().GetDevice(&device)) return error;
  if (auto error = api().DeviceGetAttribute(&major, infinirtDevAttrComputeCapabilityMajor, device)) return error;
  if (auto error = api().DeviceGetAttribute(&minor, infinirtDevAttrComputeCapabilityMinor, device)) return error;
  *architecture = "sm_" + std::to_string(major) + std::to_string(minor);
  return infinirtSuccess;
}

// Takes a kernel out of a library, and makes the driver load it now: not while its first launch is being captured.
infinirtError_t get_kernel(infinirtLibrary_t library, const std::string& name, infinirtKernel_t* kernel) {
  if (auto error = api().LibraryGetKernel(kernel, library, name.c_str())) return error;
  infinirtFuncAttributes attributes;
  return api().FuncGetAttributes(&attributes, reinterpret_cast<const void*>(*kernel));
}

infinirtError_t load(const ProgramSource& source, infinirtXCompiled_t compiled, Program* program) {
  infinirtXCompiledInfo result{};
  if (auto error = infinirtXCompiledGetInfo(&result, compiled)) return error;
  infinirtLibrary_t library = nullptr;
  if (auto error = api().LibraryLoadData(&library, result.code, nullptr, nullptr, 0, nullptr, nullptr, 0)) return error;
  *program = {};
  auto error = get_kernel(library, source.elements_kernel, &program->elements);
  if (!error && source.has_vectors) error = get_kernel(library, source.vectors_kernel, &program->vectors);
  for (const std::string& name : source.further) {
    if (!error) error = get_kernel(library, name, &program->further.emplace_back());
  }
  return error;
}

infinirtError_t build(const ProgramSource& source, const std::string& architecture, Program* program) {
  constexpr size_t kFiles = 1 + std::tuple_size_v<decltype(program_files())>;
  const char *names[kFiles] = {"variant.h"}, *texts[kFiles] = {source.variant.c_str()};
  size_t count = 1;
  for (const auto& [name, contents] : program_files()) {
    names[count] = name;
    texts[count++] = contents;
  }
  infinirtXCompileInfo info{};
  info.structSize = sizeof info;
  info.deviceType = "nvidia";
  info.source = source.text;
  info.name = source.name;
  info.architecture = architecture.c_str();
  info.options = kCompileOptions;
  info.optionCount = std::size(kCompileOptions);
  info.headers = texts;
  info.headerNames = names;
  info.headerCount = count;
  infinirtXCompiled_t compiled = nullptr;
  auto error = infinirtXCompile(&compiled, &info);
  if (!error) error = load(source, compiled, program);
  if (compiled) infinirtXCompiledDestroy(compiled);
  return error;
}

}  // namespace

infinirtError_t find_program(const ProgramSource& source, Program* program) {
  // Leaked on purpose: other threads may launch while the process ends.
  static auto* const programs = new std::map<std::string, Program>;
  static auto* const mutex = new std::mutex;
  std::string architecture;
  if (auto error = current_architecture(&architecture)) return error;
  const std::string key = architecture + source.variant;
  {
    std::lock_guard guard(*mutex);
    if (const auto known = programs->find(key); known != programs->end()) {
      *program = known->second;
      return infinirtSuccess;
    }
  }
  // Without the lock, so that threads compile at once; of two that compile the same the first one's is kept.
  if (auto error = build(source, architecture, program)) return error;
  std::lock_guard guard(*mutex);
  *program = programs->try_emplace(key, *program).first->second;
  return infinirtSuccess;
}

}  // namespace infiniop::nvidia
