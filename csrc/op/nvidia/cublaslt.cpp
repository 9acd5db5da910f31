#include "op/nvidia/cublaslt.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "op/nvidia/library_places.h"
#include "op/runtime.h"

namespace infiniop::nvidia {

namespace {

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
  const std::vector<std::string> places =
      places_of({"INFINIOP_CUBLASLT_LIBRARY", "libcublasLt.so", "cublas", {"13", "12"}});
  for (const std::string& path : places) {
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
