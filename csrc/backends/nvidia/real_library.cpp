#include "backends/nvidia/real_library.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "backends/nvidia/driver_calls.h"
#include "backends/nvidia/find_library.h"
#include "core/error.h"

namespace infinirt::nvidia {

BackendTable runtime_library;
BackendTable real;
BackendTable real_per_thread;
void* real13[kFunctionCount];
infinirtError_t (*real_get_last_error)();

namespace {

constexpr int kOldest = 12000;

std::atomic<bool> g_loaded{false};

const WantedLibrary& wanted() {
  static const auto* library =
      new WantedLibrary{"INFINIRT_CUDA_LIBRARY",
                        "libcudart",
                        {"nvidia/cu13/lib/libcudart.so.13", "nvidia/cuda_runtime/lib/libcudart.so.12"},
                        {"libcudart.so.13", "libcudart.so.12"}};
  return *library;
}

// CUDA_VISIBLE_DEVICES is read by the driver when it starts; INFINIRT_VISIBLE_DEVICES comes through it.
void pass_visible_devices() {
  const char* list = std::getenv("INFINIRT_VISIBLE_DEVICES");
  if (!list || std::getenv("CUDA_VISIBLE_DEVICES")) return;
  std::string visible;
  bool mentioned = false;
  for (const char* entry = list; *entry;) {
    const size_t length = std::strcspn(entry, ",");
    std::string text(entry, length);
    entry += length + (entry[length] == ',' ? 1 : 0);
    if (text.find(':') != std::string::npos) {
      if (text.compare(0, 7, "nvidia:") != 0) continue;
      text.erase(0, 7);
    }
    mentioned = true;
    visible += (visible.empty() ? "" : ",") + text;
  }
  if (mentioned) setenv("CUDA_VISIBLE_DEVICES", visible.c_str(), 0);
}

// Likewise: with it a call returns when its work is done, and reports that work's failure itself.
void pass_launch_blocking() {
  const char* blocking = std::getenv("INFINIRT_LAUNCH_BLOCKING");
  if (blocking && std::strcmp(blocking, "1") == 0) setenv("CUDA_LAUNCH_BLOCKING", "1", 0);
}

template <class Function>
Function* lookup(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// Everything the table wants from this library; entries that it lacks stay null and are listed.
void bind(Library& result) {
  void* const library = result.handle;
  const int version = result.version;
  auto* entries = reinterpret_cast<void**>(&runtime_library);
  auto* per_thread = reinterpret_cast<void**>(&real_per_thread);
  for (size_t i = 0; i < kFunctionCount; ++i) {
    const SymbolRow& row = kSymbols[i];
    const char* name = version >= 13000 ? row.cuda13 : row.cuda12;
    void* symbol = name ? dlsym(library, name) : nullptr;
    const bool shim = version >= 13000 && row.shim13 != nullptr;
    real13[i] = shim ? symbol : nullptr;
    entries[i] = shim && symbol ? row.shim13 : symbol;
    per_thread[i] = row.per_thread ? dlsym(library, row.per_thread) : nullptr;
    if (!symbol) result.absent.push_back(static_cast<FunctionId>(i));
  }
  real = runtime_library;
  real_get_last_error = lookup<infinirtError_t()>(library, "cudaGetLastError");
}

// Whether the library serves a device here. Otherwise `why` is what it, or the loader, says.
bool try_library(const Candidate& candidate, Library& result, std::string& why, infinirtError_t& code) {
  void* library = open_candidate(candidate, why);
  if (!library) return false;
  const auto get_version = lookup<infinirtError_t(int*)>(library, "cudaRuntimeGetVersion");
  const auto get_count = lookup<infinirtError_t(int*)>(library, "cudaGetDeviceCount");
  const auto forget = lookup<infinirtError_t()>(library, "cudaGetLastError");
  int version = 0, count = 0;
  if (!get_version || !get_count || get_version(&version) != infinirtSuccess) {
    why = candidate.path + " is no CUDA runtime library";
    return false;
  }
  if (version < kOldest) {
    why = candidate.path + " is CUDA " + version_text(version) + "; 12.0 or newer is needed";
    return false;
  }
  pass_visible_devices();
  pass_launch_blocking();
  code = get_count(&count);
  result.path = file_of(reinterpret_cast<const void*>(get_count), candidate.path);
  result.version = version;
  result.handle = library;
  if (code == infinirtSuccess && count > 0) {
    result.devices = count;
    return true;
  }
  if (forget) forget();
  why = result.path + " (CUDA " + version_text(version) + "): ";
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (!driver) driver = dlopen("libcuda.so.1", RTLD_LAZY);
  if (!driver) {
    why += "there is no NVIDIA driver here (libcuda.so.1 cannot be loaded)";
  } else if (code == infinirtErrorInsufficientDriver) {
    why += "the NVIDIA driver is older than this library needs";
  } else if (code == infinirtSuccess) {
    why += "no GPU is visible";
    code = infinirtErrorNoDevice;
  } else {
    why += error_text(code);
  }
  return false;
}

Library load() {
  Library last;
  std::string tried;
  infinirtError_t error = infinirtErrorNoDevice;
  for (const Candidate& candidate : candidates(wanted())) {
    std::string why;
    infinirtError_t code = infinirtSuccess;
    Library attempt;
    if (try_library(candidate, attempt, why, code)) {
      bind(attempt);
      use_driver_directly(real);
      return attempt;
    }
    // A library that loads and finds no device says more than one that is not there.
    if (!attempt.path.empty() && last.path.empty()) {
      last = attempt;
      error = code;
      tried = why;
    } else if (last.path.empty()) {
      tried += (tried.empty() ? "" : "; ") + why;
    }
    if (!attempt.path.empty() && code != infinirtErrorInsufficientDriver) break;  // another version would say the same
  }
  if (last.handle) bind(last);  // so that it can be asked what it has
  last.error = error;
  last.problem = last.path.empty() ? "NVIDIA's runtime library (libcudart 12 or 13) was not found: " + tried +
                                         "; install it with pip install 'infinirt[cuda]', or set INFINIRT_CUDA_LIBRARY"
                                   : tried;
  return last;
}

}  // namespace

const Library& library() {
  static const Library* const loaded = [] {
    auto* made = new Library(load());
    g_loaded.store(true, std::memory_order_release);
    return made;
  }();
  return *loaded;
}

void* driver_function(const char* name) {
  void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return driver ? dlsym(driver, name) : nullptr;
}

bool library_is_loaded() { return g_loaded.load(std::memory_order_acquire); }

}  // namespace infinirt::nvidia
