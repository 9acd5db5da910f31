#include "op/nvidia/cublaslt.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "op/runtime.h"

namespace infiniop::nvidia {

namespace {

// Paths of libraries that the process has, by the beginning of their names.
std::vector<std::string> already_loaded(const char* stem) {
  struct Search {
    const char* stem;
    std::vector<std::string> found;
  } search{stem, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        auto* wanted = static_cast<Search*>(data);
        const char* slash = std::strrchr(info->dlpi_name, '/');
        const char* name = slash ? slash + 1 : info->dlpi_name;
        if (std::strncmp(name, wanted->stem, std::strlen(wanted->stem)) == 0) {
          wanted->found.emplace_back(info->dlpi_name);
        }
        return 0;
      },
      &search);
  return search.found;
}

std::string parent(std::string path, int steps) {
  for (; steps > 0 && !path.empty(); --steps) {
    const size_t slash = path.rfind('/');
    path.resize(slash == std::string::npos ? 0 : slash);
  }
  return path;
}

// In the order in which they are to be tried.
std::vector<std::string> candidates() {
  if (const char* given = std::getenv("INFINIOP_CUBLASLT_LIBRARY"); given && *given) return {given};
  std::vector<std::string> all = already_loaded("libcublasLt.so");
  const auto add = [&](const std::string& folder) {
    if (folder.empty()) return;
    for (const char* name : {"/libcublasLt.so.13", "/libcublasLt.so.12"}) all.push_back(folder + name);
  };
  const auto add_packages = [&](const std::string& folder) {
    if (folder.empty()) return;
    add(folder + "/nvidia/cu13/lib");
    add(folder + "/nvidia/cublas/lib");
  };
  // The wheels of 13 and toolkits have all libraries in one folder; those of 12 one folder for each.
  const std::vector<std::string> runtimes = already_loaded("libcudart");
  for (const std::string& runtime : runtimes) {
    add(parent(runtime, 1));
    const std::string folder = parent(runtime, 3);
    if (!folder.empty()) add(folder + "/cublas/lib");
  }
  Dl_info own;
  if (dladdr(reinterpret_cast<const void*>(&parent), &own) && own.dli_fname) add_packages(parent(own.dli_fname, 3));
  for (int i = 0; const char* folder = infinirtXGetLibraryFolder(i); ++i) add_packages(folder);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"}) {
    const char* folder = std::getenv(variable);
    if (!folder || !*folder) continue;
    add(std::string(folder) + "/lib64");
    add(std::string(folder) + "/lib");
  }
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12"}) all.emplace_back(name);
  add("/usr/local/cuda/lib64");
  // One of another major version than the runtime's may be too new for the driver.
  for (const std::string& runtime : runtimes) {
    const size_t version = runtime.rfind(".so.");
    if (version == std::string::npos) continue;
    const std::string same = runtime.substr(version, 6);
    std::stable_partition(all.begin(), all.end(),
                          [&](const std::string& path) { return path.find(same) != std::string::npos; });
    break;
  }
  return all;
}

bool try_library(const std::string& path, CublasLt& library, std::string& tried) {
  void* opened = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    const char* why = dlerror();
    // Folders that do not have it are not worth a word.
    if (!why || !std::strstr(why, "No such file")) tried += (tried.empty() ? "" : "; ") + std::string(why ? why : path);
    return false;
  }
  bool complete = true;
#define X(result, name, parameters)                                                         \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(opened, "cublasLt" #name)); \
  complete = complete && library.name;
  INFINIOP_CUBLASLT_FUNCTIONS(X)
#undef X
  // 12.0 is 120000 or more, however many digits the minor version has.
  if (!complete || library.GetVersion() < 120000) {
    tried += (tried.empty() ? "" : "; ") + path + " is no cuBLASLt, or older than 12";
    dlclose(opened);
    return false;
  }
  library.path = path;
  return true;
}

}  // namespace

infinirtError_t CublasLt::check(LtStatus status, const char* doing) const {
  if (status == 0) return infinirtSuccess;
  constexpr int kAllocationFailed = 3, kInvalidValue = 7, kArchitecture = 8, kNotSupported = 15;
  const infinirtError_t error = status == kAllocationFailed                          ? infinirtErrorMemoryAllocation
                                : status == kInvalidValue                            ? infinirtErrorInvalidValue
                                : status == kNotSupported || status == kArchitecture ? infinirtErrorNotSupported
                                                                                     : infinirtErrorUnknown;
  char text[512];
  std::snprintf(text, sizeof text, "cuBLASLt (%s), %s: %s (status %d)", path.c_str(), doing, GetStatusString(status),
                status);
  infinirtXSetLastError(error, text);
  return error;
}

const CublasLt* find_cublaslt() {
  static std::atomic<const CublasLt*> found{nullptr};
  static auto* const searching = new std::mutex;
  if (const CublasLt* library = found.load(std::memory_order_acquire)) return library;
  std::lock_guard guard(*searching);
  if (const CublasLt* library = found.load(std::memory_order_acquire)) return library;
  std::string tried;
  for (const std::string& path : candidates()) {
    CublasLt attempt;
    if (!try_library(path, attempt, tried)) continue;
    found.store(new CublasLt(attempt), std::memory_order_release);
    return found.load(std::memory_order_relaxed);
  }
  const std::string text = "NVIDIA's library of matrix products (libcublasLt 12 or 13) was not found" +
                           (tried.empty() ? "" : ": " + tried) +
                           "; install it with pip install 'infinirt[cuda]', or set INFINIOP_CUBLASLT_LIBRARY";
  infinirtXSetLastError(infinirtErrorNotSupported, text.c_str());
  return nullptr;
}

infinirtError_t find_lt_handle(const CublasLt& library, LtHandle* handle) {
  static auto* const handles = new std::map<int, LtHandle>;
  static auto* const mutex = new std::mutex;
  int device = 0;
  if (auto error = api().GetDevice(&device)) return error;
  std::lock_guard guard(*mutex);
  LtHandle& kept = (*handles)[device];
  if (!kept) {
    // Starts the device, which the library takes from the thread.
    if (auto error = api().Free(nullptr)) return error;
    if (auto error = library.check(library.Create(&kept), "making a handle")) {
      kept = nullptr;
      return error;
    }
  }
  *handle = kept;
  return infinirtSuccess;
}

}  // namespace infiniop::nvidia
