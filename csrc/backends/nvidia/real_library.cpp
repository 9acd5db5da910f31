#include "backends/nvidia/real_library.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "core/error.h"
#include "core/library_folders.h"

namespace infinirt::nvidia {

BackendTable real;
BackendTable real_per_thread;
void* real13[kFunctionCount];
infinirtError_t (*real_get_last_error)();

namespace {

constexpr int kOldest = 12000;

std::atomic<bool> g_loaded{false};

struct Candidate {
  std::string path;
  bool only_if_loaded = false;
};

// Libraries of that name that the process has already: PyTorch's, for example, which bundles it under a changed name.
std::vector<Candidate> already_loaded() {
  std::vector<Candidate> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        const char* slash = std::strrchr(info->dlpi_name, '/');
        const char* name = slash ? slash + 1 : info->dlpi_name;
        if (std::strncmp(name, "libcudart", 9) == 0)
          static_cast<std::vector<Candidate>*>(data)->push_back({info->dlpi_name, true});
        return 0;
      },
      &found);
  return found;
}

// Where this library lies if it was installed from a wheel: <site-packages>/infinirt/lib/libinfinirt.so.1.
std::string own_site_packages() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<void*>(&own_site_packages), &info) || !info.dli_fname) return {};
  std::string folder = info.dli_fname;
  for (int i = 0; i < 3; ++i) {
    const size_t slash = folder.rfind('/');
    if (slash == std::string::npos) return {};
    folder.resize(slash);
  }
  return folder;
}

std::vector<Candidate> candidates() {
  if (const char* wanted = std::getenv("INFINIRT_CUDA_LIBRARY"); wanted && *wanted) return {{wanted}};
  std::vector<Candidate> all = already_loaded();
  const auto add_existing = [&](const std::string& path) {
    if (access(path.c_str(), R_OK) == 0) all.push_back({path});
  };
  // NVIDIA's wheels.
  std::vector<std::string> folders = library_folders();
  folders.insert(folders.begin(), own_site_packages());
  for (const std::string& folder : folders) {
    add_existing(folder + "/nvidia/cu13/lib/libcudart.so.13");
    add_existing(folder + "/nvidia/cuda_runtime/lib/libcudart.so.12");
  }
  // A toolkit, by the variables that point to one.
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"}) {
    const char* folder = std::getenv(variable);
    if (!folder || !*folder) continue;
    for (const char* place : {"/lib64/", "/lib/"}) {
      add_existing(folder + std::string(place) + "libcudart.so.13");
      add_existing(folder + std::string(place) + "libcudart.so.12");
    }
  }
  // The system.
  all.insert(all.end(), {{"libcudart.so.13"}, {"libcudart.so.12"}});
  add_existing("/usr/local/cuda/lib64/libcudart.so.13");
  add_existing("/usr/local/cuda/lib64/libcudart.so.12");
  return all;
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

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

template <class Function>
Function* lookup(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

// Everything the table wants from this library; entries that it lacks stay null and are listed.
void bind(Library& result) {
  void* const library = result.handle;
  const int version = result.version;
  auto* entries = reinterpret_cast<void**>(&real);
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
  real_get_last_error = lookup<infinirtError_t()>(library, "cudaGetLastError");
}

// Whether the library serves a device here. Otherwise `why` is what it, or the loader, says.
bool try_library(const Candidate& candidate, Library& result, std::string& why, infinirtError_t& code) {
  const int flags = RTLD_LAZY | RTLD_LOCAL | (candidate.only_if_loaded ? RTLD_NOLOAD : 0);
  void* library = dlopen(candidate.path.c_str(), flags);
  if (!library) {
    const char* message = dlerror();
    why = message ? message : "cannot be loaded";
    return false;
  }
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
  code = get_count(&count);
  Dl_info where;
  const bool known = dladdr(reinterpret_cast<void*>(get_count), &where) && where.dli_fname;
  result.path = known ? where.dli_fname : candidate.path;
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
  for (const Candidate& candidate : candidates()) {
    std::string why;
    infinirtError_t code = infinirtSuccess;
    Library attempt;
    if (try_library(candidate, attempt, why, code)) {
      bind(attempt);
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

bool library_is_loaded() { return g_loaded.load(std::memory_order_acquire); }

}  // namespace infinirt::nvidia
