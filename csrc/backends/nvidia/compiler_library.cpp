#include "backends/nvidia/compiler_library.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "backends/nvidia/find_library.h"
#include "backends/nvidia/real_library.h"
#include "backends/nvidia/source_files.h"
#include "core/mutex.h"

namespace infinirt::nvidia {

namespace {

constexpr int kOldest = 12;

// Code of a compiler that is a major version newer than the runtime may be too new for the driver: the same major version
// goes first. A runtime that is not loaded yet is not asked: that would start the driver.
std::vector<Candidate> in_order() {
  std::vector<Candidate> all = candidates({"INFINIRT_NVRTC_LIBRARY",
                                           "libnvrtc",
                                           {"nvidia/cu13/lib/libnvrtc.so.13", "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"},
                                           {"libnvrtc.so.13", "libnvrtc.so.12"}});
  if (library_is_loaded() && library().version > 0) {
    const std::string same = ".so." + std::to_string(library().version / 1000);
    std::stable_partition(all.begin(), all.end(),
                          [&](const Candidate& candidate) { return candidate.path.find(same) != std::string::npos; });
  }
  return all;
}

std::string parent(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// Of the same version as the compiler: those beside it first, which is where a toolkit and the wheels of 13 have them. The
// wheels of 12 lie in several folders, and <cuda_fp16.h> of one includes <nv/target> of the other.
void find_headers(CompilerLibrary& library, int major) {
  std::vector<std::string> places = {parent(parent(library.path)) + "/include"}, parts = {places[0] + "/cccl"};
  for (const std::string& folder : package_folders()) {
    places.push_back(folder + (major >= 13 ? "/nvidia/cu13/include" : "/nvidia/cuda_runtime/include"));
    parts.push_back(folder + (major >= 13 ? "/nvidia/cu13/include/cccl" : "/nvidia/cuda_cccl/include"));
  }
  for (const auto& wanted : {places, parts}) {
    const auto found = std::find_if(wanted.begin(), wanted.end(), has_cuda_headers);
    if (found != wanted.end()) library.include_folders.push_back(*found);
  }
}

bool try_library(const Candidate& candidate, CompilerLibrary& library, std::string& why) {
  void* handle = open_candidate(candidate, why);
  if (!handle) return false;
#define X(result, name, parameters) \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handle, "nvrtc" #name));
  INFINIRT_NVRTC_FUNCTIONS(X)
#undef X
  const bool complete = true
#define X(result, name, parameters) &&library.name != nullptr
      INFINIRT_NVRTC_FUNCTIONS(X)
#undef X
      ;
  int major = 0, minor = 0;
  if (!complete || library.Version(&major, &minor) != NVRTC_SUCCESS || major < kOldest) {
    why = candidate.path + " is no NVRTC, or older than " + std::to_string(kOldest);
    return false;
  }
  library.path = file_of(reinterpret_cast<const void*>(library.Version), candidate.path);
  // It opens a part of itself by its bare name, which the loader does not find beside a wheel's library unless it is loaded.
  const std::string version = std::to_string(major) + "." + std::to_string(minor);
  dlopen((parent(library.path) + "/libnvrtc-builtins.so." + version).c_str(), RTLD_LAZY | RTLD_LOCAL);
  library.name = "NVRTC " + version;
  struct stat status;
  if (stat(library.path.c_str(), &status) == 0) library.file_size = static_cast<uint64_t>(status.st_size);
  find_headers(library, major);
  return true;
}

}  // namespace

const CompilerLibrary* compiler_library(std::string* problem) {
  static std::atomic<const CompilerLibrary*> found{nullptr};
  static Mutex searching;
  if (const CompilerLibrary* library = found.load(std::memory_order_acquire)) return library;
  std::lock_guard guard(searching);
  if (const CompilerLibrary* library = found.load(std::memory_order_acquire)) return library;
  std::string tried;
  for (const Candidate& candidate : in_order()) {
    CompilerLibrary attempt;
    std::string why;
    if (try_library(candidate, attempt, why)) {
      found.store(new CompilerLibrary(std::move(attempt)), std::memory_order_release);
      return found.load(std::memory_order_relaxed);
    }
    tried += (tried.empty() ? "" : "; ") + why;
  }
  *problem = "NVIDIA's compiler library (libnvrtc 12 or 13) was not found: " + tried +
             "; install it with pip install 'infinirt[cuda]', or set INFINIRT_NVRTC_LIBRARY";
  return nullptr;
}

std::string supported_architectures(const CompilerLibrary& library) {
  int count = 0;
  if (library.GetNumSupportedArchs(&count) != NVRTC_SUCCESS || count <= 0) return "?";
  std::vector<int> numbers(static_cast<size_t>(count));
  if (library.GetSupportedArchs(numbers.data()) != NVRTC_SUCCESS) return "?";
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "sm_" : ", sm_") + std::to_string(number);
  return text;
}

}  // namespace infinirt::nvidia
