#include "backends/nvidia/compiler.h"

#include "backends/nvidia/compiler_library.h"
#include "backends/nvidia/real_library.h"
#include "backends/nvidia/source_files.h"
#include "core/disk_cache.h"
#include "core/error.h"
#include "core/log.h"

namespace infinirt::nvidia {

namespace {

constexpr uint64_t kCacheFormat = 1;
constexpr char kDefaultName[] = "kernel.cu";

bool begins(const std::string& text, const char* with) { return text.rfind(with, 0) == 0; }

bool names_architecture(const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (begins(option, "-arch") || begins(option, "--gpu-architecture")) return true;
  }
  return false;
}

// "sm_90" for the calling thread's GPU.
infinirtError_t current_architecture(std::string* architecture) {
  if (library().devices == 0) {
    return fail(infinirtErrorInvalidValue,
                "architecture is null, and there is no GPU whose own could be taken (%s); name one, as \"sm_90\"",
                library().problem.c_str());
  }
  int device = 0, major = 0, minor = 0;
  const BackendTable& calls = find_backend("nvidia")->table;  // refuses in a forked child, where the library would hang
  if (auto error = calls.GetDevice(&device)) return error;
  if (auto error = calls.DeviceGetAttribute(&major, infinirtDevAttrComputeCapabilityMajor, device)) return error;
  if (auto error = calls.DeviceGetAttribute(&minor, infinirtDevAttrComputeCapabilityMinor, device)) return error;
  *architecture = "sm_" + std::to_string(major) + std::to_string(minor);
  return infinirtSuccess;
}

// All options: the caller's, then the architecture and CUDA's own headers.
infinirtError_t complete_options(const infinirtXCompileInfo& info, const CompilerLibrary& nvrtc,
                                 std::vector<std::string>* options) {
  options->assign(info.options, info.options + info.optionCount);
  if (!names_architecture(*options)) {
    std::string architecture = info.architecture ? info.architecture : "";
    if (architecture.empty()) {
      if (auto error = current_architecture(&architecture)) return error;
    }
    options->push_back("--gpu-architecture=" + architecture);
  }
  for (const std::string& folder : nvrtc.include_folders) options->push_back("--include-path=" + folder);
  return infinirtSuccess;
}

// False when the result must not be kept: it depends on more than can be seen.
bool make_key(const infinirtXCompileInfo& info, const CompilerLibrary& nvrtc, const std::vector<std::string>& options,
              Sha256::Digest* key) {
  Sha256 hash;
  hash.field(kCacheFormat);
  hash.field(nvrtc.name);
  hash.field(nvrtc.file_size);
  hash.field(uint64_t{info.codeType});
  hash.field(info.name ? info.name : kDefaultName);
  hash.field(uint64_t{options.size()});
  for (const std::string& option : options) hash.field(option);
  hash.field(uint64_t{info.nameExpressionCount});
  for (size_t i = 0; i < info.nameExpressionCount; ++i) hash.field(info.nameExpressions[i]);
  hash.field(uint64_t{info.headerCount});
  const bool known = hash_source(info, options, hash);
  *key = hash.digest();
  return known;
}

// The beginning of a log, for a message.
std::string first_lines(const std::string& log) {
  constexpr size_t kMostLines = 8, kMostCharacters = 700;
  size_t end = 0;
  for (size_t line = 0; line < kMostLines && end < log.size(); ++line) {
    const size_t next = log.find('\n', end);
    end = next == std::string::npos ? log.size() : next + 1;
  }
  std::string text = log.substr(0, std::min(end, kMostCharacters));
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.size() + 1 < log.size() ? text + "\n..." : text;
}

// One program of the compiler's.
class Program {
 public:
  explicit Program(const CompilerLibrary& nvrtc) : nvrtc_(nvrtc) {}
  ~Program() {
    if (program_) nvrtc_.DestroyProgram(&program_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  infinirtError_t compile(const infinirtXCompileInfo& info, const std::vector<std::string>& options, Compiled& out) {
    nvrtcResult result = nvrtc_.CreateProgram(&program_, info.source, info.name ? info.name : kDefaultName,
                                              static_cast<int>(info.headerCount), info.headers, info.headerNames);
    if (result != NVRTC_SUCCESS) return failed(result, "the program cannot be created");
    for (size_t i = 0; i < info.nameExpressionCount; ++i) {
      if ((result = nvrtc_.AddNameExpression(program_, info.nameExpressions[i])) != NVRTC_SUCCESS)
        return failed(result, info.nameExpressions[i]);
    }
    std::vector<const char*> pointers;
    for (const std::string& option : options) pointers.push_back(option.c_str());
    result = nvrtc_.CompileProgram(program_, static_cast<int>(pointers.size()), pointers.data());
    out.log = log();
    if (result != NVRTC_SUCCESS) return compile_failed(result, info, out.log);
    for (size_t i = 0; i < info.nameExpressionCount; ++i) {
      const char* symbol = nullptr;
      if ((result = nvrtc_.GetLoweredName(program_, info.nameExpressions[i], &symbol)) != NVRTC_SUCCESS)
        return failed(result, info.nameExpressions[i]);
      out.lowered_names.emplace_back(info.nameExpressions[i], symbol);
    }
    return info.codeType == infinirtXCodePtx ? take_ptx(out) : take_cubin(out);
  }

 private:
  std::string log() {
    size_t size = 0;
    if (nvrtc_.GetProgramLogSize(program_, &size) != NVRTC_SUCCESS || size <= 1) return {};
    std::string text(size, '\0');
    if (nvrtc_.GetProgramLog(program_, text.data()) != NVRTC_SUCCESS) return {};
    text.resize(size - 1);  // it ends with a zero
    return text;
  }

  infinirtError_t compile_failed(nvrtcResult result, const infinirtXCompileInfo& info, const std::string& log) {
    const std::string lines = first_lines(log);
    if (result == NVRTC_ERROR_COMPILATION)
      return fail(infinirtErrorInvalidSource, "%s does not compile:\n%s", info.name ? info.name : kDefaultName,
                  lines.c_str());
    if (result == NVRTC_ERROR_INVALID_OPTION) {
      const bool architecture = log.find("gpu-architecture") != std::string::npos;
      return fail(infinirtErrorInvalidValue, "%s refuses an option: %s%s%s", nvrtc_.name.c_str(), lines.c_str(),
                  architecture ? "; it knows " : "", architecture ? supported_architectures(nvrtc_).c_str() : "");
    }
    return failed(result, lines.c_str());
  }

  infinirtError_t failed(nvrtcResult result, const char* about) {
    infinirtError_t code = infinirtErrorUnknown;
    if (result == NVRTC_ERROR_OUT_OF_MEMORY) code = infinirtErrorMemoryAllocation;
    if (result == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID) code = infinirtErrorInvalidValue;
    return fail(code, "%s (%s) says %s: %s", nvrtc_.name.c_str(), nvrtc_.path.c_str(), nvrtc_.GetErrorString(result),
                about);
  }

  infinirtError_t take_cubin(Compiled& out) {
    size_t size = 0;
    nvrtcResult result = nvrtc_.GetCUBINSize(program_, &size);
    if (result == NVRTC_SUCCESS && size == 0) {
      return fail(infinirtErrorInvalidValue,
                  "machine code was asked for, and the architecture is a virtual one; name a real one, as \"sm_90\"");
    }
    out.code.resize(size);
    if (result == NVRTC_SUCCESS) result = nvrtc_.GetCUBIN(program_, out.code.data());
    return result == NVRTC_SUCCESS ? infinirtSuccess : failed(result, "there is no machine code");
  }

  infinirtError_t take_ptx(Compiled& out) {
    size_t size = 0;
    nvrtcResult result = nvrtc_.GetPTXSize(program_, &size);
    out.code.resize(size);
    if (result == NVRTC_SUCCESS) result = nvrtc_.GetPTX(program_, out.code.data());
    while (!out.code.empty() && out.code.back() == '\0') out.code.pop_back();
    return result == NVRTC_SUCCESS ? infinirtSuccess : failed(result, "there is no PTX");
  }

  const CompilerLibrary& nvrtc_;
  nvrtcProgram program_ = nullptr;
};

}  // namespace

infinirtError_t compile(const infinirtXCompileInfo& info, Compiled& out) {
  std::string problem;
  std::vector<std::string> options;
  const CompilerLibrary* nvrtc = compiler_library(&problem);
  if (!nvrtc) return fail(infinirtErrorNotSupported, "%s", problem.c_str());
  if (auto error = complete_options(info, *nvrtc, &options)) return error;
  out.compiler = nvrtc->name + " (" + nvrtc->path + ")";
  Sha256::Digest key;
  const DiskCache cache(make_key(info, *nvrtc, options, &key) ? cache_folder() : "");
  std::string bytes;
  if (cache.read(key, &bytes) && from_bytes(bytes, &out)) {
    out.from_cache = true;
    if (log_enabled(LogLevel::Api)) log_line("compile", ("found in the cache: " + hex(key)).c_str());
    return infinirtSuccess;
  }
  if (auto error = Program(*nvrtc).compile(info, options, out)) return error;
  cache.write(key, to_bytes(out));
  if (log_enabled(LogLevel::Api)) log_line("compile", ("compiled: " + hex(key)).c_str());
  return infinirtSuccess;
}

}  // namespace infinirt::nvidia
