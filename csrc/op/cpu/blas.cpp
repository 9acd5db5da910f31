#include "op/cpu/blas.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <type_traits>
#include <vector>

#include "infinirt_ext.h"

namespace infiniop::cpu {

namespace {

// How builds of OpenBLAS name the same functions.
struct Names {
  const char *sgemm, *dgemm, *set_threads, *config;
  bool wide;
};
constexpr Names kNames[] = {
    {"scipy_cblas_sgemm64_", "scipy_cblas_dgemm64_", "scipy_openblas_set_num_threads64_", nullptr, true},
    {"cblas_sgemm64_", "cblas_dgemm64_", "openblas_set_num_threads64_", nullptr, true},
    {"cblas_sgemm", "cblas_dgemm", "openblas_set_num_threads", "openblas_get_config", false},
};

// Where this library lies if it was installed from a wheel: <site-packages>/infinirt/lib/libinfiniop.so.1.
std::string own_site_packages() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void*>(&own_site_packages), &info) || !info.dli_fname) return {};
  std::string folder = info.dli_fname;
  for (int i = 0; i < 3; ++i) {
    const size_t slash = folder.rfind('/');
    if (slash == std::string::npos) return {};
    folder.resize(slash);
  }
  return folder;
}

const Blas* open(const std::string& path) {
  // Somebody else's copy keeps its number of threads.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  const bool ours = library == nullptr;
  if (!library) library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) return nullptr;
  for (const Names& names : kNames) {
    auto* blas = new Blas{path, names.wide, dlsym(library, names.sgemm), dlsym(library, names.dgemm)};
    if (!blas->sgemm || !blas->dgemm) {
      delete blas;
      continue;
    }
    // Tiles of c are computed in parallel by the device's workers, each on one thread.
    using SetThreads = void (*)(int);
    if (auto* set = reinterpret_cast<SetThreads>(dlsym(library, names.set_threads)); ours && set) set(1);
    using Config = char* (*)();
    if (auto* config = names.config ? reinterpret_cast<Config>(dlsym(library, names.config)) : nullptr) {
      blas->wide = std::strstr(config(), "USE64BITINT") != nullptr;
    }
    return blas;
  }
  dlclose(library);
  return nullptr;
}

const Blas* search() {
  if (const char* given = std::getenv("INFINIOP_BLAS_LIBRARY"); given && *given) {
    if (std::strcmp(given, "none") == 0) return nullptr;
    const Blas* blas = open(given);
    if (!blas) {
      std::fprintf(
          stderr,
          "infiniop: INFINIOP_BLAS_LIBRARY is '%s', which cannot be loaded or has no cblas_sgemm; matrix products "
          "will be slow\n",
          given);
    }
    return blas;
  }
  std::vector<std::string> paths;
  const auto add = [&](const std::string& folder) {
    if (!folder.empty()) paths.push_back(folder + "/scipy_openblas64/lib/libscipy_openblas64_.so");
  };
  add(own_site_packages());
  for (int i = 0; const char* folder = infinirtXGetLibraryFolder(i); ++i) add(folder);
  for (const char* name : {"libopenblas.so.0", "libopenblas64_.so.0", "libopenblas.so"}) paths.emplace_back(name);
  for (const std::string& path : paths) {
    if (const Blas* blas = open(path)) return blas;
  }
  return nullptr;
}

// OpenBLAS ends the process when more threads call it than it has buffers for: 128 where it was built for 64 threads.
std::counting_semaphore<>& places() {
  static std::counting_semaphore<> semaphore(64);
  return semaphore;
}

template <class T, class Integer>
void call(void* function, int64_t m, int64_t n, int64_t k, T alpha, const Operand<T>& a, const Operand<T>& b, T beta,
          T* c, int64_t leading) {
  constexpr int kRowMajor = 101, kAsIs = 111, kTransposed = 112;
  using Function =
      void (*)(int, int, int, Integer, Integer, Integer, T, const T*, Integer, const T*, Integer, T, T*, Integer);
  places().acquire();
  reinterpret_cast<Function>(function)(
      kRowMajor, a.transposed ? kTransposed : kAsIs, b.transposed ? kTransposed : kAsIs, static_cast<Integer>(m),
      static_cast<Integer>(n), static_cast<Integer>(k), alpha, a.data, static_cast<Integer>(a.leading), b.data,
      static_cast<Integer>(b.leading), beta, c, static_cast<Integer>(leading));
  places().release();
}

}  // namespace

const Blas* find_blas() {
  static const Blas* const found = search();
  return found;
}

template <class T>
bool multiply(const Blas& blas, int64_t m, int64_t n, int64_t k, T alpha, const Operand<T>& a, const Operand<T>& b,
              T beta, T* c, int64_t leading) {
  void* function = std::is_same_v<T, float> ? blas.sgemm : blas.dgemm;
  if (blas.wide) {
    call<T, int64_t>(function, m, n, k, alpha, a, b, beta, c, leading);
    return true;
  }
  for (const int64_t size : {m, n, k, a.leading, b.leading, leading}) {
    if (size > INT32_MAX) return false;
  }
  call<T, int32_t>(function, m, n, k, alpha, a, b, beta, c, leading);
  return true;
}

template bool multiply(const Blas&, int64_t, int64_t, int64_t, float, const Operand<float>&, const Operand<float>&,
                       float, float*, int64_t);
template bool multiply(const Blas&, int64_t, int64_t, int64_t, double, const Operand<double>&, const Operand<double>&,
                       double, double*, int64_t);

}  // namespace infiniop::cpu
